//! One request from its first attempt to the last part of its answer: what is tried again, when, and who is told.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use tokio::time::Instant;

use super::attempt_error::{AttemptError, ErrorContext, Retry, duration_words};
use super::request::Prepared;
use super::response_stream::ResponseStream;
use super::{RemoteService, omissions};
use crate::format::RequestTarget;
use crate::{ErrorKind, ModelRequest, Part, PartStream, ProviderError};

/// How often is tried what rarely goes better.
const FEW_ATTEMPTS: u32 = 3;

pub(crate) struct Attempts {
    service: Arc<RemoteService>,
    error_context: ErrorContext,
    request: ModelRequest,
    target: RequestTarget,
    /// Written when it is known which account pays for it.
    prepared: Option<Prepared>,
    started: Instant,
    /// Attempts that count.
    made: u32,
    /// The next attempt asks for a new credential.
    renew: bool,
    renewed: bool,
    /// A connection that had gone stale was replaced.
    replaced: bool,
    phase: Phase,
}

enum Phase {
    Asking,
    Waiting { until: Instant },
    Answering(Box<ResponseStream>),
    Over,
}

type PartResult = Result<Part, ProviderError>;

impl Attempts {
    pub(crate) fn new(
        service: Arc<RemoteService>,
        request: ModelRequest,
        target: RequestTarget,
    ) -> Self {
        let mut error_context = service.error_context(Some(&request.model));
        error_context.successor = target.model.successor.clone();
        let omitted = service.omissions.known(&request);
        let target = RequestTarget { omitted, ..target };
        Self {
            service,
            error_context,
            request,
            target,
            prepared: None,
            started: Instant::now(),
            made: 0,
            renew: false,
            renewed: false,
            replaced: false,
            phase: Phase::Asking,
        }
    }

    /// Nothing of it runs elsewhere: when the stream is dropped, so is the connection.
    pub(crate) fn into_stream(self) -> PartStream {
        stream::unfold(Box::new(self), |mut attempts| async move {
            let told = attempts.next().await?;
            Some((told, attempts))
        })
        .boxed()
    }

    async fn next(&mut self) -> Option<PartResult> {
        loop {
            match &mut self.phase {
                Phase::Answering(answer) => {
                    let told = answer.next().await;
                    return self.tell(told);
                }
                Phase::Waiting { until } => {
                    tokio::time::sleep_until(*until).await;
                    self.phase = Phase::Asking;
                }
                Phase::Asking => {
                    if let Some(told) = self.ask().await {
                        return Some(told);
                    }
                }
                Phase::Over => return None,
            }
        }
    }

    fn tell(&mut self, told: Option<Result<Part, AttemptError>>) -> Option<PartResult> {
        match told {
            Some(Ok(part)) => Some(Ok(part)),
            Some(Err(mut failure)) => {
                // Parts of the answer may have been shown: it is too late to ask again.
                failure.again = Retry::Never;
                Some(Err(self.fail(failure)))
            }
            None => {
                self.phase = Phase::Over;
                None
            }
        }
    }

    /// Asks once, or says why not now.
    async fn ask(&mut self) -> Option<PartResult> {
        if let Some(left) = self.service.gate.remaining() {
            return Some(self.wait_with_others(left));
        }
        let renew = std::mem::take(&mut self.renew);
        let authorization = match self.service.access.access(renew).await {
            Ok(authorization) => authorization,
            Err(error) => {
                self.phase = Phase::Over;
                return Some(Err(error));
            }
        };
        self.made += 1;
        if self.target.account != authorization.account {
            self.target.account.clone_from(&authorization.account);
            self.prepared = None;
        }
        let prepared = self
            .prepared
            .get_or_insert_with(|| self.service.prepare(&self.request, &self.target));
        let failure = match self.service.ask(prepared, &authorization).await {
            Ok(answer) => {
                self.phase = Phase::Answering(Box::new(answer));
                return None;
            }
            Err(failure) => failure,
        };
        if failure.status == Some(401) && authorization.renewable && !self.renewed {
            self.renewed = true;
            self.renew = true;
            return self.at_once();
        }
        if failure.again == Retry::AtOnce && !self.replaced {
            self.replaced = true;
            return self.at_once();
        }
        if let Some(told) = self.heal(&failure) {
            return Some(Ok(told));
        }
        Some(self.again(failure))
    }

    /// Leaves out what the service names as the reason of its refusal, if that was in the request,
    /// and asks again at once; each thing is left out once.
    fn heal(&mut self, failure: &AttemptError) -> Option<Part> {
        let before = self.prepared.as_ref()?;
        let mut omitted = self.target.omitted;
        let without = loop {
            let (next, without) =
                omissions::next(omitted, failure.remedy?, self.request.messages.len())?;
            omitted = next;
            let target = RequestTarget {
                omitted,
                ..self.target.clone()
            };
            let prepared = self.service.prepare(&self.request, &target);
            if prepared.body != before.body {
                self.target = target;
                self.prepared = Some(prepared);
                break without;
            }
        };
        self.service.omissions.learn(&self.request, omitted);
        let why = self.error_context.what(failure);
        let why = format!("{why}; asked again without {without}");
        self.made -= 1;
        Some(self.wait(Duration::ZERO, why, (failure.kind, failure.status)))
    }

    /// Once more, and nobody needs to know.
    fn at_once(&mut self) -> Option<PartResult> {
        self.made -= 1;
        self.phase = Phase::Asking;
        None
    }

    fn again(&mut self, failure: AttemptError) -> PartResult {
        let policy = &self.service.policy;
        let asked = failure
            .after
            .filter(|asked| *asked <= policy.retry_after_max);
        if let (Some(asked), Retry::Later) = (asked, failure.again) {
            self.service.gate.close(asked);
        }
        let too_long = failure.after.is_some() && asked.is_none();
        let wanted = self.request.attempts_max.unwrap_or(u32::MAX);
        let few = if failure.few { FEW_ATTEMPTS } else { u32::MAX };
        let attempts_max = policy.attempts_max.min(wanted).min(few);
        if failure.again == Retry::Never || too_long || self.made >= attempts_max {
            return Err(self.fail(failure));
        }
        let mut delay = match asked {
            Some(asked) => policy.after(asked),
            None => policy.backoff(self.made),
        };
        if let Some(left) = self.service.gate.remaining() {
            delay = delay.max(policy.after(left));
        }
        if self.started.elapsed() + delay > policy.total_max {
            return Err(self.fail(failure));
        }
        let why = self.error_context.what(&failure);
        Ok(self.wait(delay, why, (failure.kind, failure.status)))
    }

    /// Another request was asked to wait. This one was not made, so that the provider is not
    /// bothered before its time.
    fn wait_with_others(&mut self, left: Duration) -> PartResult {
        let policy = &self.service.policy;
        let delay = policy.after(left);
        let name = &self.error_context.name;
        let why = format!(
            "{name} asked to wait {} before the next request",
            duration_words(left)
        );
        if self.started.elapsed() + delay > policy.total_max {
            let mut failure = AttemptError::new(ErrorKind::RateLimited, why);
            failure.after = Some(left);
            return Err(self.fail(failure));
        }
        Ok(self.wait(delay, why, (ErrorKind::RateLimited, None)))
    }

    /// `trouble`: what the log says of it. The provider's own words may repeat what it was sent.
    fn wait(&mut self, delay: Duration, why: String, trouble: (ErrorKind, Option<u16>)) -> Part {
        self.phase = Phase::Waiting {
            until: Instant::now() + delay,
        };
        // Attempts are told from 1, also by one that waits before its first.
        let attempt = self.made.max(1);
        let (provider, model) = (&self.error_context.id, &self.request.model);
        let (kind, status) = trouble;
        tracing::info!(
            provider,
            model,
            attempt,
            ?delay,
            ?kind,
            status,
            "a request waits"
        );
        Part::Retrying {
            attempt,
            delay,
            why,
        }
    }

    fn fail(&mut self, failure: AttemptError) -> ProviderError {
        self.phase = Phase::Over;
        self.error_context.error(failure, self.made)
    }
}
