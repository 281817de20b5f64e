//! Checks and formatters after the edits of a step: which run, what people see of it, and what the model
//! is told.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;
use tools::checks::{
    self, CheckEnd, CheckHistory, CheckKind, CheckRule, CheckRun, Checker, CommandChecker,
    RuleOrigin,
};
use tools::policy::{Decision, Policy, PolicyCall};
use tools::sandbox::Mode;
use tools::{Failure, Judgement, folders};
use tracing::Instrument as _;
use vocabulary::{Effects, Fact, ItemId, NoteFact, SubAgent, ToolCall, ToolFact, ToolOutcome};

use super::{SessionGone, Turn, tooling, writes};
use crate::telemetry;
use crate::trust::{self, Trust};

/// Which checks and formatters run after edits.
#[derive(Clone, Debug, Default)]
pub struct CheckSettings {
    pub choice: CheckChoice,
    /// What the user wants run, wherever it is.
    pub rules: Vec<CheckRule>,
    /// Directories whose projects the user trusts: what is found there runs by itself.
    pub trusted: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CheckChoice {
    /// What is configured, and what is found in a trusted workspace.
    #[default]
    Auto,
    Configured,
    Off,
}

/// What a thread keeps of its checks from turn to turn.
#[derive(Default)]
pub struct ThreadChecks {
    history: Mutex<CheckHistory>,
    /// What was last said about rules that cannot be used.
    complaint: Mutex<Option<String>>,
}

/// The files that a step has edited so far.
#[derive(Default)]
pub struct StepEdits(Mutex<Option<Edited>>);

struct Edited {
    /// From the workspace on.
    files: Vec<PathBuf>,
    /// The last call that edited one.
    call: ItemId,
}

/// Takes note of what a call edited.
pub fn note(turn: &Turn, call: &ToolCall, outcome: &ToolOutcome) {
    let ran = matches!(
        outcome,
        ToolOutcome::Succeeded(_) | ToolOutcome::Interrupted(_)
    );
    if !ran || !call.changes_files() {
        return;
    }
    let mut files = writes::paths_in(turn, call, Some(outcome));
    // Our own notes are no part of the project.
    files.retain(|file| !folders::GUARDED.iter().any(|own| file.starts_with(own)));
    if files.is_empty() {
        return;
    }
    let mut edits = turn.edits.0.lock();
    let known = edits.take().map(|edited| edited.files).unwrap_or_default();
    files.extend(known);
    files.sort();
    files.dedup();
    let call = call.item.clone();
    *edits = Some(Edited { files, call });
}

/// Runs what there is for the files that the step has edited; gives what the model is to be told.
pub async fn after_step(turn: &Arc<Turn>, step: u32) -> Result<Option<String>, SessionGone> {
    let Some(edited) = turn.edits.0.lock().take() else {
        return Ok(None);
    };
    let is_off = turn.shared.config.checks.choice == CheckChoice::Off;
    if is_off || turn.cancel.is_cancelled() || tooling::scope(turn).read_only {
        return Ok(None);
    }
    turn.checks.history.lock().enter_turn(&turn.id);
    let mut told = Vec::new();
    let mut unformatted = Vec::new();
    let mut is_checked = false;
    for (rule, files) in chosen(turn, &edited.files).await? {
        if !turn.checks.history.lock().runs(&rule) {
            continue;
        }
        let checker = CommandChecker::new(rule);
        let run = run(turn, step, &edited.call, &checker, &files);
        let span = telemetry::tool_span(checker.rule().kind.key());
        let checked = run.instrument(span).await?;
        let rule = checker.rule();
        let formatted = checked.formatted.iter();
        told.extend(formatted.map(|lines| format!("`{}` changed {lines}", rule.run)));
        let mut history = turn.checks.history.lock();
        let note = history.ended(rule, &checked.end, &edited.files);
        match rule.kind {
            CheckKind::Format => unformatted.extend(note),
            CheckKind::Check => told.extend(note),
        }
        is_checked |= rule.kind == CheckKind::Check;
        if checked.end == CheckEnd::Cancelled {
            return Ok(None);
        }
    }
    // A formatter fails where a file cannot be read, which a check says better.
    if !is_checked {
        told.append(&mut unformatted);
    }
    Ok((!told.is_empty()).then(|| format!("After your edits:\n{}", told.join("\n"))))
}

/// The rules that are for some of these files, each with those.
async fn chosen(
    turn: &Turn,
    files: &[PathBuf],
) -> Result<Vec<(CheckRule, Vec<PathBuf>)>, SessionGone> {
    let settings = &turn.shared.config.checks;
    let mut configured = settings.rules.clone();
    let trusted = match settings.choice {
        CheckChoice::Auto => trusted(turn).await,
        CheckChoice::Configured | CheckChoice::Off => ProjectTrust::None,
    };
    let directory = turn.card.directory.clone();
    let files = files.to_vec();
    let look = move || {
        let (own, found) = trusted.rules(&directory);
        let complaint = own.as_ref().err().cloned();
        configured.extend(own.unwrap_or_default());
        let is_there = |file: &Path| directory.join(file).is_file();
        let chosen = checks::chosen(configured, found, &files, &is_there);
        (chosen, complaint)
    };
    let looked = tokio::task::spawn_blocking(look).await;
    let (mut chosen, complaint) = looked.unwrap_or_default();
    let policy = Arc::clone(&turn.own().policy);
    chosen.retain(|(rule, files)| is_allowed(&policy, rule, files));
    let is_new = {
        let mut said = turn.checks.complaint.lock();
        let is_new = *said != complaint;
        said.clone_from(&complaint);
        is_new
    };
    if let Some(line) = complaint.filter(|_| is_new) {
        turn.tell(Fact::Note(NoteFact::Logged { line })).await?;
    }
    Ok(chosen)
}

/// Whether no rule of the user's policy is against it. What they configured themselves is allowed.
fn is_allowed(policy: &Policy, rule: &CheckRule, files: &[PathBuf]) -> bool {
    if matches!(rule.origin, RuleOrigin::User(_)) {
        return true;
    }
    let line = rule.line(files);
    let decision = policy.decide(&PolicyCall {
        tool: "bash",
        summary: &line,
        command: Some(&line),
        paths: &[],
        hosts: &[],
        judgement: &Judgement::Allow,
    });
    match decision {
        Decision::Allow => true,
        Decision::Ask { .. } | Decision::Refuse { .. } => false,
    }
}

/// How far a project may run what it brings along, without anybody being asked.
enum ProjectTrust {
    None,
    /// What was trusted by its content; a change of it is not.
    Content(tools::Trusted),
    All,
}

async fn trusted(turn: &Turn) -> ProjectTrust {
    if turn.permits.borrow().settings.auto_approve {
        return ProjectTrust::All;
    }
    if turn.shared.sandbox().await.mode() == Mode::Nothing {
        return ProjectTrust::None;
    }
    let named = &turn.shared.config.checks.trusted;
    if named
        .iter()
        .any(|named| turn.card.directory.starts_with(named))
    {
        return ProjectTrust::All;
    }
    match trust::look(&turn.shared, &turn.card).await {
        Ok(Trust::Trusted(content)) => ProjectTrust::Content(content.as_trusted()),
        Ok(Trust::Nothing | Trust::Untrusted(_) | Trust::Unreadable) | Err(_) => ProjectTrust::None,
    }
}

impl ProjectTrust {
    /// The workspace's own rules, or why they cannot be used; and those that are found.
    fn rules(&self, directory: &Path) -> (Result<Vec<CheckRule>, String>, Vec<CheckRule>) {
        if matches!(self, ProjectTrust::None) {
            return (Ok(Vec::new()), Vec::new());
        }
        let path = std::env::var_os("PATH");
        let found = checks::find(directory, path.as_deref());
        let file = checks::workspace_file();
        let Ok(text) = std::fs::read_to_string(directory.join(&file)) else {
            return (Ok(Vec::new()), found);
        };
        let may_use = match self {
            ProjectTrust::None => false,
            ProjectTrust::Content(trusted) => trusted.has(&file, text.as_bytes()),
            ProjectTrust::All => true,
        };
        let own = match may_use {
            true => checks::in_workspace(&text),
            false => Ok(Vec::new()),
        };
        let shown = file.display();
        let own = own.map_err(|(line, what)| {
            format!("[checks] {shown}, line {line}: {what}; nothing in it is used")
        });
        (own, found)
    }
}

/// Runs one and records it as a call that works for the last edit: everyone sees the command and how
/// it ended, and the model's conversation has only what is told of it.
async fn run(
    turn: &Arc<Turn>,
    step: u32,
    parent: &ItemId,
    checker: &dyn Checker,
    files: &[PathBuf],
) -> Result<CheckRun, SessionGone> {
    let tag = turn.tag(step);
    let call = Arc::new(call(turn, parent, checker, files));
    let tell = async |what| {
        turn.tell(Fact::tool(tag.clone(), Arc::clone(&call), what))
            .await
    };
    tell(ToolFact::Planned { content: 0 }).await?;
    tell(ToolFact::Reached).await?;
    writes::before(turn, &call).await?;
    let started = Fact::tool(tag.clone(), Arc::clone(&call), ToolFact::Started);
    turn.commit(started).await?;
    let cx = tooling::context(turn, &tag, &call).await;
    let began = Instant::now();
    let checked = checker.check(&cx, files).await;
    let ran = Some(began.elapsed());
    let outcome = match checked.output.clone() {
        Ok(output) => ToolOutcome::Succeeded(output),
        Err(Failure::Error(error)) => ToolOutcome::Failed { error },
        Err(Failure::Cancelled(output)) => ToolOutcome::Interrupted(output),
    };
    tooling::tell_end(turn, &tag, &call, &outcome, ran).await?;
    Ok(checked)
}

fn call(turn: &Turn, parent: &ItemId, checker: &dyn Checker, files: &[PathBuf]) -> ToolCall {
    let item = turn.new_item();
    let name = checker.rule().kind.key();
    ToolCall {
        call_id: item.to_string(),
        item,
        name: name.to_owned(),
        input: json!({ "command": checker.rule().line(files) }),
        subject: checker.subject(files),
        effects: Effects::RUNS,
        native: None,
        problem: None,
        by_user: false,
        agent: Some(Box::new(SubAgent {
            parent: parent.clone(),
            kind: name.to_owned(),
            depth: 1,
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_used_as_they_were_trusted_and_not_as_they_became() {
        let scratch = tempfile::tempdir().expect("a directory");
        let file = checks::workspace_file();
        let full = scratch.path().join(&file);
        std::fs::create_dir_all(full.parent().expect("a folder")).expect("made");
        let rules = "[[check]]\nfiles = '*'\nrun = 'x'\n";
        std::fs::write(&full, rules).expect("written");
        let own = |trust: &ProjectTrust| trust.rules(scratch.path()).0.map(|own| own.len());
        let files = [(file, blake3::hash(rules.as_bytes()))].into();
        let trusted = ProjectTrust::Content(tools::Trusted::new(files));
        assert_eq!(own(&trusted), Ok(1));
        assert_eq!(own(&ProjectTrust::All), Ok(1));
        assert_eq!(own(&ProjectTrust::None), Ok(0));
        std::fs::write(&full, format!("{rules}timeout = 5\n")).expect("written");
        assert_eq!(own(&trusted), Ok(0));
        assert_eq!(own(&ProjectTrust::All), Ok(1));
    }

    #[test]
    fn a_policy_is_against_what_a_project_brings_and_not_against_what_the_user_wants() {
        let policy = json!({"rule": [{"effect": "refuse", "command": "npx"}]});
        let policy: Policy = serde_json::from_value(policy).expect("a policy");
        let text = "[[check]]\nfiles = '*'\nrun = 'cd a && npx lint {files}'\n\
                    [[check]]\nfiles = '*'\nrun = 'lint {files}'\n";
        let mut rules = checks::in_workspace(text).expect("rules");
        let files = [PathBuf::from("a")];
        let allowed = |rule: &CheckRule| is_allowed(&policy, rule, &files);
        assert_eq!(rules.iter().map(allowed).collect::<Vec<_>>(), [false, true]);
        rules[0].origin = RuleOrigin::User(1);
        assert!(allowed(&rules[0]));
    }
}
