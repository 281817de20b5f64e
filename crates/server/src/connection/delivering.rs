//! Delivering: what listeners hear, in order, with the replies that are due in between.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use dialects::{Action, Cx, Delivery, Ending, Heard, tell};
use engine::{Delivered, Ended, Listener};
use futures_util::{FutureExt, StreamExt};
use tungstenite::{Message, Utf8Bytes};
use vocabulary::{Refusal, ThreadId};

use super::news::ListenerNews;
use super::{Connection, Flow, now};
use crate::limits::EVENTS_PER_FLUSH;

impl Connection {
    /// Delivers what a listener gave, with replies that are due in between.
    pub(super) async fn heard(
        &mut self,
        thread: ThreadId,
        heard: Result<Vec<Delivered>, Refusal>,
    ) -> Flow {
        let mut batch = VecDeque::from(heard.unwrap_or_else(|refusal| {
            tracing::warn!(%thread, error = %refusal, "a listener cannot go on");
            vec![Delivered::Ended(Ended::Failed)]
        }));
        while let Some(Some(finished)) = self.running.next().now_or_never() {
            if finished.thread == Some(thread) && self.listeners.contains_key(&thread) {
                let before = |each: &Delivered| each.position() <= finished.as_of;
                let count = batch.iter().take_while(|each| before(each)).count();
                let first = batch.drain(..count).collect();
                self.deliver(thread, first).await?;
                if finished.listener.is_some() {
                    // Another listener goes on from there.
                    batch.clear();
                }
            }
            self.replied(finished).await?;
        }
        self.deliver(thread, batch.into()).await
    }

    /// Hears one of many that may have something to tell.
    pub(super) async fn hear_news(&mut self, thread: ThreadId) -> Flow {
        let (Some(listener), Some(news)) = (self.listeners.get_mut(&thread), &mut self.news) else {
            return Ok(());
        };
        if !listener.has_news() {
            news.wait_for(thread, listener);
            return Ok(());
        }
        let heard = listener.next(EVENTS_PER_FLUSH).await;
        news.look_at(thread);
        self.heard(thread, heard).await
    }

    /// A listener that is new, or may be heard again: somebody has to look whether it has something to tell.
    pub(super) fn look_at(&mut self, thread: ThreadId) {
        if let Some(news) = &mut self.news {
            news.look_at(thread);
        }
    }

    pub(super) async fn deliver(&mut self, thread: ThreadId, batch: Vec<Delivered>) -> Flow {
        let Some(listener) = self.listeners.get(&thread) else {
            return Ok(());
        };
        let card = Arc::clone(listener.card());
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
                    self.listeners.remove(&card.id);
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

/// What comes next of any listener.
pub enum NextHeard {
    Deliveries(ThreadId, Result<Vec<Delivered>, Refusal>),
    /// It may have something to tell.
    News(ThreadId),
}

/// So many listeners are asked all of them, each time; of more it is noted who has something to tell.
const ASKED_MAX: usize = 4;

/// The next deliveries of any listener, and whose they are. A thread that is being read, or listened to
/// anew, is silent meanwhile: what it tells now belongs behind the answer, and is told there.
pub async fn next_heard(
    listeners: &mut HashMap<ThreadId, Listener>,
    silent: &[ThreadId],
    news: &mut Option<Box<ListenerNews>>,
) -> NextHeard {
    if listeners.len() > ASKED_MAX {
        let news = news.get_or_insert_with(|| Box::new(ListenerNews::of(listeners.keys())));
        return NextHeard::News(news.next(silent).await);
    }
    *news = None;
    if listeners.len() == 1
        && silent.is_empty()
        && let Some((thread, one)) = listeners.iter_mut().next()
    {
        return NextHeard::Deliveries(*thread, one.next(EVENTS_PER_FLUSH).await);
    }
    let waits: Vec<_> = listeners
        .iter_mut()
        .filter(|(thread, _)| !silent.contains(thread))
        .map(|(thread, each)| Box::pin(async move { (*thread, each.next(EVENTS_PER_FLUSH).await) }))
        .collect();
    if waits.is_empty() {
        return std::future::pending().await;
    }
    let (thread, heard) = futures_util::future::select_all(waits).await.0;
    NextHeard::Deliveries(thread, heard)
}
