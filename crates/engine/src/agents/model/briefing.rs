//! The context block: what a model is told about where it works before the user's first words, and,
//! before later ones, what changed since. Nothing that was told is ever rewritten, so that each request
//! begins with the one before it.

use std::path::PathBuf;
use std::sync::Arc;

use providers::Message;
use tools::surroundings::{InstructionAuthor, InstructionFile, WorkspaceFacts, instructions_below};
use tools::{SpawnKind, Surroundings};
use vocabulary::{AgentMode, Assignment, ModelRef};

use super::permissions;
use crate::trust::{self, Trust};
use crate::turn::{DueCall, Turn, tooling};

mod sections;
mod told;

use told::ToldContext;

/// The share of the model's context that the list of skills may fill, in percent.
const SKILLS_PERCENT: u64 = 2;
/// What it may fill where the model's context is not known.
const SKILLS_BYTES: usize = 8 * 1024;
/// Names of lines.
const MODEL: &str = "Model";
const PERSON: &str = "Person";
const SERVERS: &str = "MCP servers";
/// How there being no more servers is told.
const NONE: &str = "none";
/// What instructions are called that lie in no file.
const CLIENT: &str = "(client)";
/// A token is about this many bytes of text.
const BYTES_PER_TOKEN: u64 = 4;

/// What is around an agent now; nothing in a mode without tools.
pub async fn look_around(turn: &Turn) -> Surroundings {
    let (auto_approve, mode, given) = {
        let settings = &turn.permits.borrow().settings;
        let given = settings.instructions.clone();
        (settings.auto_approve, settings.mode, given)
    };
    if mode == AgentMode::Chat {
        return Surroundings::default();
    }
    let trust = trust::look(&turn.shared, &turn.card).await;
    let is_trusted = matches!(trust, Ok(Trust::Trusted(_)));
    let waits_for_trust = matches!(trust, Ok(Trust::Untrusted(_)));
    let trusted = match trust {
        Ok(Trust::Nothing) => tools::Trusted::default(),
        Ok(Trust::Trusted(content)) => content.as_trusted(),
        Ok(Trust::Untrusted(content)) if auto_approve => content.as_trusted(),
        Ok(Trust::Untrusted(_) | Trust::Unreadable) | Err(_) => {
            tools::Trusted::nothing("nobody has trusted it yet")
        }
    };
    let mut scope = tooling::scope(turn);
    scope.trusted = trusted.is_some();
    let (shared, own, seen) = (Arc::clone(&turn.shared), turn.own(), Arc::clone(&turn.seen));
    let look = move || {
        let cache = &shared.workspace_facts;
        Surroundings {
            trusted: is_trusted,
            waits_for_trust,
            has_notebook: seen.has_extension("ipynb") || cache.has_notebook(&scope),
            ..tools::surroundings::look(&scope, &trusted, Some(&own.home))
        }
    };
    let looked = tokio::task::spawn_blocking(look);
    // A thread that begins is told more: that is found out at the same time.
    let facts = async {
        if turn.history.message_count <= 1 {
            workspace_facts(turn).await;
        }
    };
    let (looked, ()) = tokio::join!(looked, facts);
    let mut looked = looked.unwrap_or_default();
    looked
        .instructions
        .extend(given.map(|text| InstructionFile {
            path: CLIENT.to_owned(),
            text: text.into(),
            author: InstructionAuthor::Client,
            left_out: 0,
        }));
    looked
}

/// The whole block; none in a mode without tools.
pub async fn whole(turn: &Turn, surroundings: &Surroundings) -> Option<String> {
    let mode = turn.permits.borrow().settings.mode;
    match mode {
        AgentMode::Chat => None,
        AgentMode::Code | AgentMode::Plan => Some(context_block(turn, surroundings).await),
    }
}

/// What the model is to be told before the user's words: the whole block, or what changed since it was
/// told; nothing where nothing did.
pub async fn due(
    turn: &Turn,
    surroundings: &Surroundings,
    messages: &[Arc<Message>],
    news: Vec<String>,
) -> Option<String> {
    if turn.permits.borrow().settings.mode == AgentMode::Chat {
        return None;
    }
    let told = ToldContext::of(messages);
    if told.is_empty() {
        return whole(turn, surroundings).await;
    }
    let mut standing = BriefedState::of(turn, surroundings).await;
    let are_gone =
        turn.servers_line().is_none() && told.line(SERVERS).is_some_and(|told| told != NONE);
    if are_gone {
        standing.lines.push((SERVERS, NONE.to_owned()));
    }
    sections::changes(&standing, surroundings, &told, news, &turn.card.directory)
}

/// The instructions of directories that these calls have come to for the first time.
pub async fn below(
    turn: &Turn,
    surroundings: &Surroundings,
    messages: &[Arc<Message>],
    calls: &[DueCall],
) -> Option<String> {
    let paths: Vec<PathBuf> = calls
        .iter()
        .flat_map(|due| due.call.subject.files())
        .map(|file| PathBuf::from(&file.path))
        // What lies at the top is told already.
        .filter(|path| path.components().nth(1).is_some())
        .collect();
    if paths.is_empty() {
        return None;
    }
    let scope = tooling::scope(turn);
    let look = move || {
        let mut files: Vec<InstructionFile> = Vec::new();
        for found in paths
            .iter()
            .flat_map(|path| instructions_below(&scope, path))
        {
            if !files.contains(&found) {
                files.push(found);
            }
        }
        files
    };
    let files = tokio::task::spawn_blocking(look).await.unwrap_or_default();
    sections::files_below(&files, surroundings, &ToldContext::of(messages))
}

/// The whole block, as things are now.
pub async fn context_block(turn: &Turn, surroundings: &Surroundings) -> String {
    let standing = BriefedState::of(turn, surroundings);
    let (facts, standing) = tokio::join!(workspace_facts(turn), standing);
    sections::block(&standing, &facts, surroundings)
}

/// The same for a sub-agent of this kind: it works on another model, has nobody who answers it, and
/// maybe fewer tools.
pub async fn sub_agent_context(turn: &Turn, kind: &SpawnKind, model: &ModelRef) -> String {
    let mut surroundings = look_around(turn).await;
    surroundings.sub_agents.clear();
    if kind.only_reads() {
        surroundings.skills.clear();
    }
    let standing = BriefedState::of(turn, &surroundings);
    let (facts, mut standing) = tokio::join!(workspace_facts(turn), standing);
    standing.lines.retain(|(name, _)| *name != PERSON);
    let ModelRef { provider, model } = model;
    for (_, value) in standing.lines.iter_mut().filter(|(name, _)| *name == MODEL) {
        *value = format!("{provider}/{model}");
    }
    sections::block(&standing, &facts, &surroundings)
}

/// How the workspace looks from above.
async fn workspace_facts(turn: &Turn) -> Arc<WorkspaceFacts> {
    let (shared, scope) = (Arc::clone(&turn.shared), tooling::scope(turn));
    let look = move || shared.workspace_facts.get(&scope);
    tokio::task::spawn_blocking(look).await.unwrap_or_default()
}

/// What is told beside the surroundings and may change from turn to turn.
struct BriefedState {
    /// The lines of the environment that can change, by name.
    lines: Vec<(&'static str, String)>,
    workspace: String,
    permissions: Vec<String>,
    assignment: Option<Box<Assignment>>,
    /// How much room the list of skills has.
    skills_bytes: usize,
}

impl BriefedState {
    async fn of(turn: &Turn, surroundings: &Surroundings) -> Self {
        let settings = turn.permits.borrow().settings.clone();
        let (sandbox, grants) = tokio::join!(turn.sandbox(), grants(turn));
        let hold = permissions::CommandHold {
            sandbox: &sandbox,
            is_full: turn.has_full_access(),
        };
        let ModelRef { provider, model } = turn.model.as_ref();
        let person = match is_attended(turn) {
            true => "the user can answer, and sees what you do",
            false => "nobody can answer: decide, and say what you assumed",
        };
        let date = tools::surroundings::date(turn.shared.now().0);
        let branch = surroundings.branch.clone();
        let lines = [
            Some(("Date", date)),
            branch.map(|branch| ("Branch", branch)),
            Some((MODEL, format!("{provider}/{model}"))),
            Some((PERSON, person.to_owned())),
            turn.servers_line().map(|line| (SERVERS, line)),
        ];
        let window = turn.context_limit();
        let skills = window.map(|window| window * SKILLS_PERCENT / 100 * BYTES_PER_TOKEN);
        Self {
            lines: lines.into_iter().flatten().collect(),
            workspace: turn.card.directory.display().to_string(),
            permissions: permissions::lines(&settings, hold, &grants),
            assignment: settings.assignment,
            skills_bytes: skills
                .and_then(|bytes| usize::try_from(bytes).ok())
                .unwrap_or(SKILLS_BYTES),
        }
    }
}

/// Whether a tool that is there can do anything now: one that cannot is not offered. A call of it is
/// answered all the same.
pub fn works(turn: &Turn, surroundings: &Surroundings, tool: &str) -> bool {
    match tool {
        "ask" => is_attended(turn),
        "bash" | "job" => turn.may_run_commands(),
        "webSearch" => turn.own().web.can_search(),
        "notebookEdit" => surroundings.has_notebook,
        tools::SKILL => !surroundings.skills.is_empty() || surroundings.waits_for_trust,
        _ => true,
    }
}

/// Whether there is anyone to answer: a thread that asks nobody has nobody.
pub fn is_attended(turn: &Turn) -> bool {
    turn.permits.borrow().settings.approvals != vocabulary::Approvals::Never
}

/// What the user allowed for longer than a turn, in words.
async fn grants(turn: &Turn) -> Vec<String> {
    let grants = turn.shared.grants.standing(&turn.card).await;
    let mut words: Vec<String> = grants
        .unwrap_or_default()
        .into_iter()
        .map(|grant| tools::shown::line(&grant.what).into_owned())
        .collect();
    words.sort();
    words.dedup();
    words
}
