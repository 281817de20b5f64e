//! A provider that does what a test tells it, and remembers what it was asked.

use std::collections::VecDeque;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream;
use parking_lot::Mutex;
use providers::catalog::{self, Model, ModelCatalog, Price};
use providers::format::Wire;
use providers::{
    ErrorKind, Message, ModelRequest, ModelUsage, Part, PartStream, Provider, ProviderError,
    RequestPurpose, StopCause,
};
use serde_json::Value;
use tokio::sync::{Semaphore, watch};
use vocabulary::Native;

pub const PUPPET: &str = "puppet";
pub const BIG: &str = "big";
pub const SMALL: &str = "small";

/// Holds a stream until it is opened.
#[derive(Clone)]
pub struct Gate(Arc<Semaphore>);

impl Gate {
    pub fn new() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    pub fn open(&self) {
        self.0.add_permits(1);
    }

    pub async fn pass(&self) {
        self.0.acquire().await.expect("a gate").forget();
    }
}

enum Move {
    Tell(Box<Part>),
    Fail(ProviderError),
    Hold(Gate),
    Panic,
    Hang,
}

/// One answer, move by move.
#[derive(Default)]
pub struct Play {
    moves: Vec<Move>,
    blocks: u32,
    calls: bool,
    refusal: Option<ProviderError>,
    stalls: bool,
}

impl Play {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn then(mut self, parts: impl IntoIterator<Item = Part>) -> Self {
        self.moves
            .extend(parts.into_iter().map(|part| Move::Tell(Box::new(part))));
        self
    }

    pub fn part(self, part: Part) -> Self {
        self.then([part])
    }

    fn block(&mut self) -> u32 {
        self.blocks += 1;
        self.blocks - 1
    }

    pub fn say(self, text: &str) -> Self {
        self.say_with(text, None)
    }

    pub fn say_with(mut self, text: &str, native: Option<Box<Native>>) -> Self {
        let (block, text) = (self.block(), text.to_owned());
        self.then([
            Part::TextStart { block },
            Part::TextDelta { block, text },
            Part::TextEnd { block, native },
        ])
    }

    /// Begins a text that is not ended.
    pub fn begin(mut self, text: &str) -> Self {
        let (block, text) = (self.block(), text.to_owned());
        self.then([Part::TextStart { block }, Part::TextDelta { block, text }])
    }

    pub fn think(mut self, text: &str, native: Option<Box<Native>>) -> Self {
        let (block, text, summary) = (self.block(), text.to_owned(), false);
        self.then([
            Part::ReasoningStart { block, summary },
            Part::ReasoningDelta { block, text },
            Part::ReasoningEnd { block, native },
        ])
    }

    pub fn call(self, call_id: &str, name: &str, input: Value) -> Self {
        self.call_with(call_id, name, input, None, None)
    }

    pub fn call_with(
        mut self,
        call_id: &str,
        name: &str,
        input: Value,
        native: Option<Box<Native>>,
        problem: Option<&str>,
    ) -> Self {
        let block = self.block();
        self.calls = true;
        let (call_id, name) = (call_id.to_owned(), name.to_owned());
        self.then([
            Part::ToolInputStart {
                block,
                call_id: call_id.clone(),
                name: name.clone(),
            },
            Part::ToolInputDelta {
                block,
                json: input.to_string(),
            },
            Part::ToolCall {
                block,
                call_id,
                name,
                input,
                native,
                problem: problem.map(str::to_owned),
            },
        ])
    }

    pub fn hold(mut self, gate: &Gate) -> Self {
        self.moves.push(Move::Hold(gate.clone()));
        self
    }

    pub fn hang(mut self) -> Self {
        self.moves.push(Move::Hang);
        self
    }

    pub fn panic(mut self) -> Self {
        self.moves.push(Move::Panic);
        self
    }

    pub fn fail(mut self, kind: ErrorKind, message: &str) -> Self {
        self.moves
            .push(Move::Fail(ProviderError::new(kind, message)));
        self
    }

    /// The request itself fails: there is no stream.
    pub fn refuse(mut self, kind: ErrorKind, message: &str) -> Self {
        self.refusal = Some(ProviderError::new(kind, message));
        self
    }

    /// The request itself is never answered.
    pub fn stall(mut self) -> Self {
        self.stalls = true;
        self
    }

    /// Ends well, having read and written so many tokens.
    pub fn end(self, input_tokens: u64, output_tokens: u64) -> Self {
        let stop = match self.calls {
            true => StopCause::ToolUse,
            false => StopCause::Stop,
        };
        let usage = ModelUsage {
            input_tokens,
            output_tokens,
            ..ModelUsage::default()
        };
        self.then([Part::Finish { stop, usage }])
    }

    /// Ends at the output limit, having written so many tokens.
    pub fn cut(self, output_tokens: u64) -> Self {
        let stop = StopCause::Length;
        let usage = ModelUsage {
            input_tokens: 10,
            output_tokens,
            ..ModelUsage::default()
        };
        self.then([Part::Finish { stop, usage }])
    }
}

/// A plain answer.
pub fn says(text: &str) -> Play {
    Play::new().say(text).end(10, 2)
}

/// An answer that makes one call.
pub fn calls(call_id: &str, name: &str, input: Value) -> Play {
    Play::new().call(call_id, name, input).end(10, 2)
}

#[derive(Default)]
struct Memory {
    plays: Vec<(RequestPurpose, VecDeque<Play>)>,
    /// For conversations in which these words were said, whenever they come.
    about: Vec<(String, VecDeque<Play>)>,
    requests: Vec<ModelRequest>,
}

pub struct Puppet {
    memory: Mutex<Memory>,
    /// Streams that were let go before their end.
    dropped: watch::Sender<usize>,
    asked: watch::Sender<usize>,
}

impl Puppet {
    pub fn new(plays: impl IntoIterator<Item = Play>) -> Arc<Self> {
        let puppet = Arc::new(Self {
            memory: Mutex::default(),
            dropped: watch::Sender::new(0),
            asked: watch::Sender::new(0),
        });
        puppet.then(RequestPurpose::Answer, plays);
        puppet
    }

    /// Further answers to requests of this purpose.
    pub fn then(&self, purpose: RequestPurpose, plays: impl IntoIterator<Item = Play>) {
        let mut memory = self.memory.lock();
        match memory.plays.iter_mut().find(|(known, _)| *known == purpose) {
            Some((_, queue)) => queue.extend(plays),
            None => memory.plays.push((purpose, plays.into_iter().collect())),
        }
    }

    /// Answers in the conversation in which the user said these words: for agents that work at the
    /// same time.
    pub fn about(&self, words: &str, plays: impl IntoIterator<Item = Play>) {
        let plays = plays.into_iter().collect();
        self.memory.lock().about.push((words.to_owned(), plays));
    }

    /// What was asked so far, in order.
    pub fn requests(&self) -> Vec<Asked> {
        let requests = self.memory.lock().requests.clone();
        requests.into_iter().map(Asked::new).collect()
    }

    pub fn requests_for(&self, purpose: RequestPurpose) -> Vec<Asked> {
        let mut requests = self.requests();
        requests.retain(|request| request.purpose == purpose);
        requests
    }

    /// Waits until so many requests were made.
    pub async fn was_asked(&self, times: usize) {
        let mut asked = self.asked.subscribe();
        asked
            .wait_for(|asked| *asked >= times)
            .await
            .expect("a puppet");
    }

    /// Waits until so many streams were let go before their end.
    pub async fn was_dropped(&self, times: usize) {
        let mut dropped = self.dropped.subscribe();
        dropped
            .wait_for(|dropped| *dropped >= times)
            .await
            .expect("a puppet");
    }

    fn next_play(&self, request: ModelRequest) -> Option<Play> {
        let mut memory = self.memory.lock();
        // One puppet plays the agent and its sub-agents; how often it is tried is not its business.
        let purpose = match request.purpose {
            RequestPurpose::Task => RequestPurpose::Answer,
            purpose
            @ (RequestPurpose::Answer | RequestPurpose::Summary | RequestPurpose::Title) => purpose,
        };
        let request = ModelRequest {
            purpose,
            attempts_max: None,
            ..request
        };
        let said = |words: &str| {
            let mut messages = request.messages.iter();
            messages.any(|message| matches!(&**message, Message::User(said) if said.text == words))
        };
        let about = memory.about.iter().position(|(words, _)| said(words));
        memory.requests.push(request);
        self.asked.send_modify(|asked| *asked += 1);
        if let Some(about) = about {
            return memory.about[about].1.pop_front();
        }
        let queue = memory
            .plays
            .iter_mut()
            .find(|(known, _)| *known == purpose)?;
        queue.1.pop_front()
    }
}

/// Notices when a stream is let go.
struct Watched {
    ended: bool,
    dropped: watch::Sender<usize>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        if !self.ended {
            self.dropped.send_modify(|dropped| *dropped += 1);
        }
    }
}

#[async_trait]
impl Provider for Puppet {
    fn id(&self) -> &str {
        PUPPET
    }

    async fn stream(&self, request: ModelRequest) -> Result<PartStream, ProviderError> {
        let none = || ProviderError::new(ErrorKind::Other, "the puppet has no answer left");
        let play = self.next_play(request).ok_or_else(none)?;
        if let Some(refusal) = play.refusal {
            return Err(refusal);
        }
        let watched = Watched {
            ended: play.moves.is_empty() && !play.stalls,
            dropped: self.dropped.clone(),
        };
        if play.stalls {
            std::future::pending::<()>().await;
        }
        let moves: VecDeque<Move> = play.moves.into();
        let parts = stream::unfold((moves, watched), |(mut moves, mut watched)| async move {
            loop {
                let told = match moves.pop_front() {
                    None => return None,
                    Some(Move::Hold(gate)) => {
                        gate.pass().await;
                        continue;
                    }
                    Some(Move::Hang) => std::future::pending().await,
                    Some(Move::Panic) => panic!("the puppet was told to panic"),
                    Some(Move::Fail(error)) => Err(error),
                    Some(Move::Tell(part)) => Ok(*part),
                };
                watched.ended = moves.is_empty();
                return Some((told, (moves, watched)));
            }
        });
        Ok(parts.boxed())
    }
}

/// What the puppet wants back as it was.
pub fn native(word: &str) -> Option<Box<Native>> {
    Some(Box::new(Native {
        origin: format!("{PUPPET}/{BIG}"),
        value: serde_json::json!({ "sealed": word }),
    }))
}

/// A catalog with the puppet's models: a dollar for a million tokens read, ten for as many written.
pub fn catalog(model: Model) -> ModelCatalog {
    let small = Model {
        id: SMALL.to_owned(),
        price: Some(price()),
        ..Model::default()
    };
    ModelCatalog {
        providers: vec![catalog::ProviderInfo {
            id: PUPPET.to_owned(),
            name: "Puppet".to_owned(),
            auth: Vec::new(),
            endpoint: None,
            models: vec![model, small],
            ..catalog::ProviderInfo::default()
        }],
    }
}

/// The same, but reached over a network, as it seems; and so with a model for small work.
pub fn with_small_model(mut catalog: ModelCatalog) -> ModelCatalog {
    for provider in &mut catalog.providers {
        provider.endpoint = Some(catalog::ApiEndpoint {
            wire: Wire::Chat,
            base_url: "http://localhost/".to_owned(),
            key_env: Vec::new(),
            google_file_env: Vec::new(),
            aws_service: None,
            bearer_env: Vec::new(),
            base_url_env: Vec::new(),
            headers: Vec::new(),
            keyless: true,
            models_path: None,
            lists_all: false,
            local_api: None,
            key_header: None,
            quirks: Default::default(),
        });
        provider.small_model = Some(SMALL.to_owned());
    }
    catalog
}

pub fn price() -> Price {
    Price {
        input: 1_000_000,
        output: 10_000_000,
        ..Price::default()
    }
}

/// The big model, priced and without a known limit.
pub fn big() -> Model {
    Model {
        id: BIG.to_owned(),
        price: Some(price()),
        ..Model::default()
    }
}

/// A request, with its messages as they are read.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    request: ModelRequest,
    /// Without what the server tells of the surroundings, which has tests of its own.
    pub messages: Vec<Message>,
}

impl Asked {
    fn new(request: ModelRequest) -> Self {
        let messages = request.messages.iter().map(|message| (**message).clone());
        let is_context = |message: &Message| match message {
            Message::User(said) => said.text.starts_with("<context>"),
            Message::Assistant(_) | Message::ToolResults(_) => false,
        };
        Self {
            messages: messages.filter(|message| !is_context(message)).collect(),
            request,
        }
    }

    /// Every message, as the model reads it.
    pub fn whole(&self) -> Vec<Message> {
        let messages = self.request.messages.iter();
        messages.map(|message| (**message).clone()).collect()
    }

    /// What the server told of the surroundings.
    pub fn context(&self) -> Vec<String> {
        let texts = self
            .whole()
            .into_iter()
            .filter_map(|message| match message {
                Message::User(said) => Some(said.text),
                Message::Assistant(_) | Message::ToolResults(_) => None,
            });
        texts.filter(|text| text.starts_with("<context>")).collect()
    }
}

impl std::ops::Deref for Asked {
    type Target = ModelRequest;

    fn deref(&self) -> &ModelRequest {
        &self.request
    }
}
