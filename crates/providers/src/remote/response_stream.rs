//! Reads one answer: bytes to events to parts, with an eye on the clock.

use std::time::Duration;

use bytes::Bytes;
use reqwest::Response;
use serde_json::Value;

use super::RetryPolicy;
use super::attempt_error::{AttemptError, CHECK_BASE_URL, Retry, cause, duration_words, short};
use super::retry_after;
use super::secrets::Secrets;
use super::sse::{Events, TooLong};
use super::stall_watch::StallWatch;
use crate::format::failure::in_words;
use crate::format::{Decode, SseEvent};
use crate::{ErrorKind, Part, ProviderError};

/// After the end marker the rest is not waited for, but a connection whose last bytes are read can
/// be used again, which saves the next request a handshake.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(1);
const DRAIN_BYTES_MAX: usize = 64 * 1024;

/// So many meaningless parts are held back at most.
const HELD_PARTS_MAX: usize = 64;

pub(crate) struct ResponseStream {
    /// Gone when nothing more is read; dropping it closes the connection.
    response: Option<Response>,
    events: Events,
    decoder: Box<dyn Decode>,
    /// Parts that were read and not yet told, the next one last; in order while `fill` reads.
    parts: Vec<Part>,
    /// Told after them.
    failure: Option<AttemptError>,
    begun: bool,
    seen_event: bool,
    watch: StallWatch,
    idle: Duration,
    context: ResponseContext,
}

/// What an error needs to know of the response.
pub(crate) struct ResponseContext {
    pub place: String,
    pub secrets: Secrets,
    pub request_id: Option<String>,
    /// It says that it is a stream of events.
    pub declared: bool,
}

impl ResponseStream {
    /// Reads up to the first part. Until then a failure can be made good by asking again.
    pub(crate) async fn begin(
        response: Response,
        decoder: Box<dyn Decode>,
        context: ResponseContext,
        policy: &RetryPolicy,
    ) -> Result<ResponseStream, AttemptError> {
        let mut answer = Self::new(Some(response), decoder, context, policy);
        answer.fill().await;
        answer.begun()
    }

    /// An answer that came all at once, as a document; nothing where it is none.
    pub(crate) fn whole(
        body: &[u8],
        decoder: Box<dyn Decode>,
        context: ResponseContext,
        policy: &RetryPolicy,
    ) -> Option<Result<ResponseStream, AttemptError>> {
        let mut answer = Self::new(None, decoder, context, policy);
        let value: Value = serde_json::from_slice(body).ok()?;
        let pieces = match value {
            Value::Array(pieces) => pieces,
            whole => vec![whole],
        };
        let read = pieces.iter().try_for_each(|piece| {
            let data = piece.to_string();
            let event = SseEvent {
                event: None,
                data: &data,
            };
            answer.decoder.push(event, &mut answer.parts)
        });
        let read = read.and_then(|()| answer.decoder.end(&mut answer.parts));
        if let Err(error) = read {
            // A document that only ends too early is none of ours.
            if error.kind == ErrorKind::CutOff {
                return None;
            }
            answer.failure = Some(answer.context.decoding(error));
        }
        answer.parts.reverse();
        Some(answer.begun())
    }

    fn new(
        response: Option<Response>,
        decoder: Box<dyn Decode>,
        context: ResponseContext,
        policy: &RetryPolicy,
    ) -> Self {
        Self {
            response,
            events: Events::new(policy.event_bytes_max),
            decoder,
            parts: Vec::new(),
            failure: None,
            begun: false,
            seen_event: false,
            watch: StallWatch::new(policy.first_byte, policy.wordless),
            idle: policy.idle,
            context,
        }
    }

    fn begun(mut self) -> Result<Self, AttemptError> {
        match self.failure.take() {
            Some(failure) if !self.parts.iter().any(is_answer) => Err(failure),
            failure => {
                self.failure = failure;
                self.begun = true;
                self.watch.limit = self.idle;
                Ok(self)
            }
        }
    }

    pub(crate) async fn next(&mut self) -> Option<Result<Part, AttemptError>> {
        if self.parts.is_empty() && self.failure.is_none() {
            self.fill().await;
        }
        match self.parts.pop() {
            Some(part) => Some(Ok(part)),
            None => self.failure.take().map(Err),
        }
    }

    /// Reads until there is a part to tell, trouble, or nothing more to come. Called when all that
    /// was read is told.
    async fn fill(&mut self) {
        while self.response.is_some() && !self.is_filled() {
            let read = match self.read_event() {
                Ok(true) => Ok(()),
                Ok(false) => self.read_chunk().await,
                Err(failure) => Err(failure),
            };
            if let Err(failure) = read {
                self.failure = Some(failure);
                self.response = None;
            }
            if self.decoder.finished()
                && let Some(response) = self.response.take()
            {
                drain(response);
            }
        }
        self.parts.reverse();
    }

    /// What has no meaning for us is held back until the answer begins: it is no reason not to ask
    /// again.
    fn is_filled(&self) -> bool {
        match self.begun {
            true => !self.parts.is_empty(),
            false => self.parts.len() >= HELD_PARTS_MAX || self.parts.iter().any(is_answer),
        }
    }

    /// Whether there was an event among the bytes that have come.
    fn read_event(&mut self) -> Result<bool, AttemptError> {
        let event = match self.events.next() {
            Ok(Some(event)) => event,
            Ok(None) => return Ok(false),
            Err(TooLong) => {
                let what = "it sent an event that is larger than anything sensible";
                return Err(self.context.failure(ErrorKind::Malformed, what));
            }
        };
        self.seen_event = true;
        let before = self.parts.len();
        let pushed = self.decoder.push(event, &mut self.parts);
        pushed.map_err(|error| self.context.decoding(error))?;
        if self.parts[before..].iter().any(is_answer) {
            self.watch.word();
        }
        if self.decoder.stopped() {
            self.watch.tail();
        }
        Ok(true)
    }

    async fn read_chunk(&mut self) -> Result<(), AttemptError> {
        let Some(response) = &mut self.response else {
            return Ok(());
        };
        let chunk = tokio::select! {
            biased;
            chunk = response.chunk() => chunk,
            () = self.watch.expired() => return match self.decoder.stopped() {
                true => self.end(),
                false => Err(self.stalled()),
            },
        };
        match chunk {
            Ok(Some(chunk)) => self.feed(&chunk),
            Ok(None) => return self.end(),
            Err(error) => return Err(self.broken(&error)),
        }
        Ok(())
    }

    fn feed(&mut self, chunk: &Bytes) {
        self.watch.heard();
        self.events.feed(chunk);
    }

    /// The other side has nothing more to say.
    fn end(&mut self) -> Result<(), AttemptError> {
        self.response = None;
        if let Some(event) = self.events.last() {
            self.seen_event = true;
            match self.decoder.push(event, &mut self.parts) {
                // An event that lacks its end may lack more than that: what it breaks, `end` tells.
                Err(error) if error.kind == ErrorKind::Malformed => {}
                pushed => pushed.map_err(|error| self.context.decoding(error))?,
            }
        }
        if self.decoder.finished() {
            return Ok(());
        }
        if !self.seen_event && !self.context.declared {
            let what = "it answered with something that is not a stream of events";
            let failure = self.context.failure(ErrorKind::Malformed, what);
            return Err(failure.advice(CHECK_BASE_URL));
        }
        let ended = self.decoder.end(&mut self.parts);
        ended.map_err(|error| self.context.decoding(error))?;
        if self.decoder.finished() {
            return Ok(());
        }
        let what = "the answer ended without its end marker";
        Err(self
            .context
            .failure(ErrorKind::CutOff, what)
            .again(Retry::Later))
    }

    fn stalled(&self) -> AttemptError {
        let what = match self.watch.is_silent() {
            true => format!("nothing came for {}", duration_words(self.watch.limit)),
            false => format!(
                "its connection lives, but nothing of an answer came for {}",
                duration_words(self.watch.wordless)
            ),
        };
        self.context.failure(ErrorKind::Stalled, what)
    }

    fn broken(&self, error: &reqwest::Error) -> AttemptError {
        let cause = cause(error);
        let place = &self.context.place;
        if self.begun {
            let what =
                format!("the connection to {place} broke in the middle of the answer: {cause}");
            return self.context.failure(ErrorKind::CutOff, what);
        }
        let what = format!("the connection to {place} broke before the answer began: {cause}");
        let failure = self.context.failure(ErrorKind::Unreachable, what);
        failure.again(Retry::Later)
    }
}

impl ResponseContext {
    pub(crate) fn failure(&self, kind: ErrorKind, what: impl Into<String>) -> AttemptError {
        let mut failure = AttemptError::new(kind, what);
        failure.request_id = self.request_id.clone();
        failure
    }

    /// An error that the stream told, or that reading it made.
    fn decoding(&self, error: ProviderError) -> AttemptError {
        let may_pass = match error.kind {
            ErrorKind::RateLimited | ErrorKind::Overloaded | ErrorKind::CutOff => true,
            // A stream that was broken on its way, but not something else than a stream.
            ErrorKind::Malformed => self.declared,
            ErrorKind::Auth
            | ErrorKind::Quota
            | ErrorKind::Unreachable
            | ErrorKind::ContextTooLong
            | ErrorKind::BadRequest
            | ErrorKind::UnknownModel
            | ErrorKind::Stalled
            | ErrorKind::Refused
            | ErrorKind::Other => false,
        };
        let what = short(&self.secrets.mask(&error.message));
        let mut failure = self.failure(error.kind, what);
        failure.status = error.status;
        (failure.advice, failure.remedy) = in_words(&error);
        failure.few = error.kind == ErrorKind::Malformed;
        if may_pass {
            failure.again = Retry::Later;
            failure.after = retry_after::in_words(&error.message);
        }
        failure
    }
}

fn is_answer(part: &Part) -> bool {
    !matches!(part, Part::Raw(_))
}

fn drain(mut response: Response) {
    tokio::spawn(async move {
        let mut bytes = 0;
        let drained = async {
            while let Ok(Some(chunk)) = response.chunk().await {
                bytes += chunk.len();
                if bytes > DRAIN_BYTES_MAX {
                    break;
                }
            }
        };
        // Too late is as good as drained: the connection is closed instead of kept.
        let _ = tokio::time::timeout(DRAIN_TIME_MAX, drained).await;
    });
}
