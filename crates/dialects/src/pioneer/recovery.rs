//! Requests to a model that are made again, told as the recovery of an item: of one of its own for the
//! thread's agent, of the call that it works for where a sub-agent made the request.

use std::borrow::Cow;

use serde_json::json;
use vocabulary::{ItemId, RetryStage, StepFact, StreamTag, Timestamp};

use super::wire::item::{SystemEventLevel, TurnItem};
use super::wire::recovery::{RecoveryJobStatus, TurnItemType};

/// What is being recovered.
#[derive(Clone)]
pub struct RecoveredItem<'a> {
    pub id: Cow<'a, str>,
    pub kind: TurnItemType,
    pub job: Cow<'a, str>,
}

/// One thing that is told of a recovery, live and in history alike.
pub enum RecoveryNews<'a> {
    ItemStarted(TurnItem<'a>),
    ItemUpdated(TurnItem<'a>),
    ItemCompleted(TurnItem<'a>),
    Opened {
        of: RecoveredItem<'a>,
        attempt: u32,
    },
    Scheduled {
        of: RecoveredItem<'a>,
        attempt: u32,
        at: i64,
        reason: &'a str,
    },
    AttemptStarted {
        of: RecoveredItem<'a>,
        attempt: u32,
    },
    Succeeded {
        of: RecoveredItem<'a>,
        attempt: u32,
    },
    Exhausted {
        of: RecoveredItem<'a>,
        attempt: u32,
        status: RecoveryJobStatus,
        error: &'a str,
    },
}

const CANCELLED: &str = "the turn was cancelled";

/// What a fact about a request tells; nothing where it went well at once.
pub fn news<'a>(tag: &StreamTag, at: Timestamp, what: &'a StepFact) -> Vec<RecoveryNews<'a>> {
    match what {
        StepFact::Delayed {
            attempt,
            delay_ms,
            error,
            agent,
            discards: _,
        } => {
            let failed = FailedAttempt {
                attempt: *attempt,
                delay_ms: *delay_ms,
                error,
            };
            scheduled(tag, at, agent.as_ref(), failed)
        }
        StepFact::Retried {
            attempt,
            stage,
            agent,
        } => retried(tag, *attempt, stage, agent.as_ref()),
        // tidy: wildcard, because nothing else is made again.
        _ => Vec::new(),
    }
}

struct FailedAttempt<'a> {
    attempt: u32,
    delay_ms: u64,
    error: &'a str,
}

fn recovered<'a>(tag: &StreamTag, agent: Option<&'a ItemId>) -> RecoveredItem<'a> {
    let (turn, step) = (&tag.turn, tag.step);
    match agent {
        Some(call) => RecoveredItem {
            id: Cow::Borrowed(call.as_str()),
            kind: TurnItemType::DynamicToolCall,
            job: Cow::Owned(format!("{call}-recovery")),
        },
        None => RecoveredItem {
            id: Cow::Owned(format!("{turn}-retry-{step}")),
            kind: TurnItemType::SystemEvent,
            job: Cow::Owned(format!("{turn}-recovery-{step}")),
        },
    }
}

fn scheduled<'a>(
    tag: &StreamTag,
    at: Timestamp,
    agent: Option<&'a ItemId>,
    failed: FailedAttempt<'a>,
) -> Vec<RecoveryNews<'a>> {
    let of = recovered(tag, agent);
    let FailedAttempt {
        attempt,
        delay_ms,
        error,
    } = failed;
    let seconds = delay_ms.div_ceil(1000);
    let item = TurnItem::SystemEvent {
        id: of.id.clone(),
        level: SystemEventLevel::Warning,
        message: Cow::Owned(format!("{error}; trying again in {seconds} s")),
        code: "retry_scheduled",
        details: json!({ "attemptNumber": attempt + 1, "delayMs": delay_ms }),
    };
    let mut news = Vec::new();
    match (attempt, agent) {
        (1, None) => news.push(RecoveryNews::ItemStarted(item)),
        (_, None) => news.push(RecoveryNews::ItemUpdated(item)),
        // The call has an item of its own.
        (_, Some(_)) => {}
    }
    if attempt == 1 {
        let of = of.clone();
        news.push(RecoveryNews::Opened { of, attempt });
    }
    let delay = i64::try_from(seconds).unwrap_or(i64::MAX);
    news.push(RecoveryNews::Scheduled {
        of,
        attempt: attempt + 1,
        at: at.seconds().saturating_add(delay),
        reason: error,
    });
    news
}

fn retried<'a>(
    tag: &StreamTag,
    attempt: u32,
    stage: &'a RetryStage,
    agent: Option<&'a ItemId>,
) -> Vec<RecoveryNews<'a>> {
    let of = recovered(tag, agent);
    let ended = |level, code, message: Cow<'a, str>| TurnItem::SystemEvent {
        id: of.id.clone(),
        level,
        message,
        code,
        details: json!({ "attemptNumber": attempt }),
    };
    let (item, told) = match stage {
        RetryStage::Started => return vec![RecoveryNews::AttemptStarted { of, attempt }],
        RetryStage::Succeeded => {
            let words = Cow::Owned(format!("attempt {attempt} succeeded"));
            let item = ended(SystemEventLevel::Info, "retry_succeeded", words);
            (item, RecoveryNews::Succeeded { of, attempt })
        }
        RetryStage::GivenUp { error } => {
            let item = ended(SystemEventLevel::Error, "retry_exhausted", error.into());
            let status = RecoveryJobStatus::Exhausted;
            let told = RecoveryNews::Exhausted {
                of,
                attempt,
                status,
                error,
            };
            (item, told)
        }
        RetryStage::Cancelled => {
            let item = ended(SystemEventLevel::Info, "retry_cancelled", CANCELLED.into());
            let (status, error) = (RecoveryJobStatus::Cancelled, CANCELLED);
            let told = RecoveryNews::Exhausted {
                of,
                attempt,
                status,
                error,
            };
            (item, told)
        }
    };
    match agent {
        None => vec![told, RecoveryNews::ItemCompleted(item)],
        Some(_) => vec![told],
    }
}
