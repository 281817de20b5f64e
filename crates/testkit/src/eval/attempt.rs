//! One try at a task: a server in a scratch home, a client that asks for it and watches.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;
use serde_json::Value;

use super::workspace::TaskWorkspace;
use super::{EvalPlan, EvalTask, SCRIPTED, TaskResult};
use crate::process::Launch;
use crate::tongue::diminuendo::Diminuendo;
use crate::tongue::{Deed, Tongue};
use crate::{Client, Process};

/// Said to every question: nobody knows better than the model.
const ANSWER: &str = "Decide yourself, and say what you assumed.";

/// What was seen of it.
#[derive(Debug, Default)]
pub struct Attempt {
    /// The text behind the last call.
    pub last_message: String,
    steps: u32,
    /// Calls that failed, by the name of their tool.
    failed_calls: BTreeMap<String, u32>,
    /// Tools by the ids of their calls.
    calls: BTreeMap<String, String>,
    input_tokens: u64,
    cached_tokens: u64,
    output_tokens: u64,
    /// Unknown where the price of any step is.
    cost_micro_dollars: Option<u64>,
    questions: u32,
    error: Option<String>,
    over: bool,
}

impl Attempt {
    pub async fn make(
        plan: &EvalPlan,
        task: &EvalTask,
        workspace: &TaskWorkspace,
    ) -> anyhow::Result<Self> {
        let mut server = Process::start(&launch(plan, task, workspace)).await?;
        server.hush();
        let mut attempt = Self {
            cost_micro_dollars: Some(0),
            ..Self::default()
        };
        let limit = Duration::from_secs(60 * task.file.minutes);
        let talk = attempt.talk(&server, &task.file.prompt, limit, plan.approve);
        let talked = tokio::time::timeout(limit, talk).await;
        match talked {
            Ok(Ok(())) => {}
            Ok(Err(error)) => attempt.error = Some(format!("{error:#}")),
            Err(_) => {
                attempt.error = Some(format!("not done after {} minutes", task.file.minutes));
            }
        }
        server.terminate().await?;
        Ok(attempt)
    }

    async fn talk(
        &mut self,
        server: &Process,
        prompt: &str,
        limit: Duration,
        approve: bool,
    ) -> anyhow::Result<()> {
        let mut tongue = Diminuendo::default();
        let mut client = Client::connect(&tongue.url(server.url(), None)).await?;
        client.set_limit(limit);
        let mut prompt = Some(prompt);
        while !self.over {
            let frame = client.json().await?;
            tongue.hear(&frame.to_string())?;
            for next in tongue.follow_up() {
                client.send(next).await?;
            }
            let deed = match frame["type"].as_str().unwrap_or_default() {
                "replay_complete" => prompt.take().map(|text| Deed::Say(text.to_owned())),
                "permission_requested" if approve => Some(Deed::Approve),
                "permission_requested" => Some(Deed::Deny),
                "question_requested" => Some(Deed::Answer(ANSWER.to_owned())),
                _ => None,
            };
            if let Some(deed) = deed {
                let frame = tongue.say(&deed)?.context("no words for it")?;
                client.send(frame).await?;
            }
            self.watch(&frame);
        }
        Ok(())
    }

    fn watch(&mut self, frame: &Value) {
        let words = |name: &str| frame[name].as_str().unwrap_or_default().to_owned();
        match frame["type"].as_str().unwrap_or_default() {
            "text_delta" => self.last_message.push_str(&words("text")),
            "tool_call" => {
                self.last_message.clear();
                self.calls.insert(words("toolCallId"), words("toolName"));
            }
            "tool_result" if frame["status"] == "error" => {
                let tool = self.calls.get(&words("toolCallId")).cloned();
                *self
                    .failed_calls
                    .entry(tool.unwrap_or_default())
                    .or_default() += 1;
            }
            "usage_update" => self.count(frame),
            "permission_requested" | "question_requested" => self.questions += 1,
            "turn_complete" => self.over = true,
            "turn_error" => {
                self.error = Some(format!("{}: {}", words("code"), words("message")));
                self.over = true;
            }
            "error" => {
                self.error = Some(words("message"));
                self.over = true;
            }
            _ => {}
        }
    }

    fn count(&mut self, frame: &Value) {
        let number = |name: &str| frame[name].as_u64();
        self.steps += 1;
        self.input_tokens += number("inputTokens").unwrap_or_default();
        self.cached_tokens += number("cachedTokens").unwrap_or_default();
        self.output_tokens += number("outputTokens").unwrap_or_default();
        let cost = number("costMicroDollars");
        self.cost_micro_dollars = self
            .cost_micro_dollars
            .zip(cost)
            .map(|(all, one)| all + one);
    }

    /// A turn that gave up has not solved its task, whatever the check says.
    pub fn ended_badly(&self) -> Option<String> {
        self.error.clone()
    }

    pub fn into_result(self, task: &EvalTask, faults: Vec<String>) -> TaskResult {
        TaskResult {
            task: task.name.clone(),
            kind: task.file.kind.clone(),
            faults,
            steps: self.steps,
            failed_calls: self.failed_calls,
            input_tokens: self.input_tokens,
            cached_tokens: self.cached_tokens,
            output_tokens: self.output_tokens,
            cost_micro_dollars: self.cost_micro_dollars,
            questions: self.questions,
            seconds: 0.0,
        }
    }
}

/// A script takes the place of a model; a model gets the keys and addresses of this environment.
fn launch(plan: &EvalPlan, task: &EvalTask, workspace: &TaskWorkspace) -> Launch {
    let launch = Launch::new(&plan.binary, &workspace.scratch)
        .argument("--approvals")
        .argument("auto");
    if plan.model == SCRIPTED {
        return launch.rehearsal(&task.solution());
    }
    let launch = launch.variable("DRAGOMAN_MODEL", &plan.model);
    let passed = |name: &String| name.ends_with("_KEY") || name.ends_with("_BASE_URL");
    let variables = std::env::vars().filter(|(name, _)| passed(name));
    variables.fold(launch, |launch, (name, value)| {
        launch.variable(&name, &value)
    })
}
