//! One connection: a dialect, the engine, and the socket between them, in one task.
//!
//! The order of things a client sees: events up to a reply's position, then the reply, then the
//! rest. The session hands a reply out before it shows the events behind it, so it is enough to
//! look for finished calls again before delivering what a listener gave.

mod delivering;
mod ending;
mod jobs;
mod news;
mod sending;
mod timing;

use std::collections::{HashMap, VecDeque};

use dialects::{Action, Cx, Dialect, Hello, Reason};
use engine::{Engine, ListenFrom, Listener, Watcher};
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, SplitSink, SplitStream};
use futures_util::{FutureExt, StreamExt};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;
use tungstenite::Message;
use vocabulary::{Notice, ThreadId, Timestamp};

use crate::door::{Dismissed, Door, DoorEvent};
use crate::limits::{
    CALLS_BESIDE_MAX, CALLS_OPEN_MAX, CALLS_RUNNING_MAX, EVENTS_PER_FLUSH, LISTENERS_MAX,
    MESSAGES_PER_FLUSH, PING_EVERY,
};
use crate::pace::Pace;
use crate::upgrade::WebSocket;
use delivering::{NextHeard, next_heard};
use ending::{End, broken};
use jobs::{Finished, Job, JobKind, JobOutcome, Lane, too_many_listeners, work};
use news::ListenerNews;
use timing::until;

/// Serves one client until it goes, is closed, or the server stops.
pub async fn serve(
    socket: WebSocket,
    dialect: Box<dyn Dialect>,
    hello: Hello,
    door: Door,
    engine: Engine,
    stop: CancellationToken,
) {
    let (sink, stream) = socket.split();
    // Boxed, as are the rarer steps below: a future has room for every place that its values are
    // moved to, and an idle socket should be small.
    let mut connection = Box::new(Connection {
        watcher: None,
        dialect,
        door_event: door.first_event(),
        door,
        engine,
        sink,
        listeners: HashMap::new(),
        news: None,
        silent: Vec::new(),
        waiting: VecDeque::new(),
        running: FuturesUnordered::new(),
        beside: 0,
        wake_at: None,
        heard_at: Instant::now(),
        pinged: false,
        unflushed: false,
        pace: Pace::new(Instant::now().into_std()),
    });
    let ended = connection.run(stream, &hello, &stop).await;
    tracing::info!(reason = ended.word(), code = ended.code(), "disconnected");
    Box::pin(connection.end(ended)).await;
}

struct Connection {
    dialect: Box<dyn Dialect>,
    door: Door,
    /// Comes when a client has not said in time who it is, or may be another by now.
    door_event: Option<BoxFuture<'static, DoorEvent>>,
    engine: Engine,
    sink: SplitSink<WebSocket, Message>,
    listeners: HashMap<ThreadId, Listener>,
    /// Of many listeners, which have something to tell.
    news: Option<Box<ListenerNews>>,
    /// Threads that are about to be listened to, or to be listened to anew.
    silent: Vec<ThreadId>,
    watcher: Option<Watcher>,
    /// Calls that wait for the one before them.
    waiting: VecDeque<Job>,
    running: FuturesUnordered<BoxFuture<'static, Finished>>,
    /// How many of the running ones hold up nothing behind them.
    beside: usize,
    wake_at: Option<Instant>,
    heard_at: Instant,
    pinged: bool,
    unflushed: bool,
    pace: Pace,
}

type Flow = Result<(), End>;

impl Connection {
    async fn run(
        &mut self,
        mut stream: SplitStream<WebSocket>,
        hello: &Hello,
        stop: &CancellationToken,
    ) -> End {
        let opened = self.with_dialect(|dialect, cx, out| dialect.opened(cx, out, hello));
        let mut flow = Box::pin(opened).await;
        let mut stopping = false;
        // One timer for everything that has a time, so that a message sets none.
        let mut alarm = std::pin::pin!(tokio::time::sleep(PING_EVERY));
        loop {
            if let Err(end) = flow {
                return end;
            }
            if let Err(end) = self.flush().await {
                return end;
            }
            let now = Instant::now();
            let pause = self.pace.wait(now.into_std());
            let may_hear = pause.is_zero() && self.has_room();
            let due = self.due(now, pause, may_hear);
            if due < alarm.deadline() {
                alarm.as_mut().reset(due);
            }
            flow = tokio::select! {
                biased;
                Some(finished) = self.running.next() => Box::pin(self.finished(finished)).await,
                // Before the next message: it is theirs who they are by now.
                event = next_door_event(&mut self.door_event), if self.door_event.is_some() => {
                    Box::pin(self.at_door(event)).await
                }
                message = stream.next(), if may_hear => {
                    Box::pin(self.messages(message, &mut stream)).await
                }
                next = next_heard(&mut self.listeners, &self.silent, &mut self.news) => match next {
                    NextHeard::Deliveries(thread, heard) => Box::pin(self.heard(thread, heard)).await,
                    NextHeard::News(thread) => Box::pin(self.hear_news(thread)).await,
                },
                notice = next_notice(&mut self.watcher) => Box::pin(self.noticed(&notice)).await,
                () = stop.cancelled(), if !stopping => {
                    stopping = true;
                    let notice = Notice::ShuttingDown {
                        reason: self.door.site.stop_reason().into(),
                    };
                    Box::pin(self.noticed(&notice)).await
                }
                () = alarm.as_mut() => {
                    let flow = Box::pin(self.alarmed(may_hear)).await;
                    alarm.as_mut().reset(Instant::now() + PING_EVERY);
                    flow
                }
            };
        }
    }

    /// Takes a message in and those that have come with it: their answers go out together.
    async fn messages(
        &mut self,
        first: Option<Result<Message, tungstenite::Error>>,
        stream: &mut SplitStream<WebSocket>,
    ) -> Flow {
        self.message(first).await?;
        for _ in 1..MESSAGES_PER_FLUSH {
            if !self.has_room() || !self.pace.wait(self.heard_at.into_std()).is_zero() {
                break;
            }
            match stream.next().now_or_never() {
                Some(message) => self.message(message).await?,
                None => break,
            }
        }
        Ok(())
    }

    /// Lets the dialect speak, and does what it wants done.
    async fn with_dialect(
        &mut self,
        speak: impl FnOnce(&mut dyn Dialect, &Cx<'_>, &mut Vec<Action>),
    ) -> Flow {
        let mut out = Vec::new();
        let cx = Cx {
            now: now(),
            caller: self.door.caller.as_ref(),
        };
        speak(self.dialect.as_mut(), &cx, &mut out);
        for action in out {
            self.act(action).await?;
        }
        Ok(())
    }

    async fn act(&mut self, action: Action) -> Flow {
        match action {
            Action::Send(frame) => self.feed(Message::Text(frame.into())).await,
            // Only meaningful while an event is told; `heard` takes it there.
            Action::Shared => Ok(()),
            Action::Call { tag, call } => {
                self.submit(Job::new(tag, JobKind::Call(Box::new(call))));
                Ok(())
            }
            Action::CallNext { tag, call } => {
                self.waiting
                    .push_front(Job::new(tag, JobKind::Call(Box::new(call))));
                self.start_waiting();
                Ok(())
            }
            Action::Listen {
                tag,
                thread,
                from,
                recent,
            } => {
                let from = match from {
                    dialects::StartAt::Head => ListenFrom::Head,
                    dialects::StartAt::After(seq) => ListenFrom::After(seq),
                };
                let what = JobKind::Listen {
                    thread,
                    attendance: self.dialect.attendance(),
                    from,
                    recent,
                };
                self.submit(Job::new(tag, what));
                Ok(())
            }
            Action::Unlisten(thread) => {
                self.listeners.remove(&thread);
                Ok(())
            }
            Action::Watch => {
                match self.door.caller.as_ref().map(|by| self.engine.watch(by)) {
                    Some(Ok(watcher)) => self.watcher = Some(watcher),
                    Some(Err(refusal)) => tracing::debug!(%refusal, "lists are not watched"),
                    None => tracing::debug!("lists are not watched by nobody"),
                }
                Ok(())
            }
            Action::WatchServer => {
                self.watcher = Some(self.engine.watch_server());
                Ok(())
            }
            Action::Authenticate { tag, token } => {
                self.submit(Job::new(tag, JobKind::Authenticate(token)));
                Ok(())
            }
            Action::WakeAt(at) => {
                let at = Instant::now() + until(at);
                self.wake_at = Some(self.wake_at.map_or(at, |known| known.min(at)));
                Ok(())
            }
            Action::Close(reason) => Err(End::Close(reason)),
        }
    }

    /// Whether one more frame may be heard: its calls have to wait somewhere.
    fn has_room(&self) -> bool {
        self.waiting.len() + self.running.len() < CALLS_OPEN_MAX
    }

    fn submit(&mut self, job: Job) {
        self.waiting.push_back(job);
        self.start_waiting();
    }

    fn start_waiting(&mut self) {
        let in_order = self.dialect.calls_in_order();
        let at_once = if in_order { 1 } else { CALLS_RUNNING_MAX };
        while self.running.len().saturating_sub(self.beside) < at_once
            && let Some(mut job) = self.waiting.pop_front()
        {
            if job.listens().is_some_and(|thread| !self.may_listen(thread)) {
                let refused = std::future::ready(job.refused(too_many_listeners()));
                self.running.push(Box::pin(refused));
                continue;
            }
            if job.waits_outside() && self.beside < CALLS_BESIDE_MAX {
                job.lane = Lane::Beside;
                self.beside += 1;
            }
            self.silent.extend(job.silences());
            let variant = self.dialect.variant();
            let (engine, door) = (self.engine.clone(), self.door.clone());
            let span = job.span();
            let work = work(engine, door, variant, job).instrument(span);
            self.running.push(Box::pin(work));
        }
    }

    async fn finished(&mut self, finished: Finished) -> Flow {
        if let Some(thread) = finished.thread {
            while let Some(listener) = self.listeners.get_mut(&thread) {
                let before = listener.ready(finished.as_of, EVENTS_PER_FLUSH);
                if before.is_empty() {
                    break;
                }
                self.deliver(thread, before).await?;
            }
        }
        self.replied(finished).await
    }

    async fn replied(&mut self, mut finished: Finished) -> Flow {
        if let Some(listener) = finished.listener.take() {
            let thread = listener.card().id;
            self.listeners.insert(thread, listener);
            self.look_at(thread);
        }
        if let Some(silenced) = finished.silenced
            && let Some(at) = self.silent.iter().position(|each| *each == silenced)
        {
            self.silent.swap_remove(at);
            self.look_at(silenced);
        }
        if finished.lane == Lane::Beside {
            self.beside -= 1;
        }
        let Finished { tag, outcome, .. } = finished;
        match outcome {
            JobOutcome::Replied(outcome) => {
                self.with_dialect(|dialect, cx, out| dialect.replied(cx, out, tag, outcome))
                    .await?;
                // Only now: an answer may need one more call, which comes before those that wait.
                self.start_waiting();
            }
            JobOutcome::Authenticated(outcome) => {
                let outcome = outcome.map(|caller| self.door.enter(caller));
                if self.door.caller.is_some() {
                    self.door_event = self.door.first_event();
                }
                // What waits behind it is already theirs.
                self.start_waiting();
                self.with_dialect(|dialect, cx, out| dialect.authenticated(cx, out, tag, outcome))
                    .await?;
            }
        }
        // What a call changed is noticed right behind its answer, not some time later.
        while let Some(notice) = next_notice(&mut self.watcher).now_or_never() {
            self.noticed(&notice).await?;
        }
        Ok(())
    }

    async fn at_door(&mut self, event: DoorEvent) -> Flow {
        match event {
            DoorEvent::Shut => {
                let reason = Reason::new(Reason::POLICY, "nobody said who this is");
                Err(End::Close(reason))
            }
            DoorEvent::Replaced => {
                let reason = Reason::new(Reason::NORMAL, "Replaced by newer connection");
                Err(End::Close(reason))
            }
            DoorEvent::Renew => {
                // Before it is asked: what changes meanwhile is asked for again.
                self.door_event = self.door.next_event();
                match self.door.renew().await {
                    Ok(()) => Ok(()),
                    Err(Dismissed) => self.dismiss().await,
                }
            }
        }
    }

    async fn dismiss(&mut self) -> Flow {
        self.with_dialect(|dialect, cx, out| dialect.dismissed(cx, out))
            .await?;
        let reason = Reason::new(Reason::POLICY, "what you came in by is not good any more");
        Err(End::Close(reason))
    }

    /// Asked before anything is done, so that what is refused has changed nothing.
    fn may_listen(&self, thread: ThreadId) -> bool {
        self.listeners.len() < LISTENERS_MAX || self.listeners.contains_key(&thread)
    }

    async fn message(&mut self, message: Option<Result<Message, tungstenite::Error>>) -> Flow {
        self.heard_at = Instant::now();
        self.pinged = false;
        self.pace.spend(self.heard_at.into_std());
        match message {
            Some(Ok(Message::Text(text))) => self.frame(text.as_str()).await,
            Some(Ok(Message::Binary(bytes))) => {
                self.with_dialect(|dialect, cx, out| dialect.heard_binary(cx, out, &bytes))
                    .await
            }
            // Pieces of a message are joined before they come here.
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => Ok(()),
            Some(Ok(Message::Close(_))) => Err(End::Closed),
            None => Err(End::Gone),
            Some(Err(error)) => Err(broken(error)),
        }
    }

    async fn frame(&mut self, frame: &str) -> Flow {
        self.with_dialect(|dialect, cx, out| dialect.heard(cx, out, frame))
            .await
    }

    async fn noticed(&mut self, notice: &Notice) -> Flow {
        self.with_dialect(|dialect, cx, out| dialect.noticed(cx, out, notice))
            .await
    }
}

async fn next_notice(watcher: &mut Option<Watcher>) -> Notice {
    match watcher {
        Some(watcher) => match watcher.next().await {
            Some(notice) => notice,
            None => std::future::pending().await,
        },
        None => std::future::pending().await,
    }
}

async fn next_door_event(event: &mut Option<BoxFuture<'static, DoorEvent>>) -> DoorEvent {
    match event {
        Some(event) => event.await,
        None => std::future::pending().await,
    }
}

fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Timestamp(since.unwrap_or_default().as_millis() as i64)
}
