//! One answer of the model as it comes in: what is told of it, and what is kept for the next step.

use std::sync::Arc;

use std::time::Duration;

use futures_util::StreamExt;
use parking_lot::Mutex;
use providers::{Block, ErrorKind, ModelRequest, Part, Provider, ProviderError, StopCause};
use tokio::time::timeout;
use tools::ToolFaces;
use vocabulary::{ModelRef, StopReason, StreamTag, SubAgent, ToolCall};

use super::endings;
use crate::limits::{
    ANSWER_ATTEMPTS, ANSWER_BYTES_MAX, ANSWER_CALLS_MAX, ANSWER_DELAY_MAX, ANSWER_DELAYS_MAX,
    ANSWER_RESTART_AFTER, MODEL_SILENCE_MAX,
};
use crate::traces::requests::{RequestEnd, WatchedRequest};
use crate::turn::{DueCall, SessionGone, Turn, offer};

mod blocks;
mod plan;
mod planned;
mod retries;

use blocks::{OpenBlock, Whole};
use planned::SplitBlock;
use retries::Retries;

/// Whose answer it is, and so how it is told.
#[derive(Clone)]
pub enum Speaker {
    /// The thread's own agent: everything is told as it comes.
    Agent,
    /// A sub-agent: its text is the output of the call it works for, its calls are told with its
    /// name.
    Sub {
        agent: SubAgent,
        call: Arc<ToolCall>,
        /// What it has said of the answer that is coming.
        words: Arc<Mutex<String>>,
    },
}

impl Speaker {
    /// The call that it works for.
    fn call(&self) -> Option<&ToolCall> {
        match self {
            Speaker::Agent => None,
            Speaker::Sub { call, .. } => Some(call),
        }
    }
}

/// Why an answer that came to its end did, and what it took; or what it did not come to its end for.
type StreamOutcome = Result<(StopReason, providers::ModelUsage), Broken>;

/// A whole answer.
pub struct Answered {
    /// What the conversation goes on with.
    pub blocks: Vec<Block>,
    /// The calls to make.
    pub calls: Vec<DueCall>,
    /// Whether the output limit came in the middle of a call.
    pub cut_call: bool,
    pub reason: StopReason,
    pub usage: providers::ModelUsage,
}

/// Asks the model and takes its answer in. One that breaks off halfway is asked for again, a few
/// times: what had come of it stays visible, but counts no more.
pub async fn ask(
    turn: &Turn,
    provider: &dyn Provider,
    tag: &StreamTag,
    speaker: Speaker,
    request: ModelRequest,
) -> Result<Answered, Broken> {
    let mut retries = Retries::new(turn, tag, &speaker);
    let asked = ask_again(turn, provider, (tag, speaker), request, &mut retries).await;
    retries.ended(&asked).await?;
    asked
}

async fn ask_again(
    turn: &Turn,
    provider: &dyn Provider,
    (tag, speaker): (&StreamTag, Speaker),
    request: ModelRequest,
    retries: &mut Retries<'_>,
) -> Result<Answered, Broken> {
    let model = ModelRef {
        provider: provider.id().to_owned(),
        model: request.model.clone(),
    };
    let faces = offer::faces(&model);
    let mut attempt = 0;
    loop {
        let request = ModelRequest {
            attempts_max: ANSWER_ATTEMPTS[attempt],
            ..request.clone()
        };
        attempt += 1;
        retries.begun().await?;
        if let Speaker::Sub { words, .. } = &speaker {
            words.lock().clear();
        }
        let mut answer = ModelAnswer::new(turn, tag.clone(), speaker.clone(), faces);
        let mut watched = WatchedRequest::begin(turn, &model, &request, speaker.call());
        let streamed = answer
            .stream(provider, request, &mut watched, retries)
            .await;
        watched.ended(&answer.end_of_request(&streamed));
        let broken = match streamed {
            Ok((reason, usage)) => return Ok(answer.answered(reason, usage)),
            Err(broken) => broken,
        };
        answer.cut_short(&broken).await?;
        let error = match broken {
            Broken::Provider(error)
                if answer.touched && attempt < ANSWER_ATTEMPTS.len() && may_pass(error.kind) =>
            {
                error
            }
            broken => return Err(broken),
        };
        let delay = ANSWER_RESTART_AFTER * 2_u32.pow(attempt as u32 - 1);
        // A sub-agent's answer is no part of the step.
        let discards = matches!(speaker, Speaker::Agent);
        retries.delayed(delay, error.message, discards).await?;
        tokio::select! {
            () = turn.cancel.cancelled() => return Err(Broken::Cancelled),
            () = tokio::time::sleep(delay) => {}
        }
    }
}

/// Whether the same request may fare better.
fn may_pass(kind: ErrorKind) -> bool {
    match kind {
        ErrorKind::CutOff
        | ErrorKind::Stalled
        | ErrorKind::Malformed
        | ErrorKind::Overloaded
        | ErrorKind::RateLimited
        | ErrorKind::Unreachable => true,
        ErrorKind::Auth
        | ErrorKind::Quota
        | ErrorKind::ContextTooLong
        | ErrorKind::BadRequest
        | ErrorKind::UnknownModel
        | ErrorKind::Refused
        | ErrorKind::Other => false,
    }
}

/// Why an answer did not come to its end.
pub enum Broken {
    Cancelled,
    Gone,
    Provider(ProviderError),
}

impl From<SessionGone> for Broken {
    fn from(_: SessionGone) -> Self {
        Broken::Gone
    }
}

impl From<ProviderError> for Broken {
    fn from(error: ProviderError) -> Self {
        Broken::Provider(error)
    }
}

/// One answer of the model as it comes in.
struct ModelAnswer<'a> {
    turn: &'a Turn,
    tag: StreamTag,
    speaker: Speaker,
    /// How the model knows the tools.
    faces: ToolFaces,
    open: Option<OpenBlock>,
    /// The text that the open block is a part of, where plans are told apart from the rest.
    split: Option<SplitBlock>,
    blocks: Vec<Block>,
    calls: Vec<DueCall>,
    /// A call was begun and never became one.
    lost_call: bool,
    touched: bool,
    bytes: usize,
}

impl<'a> ModelAnswer<'a> {
    fn new(turn: &'a Turn, tag: StreamTag, speaker: Speaker, faces: ToolFaces) -> Self {
        Self {
            turn,
            tag,
            speaker,
            faces,
            open: None,
            split: None,
            blocks: Vec::new(),
            calls: Vec::new(),
            lost_call: false,
            touched: false,
            bytes: 0,
        }
    }

    /// The whole answer. A call that was cut is told why its arguments cannot be read.
    fn answered(mut self, reason: StopReason, usage: providers::ModelUsage) -> Answered {
        let is_cut = reason == StopReason::Length;
        let mut cut_call = is_cut && self.lost_call;
        let broken = |due: &&mut DueCall| is_cut && due.call.problem.is_some();
        for due in self.calls.iter_mut().filter(broken) {
            cut_call = true;
            let words = endings::cut_call_words(usage.output_tokens);
            Arc::make_mut(&mut due.call).problem = Some(words);
        }
        Answered {
            blocks: self.blocks,
            calls: self.calls,
            cut_call,
            reason,
            usage,
        }
    }

    /// Takes the answer in to its end.
    async fn stream(
        &mut self,
        provider: &dyn Provider,
        request: ModelRequest,
        watched: &mut WatchedRequest<'_>,
        retries: &mut Retries<'_>,
    ) -> StreamOutcome {
        let starting = provider.stream(request);
        let mut parts = self.awaited(MODEL_SILENCE_MAX, starting).await??;
        let mut patience = MODEL_SILENCE_MAX;
        let mut delays = 0;
        loop {
            let Some(part) = self.awaited(patience, parts.next()).await? else {
                return Err(Broken::Provider(ProviderError::new(
                    ErrorKind::CutOff,
                    "the model's answer was cut off; try again",
                )));
            };
            patience = MODEL_SILENCE_MAX;
            retries.begun().await?;
            match part? {
                Part::Finish { stop, usage } => {
                    self.finish(Whole::Yes, None).await?;
                    return Ok((stop_reason(stop), usage));
                }
                Part::Retrying { .. } if delays >= ANSWER_DELAYS_MAX => {
                    let message = format!("the model was not reached, {delays} times; try later");
                    return Err(ProviderError::new(ErrorKind::Unreachable, message).into());
                }
                Part::Retrying { delay, why, .. } => {
                    delays += 1;
                    watched.retried();
                    patience += delay.min(ANSWER_DELAY_MAX);
                    retries.delayed(delay, why, false).await?;
                }
                part => {
                    if !std::mem::replace(&mut self.touched, true) {
                        watched.first_part();
                    }
                    self.check_size(&part)?;
                    self.take(part).await?;
                }
            }
        }
    }

    /// How it ended, for who watches requests.
    fn end_of_request<'b>(&'b self, streamed: &'b StreamOutcome) -> RequestEnd<'b> {
        let blocks = &self.blocks;
        match streamed {
            Ok((_, usage)) => RequestEnd::Answered(blocks, *usage),
            Err(Broken::Provider(error)) => RequestEnd::Failed(blocks, &error.message),
            Err(Broken::Cancelled | Broken::Gone) => RequestEnd::Cancelled(blocks),
        }
    }

    /// Waits for the provider, but neither for ever nor longer than the turn. Only this is given
    /// up when the turn is cancelled: what has come is told whole.
    async fn awaited<T>(
        &self,
        patience: Duration,
        coming: impl Future<Output = T>,
    ) -> Result<T, Broken> {
        tokio::select! {
            // A turn that was cancelled asks nothing more.
            biased;
            () = self.turn.cancel.cancelled() => Err(Broken::Cancelled),
            came = timeout(patience, coming) => came.map_err(|_| silent().into()),
        }
    }

    /// An answer without end is none.
    fn check_size(&mut self, part: &Part) -> Result<(), ProviderError> {
        self.bytes += match part {
            Part::TextDelta { text, .. } | Part::ReasoningDelta { text, .. } => text.len(),
            Part::ToolInputDelta { json, .. } => json.len(),
            Part::File { base64, .. } => base64.len(),
            // tidy: wildcard, because only these have a length.
            _ => 0,
        };
        if self.bytes > ANSWER_BYTES_MAX || self.calls.len() >= ANSWER_CALLS_MAX {
            let message = format!(
                "the model's answer has no end: it is past {ANSWER_BYTES_MAX} bytes or \
                 {ANSWER_CALLS_MAX} calls"
            );
            return Err(ProviderError::new(ErrorKind::Other, message));
        }
        Ok(())
    }
}

fn millis(delay: Duration) -> u64 {
    u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)
}

fn silent() -> ProviderError {
    ProviderError::new(
        ErrorKind::Stalled,
        format!(
            "the model said nothing for {} seconds; try again",
            MODEL_SILENCE_MAX.as_secs()
        ),
    )
}

fn stop_reason(stop: StopCause) -> StopReason {
    match stop {
        StopCause::Stop => StopReason::Stop,
        StopCause::ToolUse => StopReason::ToolUse,
        StopCause::Length => StopReason::Length,
    }
}
