//! The files of a thread's workspace as they lie there now: lists, and whole files.

use std::io;
use std::sync::Arc;

use tools::Scope;
use tools::workspace_files::WorkspaceFiles;
use vocabulary::{FileCall, FileReply, Refusal, Reply, ThreadCard, Why};

use super::skills;
use crate::Shared;

pub async fn answer(
    shared: &Arc<Shared>,
    card: &ThreadCard,
    call: FileCall,
) -> Result<Reply, Refusal> {
    if let FileCall::List { depth: 0, .. } = call {
        return Err(Refusal::invalid("depth", "depth must be at least 1"));
    }
    let own = shared.own(&card.tenant);
    let scope = Scope {
        // With the home directory: keys are known by where they lie in it, should it be the workspace.
        outside: own.outside(),
        ..skills::scope(shared, card)
    };
    let policy = Arc::clone(&own.policy);
    let look = move || -> io::Result<FileReply> {
        let files = WorkspaceFiles::open(&scope, &policy)?;
        Ok(match call {
            FileCall::List { path, depth } => FileReply::List(files.list(path.as_deref(), depth)?),
            FileCall::Read { path, bytes_max } => FileReply::Content(files.read(&path, bytes_max)?),
        })
    };
    match skills::blocking(look).await? {
        Ok(reply) => Ok(Reply::Files(reply)),
        // What is outside, closed or gone is answered alike: nobody learns what lies where.
        Err(_) => Err(Refusal::new(
            Why::UnknownFile,
            "there is no such file or directory in the workspace",
        )),
    }
}
