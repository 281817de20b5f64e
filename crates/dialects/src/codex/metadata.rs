//! `thread/metadata/update`: what is kept of a thread's repository.

use vocabulary::{Call, Changes, FieldChange, GitInfo as KeptGitInfo, GitInfoChange};

use super::Codex;
use super::act::parse;
use super::calls::CodexPurpose;
use super::refuse::CodexError;
use super::wire::metadata::{
    GitInfo, ThreadMetadataGitInfoUpdateParams, ThreadMetadataUpdateParams,
};
use crate::Action;
use crate::jsonrpc::Id;

impl Codex {
    pub(super) fn metadata_update(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        params: ThreadMetadataUpdateParams,
    ) -> Result<(), CodexError> {
        let thread = parse(&params.thread_id)?;
        if params.daybreak_enabled.is_some() {
            return Err(wrong(
                "daybreakEnabled",
                "expected none: it is not kept here",
            ));
        }
        let project = params.project_id.as_deref();
        if project.is_some_and(|project| !project.is_empty()) {
            let message = "expected an empty text: there are no projects here";
            return Err(wrong("projectId", message));
        }
        let call = match params.git_info {
            Some(given) => Call::ChangeThread {
                thread,
                changes: Changes {
                    git: Some(Box::new(change(given)?)),
                    ..Changes::default()
                },
            },
            // Out of a project that it is not in: nothing to do.
            None if project.is_some() => Call::GetThread { thread },
            None => return Err(wrong("gitInfo", "expected it, or a projectId")),
        };
        // It answers with the thread, as a read without turns does.
        self.calls.make(out, CodexPurpose::Read(id), call);
        Ok(())
    }
}

fn change(given: ThreadMetadataGitInfoUpdateParams) -> Result<GitInfoChange, CodexError> {
    let change = GitInfoChange {
        branch: field("gitInfo.branch", given.branch)?,
        sha: field("gitInfo.sha", given.sha)?,
        origin: field("gitInfo.originUrl", given.origin_url)?,
    };
    match change == GitInfoChange::default() {
        true => Err(wrong("gitInfo", "expected branch, sha or originUrl in it")),
        false => Ok(change),
    }
}

fn field(name: &str, given: Option<Option<String>>) -> Result<FieldChange<String>, CodexError> {
    let max = KeptGitInfo::CHARS_MAX;
    if let Some(Some(text)) = &given
        && !(1..=max).contains(&text.chars().count())
    {
        return Err(wrong(
            name,
            &format!("expected null or 1 to {max} characters"),
        ));
    }
    Ok(FieldChange::given(given))
}

pub fn shown(git: &KeptGitInfo) -> GitInfo<'_> {
    GitInfo {
        sha: git.sha.as_deref(),
        branch: git.branch.as_deref(),
        origin_url: git.origin.as_deref(),
    }
}

fn wrong(field: &str, message: &str) -> CodexError {
    CodexError::params(format!("thread/metadata/update: {field}: {message}"))
}
