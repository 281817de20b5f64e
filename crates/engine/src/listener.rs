//! Listeners: what somebody hears of one thread, whether its session is in this process or elsewhere.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use snapshots::WorkspaceWatch;
use tokio::sync::mpsc;
use vocabulary::{Event, Refusal, Seq, ThreadCard};

use crate::session::outbox::{RingListener, RingSize, Slot};

/// What a listener is given, in order: replayed events and gaps cover every number once.
pub enum Delivered {
    Live(Arc<Slot>),
    Replay(Box<Event>),
    Gap { after: Seq, to: Seq },
    CaughtUp { head: Seq },
    Ended(Ended),
}

/// How a session ended, for those who still listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Asleep,
    Deleted,
    /// Another process has the thread now.
    HandedOver,
    /// The store failed; what was not committed did not happen.
    Failed,
}

impl Delivered {
    /// Where it stands in the thread.
    pub fn position(&self) -> Seq {
        match self {
            Delivered::Live(slot) => slot.event.seq,
            Delivered::Replay(event) => event.seq,
            Delivered::Gap { to, .. } => *to,
            Delivered::CaughtUp { head } => *head,
            Delivered::Ended(_) => Seq(u64::MAX),
        }
    }
}

/// One listener's place in a thread.
pub struct Listener {
    feed: Feed,
    /// Held for those who want to hear what others do to the files.
    _watch: Option<Arc<WorkspaceWatch>>,
}

/// A choice rather than a trait object: nothing is boxed for an event.
enum Feed {
    Ring(RingListener),
    Channel(ChannelListener),
}

/// Hears what somebody else hears for it: a session of another process, say.
struct ChannelListener {
    card: Arc<ThreadCard>,
    /// Shared with who waits for news.
    feed: Arc<Mutex<ChannelFeed>>,
}

struct ChannelFeed {
    channel: mpsc::Receiver<Delivered>,
    /// Taken from the channel, and not asked for yet.
    waiting: VecDeque<Delivered>,
    closed: bool,
}

impl From<RingListener> for Listener {
    fn from(listener: RingListener) -> Self {
        Self::new(Feed::Ring(listener))
    }
}

impl Listener {
    /// Hears what comes through a channel. Who feeds it keeps to the order that [`Delivered`] promises,
    /// and ends with `Ended`; a channel that just closes is a failure.
    pub fn fed(card: Arc<ThreadCard>, feed: mpsc::Receiver<Delivered>) -> Self {
        Self::new(Feed::Channel(ChannelListener {
            card,
            feed: Arc::new(Mutex::new(ChannelFeed {
                channel: feed,
                waiting: VecDeque::new(),
                closed: false,
            })),
        }))
    }

    fn new(feed: Feed) -> Self {
        Self { feed, _watch: None }
    }

    /// As long as it listens its workspace is watched.
    pub(crate) fn watching(self, watch: Option<Arc<WorkspaceWatch>>) -> Self {
        Self {
            _watch: watch,
            ..self
        }
    }

    pub fn card(&self) -> &Arc<ThreadCard> {
        match &self.feed {
            Feed::Ring(listener) => listener.card(),
            Feed::Channel(listener) => &listener.card,
        }
    }

    /// What the thread holds in memory here for all who listen.
    pub fn held(&self) -> RingSize {
        match &self.feed {
            Feed::Ring(listener) => listener.held(),
            Feed::Channel(listener) => {
                let feed = listener.feed.lock();
                RingSize {
                    events: feed.waiting.len() + feed.channel.len(),
                    bytes: 0,
                }
            }
        }
    }

    /// Whether `next` has something to give, or at least to look for.
    pub fn has_news(&self) -> bool {
        match &self.feed {
            Feed::Ring(listener) => listener.has_news(),
            Feed::Channel(listener) => {
                let feed = listener.feed.lock();
                feed.closed || !feed.waiting.is_empty() || !feed.channel.is_empty()
            }
        }
    }

    /// Waits until there may be something to hear, without holding the listener. For who has many of them
    /// and cannot ask each.
    pub fn news(&self) -> BoxFuture<'static, ()> {
        match &self.feed {
            Feed::Ring(listener) => Box::pin(listener.news()),
            Feed::Channel(listener) => {
                let feed = Arc::clone(&listener.feed);
                Box::pin(poll_fn(move |cx| feed.lock().poll_filled(cx)))
            }
        }
    }

    /// Waits until there is something to hear, and gives at most about `most` of it.
    /// Cancel-safe: nothing is taken before it is returned.
    pub async fn next(&mut self, most: usize) -> Result<Vec<Delivered>, Refusal> {
        match &mut self.feed {
            Feed::Ring(listener) => listener.next(most).await,
            Feed::Channel(listener) => Ok(listener.next(most).await),
        }
    }

    /// The next events that are ready, without waiting and not beyond `upto`.
    pub fn ready(&mut self, upto: Seq, most: usize) -> Vec<Delivered> {
        match &mut self.feed {
            Feed::Ring(listener) => listener.ready(upto, most),
            Feed::Channel(listener) => listener.ready(upto, most),
        }
    }
}

impl ChannelListener {
    async fn next(&mut self, most: usize) -> Vec<Delivered> {
        poll_fn(|cx| self.feed.lock().poll_filled(cx)).await;
        if self.feed.lock().waiting.is_empty() {
            return vec![Delivered::Ended(Ended::Failed)];
        }
        self.ready(Seq(u64::MAX), most)
    }

    fn ready(&mut self, upto: Seq, most: usize) -> Vec<Delivered> {
        let mut feed = self.feed.lock();
        while feed.waiting.len() < most
            && let Ok(next) = feed.channel.try_recv()
        {
            feed.waiting.push_back(next);
        }
        let within = |each: &&Delivered| each.position() <= upto;
        let count = feed.waiting.iter().take(most).take_while(within).count();
        feed.waiting.drain(..count).collect()
    }
}

impl ChannelFeed {
    /// Done when something waits, or nothing will come any more.
    fn poll_filled(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.waiting.is_empty() && !self.closed {
            match ready!(self.channel.poll_recv(cx)) {
                Some(first) => self.waiting.push_back(first),
                None => self.closed = true,
            }
        }
        Poll::Ready(())
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.feed {
            Feed::Ring(listener) => listener.fmt(f),
            Feed::Channel(listener) => write!(f, "Listener(fed, of {:?})", listener.card.id),
        }
    }
}
