//! What a person orders in a thread: a summary, a review, a command of their own.
//!
//! The app-server's own client ends when one of these is answered with an error. What such a request
//! meets in a thread that is there is therefore told in the thread: an answer as always, and an `error`.

use vocabulary::{Call, Refusal, ReviewTarget, RunShell, StartReview, ThreadId, Why};

use super::act::parse;
use super::calls::CodexPurpose;
use super::refuse::CodexError;
use super::tell::notify;
use super::wire::notice::ErrorNotice;
use super::wire::orders::{
    ReviewStartParams, ReviewStartResponse, ReviewStartTarget, ThreadShellCommandParams,
};
use super::wire::params::ThreadParams;
use super::wire::results::Empty;
use super::wire::thread::{Turn, TurnError};
use super::{Codex, Endpoint, respond, send, show};
use crate::Action;
use crate::jsonrpc::Id;

#[derive(Debug)]
pub enum OrderRequest {
    Compact(ThreadParams),
    Review(ReviewStartParams),
    Shell(ThreadShellCommandParams),
}

/// What an answer is for.
#[derive(Clone, Debug)]
pub struct OrderPurpose {
    pub id: Id,
    pub thread: ThreadId,
    /// Whether the answer names the turn.
    pub names_turn: bool,
}

impl Codex {
    pub(super) fn order(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        request: OrderRequest,
    ) -> Result<(), CodexError> {
        let (thread, call, names_turn) = match request {
            OrderRequest::Compact(params) => {
                let thread = parse(&params.thread_id)?;
                (thread, Call::CompactThread { thread }, false)
            }
            OrderRequest::Shell(params) => {
                let thread = parse(&params.thread_id)?;
                let run = RunShell {
                    thread,
                    timeout_ms: timeout(params.timeout_ms)?,
                    command: params.command,
                };
                (thread, Call::RunShell(run), false)
            }
            OrderRequest::Review(params) => {
                let thread = parse(&params.thread_id)?;
                let target = target(params)?;
                (
                    thread,
                    Call::StartReview(StartReview { thread, target }),
                    true,
                )
            }
        };
        let purpose = OrderPurpose {
            id,
            thread,
            names_turn,
        };
        self.calls.make(out, CodexPurpose::Order(purpose), call);
        Ok(())
    }

    pub(super) fn ordered(
        &self,
        out: &mut Vec<Action>,
        purpose: &OrderPurpose,
        turn: &vocabulary::StartedTurn,
    ) {
        match purpose.names_turn {
            true => {
                let answer = ReviewStartResponse {
                    turn: show::turn(self.endpoint, &turn.turn),
                    review_thread_id: purpose.thread.to_string(),
                };
                send(out, respond(&purpose.id, &answer));
            }
            false => send(out, respond(&purpose.id, &Empty {})),
        }
    }

    pub(super) fn order_refused(
        &self,
        out: &mut Vec<Action>,
        purpose: &OrderPurpose,
        refusal: &Refusal,
    ) {
        if self.endpoint == Endpoint::Zane || is_for_the_caller(&refusal.why) {
            send(out, CodexError::from(refusal).frame(Some(&purpose.id)));
            return;
        }
        let thread_id = purpose.thread.to_string();
        let error = TurnError {
            message: &refusal.message,
            codex_error_info: None,
            additional_details: None,
        };
        match purpose.names_turn {
            // A turn that never was: it has failed, and the words say why.
            true => {
                let none = vocabulary::TurnId::new("");
                let answer = ReviewStartResponse {
                    turn: Turn {
                        status: show::failed_status(self.endpoint),
                        error: Some(error.clone()),
                        ..show::turn(self.endpoint, &none)
                    },
                    review_thread_id: thread_id.clone(),
                };
                send(out, respond(&purpose.id, &answer));
            }
            false => send(out, respond(&purpose.id, &Empty {})),
        }
        let notice = ErrorNotice {
            thread_id: &thread_id,
            turn_id: "",
            message: error.message,
            error: error.clone(),
            will_retry: false,
        };
        send(out, notify("error", &notice));
    }
}

/// Whether a refusal is about the request itself, rather than about how the thread stands.
fn is_for_the_caller(why: &Why) -> bool {
    match why {
        Why::UnknownThread | Why::Invalid { .. } | Why::Unauthenticated | Why::Conflict => true,
        Why::Busy
        | Why::UnknownAsk
        | Why::UnknownCheckpoint
        | Why::UnknownFile
        | Why::AlreadyAnswered
        | Why::BlankAnswer
        | Why::NoRunningTurn
        | Why::Forbidden
        | Why::OwnedElsewhere
        | Why::NotAvailable
        | Why::Provider
        | Why::ShuttingDown
        | Why::InsufficientCredits
        | Why::Storage
        | Why::Internal => false,
    }
}

fn timeout(given: Option<i64>) -> Result<Option<u64>, CodexError> {
    let read = |ms: i64| {
        u64::try_from(ms).map_err(|_| {
            let message = "thread/shellCommand: timeoutMs: expected a number that is not negative";
            CodexError::params(message)
        })
    };
    given.map(read).transpose()
}

fn target(params: ReviewStartParams) -> Result<ReviewTarget, CodexError> {
    match params.delivery.as_deref() {
        None | Some("inline") => {}
        Some(_) => {
            let message = "review/start: delivery: only \"inline\" is there; to review in a thread of \
                           its own, start one and name it in threadId";
            return Err(CodexError::params(message));
        }
    }
    Ok(match params.target {
        ReviewStartTarget::UncommittedChanges => ReviewTarget::Uncommitted,
        ReviewStartTarget::BaseBranch { branch } => ReviewTarget::BaseBranch { branch },
        ReviewStartTarget::Commit { sha, title } => ReviewTarget::Commit { sha, title },
        ReviewStartTarget::Custom { instructions } => {
            ReviewTarget::Instructions { text: instructions }
        }
    })
}
