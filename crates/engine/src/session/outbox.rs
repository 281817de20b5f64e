//! The outbox: a shared ring of recent events with a visible head; every listener is a cursor.
//!
//! Nothing is queued per listener. A listener that falls behind the ring reads durable events back
//! from the store and is told of the holes, so it never slows the session or another listener.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use store::SharedStore;
use tokio::sync::{Notify, watch};
use vocabulary::{Attendance, Audience, Event, Refusal, Seq, ThreadCard, Why};

use super::state::Untold;
use crate::codec;
use crate::limits::{REPLAY_PAGE, RING_BYTES_MAX, RING_EVENTS_MAX};
use crate::listener::{Delivered, Ended};

/// One event in the ring, with whatever its translators made of it, once for all listeners.
pub struct Slot {
    pub event: Event,
    bytes: usize,
    spelled: Spellings,
}

/// A list that only grows at its end: most events are spelled in one way or two, so a slot has
/// no room set aside for all of them. The engine does not know what they are.
type Spellings = OnceLock<Box<Spelling>>;

struct Spelling {
    number: usize,
    made: OnceLock<Arc<dyn Any + Send + Sync>>,
    next: Spellings,
}

impl Slot {
    pub fn new(event: Event, text_bytes: usize) -> Self {
        Self {
            event,
            bytes: size_of::<Slot>() + text_bytes,
            spelled: Spellings::new(),
        }
    }

    /// The event in one spelling, made on first need.
    pub fn spelled<T: Any + Send + Sync>(
        &self,
        number: usize,
        make: impl FnOnce(&Event) -> T,
    ) -> Option<Arc<T>> {
        let mut spelling = self.spelled.get_or_init(|| Spelling::new(number));
        while spelling.number != number {
            spelling = spelling.next.get_or_init(|| Spelling::new(number));
        }
        let made = spelling.made.get_or_init(|| Arc::new(make(&self.event)));
        Arc::clone(made).downcast::<T>().ok()
    }
}

impl Spelling {
    fn new(number: usize) -> Box<Self> {
        Box::new(Self {
            number,
            made: OnceLock::new(),
            next: Spellings::new(),
        })
    }
}

/// Places that a ring keeps when it shrinks.
const SLOTS_KEPT: usize = 64;

/// How much a ring holds, or may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingSize {
    pub events: usize,
    /// Of the events with their texts; what they are spelled as comes on top.
    pub bytes: usize,
}

#[derive(Default)]
struct Ring {
    slots: VecDeque<Arc<Slot>>,
    bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    visible: Seq,
    ended: Option<Ended>,
}

pub struct Outbox {
    pub card: Arc<ThreadCard>,
    ring: Mutex<Ring>,
    head: watch::Sender<Head>,
    listeners: Mutex<Vec<ListenerEntry>>,
    last_lets_sleep: AtomicBool,
    /// Wakes the session when a listener leaves.
    pub left: Notify,
}

/// A listener as the outbox knows it.
struct ListenerEntry {
    number: u64,
    attendance: Attendance,
    /// How far it has heard.
    cursor: Arc<AtomicU64>,
}

impl Outbox {
    pub fn new(card: Arc<ThreadCard>, head: Seq) -> Arc<Self> {
        Arc::new(Self {
            card,
            ring: Mutex::default(),
            head: watch::Sender::new(Head {
                visible: head,
                ended: None,
            }),
            listeners: Mutex::default(),
            last_lets_sleep: AtomicBool::new(false),
            left: Notify::new(),
        })
    }

    /// Adds events, each with the size of its text, numbered without holes. They are not visible yet.
    pub fn push(&self, events: impl Iterator<Item = (Event, usize)>) {
        let mut ring = self.ring.lock();
        for (event, text_bytes) in events {
            let slot = Arc::new(Slot::new(event, text_bytes));
            ring.bytes += slot.bytes;
            ring.slots.push_back(slot);
        }
        let visible = self.head.borrow().visible;
        while ring.slots.len() > RING_EVENTS_MAX || ring.bytes > RING_BYTES_MAX {
            match ring.slots.front() {
                // What is not visible yet has been seen by nobody and must stay.
                Some(slot) if slot.event.seq <= visible => ring.drop_oldest(),
                _ => break,
            }
        }
    }

    /// Lets listeners see everything up to `visible`.
    pub fn show(&self, visible: Seq) {
        self.head.send_if_modified(|head| {
            let grew = visible > head.visible;
            head.visible = head.visible.max(visible);
            grew
        });
    }

    /// Forgets events up to `upto` until no more are held than are to be kept, and gives their memory
    /// back. What is not visible yet stays.
    pub fn shrink(&self, upto: Seq, keep: RingSize) {
        let upto = upto.min(self.head.borrow().visible);
        self.ring.lock().shrink(upto, keep);
    }

    /// Forgets what every listener has heard, but for the last of it.
    pub fn forget_heard(&self, keep: RingSize) {
        let visible = self.head.borrow().visible;
        let heard = |each: &ListenerEntry| Seq(each.cursor.load(Ordering::Relaxed));
        let by_all = self.listeners.lock().iter().map(heard).min();
        let upto = by_all.map_or(visible, |heard| heard.min(visible));
        self.ring.lock().shrink(upto, keep);
    }

    /// What the ring holds now.
    pub fn held(&self) -> RingSize {
        let ring = self.ring.lock();
        RingSize {
            events: ring.slots.len(),
            bytes: ring.bytes,
        }
    }

    /// Nothing more will be told. The first reason counts.
    pub fn end(&self, ended: Ended) {
        self.head.send_modify(|head| {
            head.ended.get_or_insert(ended);
        });
    }

    pub fn listeners(&self) -> usize {
        self.listeners.lock().len()
    }

    /// Who of those that listen can be asked: somebody, or only others; nothing where nobody listens.
    pub fn answers(&self) -> Option<bool> {
        let listeners = self.listeners.lock();
        let answers = || listeners.iter().any(|each| each.attendance.answers);
        (!listeners.is_empty()).then(answers)
    }

    /// Whether the last one to leave lets the thread sleep.
    pub fn last_lets_sleep(&self) -> bool {
        self.last_lets_sleep.load(Ordering::Relaxed)
    }

    /// Whether someone of another audience listens.
    pub fn others_than(&self, audience: Audience) -> bool {
        self.listeners
            .lock()
            .iter()
            .any(|each| each.attendance.audience != audience)
    }

    /// A cursor behind `cursor`. If `replay_to` is given, the listener first hears the log up to it; what
    /// is told to nobody is a gap.
    pub fn listen(
        self: &Arc<Self>,
        store: SharedStore,
        attendance: Attendance,
        cursor: Seq,
        replay_to: Option<Seq>,
        untold: Untold,
    ) -> RingListener {
        let heard = Arc::new(AtomicU64::new(cursor.0));
        let mut listeners = self.listeners.lock();
        let number = listeners.last().map_or(1, |last| last.number + 1);
        listeners.push(ListenerEntry {
            number,
            attendance,
            cursor: Arc::clone(&heard),
        });
        drop(listeners);
        RingListener {
            number,
            outbox: Arc::clone(self),
            head: self.head.subscribe(),
            store,
            cursor,
            heard,
            replay_to,
            untold,
            joining: replay_to.is_some(),
        }
    }

    fn take(&self, after: Seq, upto: Seq, most: usize) -> RingRead {
        let ring = self.ring.lock();
        let Some(front) = ring.slots.front().map(|slot| slot.event.seq) else {
            return RingRead::Missed { upto };
        };
        if front > after.next() {
            return RingRead::Missed {
                upto: Seq(front.0 - 1).min(upto),
            };
        }
        let start = (after.0 + 1 - front.0) as usize;
        let count = ((upto.0 - after.0) as usize).min(most);
        RingRead::Slots(ring.slots.range(start..start + count).cloned().collect())
    }
}

impl Ring {
    fn shrink(&mut self, upto: Seq, keep: RingSize) {
        let before = self.slots.len();
        while self.slots.len() > keep.events || self.bytes > keep.bytes {
            match self.slots.front() {
                Some(slot) if slot.event.seq <= upto => self.drop_oldest(),
                _ => break,
            }
        }
        // What a long turn needed; the few slots of a short one are soon needed again.
        if self.slots.len() < before && self.slots.capacity() > SLOTS_KEPT {
            self.slots.shrink_to(SLOTS_KEPT);
        }
    }

    fn drop_oldest(&mut self) {
        if let Some(slot) = self.slots.pop_front() {
            self.bytes -= slot.bytes;
        }
    }
}

enum RingRead {
    Slots(Vec<Arc<Slot>>),
    /// The ring no longer has what comes next, up to here.
    Missed {
        upto: Seq,
    },
}

/// A cursor in the ring of a session in this process.
pub struct RingListener {
    number: u64,
    outbox: Arc<Outbox>,
    head: watch::Receiver<Head>,
    store: SharedStore,
    cursor: Seq,
    /// The same, for the outbox to see.
    heard: Arc<AtomicU64>,
    replay_to: Option<Seq>,
    untold: Untold,
    joining: bool,
}

impl RingListener {
    pub fn card(&self) -> &Arc<ThreadCard> {
        &self.outbox.card
    }

    /// What the thread holds in memory for all of them.
    pub fn held(&self) -> RingSize {
        self.outbox.held()
    }

    /// Waits until there is something to hear, and gives at most about `most` of it.
    /// Cancel-safe: nothing is taken before it is returned.
    pub async fn next(&mut self, most: usize) -> Result<Vec<Delivered>, Refusal> {
        loop {
            if let Some(upto) = self.replay_to {
                return self.replay(upto).await;
            }
            let head = *self.head.borrow_and_update();
            if head.visible > self.cursor {
                match self.outbox.take(self.cursor, head.visible, most) {
                    RingRead::Slots(slots) => {
                        self.hear(&slots);
                        return Ok(slots.into_iter().map(Delivered::Live).collect());
                    }
                    RingRead::Missed { upto } => self.replay_to = Some(upto),
                }
            } else if let Some(ended) = head.ended {
                return Ok(vec![Delivered::Ended(ended)]);
            } else if self.head.changed().await.is_err() {
                return Ok(vec![Delivered::Ended(Ended::Failed)]);
            }
        }
    }

    pub fn has_news(&self) -> bool {
        let head = *self.head.borrow();
        self.replay_to.is_some() || head.visible > self.cursor || head.ended.is_some()
    }

    /// Done when there may be something to hear.
    pub fn news(&self) -> impl Future<Output = ()> + Send + 'static {
        let (mut head, cursor) = (self.head.clone(), self.cursor);
        let has_news = self.has_news();
        async move {
            if !has_news {
                let news = |head: &Head| head.visible > cursor || head.ended.is_some();
                // An outbox that is gone is news, too.
                let _ = head.wait_for(news).await;
            }
        }
    }

    /// The next events that are ready, without waiting and not beyond `upto`.
    pub fn ready(&mut self, upto: Seq, most: usize) -> Vec<Delivered> {
        let visible = self.head.borrow().visible.min(upto);
        if self.replay_to.is_some() || visible <= self.cursor {
            return Vec::new();
        }
        match self.outbox.take(self.cursor, visible, most) {
            RingRead::Slots(slots) => {
                self.hear(&slots);
                slots.into_iter().map(Delivered::Live).collect()
            }
            RingRead::Missed { .. } => Vec::new(),
        }
    }

    fn hear(&mut self, slots: &[Arc<Slot>]) {
        if let Some(last) = slots.last() {
            self.move_to(last.event.seq);
        }
    }

    fn move_to(&mut self, seq: Seq) {
        self.cursor = seq;
        self.heard.store(seq.0, Ordering::Relaxed);
    }

    async fn replay(&mut self, upto: Seq) -> Result<Vec<Delivered>, Refusal> {
        let from = self.cursor.max(self.untold.reset_at);
        let page = self
            .store
            .events(self.outbox.card.id, from, REPLAY_PAGE)
            .await
            .map_err(|error| Refusal::new(Why::Storage, error.to_string()))?;
        let told = page.iter().take_while(|stored| stored.seq <= upto);
        let mut events = told.map(codec::decode).collect::<Result<Vec<_>, _>>()?;
        let mut whole: Vec<_> = events.iter_mut().collect();
        codec::complete(&self.store, self.outbox.card.id, &mut whole).await?;
        let mut delivered = Vec::with_capacity(page.len() + 1);
        let mut at = self.cursor;
        let more = page.len() as u32 == REPLAY_PAGE;
        let read_to = events.last().map_or(at, |last| last.seq);
        for event in events {
            if !self.untold.tells(&event) {
                continue;
            }
            if event.seq > at.next() {
                delivered.push(Delivered::Gap {
                    after: at,
                    to: Seq(event.seq.0 - 1),
                });
            }
            at = event.seq;
            delivered.push(Delivered::Replay(Box::new(event)));
        }
        let done = !more || page.last().is_some_and(|last| last.seq >= upto);
        // What was read and is not told is behind the listener, too.
        let to = if done { upto } else { read_to };
        if at < to {
            delivered.push(Delivered::Gap { after: at, to });
            at = to;
        }
        if done {
            self.replay_to = None;
            if std::mem::take(&mut self.joining) {
                delivered.push(Delivered::CaughtUp { head: upto });
            }
        }
        self.move_to(at);
        Ok(delivered)
    }
}

impl fmt::Debug for RingListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Listener({}, after {})", self.number, self.cursor)
    }
}

impl Drop for RingListener {
    fn drop(&mut self) {
        let mut listeners = self.outbox.listeners.lock();
        let own = listeners.iter().position(|each| each.number == self.number);
        if let Some(left) = own.map(|at| listeners.remove(at)) {
            let lets_sleep = left.attendance.lets_sleep;
            let last = &self.outbox.last_lets_sleep;
            last.store(lets_sleep, Ordering::Relaxed);
        }
        drop(listeners);
        self.outbox.left.notify_one();
    }
}
