//! For tests: a directory to work in, and a host that remembers what it was told.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use vocabulary::{OutputStream, PlanStep, Question, ToolOutput};

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{Failure, Host, QuestionAnswer, Scope, Tool, ToolCx};

/// A directory that is deleted at the end.
pub struct Scratch {
    directory: tempfile::TempDir,
}

impl Scratch {
    pub fn new() -> Scratch {
        Scratch {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn scope(&self) -> Scope {
        Scope {
            directory: self.directory.path().to_owned(),
            extra: Vec::new(),
            private: Vec::new(),
            spill: None,
            skills: Vec::new(),
            trusted: false,
            read_only: false,
            outside: crate::OutsideAccess::default(),
        }
    }

    pub fn cx(&self, host: &Arc<Witness>) -> ToolCx {
        ToolCx {
            trusted: crate::Trusted::default(),
            scope: self.scope(),
            cancel: CancellationToken::new(),
            host: host.clone(),
            sandbox: Arc::new(crate::Sandbox::nothing()),
            seen: Arc::default(),
            jobs: Arc::default(),
            web: Arc::default(),
        }
    }

    /// Runs a tool with a host of no interest.
    pub async fn run(&self, tool: &dyn Tool, input: Value) -> Result<ToolOutput, Failure> {
        tool.run(&self.cx(&Arc::default()), input).await
    }

    /// Runs a tool that must refuse, and gives its words.
    pub async fn refusal(&self, tool: &dyn Tool, input: Value) -> String {
        match self.run(tool, input).await {
            Err(Failure::Error(message)) => message,
            other => panic!("{other:?}"),
        }
    }
}

/// A host that remembers.
#[derive(Default)]
pub struct Witness {
    pub told: Mutex<Vec<(OutputStream, String)>>,
    pub told_more: Notify,
    pub asked: Mutex<Vec<Question>>,
    /// What `ask` answers; `None` never answers.
    pub answers: Mutex<Option<Vec<QuestionAnswer>>>,
    pub plan: Mutex<Vec<PlanStep>>,
    /// Where a call was sent on to, and why it may not go there.
    pub followed: Mutex<Vec<String>>,
    pub not_followed: Mutex<Option<String>>,
}

impl Witness {
    /// All that came on one stream so far.
    pub fn heard(&self, stream: OutputStream) -> String {
        let told = self.told.lock().unwrap();
        let of_stream = told.iter().filter(|(of, _)| *of == stream);
        of_stream.map(|(_, text)| text.as_str()).collect()
    }

    /// Waits until stdout satisfies the condition.
    pub async fn wait_for(&self, condition: impl Fn(&str) -> bool) -> String {
        loop {
            let more = self.told_more.notified();
            let heard = self.heard(OutputStream::Stdout);
            if condition(&heard) {
                return heard;
            }
            more.await;
        }
    }
}

#[async_trait]
impl Host for Witness {
    async fn output(&self, stream: OutputStream, text: String) {
        self.told.lock().unwrap().push((stream, text));
        self.told_more.notify_one();
    }

    async fn ask(&self, questions: Vec<Question>) -> Option<Vec<QuestionAnswer>> {
        *self.asked.lock().unwrap() = questions;
        let answers = self.answers.lock().unwrap().clone();
        match answers {
            Some(answers) => Some(answers),
            None => std::future::pending().await,
        }
    }

    async fn set_plan(&self, steps: Vec<PlanStep>) {
        *self.plan.lock().unwrap() = steps;
    }

    async fn may_go_on(&self, input: serde_json::Value) -> Result<(), String> {
        let url = input["url"].as_str().unwrap_or_default().to_owned();
        self.followed.lock().unwrap().push(url);
        self.not_followed
            .lock()
            .unwrap()
            .clone()
            .map_or(Ok(()), Err)
    }

    async fn spawn(&self, request: crate::SpawnRequest) -> Result<String, crate::Failure> {
        Ok(format!("{} did: {}", request.kind.name(), request.task))
    }
}
