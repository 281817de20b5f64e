//! A turn's two ends, its plan, and what is said about its thread.

use vocabulary::{PlanStep, PlanStepStatus, Title, TurnId, TurnOutcome, Usage, UserInput};

use super::{Told, items, notify};
use crate::Frame;
use crate::codex::wire::notice::{
    CodexPlanStatus, ErrorNotice, PlanStatus, ThreadNameUpdated, ThreadNamed, ThreadStatusChanged,
    ThreadTokenUsage, ThreadTokenUsageUpdated, TokenUsageBreakdown, TurnChanged, TurnPlanStep,
    TurnPlanUpdated, ZanePlanStatus,
};
use crate::codex::wire::thread::{ThreadStatus, Turn};
use crate::codex::{Endpoint, show};

pub fn status(told: Told<'_>, status: ThreadStatus) -> Frame {
    let thread_id = told.thread;
    let params = ThreadStatusChanged { thread_id, status };
    notify("thread/status/changed", &params)
}

pub fn named(told: Told<'_>, title: &Title) -> Frame {
    let params = ThreadNameUpdated {
        thread_id: told.thread,
        thread_name: &title.text,
        name: &title.text,
    };
    notify("thread/name/updated", &params)
}

pub fn archived(told: Told<'_>, archived: bool) -> Frame {
    let method = match archived {
        true => "thread/archived",
        false => "thread/unarchived",
    };
    let thread_id = told.thread;
    notify(method, &ThreadNamed { thread_id })
}

pub fn started(told: Told<'_>, turn: &TurnId, input: &UserInput) -> Vec<Frame> {
    let started = TurnChanged {
        thread_id: told.thread,
        turn: Turn {
            started_at: Some(told.event.at.seconds()),
            ..show::turn(told.endpoint, turn)
        },
    };
    vec![
        status(told, show::running_status(told.endpoint)),
        notify("turn/started", &started),
        items::started(told, turn, items::said(input)),
        items::completed(told, turn, items::said(input)),
    ]
}

pub fn finished(
    told: Told<'_>,
    turn: &TurnId,
    outcome: &TurnOutcome,
    usage: Option<Usage>,
) -> Vec<Frame> {
    let (failed, usage) = (
        failed(told, turn, outcome),
        usage.map(|u| used(told, turn, u)),
    );
    let rest = status(told, show::rest_status(told.endpoint, outcome));
    let completed = TurnChanged {
        thread_id: told.thread,
        turn: Turn {
            status: show::turn_status(told.endpoint, Some(outcome)),
            error: show::turn_error(outcome),
            completed_at: Some(told.event.at.seconds()),
            ..show::turn(told.endpoint, turn)
        },
    };
    let completed = notify("turn/completed", &completed);
    let before = failed.into_iter().chain(usage);
    before.chain([rest, completed]).collect()
}

fn failed(told: Told<'_>, turn: &TurnId, outcome: &TurnOutcome) -> Option<Frame> {
    let error = show::turn_error(outcome)?;
    let params = ErrorNotice {
        thread_id: told.thread,
        turn_id: turn.as_str(),
        message: error.message,
        error: error.clone(),
        will_retry: false,
    };
    Some(notify("error", &params))
}

/// The turn's usage stands for the thread's too: the log keeps no running total.
fn used(told: Told<'_>, turn: &TurnId, usage: Usage) -> Frame {
    let used = TokenUsageBreakdown {
        total_tokens: usage.total_tokens(),
        input_tokens: usage.input_tokens,
        cached_input_tokens: usage.cached_tokens,
        output_tokens: usage.output_tokens,
        reasoning_output_tokens: 0,
    };
    let params = ThreadTokenUsageUpdated {
        thread_id: told.thread,
        turn_id: turn.as_str(),
        token_usage: ThreadTokenUsage {
            total: used,
            last: used,
            model_context_window: None,
        },
        flat: used,
    };
    notify("thread/tokenUsage/updated", &params)
}

/// A plan that no turn made has nobody to be told to: clients show it within a turn.
pub fn planned(told: Told<'_>, turn: Option<&TurnId>, steps: &[PlanStep]) -> Vec<Frame> {
    let Some(turn) = turn else {
        return Vec::new();
    };
    let step = |step| plan_step(told.endpoint, step);
    let params = TurnPlanUpdated {
        thread_id: told.thread,
        turn_id: turn.as_str(),
        explanation: None,
        plan: steps.iter().map(step).collect(),
    };
    vec![notify("turn/plan/updated", &params)]
}

fn plan_step(endpoint: Endpoint, step: &PlanStep) -> TurnPlanStep<'_> {
    TurnPlanStep {
        step: &step.content,
        status: match endpoint {
            Endpoint::Zane => PlanStatus::Zane(match step.status {
                PlanStepStatus::Pending => ZanePlanStatus::Pending,
                PlanStepStatus::InProgress => ZanePlanStatus::InProgress,
                PlanStepStatus::Completed => ZanePlanStatus::Completed,
            }),
            Endpoint::Codex => PlanStatus::Codex(match step.status {
                PlanStepStatus::Pending => CodexPlanStatus::Pending,
                PlanStepStatus::InProgress => CodexPlanStatus::InProgress,
                PlanStepStatus::Completed => CodexPlanStatus::Completed,
            }),
        },
    }
}
