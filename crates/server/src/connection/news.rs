//! Which of many listeners have something to tell. Each that has nothing waits by itself, and wakes the
//! connection with its name: what one event costs does not depend on how many threads are listened to.

use std::collections::{HashSet, VecDeque};

use engine::Listener;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use vocabulary::ThreadId;

#[derive(Default)]
pub struct ListenerNews {
    /// To be looked at.
    looks: VecDeque<ThreadId>,
    waits: FuturesUnordered<BoxFuture<'static, ThreadId>>,
    /// Those that wait.
    waiting: HashSet<ThreadId>,
}

impl ListenerNews {
    pub fn of<'a>(threads: impl Iterator<Item = &'a ThreadId>) -> Self {
        Self {
            looks: threads.copied().collect(),
            ..Self::default()
        }
    }

    /// One that came, was heard, or is not silent any more.
    pub fn look_at(&mut self, thread: ThreadId) {
        self.looks.push_back(thread);
    }

    /// One that has nothing to tell yet.
    pub fn wait_for(&mut self, thread: ThreadId, listener: &Listener) {
        if self.waiting.insert(thread) {
            let news = listener.news();
            self.waits.push(Box::pin(async move {
                news.await;
                thread
            }));
        }
    }

    /// One that may have something to tell. Those that are silent are to be looked at when they are not.
    pub async fn next(&mut self, silent: &[ThreadId]) -> ThreadId {
        loop {
            let next = match self.looks.pop_front() {
                Some(next) => next,
                None => match self.waits.next().await {
                    Some(next) => {
                        self.waiting.remove(&next);
                        next
                    }
                    None => std::future::pending().await,
                },
            };
            if !silent.contains(&next) {
                return next;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::path::PathBuf;
    use std::sync::Arc;

    use engine::{Delivered, Listener};
    use futures_util::FutureExt;
    use tokio::sync::mpsc;
    use vocabulary::{Seq, TenantId, ThreadCard, Timestamp, WorkspaceId};

    use super::*;

    const THREADS: u128 = 1_000;
    /// Each has so much to tell.
    const EVENTS: u64 = 3;

    struct Crowd {
        listeners: HashMap<ThreadId, Listener>,
        feeds: Vec<(ThreadId, mpsc::Sender<Delivered>)>,
        news: ListenerNews,
        /// How often anything was done for a listener.
        looks: u64,
        heard: u64,
    }

    impl Crowd {
        fn join(&mut self, number: u128) {
            let id = ThreadId(uuid::Uuid::from_u128(number));
            let (feed, channel) = mpsc::channel(8);
            let card = Arc::new(card(id));
            self.listeners.insert(id, Listener::fed(card, channel));
            self.news.look_at(id);
            self.feeds.push((id, feed));
        }

        /// Hears until nobody has anything to tell.
        fn settle(&mut self) {
            while let Some(thread) = self.news.next(&[]).now_or_never() {
                self.looks += 1;
                let listener = self.listeners.get_mut(&thread).expect("a listener");
                if !listener.has_news() {
                    self.news.wait_for(thread, listener);
                    continue;
                }
                let heard = listener.next(64).now_or_never();
                self.heard += heard.expect("at once").expect("deliveries").len() as u64;
                self.news.look_at(thread);
            }
        }
    }

    fn card(id: ThreadId) -> ThreadCard {
        ThreadCard {
            id,
            tenant: TenantId::new("local"),
            workspace: WorkspaceId::new("w"),
            directory: PathBuf::from("/a"),
            client_id: None,
            created_at: Timestamp(0),
            folders: None,
            forked_from: None,
            ephemeral: false,
        }
    }

    #[tokio::test]
    async fn work_is_linear_in_what_is_told() {
        let mut crowd = Crowd {
            listeners: HashMap::new(),
            feeds: Vec::new(),
            news: ListenerNews::default(),
            looks: 0,
            heard: 0,
        };
        for number in 0..THREADS {
            crowd.join(number);
            crowd.settle();
        }
        assert_eq!(crowd.looks, THREADS as u64, "each that joins is looked at");
        for (_, feed) in crowd.feeds.clone() {
            for number in 1..=EVENTS {
                let head = Seq(number);
                feed.send(Delivered::CaughtUp { head }).await.expect("room");
            }
            crowd.settle();
        }
        assert_eq!(crowd.heard, EVENTS * THREADS as u64);
        // Told of its news, heard, and found to have no more.
        assert_eq!(crowd.looks, 3 * THREADS as u64);
    }

    #[tokio::test]
    async fn the_silent_are_heard_when_they_are_not_any_more() {
        let mut crowd = Crowd {
            listeners: HashMap::new(),
            feeds: Vec::new(),
            news: ListenerNews::default(),
            looks: 0,
            heard: 0,
        };
        crowd.join(1);
        let (thread, _) = crowd.feeds[0];
        assert_eq!(crowd.news.next(&[thread]).now_or_never(), None);
        assert_eq!(crowd.news.next(&[]).now_or_never(), None);
        crowd.news.look_at(thread);
        assert_eq!(crowd.news.next(&[]).now_or_never(), Some(thread));
    }
}
