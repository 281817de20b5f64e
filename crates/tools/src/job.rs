//! The tool `job`: looks after the commands that run in the background.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use vocabulary::{Effects, Subject, ToolOutput};

use crate::bash::command::EndedBy;
use crate::input::Fields;
use crate::jobs::{self, BackgroundJob, JobReach, Jobs};
use crate::sandbox::control::INPUT_BYTES_MAX;
use crate::{Failure, Judgement, Risk, Scope, Tool, ToolCx};

const WAIT_SECONDS: u64 = 60;
const WAIT_SECONDS_MAX: u64 = 600;
/// How long the answer to what was written is waited for.
const ANSWER_WAIT: Duration = Duration::from_secs(1);
const STOPPED: &str = "stopped";

pub(crate) struct JobTool;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JobAction {
    Output,
    Wait,
    Write,
    Stop,
    List,
}

impl JobAction {
    const NAMES: [&str; 5] = ["output", "wait", "write", "stop", "list"];
}

/// What a call wants.
struct JobOrder<'a> {
    action: JobAction,
    id: Option<u32>,
    wait: Duration,
    input: &'a str,
    close: bool,
}

impl<'a> JobOrder<'a> {
    fn parse(given: &'a Value) -> Result<JobOrder<'a>, Failure> {
        let fields = Fields::of("job", given)?;
        let input = fields.optional_text("input", INPUT_BYTES_MAX)?;
        let id = fields.optional_whole("id", 1..=u64::from(u32::MAX))?;
        let close = fields.optional_flag("close")?.unwrap_or(false);
        let action = match fields.optional_text("action", INPUT_BYTES_MAX)? {
            Some("output") => JobAction::Output,
            Some("wait") => JobAction::Wait,
            Some("write") => JobAction::Write,
            Some("stop") => JobAction::Stop,
            Some("list") => JobAction::List,
            // Tools elsewhere have one name for each.
            None if input.is_some_and(|input| !input.is_empty()) || close => JobAction::Write,
            None if id.is_some() => JobAction::Output,
            None | Some(_) => {
                return Err(fields.refuse("action", "one of output, wait, write, stop, list"));
            }
        };
        let wait = fields.optional_whole("seconds", 0..=WAIT_SECONDS_MAX)?;
        if id.is_none() && action != JobAction::List {
            return Err(fields.refuse("id", "the number of a job"));
        }
        Ok(JobOrder {
            action,
            id: id.and_then(|id| u32::try_from(id).ok()),
            wait: Duration::from_secs(wait.unwrap_or(WAIT_SECONDS)),
            input: input.unwrap_or_default(),
            close,
        })
    }

    fn job(&self, jobs: &Jobs) -> Result<Arc<BackgroundJob>, Failure> {
        let id = self.id.unwrap_or_default();
        jobs.find(id).ok_or_else(|| {
            let known = jobs.all();
            let known: Vec<String> = known.iter().map(|job| job.id.to_string()).collect();
            let known = match known.is_empty() {
                true => "there is none".to_owned(),
                false => format!("there are {}", known.join(", ")),
            };
            Failure::Error(format!(
                "job: there is no job {id} ({known}); jobs end with the server and when the thread rests"
            ))
        })
    }
}

#[async_trait]
impl Tool for JobTool {
    fn name(&self) -> &'static str {
        "job"
    }

    fn description(&self) -> &'static str {
        "Looks after commands that run in the background.\n\
         Bash starts them and gives their id. \"wait\" returns when the job ends, or after the given \
         seconds; prefer it to asking for output again and again. \"output\" shows what came since the last \
         look; 1 MB is kept between looks. \"write\" types to it, \"stop\" ends it and all that it started. \
         You are told when a job ends. Stop servers that are not needed any more."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "action": {"type": "string", "enum": JobAction::NAMES},
                "id": {"type": "integer"},
                "seconds": {
                    "type": "integer",
                    "minimum": 0,
                    "maximum": WAIT_SECONDS_MAX,
                    "description": "With wait: how long at most; 60 if not given.",
                },
                "input": {
                    "type": "string",
                    "description": "With write: what to type; end a line with \\n.",
                },
                "close": {
                    "type": "boolean",
                    "description": "With write: no input follows.",
                },
            },
            "required": ["action"],
            "additionalProperties": false,
        })
    }

    fn effects(&self) -> Effects {
        Effects::RUNS
    }

    /// What is written to a job may be a command to it: people, rules and checkpoints treat it as one.
    fn subject(&self, input: &Value) -> Subject {
        match JobOrder::parse(input) {
            Ok(order) if order.action == JobAction::Write => Subject::Command {
                line: order.input.to_owned(),
                directory: None,
            },
            Ok(_) | Err(_) => Subject::Other,
        }
    }

    fn judge(&self, _scope: &Scope, _input: &Value) -> Judgement {
        Judgement::Allow
    }

    fn judge_with(&self, scope: &Scope, jobs: &Jobs, input: &Value) -> Judgement {
        let Ok(order) = JobOrder::parse(input) else {
            return Judgement::Allow;
        };
        let job = order.job(jobs).ok();
        let Some(job) = job.filter(|_| order.action == JobAction::Write) else {
            return Judgement::Allow;
        };
        match jobs::why_writing_asks(scope, &job.fence) {
            None => Judgement::Allow,
            Some(why) => Judgement::Ask {
                command: format!("{}: {}", job.listed(), order.input),
                dangerous: true,
                risk: match job.fence.reach {
                    JobReach::NoSandbox => Risk::ManualReview,
                    JobReach::Escalated | JobReach::Fenced => Risk::BeyondSandbox,
                },
                why: why.to_owned(),
            },
        }
    }

    fn looks(&self) -> bool {
        true
    }

    /// What is typed to a job that may write, or that nothing holds, is a command that may.
    fn changes(&self, jobs: &Jobs, input: &Value) -> bool {
        let Ok(order) = JobOrder::parse(input) else {
            return false;
        };
        let job = order.job(jobs).ok();
        order.action == JobAction::Write && job.is_some_and(|job| !job.fence.only_reads())
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure> {
        let order = JobOrder::parse(&input)?;
        if order.action == JobAction::List {
            return Ok(ToolOutput::Text(listed(&cx.jobs)));
        }
        let job = order.job(&cx.jobs)?;
        let with_time = order.action == JobAction::Wait;
        let on = match order.action {
            JobAction::Output | JobAction::List => true,
            JobAction::Wait => {
                interacted(cx, &job, "").await;
                job.wait(&cx.cancel, order.wait).await
            }
            JobAction::Write => write(cx, &order, &job).await?,
            JobAction::Stop => {
                // One that ended meanwhile ended in its own way.
                let _ = job.command.end_by(EndedBy::Others(STOPPED)).await;
                true
            }
        };
        let told = ToolOutput::Text(job.look(with_time).await);
        match on {
            true => Ok(told),
            false => Err(Failure::Cancelled(told)),
        }
    }
}

async fn write(cx: &ToolCx, order: &JobOrder<'_>, job: &BackgroundJob) -> Result<bool, Failure> {
    let cannot =
        |why: String| Failure::Error(format!("job: cannot write to job {}: {why}", job.id));
    if !job.fence.takes_input {
        let why = "it has no input; start it with \"background\": true";
        return Err(cannot(why.to_owned()));
    }
    let bytes = order.input.as_bytes().to_vec();
    job.command
        .write(bytes, order.close)
        .await
        .map_err(cannot)?;
    interacted(cx, job, order.input).await;
    Ok(job.wait(&cx.cancel, ANSWER_WAIT).await)
}

/// People see that a command is typed to, or waited for.
async fn interacted(cx: &ToolCx, job: &BackgroundJob, stdin: &str) {
    if let Some(call) = job.started_by() {
        let host = &cx.host;
        host.interacted(Arc::clone(call), job.id, stdin.to_owned())
            .await;
    }
}

fn listed(jobs: &Jobs) -> String {
    let lines: Vec<String> = jobs.all().iter().map(|job| job.listed()).collect();
    match lines.is_empty() {
        true => "there are no jobs".to_owned(),
        false => lines.join("\n"),
    }
}
