//! Threads, turns and their statuses in each endpoint's spelling.

use vocabulary::{
    AskKind, Status, Thread as CoreThread, ThreadSort, ThreadView, Timestamp, TurnErrorKind,
    TurnId, TurnOutcome,
};

use super::Endpoint;
use super::offer::Names;
use super::wire::params::GrantScope;
use super::wire::results::{Grant, ThreadOpened};
use super::wire::thread::{
    ActiveFlag, CodexErrorInfo, CodexThreadStatus, CodexTurnStatus, ItemsView, Thread,
    ThreadStatus, Turn, TurnError, TurnStatus, ZaneThreadStatus, ZaneTurnStatus,
};
use super::{metadata, permissions, sections};

/// To whom something is shown, and how models are called there.
#[derive(Clone, Copy)]
pub struct Speaking<'a> {
    pub endpoint: Endpoint,
    pub names: &'a Names,
}

pub fn thread<'a>(
    speaking: Speaking<'a>,
    thread: &'a CoreThread,
    turns: Vec<Turn<'a>>,
) -> Thread<'a> {
    let (card, model) = (&thread.card, &thread.settings.model);
    let title = thread.title.text.as_str();
    let section = thread.section.as_deref();
    Thread {
        id: card.id.to_string(),
        session_id: card.id.to_string(),
        name: (!title.is_empty()).then_some(title),
        preview: &thread.preview,
        model: speaking.names.of(model),
        model_provider: &model.provider,
        created_at: card.created_at.seconds(),
        updated_at: thread.updated_at.seconds(),
        recency_at: match speaking.endpoint {
            Endpoint::Codex => Some(ThreadSort::Active.time(thread).seconds()),
            Endpoint::Zane => None,
        },
        forked_from_id: card.forked_from.as_ref().map(|it| it.thread.to_string()),
        status: thread_status(speaking.endpoint, thread.status),
        cwd: card.directory.to_string_lossy(),
        cli_version: env!("CARGO_PKG_VERSION"),
        source: "appServer",
        ephemeral: card.ephemeral,
        git_info: match speaking.endpoint {
            Endpoint::Codex => thread.settings.git.as_deref().map(metadata::shown),
            Endpoint::Zane => None,
        },
        section: section.map(|it| sections::shown(&it.section)),
        section_entered_at: section.map(|it| it.entered_at.seconds()),
        project_id: None,
        turns,
    }
}

/// A thread that this connection now hears, and what is in force there.
pub fn opened<'a>(
    speaking: Speaking<'a>,
    view: &'a ThreadView,
    asks: &[&AskKind],
    turns: Vec<Turn<'a>>,
) -> ThreadOpened<'a> {
    let known = &view.thread;
    ThreadOpened {
        model: speaking.names.of(&known.settings.model),
        model_provider: &known.settings.model.provider,
        cwd: known.card.directory.to_string_lossy(),
        approval_policy: permissions::approval_policy_in_force(speaking.endpoint, &known.settings),
        approvals_reviewer: permissions::REVIEWER,
        sandbox: permissions::sandbox_in_force(&known.settings, view.sandbox),
        active_permission_profile: permissions::active_profile(&known.settings, view.sandbox),
        reasoning_effort: view.effort.as_deref(),
        thread: loaded(speaking, known, asks, turns),
        initial_turns_page: None,
    }
}

/// A thread that is heard: what is heard is loaded.
pub fn loaded<'a>(
    speaking: Speaking<'a>,
    known: &'a CoreThread,
    asks: &[&AskKind],
    turns: Vec<Turn<'a>>,
) -> Thread<'a> {
    let endpoint = speaking.endpoint;
    let mut shown = thread(speaking, known, turns);
    shown.status = match (asks.first(), known.status) {
        (Some(kind), _) => waiting_status(endpoint, kind),
        (None, Status::Inactive | Status::Activating) => thread_status(endpoint, Status::Ready),
        (
            None,
            Status::Ready
            | Status::Running
            | Status::Waiting
            | Status::Deactivating
            | Status::Error,
        ) => thread_status(endpoint, known.status),
    };
    shown
}

pub fn thread_status(endpoint: Endpoint, status: Status) -> ThreadStatus {
    let (zane, codex) = match status {
        Status::Inactive | Status::Activating | Status::Deactivating => {
            (ZaneThreadStatus::NotLoaded, CodexThreadStatus::NotLoaded)
        }
        Status::Ready => (ZaneThreadStatus::Idle, CodexThreadStatus::Idle),
        Status::Running | Status::Waiting => return active(endpoint, Vec::new()),
        Status::Error => (
            ZaneThreadStatus::SystemError,
            CodexThreadStatus::SystemError,
        ),
    };
    match endpoint {
        Endpoint::Zane => ThreadStatus::Zane(zane),
        Endpoint::Codex => ThreadStatus::Codex(codex),
    }
}

pub fn running_status(endpoint: Endpoint) -> ThreadStatus {
    active(endpoint, Vec::new())
}

pub fn waiting_status(endpoint: Endpoint, kind: &AskKind) -> ThreadStatus {
    let flag = match kind {
        AskKind::Approval(_) => ActiveFlag::WaitingOnApproval,
        AskKind::Questions(_) => ActiveFlag::WaitingOnUserInput,
    };
    active(endpoint, vec![flag])
}

fn active(endpoint: Endpoint, active_flags: Vec<ActiveFlag>) -> ThreadStatus {
    match endpoint {
        Endpoint::Zane => ThreadStatus::Zane(ZaneThreadStatus::Active),
        Endpoint::Codex => ThreadStatus::Codex(CodexThreadStatus::Active { active_flags }),
    }
}

pub fn rest_status(endpoint: Endpoint, outcome: &TurnOutcome) -> ThreadStatus {
    let status = match outcome {
        TurnOutcome::Completed | TurnOutcome::Cancelled => Status::Ready,
        TurnOutcome::Failed(_) => Status::Error,
    };
    thread_status(endpoint, status)
}

/// A turn that runs, without its items.
pub fn turn(endpoint: Endpoint, turn: &TurnId) -> Turn<'_> {
    Turn {
        id: turn.as_str(),
        items: Vec::new(),
        items_view: ItemsView::NotLoaded,
        status: turn_status(endpoint, None),
        error: None,
        started_at: None,
        completed_at: None,
        duration_ms: None,
    }
}

/// How long a turn took that has ended.
pub fn duration_ms(started_at: Option<Timestamp>, ended_at: Timestamp) -> Option<i64> {
    let started_at = started_at?;
    Some(ended_at.millis().saturating_sub(started_at.millis()).max(0))
}

/// No outcome: it runs.
pub fn turn_status(endpoint: Endpoint, outcome: Option<&TurnOutcome>) -> TurnStatus {
    let (zane, codex) = match outcome {
        None => (ZaneTurnStatus::InProgress, CodexTurnStatus::InProgress),
        Some(TurnOutcome::Completed) => (ZaneTurnStatus::Completed, CodexTurnStatus::Completed),
        Some(TurnOutcome::Cancelled) => (ZaneTurnStatus::Interrupted, CodexTurnStatus::Interrupted),
        Some(TurnOutcome::Failed(_)) => (ZaneTurnStatus::Failed, CodexTurnStatus::Failed),
    };
    match endpoint {
        Endpoint::Zane => TurnStatus::Zane(zane),
        Endpoint::Codex => TurnStatus::Codex(codex),
    }
}

/// Of a turn that failed before it began.
pub fn failed_status(endpoint: Endpoint) -> TurnStatus {
    match endpoint {
        Endpoint::Zane => TurnStatus::Zane(ZaneTurnStatus::Failed),
        Endpoint::Codex => TurnStatus::Codex(CodexTurnStatus::Failed),
    }
}

pub fn turn_error(outcome: &TurnOutcome) -> Option<TurnError<'_>> {
    let TurnOutcome::Failed(error) = outcome else {
        return None;
    };
    Some(TurnError {
        message: &error.message,
        codex_error_info: match error.kind {
            // None of its words says it better than the message does.
            TurnErrorKind::Provider
            | TurnErrorKind::StepLimit
            | TurnErrorKind::Loop
            | TurnErrorKind::OutputLimit
            | TurnErrorKind::EmptyAnswer => None,
            TurnErrorKind::ContextFull => Some(CodexErrorInfo::ContextWindowExceeded),
            TurnErrorKind::InsufficientCredits => Some(CodexErrorInfo::UsageLimitExceeded),
            TurnErrorKind::Budget => Some(CodexErrorInfo::SessionBudgetExceeded),
            TurnErrorKind::ServerRestart | TurnErrorKind::AgentLost | TurnErrorKind::Internal => {
                Some(CodexErrorInfo::InternalServerError)
            }
        },
        additional_details: None,
    })
}

/// What was allowed for more than once, as a list shows it.
pub fn grant(grant: &vocabulary::Grant) -> Grant<'_> {
    Grant {
        id: &grant.id,
        what: &grant.what,
        key: &grant.key,
        scope: match grant.scope {
            vocabulary::GrantScope::Turn => GrantScope::Turn,
            vocabulary::GrantScope::Session => GrantScope::Session,
            vocabulary::GrantScope::Workspace => GrantScope::Workspace,
        },
        granted_at: grant.at.0,
        granted_by: grant.by.as_ref().map(ToString::to_string),
    }
}

pub fn grant_scope(scope: GrantScope) -> vocabulary::GrantScope {
    match scope {
        GrantScope::Turn => vocabulary::GrantScope::Turn,
        GrantScope::Session => vocabulary::GrantScope::Session,
        GrantScope::Workspace => vocabulary::GrantScope::Workspace,
    }
}
