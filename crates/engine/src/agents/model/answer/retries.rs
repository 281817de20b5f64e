//! Requests that are made again: what is told of each attempt, and how it all ended.

use std::time::Duration;

use vocabulary::{Fact, ItemId, RetryStage, StepFact, StreamTag};

use super::{Answered, Broken, Speaker, millis};
use crate::turn::{SessionGone, Turn};

/// The attempts at one answer, counted.
pub struct Retries<'a> {
    turn: &'a Turn,
    tag: StreamTag,
    agent: Option<ItemId>,
    failed: u32,
    /// Whether the next attempt was announced, and not begun yet.
    is_due: bool,
}

impl<'a> Retries<'a> {
    pub fn new(turn: &'a Turn, tag: &StreamTag, speaker: &Speaker) -> Self {
        Self {
            turn,
            tag: tag.clone(),
            agent: speaker.call().map(|call| call.item.clone()),
            failed: 0,
            is_due: false,
        }
    }

    /// An attempt failed; the next one comes after the delay.
    pub async fn delayed(
        &mut self,
        delay: Duration,
        error: String,
        discards: bool,
    ) -> Result<(), SessionGone> {
        self.failed += 1;
        self.is_due = true;
        self.tell(StepFact::Delayed {
            attempt: self.failed,
            delay_ms: millis(delay),
            error,
            agent: self.agent.clone(),
            discards,
        })
        .await
    }

    /// The attempt that was announced, if one was, is under way.
    pub async fn begun(&mut self) -> Result<(), SessionGone> {
        match std::mem::take(&mut self.is_due) {
            true => self.reached(RetryStage::Started).await,
            false => Ok(()),
        }
    }

    /// Tells how it ended, where it did not succeed at once.
    pub async fn ended(&mut self, asked: &Result<Answered, Broken>) -> Result<(), SessionGone> {
        if self.failed == 0 {
            return Ok(());
        }
        match asked {
            Err(Broken::Gone) => Ok(()),
            Err(Broken::Cancelled) => self.reached(RetryStage::Cancelled).await,
            Ok(_) => self.reached(RetryStage::Succeeded).await,
            Err(Broken::Provider(error)) => {
                self.begun().await?;
                let error = error.message.clone();
                self.reached(RetryStage::GivenUp { error }).await
            }
        }
    }

    async fn reached(&self, stage: RetryStage) -> Result<(), SessionGone> {
        self.tell(StepFact::Retried {
            attempt: self.failed + 1,
            stage,
            agent: self.agent.clone(),
        })
        .await
    }

    async fn tell(&self, what: StepFact) -> Result<(), SessionGone> {
        let tag = self.tag.clone();
        self.turn.tell(Fact::Step { tag, what }).await
    }
}
