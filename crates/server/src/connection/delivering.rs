//! Delivering: what listeners hear, in order, with the replies that are due in between.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::extract::ws::{Message, Utf8Bytes};
use dialects::{Action, Cx, Delivery, Heard, Reason, tell};
use engine::{Delivered, Ended, Listener};
use futures_util::{FutureExt, StreamExt};
use vocabulary::{Refusal, Seq};

use super::{Connection, End, Flow, now};
use crate::limits::EVENTS_PER_FLUSH;

impl Connection {
    /// Delivers what a listener gave, with replies that are due in between.
    pub(super) async fn heard(
        &mut self,
        at: usize,
        heard: Result<Vec<Delivered>, Refusal>,
    ) -> Flow {
        let mut batch = VecDeque::from(heard.map_err(|refusal| {
            End::Close(Reason::new(Reason::TRY_AGAIN_LATER, refusal.message))
        })?);
        let thread = self.listeners[at].card().id;
        while let Some(Some(finished)) = self.running.next().now_or_never() {
            if finished.thread == Some(thread) {
                let before = |each: &Delivered| position(each) <= finished.as_of;
                let count = batch.iter().take_while(|each| before(each)).count();
                let first = batch.drain(..count).collect();
                self.deliver(at, first).await?;
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
                Delivered::Ended(Ended::Deleted | Ended::Asleep)
                    if self.dialect.outlives_threads() =>
                {
                    self.listeners.remove(at);
                    return Ok(());
                }
                Delivered::Ended(ended) => return Err(ended_reason(*ended)),
            };
            let cx = Cx {
                now,
                caller: &self.caller,
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

/// Where a delivery stands in the thread.
fn position(delivered: &Delivered) -> Seq {
    match delivered {
        Delivered::Live(slot) => slot.event.seq,
        Delivered::Replay(event) => event.seq,
        Delivered::Gap { to, .. } => *to,
        Delivered::CaughtUp { head } => *head,
        Delivered::Ended(_) => Seq(u64::MAX),
    }
}

fn ended_reason(ended: Ended) -> End {
    End::Close(match ended {
        Ended::Asleep => Reason::new(Reason::GOING_AWAY, "the session ended; connect again"),
        Ended::Deleted => Reason::new(Reason::NORMAL, "the session was deleted"),
        Ended::Failed => Reason::new(
            Reason::TRY_AGAIN_LATER,
            "the store failed; connect again to resume",
        ),
    })
}

/// The next deliveries of any listener, and whose they are.
pub async fn next_heard(listeners: &mut [Listener]) -> (usize, Result<Vec<Delivered>, Refusal>) {
    match listeners {
        [] => std::future::pending().await,
        [one] => (0, one.next(EVENTS_PER_FLUSH).await),
        many => {
            let waits = many
                .iter_mut()
                .map(|each| Box::pin(each.next(EVENTS_PER_FLUSH)));
            let (heard, at, _) = futures_util::future::select_all(waits).await;
            (at, heard)
        }
    }
}
