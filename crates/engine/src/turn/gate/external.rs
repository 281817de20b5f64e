//! Whether an external agent may do what it asks permission for: the user's rules, the thread's settings,
//! and a person.

use tools::policy::Decision;
use tools::{Judgement, Risk, Scope};
use vocabulary::{Closing, StreamTag, ToolCall, ToolOutcome};

use super::{
    ApprovalRequest, GateDecision, approval, command_of, covered, decided, denied, relative,
    unasked,
};
use crate::turn::tooling::{self, CANCELLED};
use crate::turn::{SessionGone, Turn};

/// What becomes of something that an external agent asks permission for.
pub enum ExternalVerdict {
    Allow,
    Deny(Box<ToolOutcome>),
    /// The turn is over.
    Cancelled(Box<ToolOutcome>),
}

/// Decides on something that an external agent would do itself, where no sandbox of ours holds it. `key`:
/// what a yes for longer than once is kept under.
pub async fn permit(
    turn: &Turn,
    tag: &StreamTag,
    call: &ToolCall,
    agent: &str,
    key: String,
) -> Result<ExternalVerdict, SessionGone> {
    let deny = |error: String| ExternalVerdict::Deny(Box::new(ToolOutcome::Failed { error }));
    let scope = tooling::scope(turn);
    if scope.read_only && (call.effects.writes || call.effects.runs) {
        return Ok(deny("not run: this thread may only read".to_owned()));
    }
    let wish = match external_wish(turn, call, agent, &scope) {
        GateDecision::Run => return Ok(ExternalVerdict::Allow),
        GateDecision::Refuse(error) => return Ok(deny(error)),
        GateDecision::Ask(wish) => wish,
    };
    let unasked = unasked(&turn.permits.borrow().settings, &wish);
    match unasked {
        Some(Ok(())) => return Ok(ExternalVerdict::Allow),
        Some(Err(error)) => return Ok(deny(error)),
        None => {}
    }
    let _one = turn.asks_in_turn.lock().await;
    if covered(turn, &key, &[]).await {
        return Ok(ExternalVerdict::Allow);
    }
    let kind = approval(call, None, wish, key);
    let closing = turn.ask(tag.clone(), call, kind).await?;
    if closing.approved() {
        return Ok(ExternalVerdict::Allow);
    }
    Ok(match closing {
        Closing::Answered(_) => ExternalVerdict::Deny(Box::new(ToolOutcome::Denied(denied(call)))),
        Closing::Cancelled => {
            let why = CANCELLED.to_owned();
            ExternalVerdict::Cancelled(Box::new(ToolOutcome::NotRun { why }))
        }
        Closing::Lost { why } => ExternalVerdict::Deny(Box::new(ToolOutcome::NotRun { why })),
    })
}

/// What the user's rules make of it. One that allows a command only lifts what a sandbox holds, and none
/// does.
fn external_wish(turn: &Turn, call: &ToolCall, agent: &str, scope: &Scope) -> GateDecision {
    let outside = format!("{agent} does it itself, outside of this server's sandbox");
    let judged = command_of(call).map(|line| tools::risk::judge_command(scope, line));
    let judgement = match judged {
        Some(Judgement::Ask {
            command,
            dangerous,
            risk,
            why,
        }) => Judgement::Ask {
            command,
            dangerous,
            risk,
            why: format!("{why}; {outside}"),
        },
        Some(Judgement::Allow) | None => Judgement::Ask {
            command: external_summary(turn, call),
            dangerous: false,
            risk: Risk::ManualReview,
            why: outside,
        },
    };
    match (decided(turn, call, scope, &judgement), judgement) {
        (Decision::Refuse { why }, _) => GateDecision::Refuse(why),
        (Decision::Allow, _) if !call.is_command() => GateDecision::Run,
        (
            Decision::Ask {
                command,
                dangerous,
                risk,
                why: Some(why),
            },
            _,
        ) => GateDecision::Ask(ApprovalRequest {
            command,
            dangerous,
            risk,
            why,
        }),
        (
            Decision::Allow | Decision::Ask { .. },
            Judgement::Ask {
                command,
                dangerous,
                risk,
                why,
            },
        ) => GateDecision::Ask(ApprovalRequest {
            command,
            dangerous,
            risk,
            why,
        }),
        (Decision::Allow | Decision::Ask { .. }, Judgement::Allow) => GateDecision::Run,
    }
}

/// In one line what an external agent would do: its own words, but for files, which are named.
fn external_summary(turn: &Turn, call: &ToolCall) -> String {
    if let Some(line) = command_of(call) {
        return line.to_owned();
    }
    let files: Vec<String> = call
        .subject
        .files()
        .iter()
        .map(|file| relative(turn, &file.path))
        .collect();
    match files.is_empty() {
        true => call.title().to_owned(),
        false => format!("{} {}", call.name, files.join(" ")),
    }
}
