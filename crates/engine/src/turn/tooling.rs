//! One tool call of a turn: reached, allowed or not, started on disk, run, finished.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use tools::{Failure, Host, Output, Scope, Tool, ToolCx};
use vocabulary::{
    Answer, AskKind, Closing, Fact, FileChange, FileChangeKind, Growth, OutputStream, PlanStep,
    PlanStepStatus, Question, QuestionOption, SandboxMode, StreamTag, ToolCall, ToolCallRef,
    ToolClass, ToolOutcome, ToolOutput,
};

use super::{Due, FromTurn, SessionGone, Turn, gate, trusting, writes};
use crate::agents::sub;

/// Makes one call and records how it ended. `None`: the turn was cancelled meanwhile.
pub async fn make(turn: &Arc<Turn>, due: &Due) -> Result<Option<ToolOutcome>, SessionGone> {
    let Due {
        tag, call, reached, ..
    } = due;
    if !reached && !turn.cancel.is_cancelled() {
        let (tag, call) = (tag.clone(), call.clone());
        turn.tell(Fact::ToolReached { tag, call }).await?;
    }
    let has = |agent| sub::may_use(agent, &call.name);
    // A model may call what it was not offered.
    let offered = turn.permits.borrow().settings.tools;
    let outcome = match (turn.shared.tools.get(&call.name), &call.problem) {
        (_, Some(problem)) => ToolOutcome::Failed {
            error: problem.clone(),
        },
        (Some(tool), None) if offered && call.agent.as_deref().is_none_or(has) => {
            allowed_run(turn, tag, call, tool.as_ref()).await?
        }
        (Some(_) | None, None) => ToolOutcome::Failed {
            error: format!("there is no tool named {:?}", call.name),
        },
    };
    if let ToolOutcome::Succeeded(ToolOutput::Command { exit_code, .. })
    | ToolOutcome::Interrupted(ToolOutput::Command { exit_code, .. }) = &outcome
    {
        let (tag, item, exit_code) = (tag.clone(), call.item.clone(), *exit_code);
        turn.tell(Fact::CommandExited {
            tag,
            item,
            exit_code,
        })
        .await?;
    }
    turn.tell(Fact::ToolFinished {
        tag: tag.clone(),
        call: ToolCallRef::from(call),
        outcome: outcome.clone(),
    })
    .await?;
    writes::after(turn, call, &outcome).await?;
    Ok((!turn.cancel.is_cancelled()).then_some(outcome))
}

async fn allowed_run(
    turn: &Arc<Turn>,
    tag: &StreamTag,
    call: &ToolCall,
    tool: &dyn Tool,
) -> Result<ToolOutcome, SessionGone> {
    if turn.cancel.is_cancelled() {
        return Ok(ToolOutcome::NotRun {
            why: CANCELLED.to_owned(),
        });
    }
    let mut scope = scope(turn);
    let trusted = trusting::trusted(turn, tag, call).await?;
    scope.trusted = trusted.is_some();
    if let Some(outcome) = gate::refused(turn, tag, call, tool, &scope).await? {
        return Ok(outcome);
    }
    writes::before(turn, call).await?;
    if tool.class().has_effect() {
        turn.commit(Fact::ToolStarted {
            tag: tag.clone(),
            item: call.item.clone(),
        })
        .await?;
    }
    let host = CallHost {
        turn: Arc::clone(turn),
        tag: tag.clone(),
        call: call.clone(),
    };
    let cx = ToolCx {
        scope,
        trusted,
        cancel: turn.cancel.clone(),
        host: Arc::new(host),
        sandbox: turn.shared.sandbox().await,
        seen: Arc::clone(&turn.seen),
        web: Arc::clone(&turn.shared.web),
    };
    Ok(match tool.run(&cx, call.input.clone()).await {
        Ok(output) => ToolOutcome::Succeeded(output_of(output)),
        Err(Failure::Error(error)) => ToolOutcome::Failed { error },
        Err(Failure::Cancelled(_)) if !tool.class().has_effect() => ToolOutcome::NotRun {
            why: CANCELLED.to_owned(),
        },
        Err(Failure::Cancelled(output)) => ToolOutcome::Interrupted(output_of(output)),
    })
}

/// Where the turn's tools may read and write.
pub fn scope(turn: &Turn) -> Scope {
    Scope {
        directory: turn.card.directory.clone(),
        extra: Vec::new(),
        skills: turn.shared.config.skills.clone(),
        trusted: false,
        read_only: turn.permits.borrow().settings.sandbox == SandboxMode::ReadOnly,
        private: turn.shared.config.private.clone(),
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
    call: ToolCall,
}

#[async_trait]
impl Host for CallHost {
    async fn output(&self, stream: tools::Stream, text: String) {
        let stream = match stream {
            tools::Stream::Stdout => OutputStream::Stdout,
            tools::Stream::Stderr => OutputStream::Stderr,
        };
        let fact = Fact::ItemGrew {
            tag: self.tag.clone(),
            item: self.call.item.clone(),
            content: 0,
            growth: Growth::Output(stream),
            delta: text,
        };
        // A session that is gone ends the turn at its next step.
        let _ = self.turn.to_session.send(FromTurn::Tell(fact)).await;
    }

    async fn ask(&self, questions: Vec<tools::Question>) -> Option<Vec<tools::QuestionAnswer>> {
        let questions: Vec<Question> = questions.into_iter().zip(1..).map(question).collect();
        let ids: Vec<String> = questions.iter().map(|each| each.id.clone()).collect();
        let kind = AskKind::Questions(questions);
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
            Closing::Cancelled | Closing::Lost { .. } => None,
        }
    }

    async fn set_plan(&self, steps: Vec<tools::PlanStep>) {
        let steps = steps.into_iter().map(plan_step).collect();
        let turn = Some(self.turn.id.clone());
        let fact = Fact::PlanChanged { turn, steps };
        // As above: a lost session is noticed at the next step.
        let _ = self.turn.to_session.send(FromTurn::Tell(fact)).await;
    }

    async fn may_follow(&self, url: &str) -> Result<(), String> {
        gate::may_follow(&self.turn, &self.call, url).await
    }

    async fn spawn(&self, kind: &str, task: String) -> Result<String, Failure> {
        sub::run(&self.turn, &self.tag, &self.call, kind, task).await
    }
}

fn question((question, number): (tools::Question, u32)) -> Question {
    Question {
        id: format!("q{number}"),
        header: question.header,
        question: question.question,
        options: question
            .options
            .into_iter()
            .map(|(label, description)| QuestionOption { label, description })
            .collect(),
        multi_select: question.multi_select,
    }
}

fn plan_step(step: tools::PlanStep) -> PlanStep {
    PlanStep {
        content: step.content,
        status: match step.status {
            tools::PlanStatus::Pending => PlanStepStatus::Pending,
            tools::PlanStatus::InProgress => PlanStepStatus::InProgress,
            tools::PlanStatus::Completed => PlanStepStatus::Completed,
        },
        active_form: step.active_form,
    }
}

fn output_of(output: Output) -> ToolOutput {
    match output {
        Output::Text(text) => ToolOutput::Text(text),
        Output::Command {
            stdout,
            stderr,
            exit_code,
            duration_ms,
        } => ToolOutput::Command {
            stdout,
            stderr,
            exit_code,
            duration_ms,
        },
        Output::Files { summary, changes } => ToolOutput::Files {
            summary,
            changes: changes.into_iter().map(file_change).collect(),
        },
        Output::Json(value) => ToolOutput::Json(value),
    }
}

fn file_change(change: tools::Change) -> FileChange {
    FileChange {
        path: change.path,
        kind: match change.kind {
            tools::ChangeKind::Add => FileChangeKind::Add,
            tools::ChangeKind::Update => FileChangeKind::Update,
            tools::ChangeKind::Delete => FileChangeKind::Delete,
        },
        diff: change.diff,
    }
}

/// What kind of work a tool of this name does.
pub fn class_of(tools: &tools::Toolbox, name: &str) -> ToolClass {
    match tools.get(name).map(|tool| tool.class()) {
        Some(tools::Class::Command) => ToolClass::Command,
        Some(tools::Class::FileRead) => ToolClass::FileRead,
        Some(tools::Class::FileChange) => ToolClass::FileChange,
        Some(tools::Class::Question) => ToolClass::Question,
        Some(tools::Class::Plan) => ToolClass::Plan,
        Some(tools::Class::Other) | None => ToolClass::Other,
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
