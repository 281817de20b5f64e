//! A turn's two ends, its plan, and what is said about its thread.

use vocabulary::{
    ItemId, PlanStep, PlanStepStatus, StreamTag, Timestamp, Title, TurnId, TurnOutcome, Usage,
    UserInput,
};

use super::{EventForClient, items};
use crate::Frame;
use crate::codex::wire::item::ThreadItem;
use crate::codex::wire::notice::{
    CodexPlanStatus, ErrorNotice, PlanStatus, ThreadNameUpdated, ThreadNamed, ThreadStatusChanged,
    ThreadTokenUsage, ThreadTokenUsageUpdated, TokenUsageBreakdown, TurnChanged, TurnDiffUpdated,
    TurnPlanStep, TurnPlanUpdated, ZanePlanStatus,
};
use crate::codex::wire::thread::{CodexErrorInfo, ThreadStatus, Turn, TurnError};
use crate::codex::{Endpoint, show};

pub fn status(told: EventForClient<'_>, status: ThreadStatus) -> Frame {
    let thread_id = told.thread;
    let params = ThreadStatusChanged { thread_id, status };
    told.notify("thread/status/changed", &params)
}

pub fn named(told: EventForClient<'_>, title: &Title) -> Frame {
    let params = ThreadNameUpdated {
        thread_id: told.thread,
        thread_name: &title.text,
        name: &title.text,
    };
    told.notify("thread/name/updated", &params)
}

/// The turns that are left are read again by who shows them.
pub fn reverted(told: EventForClient<'_>) -> Frame {
    let thread_id = told.thread;
    told.notify("thread/reverted", &ThreadNamed { thread_id })
}

pub fn archived(told: EventForClient<'_>, archived: bool) -> Frame {
    let method = match archived {
        true => "thread/archived",
        false => "thread/unarchived",
    };
    let thread_id = told.thread;
    told.notify(method, &ThreadNamed { thread_id })
}

/// A turn that was ordered has no input: nothing was said.
pub fn started(told: EventForClient<'_>, turn: &TurnId, input: Option<&UserInput>) -> Vec<Frame> {
    let started = TurnChanged {
        thread_id: told.thread,
        turn: Turn {
            started_at: Some(told.event.at.seconds()),
            ..show::turn(told.endpoint, turn)
        },
    };
    let running = status(told, show::running_status(told.endpoint));
    let mut frames = vec![running, told.notify("turn/started", &started)];
    frames.extend(input.into_iter().flat_map(|input| said(told, turn, input)));
    frames
}

/// What a user says is an item of its turn, whether it starts it or comes while it runs.
pub fn said(told: EventForClient<'_>, turn: &TurnId, input: &UserInput) -> Vec<Frame> {
    whole(told, turn, items::said(input))
}

pub fn compacted(told: EventForClient<'_>, tag: &StreamTag, item: &ItemId) -> Vec<Frame> {
    whole(told, &tag.turn, items::compacted(item))
}

/// An item that is told as a whole.
pub fn whole(told: EventForClient<'_>, turn: &TurnId, item: ThreadItem<'_>) -> Vec<Frame> {
    vec![
        items::started(told, turn, item.clone()),
        items::completed(told, turn, item),
    ]
}

pub fn finished(
    told: EventForClient<'_>,
    turn: &TurnId,
    outcome: &TurnOutcome,
    started_at: Option<Timestamp>,
) -> Vec<Frame> {
    let failed = failed(told, turn, outcome);
    let rest = status(told, show::rest_status(told.endpoint, outcome));
    let completed = completed(told, turn, outcome, started_at);
    failed.into_iter().chain([rest, completed]).collect()
}

/// That a turn is over, and nothing else.
pub fn completed(
    told: EventForClient<'_>,
    turn: &TurnId,
    outcome: &TurnOutcome,
    started_at: Option<Timestamp>,
) -> Frame {
    let completed = TurnChanged {
        thread_id: told.thread,
        turn: Turn {
            status: show::turn_status(told.endpoint, Some(outcome)),
            error: show::turn_error(outcome),
            started_at: started_at.map(Timestamp::seconds),
            completed_at: Some(told.event.at.seconds()),
            duration_ms: show::duration_ms(started_at, told.event.at),
            ..show::turn(told.endpoint, turn)
        },
    };
    told.notify("turn/completed", &completed)
}

fn failed(told: EventForClient<'_>, turn: &TurnId, outcome: &TurnOutcome) -> Option<Frame> {
    let error = show::turn_error(outcome)?;
    let params = ErrorNotice {
        thread_id: told.thread,
        turn_id: turn.as_str(),
        message: error.message,
        error: error.clone(),
        will_retry: false,
    };
    Some(told.notify("error", &params))
}

/// The request is made again: an error that does not end the turn.
pub fn delayed(
    told: EventForClient<'_>,
    tag: &StreamTag,
    attempt: u32,
    delay_ms: u64,
    why: &str,
) -> Frame {
    let seconds = delay_ms.div_ceil(1000);
    let message = format!("Attempt {attempt} failed; trying again in {seconds} s");
    let params = ErrorNotice {
        thread_id: told.thread,
        turn_id: tag.turn.as_str(),
        message: &message,
        error: TurnError {
            message: &message,
            codex_error_info: Some(CodexErrorInfo::ResponseStreamDisconnected {
                http_status_code: None,
            }),
            additional_details: Some(why),
        },
        will_retry: true,
    };
    told.notify("error", &params)
}

/// The thread's sum, and this step's own, which is what its context holds now. Nothing is told of a
/// provider that does not count.
pub fn used(
    told: EventForClient<'_>,
    tag: &StreamTag,
    step: Usage,
    thread: Usage,
    model_context_window: Option<u64>,
) -> Vec<Frame> {
    if thread.total_tokens() == 0 && step.total_tokens() == 0 {
        return Vec::new();
    }
    let (total, last) = (breakdown(thread), breakdown(step));
    let params = ThreadTokenUsageUpdated {
        thread_id: told.thread,
        turn_id: tag.turn.as_str(),
        token_usage: ThreadTokenUsage {
            total,
            last,
            model_context_window,
        },
        flat: total,
    };
    vec![told.notify("thread/tokenUsage/updated", &params)]
}

fn breakdown(usage: Usage) -> TokenUsageBreakdown {
    TokenUsageBreakdown {
        total_tokens: usage.total_tokens(),
        input_tokens: usage.input_tokens,
        cached_input_tokens: usage.cached_tokens,
        output_tokens: usage.output_tokens,
        reasoning_output_tokens: usage.reasoning_tokens,
    }
}

/// What the turn has made of the workspace so far, as a whole.
pub fn diffed(told: EventForClient<'_>, turn: &TurnId, diff: &str) -> Frame {
    let params = TurnDiffUpdated {
        thread_id: told.thread,
        turn_id: turn.as_str(),
        diff,
    };
    told.notify("turn/diff/updated", &params)
}

/// A plan that no turn made has nobody to be told to: clients show it within a turn.
pub fn planned(told: EventForClient<'_>, turn: Option<&TurnId>, steps: &[PlanStep]) -> Vec<Frame> {
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
    vec![told.notify("turn/plan/updated", &params)]
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
