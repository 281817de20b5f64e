//! One tool call of a turn: reached, allowed or not, started on disk, run, finished.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio::time::Instant;
use tools::{Failure, Host, PlacedCall, Scope, SpawnRequest, Tool, ToolCx, normalize};
use vocabulary::{
    Answer, AskKind, Closing, Fact, FileChange, FilePreview, FileSubject, OutputStream, PlanStep,
    Question, StreamTag, Subject, TimeLimit, ToolCall, ToolFact, ToolOutcome, ToolOutput, TurnFact,
};

use super::{DueCall, FromTurn, SessionGone, Turn, checks, gate, offer, trusting, writes};

/// Makes one call and records how it ended. `None`: the turn was cancelled meanwhile.
pub async fn make(turn: &Arc<Turn>, due: &DueCall) -> Result<Option<ToolOutcome>, SessionGone> {
    let DueCall {
        tag, call, reached, ..
    } = due;
    let tool = offer::find(turn, call.agent.as_deref(), &call.name);
    let shown = &previewed(turn, tool.as_ref(), call).await;
    if !reached && !turn.cancel.is_cancelled() {
        turn.tell(Fact::tool(
            tag.clone(),
            Arc::clone(shown),
            ToolFact::Reached,
        ))
        .await?;
    }
    let mut ran = None;
    let outcome = match (tool, &call.problem) {
        (_, Some(problem)) => ToolOutcome::Failed {
            error: problem.clone(),
        },
        (Some(tool), None) => allowed_run(turn, tag, call, tool.as_ref(), &mut ran).await?,
        (None, None) => ToolOutcome::Failed {
            error: offer::unknown(turn, call.agent.as_deref(), &call.name),
        },
    };
    tell_end(turn, tag, shown, &outcome, ran).await?;
    checks::note(turn, call, &outcome);
    Ok((!turn.cancel.is_cancelled()).then_some(outcome))
}

/// The call as people are shown it: with what it would make of files as they are now. What it is judged
/// by stays as its tool says.
async fn previewed(
    turn: &Turn,
    tool: Option<&Arc<dyn Tool>>,
    call: &Arc<ToolCall>,
) -> Arc<ToolCall> {
    let Some(tool) = tool.filter(|_| call.changes_files() && call.problem.is_none()) else {
        return Arc::clone(call);
    };
    let (tool, seen, scope) = (Arc::clone(tool), Arc::clone(&turn.seen), scope(turn));
    let input = call.input.clone();
    let look = move || tool.preview(&scope, &seen, &input);
    let changes = tokio::task::spawn_blocking(look).await.unwrap_or_default();
    if changes.is_empty() {
        return Arc::clone(call);
    }
    let file = |change: FileChange| FileSubject {
        path: change.path,
        preview: Some(FilePreview {
            kind: change.kind,
            diff: change.diff,
        }),
    };
    let subject = Subject::Files(changes.into_iter().map(file).collect());
    Arc::new(ToolCall {
        subject,
        ..(**call).clone()
    })
}

/// Tells how a call ended, how long it ran if it did, and what it changed.
pub async fn tell_end(
    turn: &Turn,
    tag: &StreamTag,
    call: &Arc<ToolCall>,
    outcome: &ToolOutcome,
    ran: Option<Duration>,
) -> Result<(), SessionGone> {
    if let ToolOutcome::Succeeded(ToolOutput::Command { exit_code, .. })
    | ToolOutcome::Interrupted(ToolOutput::Command { exit_code, .. }) = outcome
    {
        let what = ToolFact::Exited {
            exit_code: *exit_code,
        };
        turn.tell(Fact::tool(tag.clone(), Arc::clone(call), what))
            .await?;
    }
    let what = ToolFact::Finished {
        outcome: outcome.clone(),
        duration_ms: ran.map(|ran| u64::try_from(ran.as_millis()).unwrap_or(u64::MAX)),
    };
    turn.tell(Fact::tool(tag.clone(), Arc::clone(call), what))
        .await?;
    writes::after(turn, call, outcome).await
}

/// Ends a call that is not made. `None`: as above.
pub async fn leave_out(
    turn: &Turn,
    due: &DueCall,
    why: &str,
) -> Result<Option<ToolOutcome>, SessionGone> {
    let outcome = ToolOutcome::NotRun {
        why: why.to_owned(),
    };
    let what = ToolFact::Finished {
        outcome: outcome.clone(),
        duration_ms: None,
    };
    turn.tell(Fact::tool(due.tag.clone(), Arc::clone(&due.call), what))
        .await?;
    Ok((!turn.cancel.is_cancelled()).then_some(outcome))
}

async fn allowed_run(
    turn: &Arc<Turn>,
    tag: &StreamTag,
    call: &Arc<ToolCall>,
    tool: &dyn Tool,
    ran: &mut Option<Duration>,
) -> Result<ToolOutcome, SessionGone> {
    if turn.cancel.is_cancelled() {
        return Ok(ToolOutcome::NotRun {
            why: CANCELLED.to_owned(),
        });
    }
    let (scope, trusted) = loop {
        let held = turn.held();
        let mut scope = scope(turn);
        let trusted = trusting::trusted(turn, tag, call).await?;
        scope.trusted = trusted.is_some();
        scope.read_only |= call.agent.as_deref().is_some_and(offer::only_reads);
        scope.outside.asked = tool.reads_outside(&scope, &call.input);
        if let Some(outcome) = gate::refused(turn, tag, call, tool, &scope).await? {
            return Ok(outcome);
        }
        // A person may have been asked for long, and what the thread may do changed meanwhile.
        if turn.held() == held {
            break (scope, trusted);
        }
    };
    writes::before(turn, call).await?;
    if tool.effects().leave_traces() {
        turn.commit(Fact::tool(tag.clone(), Arc::clone(call), ToolFact::Started))
            .await?;
    }
    let cx = ToolCx {
        scope,
        trusted,
        ..context(turn, tag, call).await
    };
    let started = Instant::now();
    let result = tool.run(&cx, call.input.clone()).await;
    *ran = Some(started.elapsed());
    let unheard = turn.unheard.lock().remove(&call.item);
    Ok(match asked_in_vain(result, unheard) {
        Ok(output) => ToolOutcome::Succeeded(normalize::note_ignored(tool, &call.input, output)),
        Err(Failure::Error(error)) => ToolOutcome::Failed {
            error: match normalize::ignored(tool, &call.input) {
                Some(note) => format!("{error}\n{note}"),
                None => error,
            },
        },
        Err(Failure::Cancelled(_)) if !tool.effects().leave_traces() => ToolOutcome::NotRun {
            why: CANCELLED.to_owned(),
        },
        Err(Failure::Cancelled(output)) => ToolOutcome::Interrupted(output),
    })
}

/// A result that says why nobody was asked, where the tool wanted to ask.
fn asked_in_vain(
    result: Result<ToolOutput, Failure>,
    why: Option<String>,
) -> Result<ToolOutput, Failure> {
    match (result, why) {
        (result, None) => result,
        (Ok(output), Some(why)) => Ok(normalize::noted(output, why)),
        (Err(Failure::Error(error)), Some(why)) => Err(Failure::Error(format!("{error}\n{why}"))),
        (Err(Failure::Cancelled(_)), Some(why)) => Err(Failure::Error(why)),
    }
}

/// What a call may use that uses nothing the workspace brought along.
pub async fn context(turn: &Arc<Turn>, tag: &StreamTag, call: &Arc<ToolCall>) -> ToolCx {
    let host = CallHost {
        turn: Arc::clone(turn),
        tag: tag.clone(),
        call: Arc::clone(call),
    };
    ToolCx {
        scope: scope(turn),
        trusted: tools::Trusted::nothing("nothing else uses it"),
        cancel: turn.cancel.clone(),
        host: Arc::new(host),
        sandbox: turn.sandbox().await,
        seen: Arc::clone(&turn.seen),
        jobs: Arc::clone(&turn.jobs),
        web: Arc::clone(&turn.own().web),
    }
}

/// Where the turn's tools may read and write.
pub fn scope(turn: &Turn) -> Scope {
    let own = turn.own();
    let everywhere = turn.has_full_access().then(|| PathBuf::from("/"));
    Scope {
        directory: turn.card.directory.clone(),
        extra: turn
            .card
            .folders_outside()
            .into_iter()
            .chain(everywhere)
            .collect(),
        skills: own.skills.clone(),
        trusted: false,
        read_only: turn.only_reads(),
        private: turn.shared.config.private.clone(),
        outside: tools::OutsideAccess {
            no_more: turn.is_planning(),
            ..own.outside()
        },
        spill: Some(
            turn.shared
                .config
                .home
                .join("spill")
                .join(turn.card.id.to_string()),
        ),
    }
}

pub const CANCELLED: &str = "not run: the turn was cancelled";

/// What a running tool can ask of its turn.
struct CallHost {
    turn: Arc<Turn>,
    tag: StreamTag,
    call: Arc<ToolCall>,
}

#[async_trait]
impl Host for CallHost {
    async fn output(&self, stream: OutputStream, delta: String) {
        let what = ToolFact::Wrote { stream, delta };
        let fact = Fact::tool(self.tag.clone(), Arc::clone(&self.call), what);
        // A session that is gone ends the turn at its next step.
        let _ = self.turn.to_session.send(FromTurn::Tell(fact)).await;
    }

    fn call(&self) -> Option<PlacedCall> {
        Some(PlacedCall {
            tag: self.tag.clone(),
            call: Arc::clone(&self.call),
        })
    }

    async fn interacted(&self, started_by: Arc<ToolCall>, process: u32, stdin: String) {
        let what = ToolFact::Interacted { process, stdin };
        let fact = Fact::tool(self.tag.clone(), started_by, what);
        // As above.
        let _ = self.turn.to_session.send(FromTurn::Tell(fact)).await;
    }

    async fn timed_out(&self, limit: Duration, by: TimeLimit) {
        let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let what = ToolFact::TimedOut { limit_ms, by };
        let fact = Fact::tool(self.tag.clone(), Arc::clone(&self.call), what);
        // As above.
        let _ = self.turn.to_session.send(FromTurn::Tell(fact)).await;
    }

    async fn progress(&self, message: String) {
        let what = ToolFact::Progressed { message };
        let fact = Fact::tool(self.tag.clone(), Arc::clone(&self.call), what);
        // As above.
        let _ = self.turn.to_session.send(FromTurn::Tell(fact)).await;
    }

    async fn ask(&self, questions: Vec<Question>) -> Option<Vec<tools::QuestionAnswer>> {
        let ids: Vec<String> = questions.iter().map(|each| each.id.clone()).collect();
        let kind = AskKind::Questions(questions);
        let _one = self.turn.asks_in_turn.lock().await;
        match self
            .turn
            .ask(self.tag.clone(), &self.call, kind)
            .await
            .ok()?
        {
            Closing::Answered(Answer::Questions(mut answers)) => Some(
                ids.iter()
                    .map(|id| answers.remove(id).unwrap_or_default())
                    .collect(),
            ),
            Closing::Answered(Answer::Dismissed | Answer::Approval(_)) => {
                Some(ids.iter().map(|_| Vec::new()).collect())
            }
            Closing::Cancelled => None,
            Closing::Lost { why } => {
                self.turn.unheard.lock().insert(self.call.item.clone(), why);
                None
            }
        }
    }

    async fn set_plan(&self, steps: Vec<PlanStep>) {
        let turn = Some(self.turn.id.clone());
        let fact = Fact::Turn(TurnFact::PlanChanged { turn, steps });
        // As above: a lost session is noticed at the next step.
        let _ = self.turn.to_session.send(FromTurn::Tell(fact)).await;
    }

    async fn may_go_on(&self, input: Value) -> Result<(), String> {
        gate::may_go_on(&self.turn, &self.call, input).await
    }

    async fn let_out(&self, command: String, why: String) -> bool {
        gate::let_out(&self.turn, &self.tag, &self.call, command, why).await
    }

    async fn spawn(&self, request: SpawnRequest) -> Result<String, Failure> {
        let (turn, agent) = (&self.turn, &self.turn.agent);
        agent.spawn(turn, &self.tag, &self.call, request).await
    }
}

/// An input that is not an object cannot be shown or run; it becomes one that says so.
pub fn object_input(input: Value) -> Value {
    match input {
        Value::Object(_) => input,
        Value::Null => Value::Object(Default::default()),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            serde_json::json!({ "value": input })
        }
    }
}
