//! Delivering: what listeners hear, in order, with the replies that are due in between.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::extract::ws::{Message, Utf8Bytes};
use dialects::{Action, Cx, Delivery, Ending, Heard, tell};
use engine::{Delivered, Ended, Listener};
use futures_util::{FutureExt, StreamExt};
use vocabulary::{Refusal, ThreadId};

use super::{Connection, Flow, now};
use crate::limits::EVENTS_PER_FLUSH;

impl Connection {
    /// Delivers what a listener gave, with replies that are due in between.
    pub(super) async fn heard(
        &mut self,
        at: usize,
        heard: Result<Vec<Delivered>, Refusal>,
    ) -> Flow {
        let thread = self.listeners[at].card().id;
        let mut batch = VecDeque::from(heard.unwrap_or_else(|refusal| {
            tracing::warn!(%thread, error = %refusal, "a listener cannot go on");
            vec![Delivered::Ended(Ended::Failed)]
        }));
        while let Some(Some(finished)) = self.running.next().now_or_never() {
            let listener = self.listener_of(Some(thread));
            if let (true, Some(at)) = (finished.thread == Some(thread), listener) {
                let before = |each: &Delivered| each.position() <= finished.as_of;
                let count = batch.iter().take_while(|each| before(each)).count();
                let first = batch.drain(..count).collect();
                self.deliver(at, first).await?;
                if finished.listener.is_some() {
                    // Another listener goes on from there.
                    batch.clear();
                }
            }
            self.replied(finished).await?;
        }
        match self.listener_of(Some(thread)) {
            Some(at) => self.deliver(at, batch.into()).await,
            None => Ok(()),
        }
    }

    pub(super) async fn deliver(&mut self, at: usize, batch: Vec<Delivered>) -> Flow {
        let card = Arc::clone(self.listeners[at].card());
        let variant = self.dialect.variant();
        let mut out = Vec::new();
        let now = now();
        for delivered in batch {
            let what = match &delivered {
                Delivered::Live(slot) => Heard::Live(&slot.event),
                Delivered::Replay(event) => Heard::Replay(event),
                Delivered::Gap { after, to } => Heard::Gap {
                    after: *after,
                    to: *to,
                },
                Delivered::CaughtUp { head } => Heard::CaughtUp { head: *head },
                // It is the last that a listener gives. What ends for one thread ends nothing else
                // here, unless the dialect says so.
                Delivered::Ended(ended) => {
                    self.listeners.retain(|each| each.card().id != card.id);
                    Heard::Ended(ending(*ended))
                }
            };
            let cx = Cx {
                now,
                caller: self.door.caller.as_ref(),
            };
            self.dialect
                .told(&cx, &mut out, Delivery { card: &card, what });
            for action in out.drain(..) {
                if action != Action::Shared {
                    self.act(action).await?;
                    continue;
                }
                match &delivered {
                    Delivered::Live(slot) => {
                        let spelled = slot.spelled(variant.index(), |event| {
                            tell(variant, &card, event)
                                .into_iter()
                                .map(Utf8Bytes::from)
                                .collect()
                        });
                        let frames: Arc<Vec<Utf8Bytes>> = spelled.unwrap_or_default();
                        for frame in frames.iter() {
                            self.feed(Message::Text(frame.clone())).await?;
                        }
                    }
                    Delivered::Replay(event) => {
                        for frame in tell(variant, &card, event) {
                            self.feed(Message::Text(frame.into())).await?;
                        }
                    }
                    Delivered::Gap { .. } | Delivered::CaughtUp { .. } | Delivered::Ended(_) => {}
                }
            }
        }
        Ok(())
    }
}

fn ending(ended: Ended) -> Ending {
    match ended {
        Ended::Asleep => Ending::Asleep,
        Ended::Deleted => Ending::Deleted,
        Ended::HandedOver => Ending::HandedOver,
        Ended::Failed => Ending::Failed,
    }
}

/// The next deliveries of any listener, and whose they are. A thread that is being read, or listened to
/// anew, is silent meanwhile: what it tells now belongs behind the answer, and is told there.
pub async fn next_heard(
    listeners: &mut [Listener],
    silent: &[ThreadId],
) -> (usize, Result<Vec<Delivered>, Refusal>) {
    if let ([one], []) = (&mut *listeners, silent) {
        return (0, one.next(EVENTS_PER_FLUSH).await);
    }
    let waits: Vec<_> = listeners
        .iter_mut()
        .enumerate()
        .filter(|(_, each)| !silent.contains(&each.card().id))
        .map(|(at, each)| Box::pin(async move { (at, each.next(EVENTS_PER_FLUSH).await) }))
        .collect();
    if waits.is_empty() {
        return std::future::pending().await;
    }
    futures_util::future::select_all(waits).await.0
}
