//! One server of a place: started when it is needed, and again when it failed or ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OnceCell, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::PoolParts;
use super::starting::{back_off, start};
use crate::connection::{CallFailure, McpConnection, ServerLists};
use crate::limits::{CALL_CONNECT_MAX, LIVED, REQUIRED_WAIT, SILENT_AFTER};
use crate::{ConfiguredServer, McpPlace, cache};

#[derive(Clone)]
pub(crate) enum ServerState {
    /// Nobody needed it yet, or it was let go.
    NotStarted,
    Starting,
    Ready(Arc<McpConnection>),
    Failed(StartFailure),
}

/// Why a server is not there.
#[derive(Clone)]
pub(crate) struct StartFailure {
    pub message: String,
    /// When it may be tried again.
    next: Instant,
    /// It is tried again by itself.
    is_retrying: bool,
}

/// How it stands with a server when a turn begins.
pub(crate) enum ServerStanding {
    There(Arc<ServerLists>),
    Missing { why: String },
}

pub(crate) struct ServerSlot {
    pub(super) parts: Arc<PoolParts>,
    pub(super) place: McpPlace,
    server: ConfiguredServer,
    pub(super) state: watch::Sender<ServerState>,
    /// What it had when it was last connected.
    cached: OnceCell<Option<Arc<ServerLists>>>,
    /// What is on disk.
    saved: Mutex<Option<Arc<ServerLists>>>,
    /// Starts that failed one after the other.
    failures: AtomicU32,
    /// Of the last offer.
    pub tools_left_out: AtomicUsize,
    /// Nobody wants it any more.
    pub(super) gone: CancellationToken,
}

impl ServerSlot {
    pub fn new(parts: Arc<PoolParts>, place: McpPlace, server: ConfiguredServer) -> Arc<Self> {
        Arc::new(Self {
            parts,
            place,
            server,
            state: watch::Sender::new(ServerState::NotStarted),
            cached: OnceCell::new(),
            saved: Mutex::default(),
            failures: AtomicU32::new(0),
            tools_left_out: AtomicUsize::new(0),
            gone: CancellationToken::new(),
        })
    }

    pub fn name(&self) -> &str {
        &self.server.server.name
    }

    pub fn server(&self) -> &ConfiguredServer {
        &self.server
    }

    pub fn is_required(&self) -> bool {
        self.server.server.required == Some(true)
    }

    pub fn state(&self) -> ServerState {
        self.state.borrow().clone()
    }

    pub fn is_in_use(&self) -> bool {
        !matches!(*self.state.borrow(), ServerState::NotStarted)
    }

    /// The connection, if it is there.
    pub fn ready(&self) -> Option<Arc<McpConnection>> {
        match &*self.state.borrow() {
            ServerState::Ready(connection) if !connection.is_closed() => {
                Some(Arc::clone(connection))
            }
            ServerState::Ready(_)
            | ServerState::NotStarted
            | ServerState::Starting
            | ServerState::Failed(_) => None,
        }
    }

    /// Begins to connect where that is due.
    pub fn ensure_started(self: &Arc<Self>) {
        if self.gone.is_cancelled() {
            return;
        }
        let now = Instant::now();
        let begins = self.state.send_if_modified(|state| {
            let is_due = match state {
                ServerState::NotStarted => true,
                ServerState::Starting => false,
                ServerState::Ready(connection) => connection.is_closed(),
                ServerState::Failed(failure) => !failure.is_retrying && failure.next <= now,
            };
            if is_due {
                *state = ServerState::Starting;
            }
            is_due
        });
        if begins {
            tokio::spawn(start(Arc::clone(self)));
        }
    }

    /// What there is for a turn, and what there is not. Waits no longer than it must.
    pub async fn standing(self: &Arc<Self>, wait: Duration) -> ServerStanding {
        self.ensure_started();
        if !self.is_required()
            && self.ready().is_none()
            && let Some(lists) = self.cached().await
            && !matches!(*self.state.borrow(), ServerState::Failed(_))
        {
            return ServerStanding::There(lists);
        }
        let is_required = self.is_required();
        let limit = if is_required {
            wait.max(REQUIRED_WAIT)
        } else {
            wait
        };
        let mut states = self.state.subscribe();
        let is_settled = |state: &ServerState| match state {
            ServerState::Ready(_) => true,
            // It may come yet.
            ServerState::Failed(failure) => !(is_required && failure.is_retrying),
            ServerState::NotStarted | ServerState::Starting => false,
        };
        // Whatever there is then counts.
        let _ = tokio::time::timeout(limit, states.wait_for(is_settled)).await;
        match self.state() {
            ServerState::Ready(connection) => {
                self.check_silent(&connection);
                connection.touch();
                let lists = connection.lists();
                self.save(&lists);
                ServerStanding::There(lists)
            }
            ServerState::Failed(failure) => ServerStanding::Missing {
                why: failure.message,
            },
            ServerState::NotStarted | ServerState::Starting => ServerStanding::Missing {
                why: "it is still starting".to_owned(),
            },
        }
    }

    /// Looks in the background whether a connection that was silent for long still lives.
    fn check_silent(self: &Arc<Self>, connection: &Arc<McpConnection>) {
        if connection.silent_for() >= SILENT_AFTER {
            let (slot, connection) = (Arc::clone(self), Arc::clone(connection));
            tokio::spawn(async move {
                if !connection.answers().await {
                    slot.replace(&connection);
                }
            });
        }
    }

    /// The connection for a call, made if need be.
    pub async fn connected(
        self: &Arc<Self>,
        cancel: &CancellationToken,
    ) -> Result<Arc<McpConnection>, CallFailure> {
        let work = tokio::time::timeout(CALL_CONNECT_MAX, self.connection());
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(CallFailure::Cancelled),
            () = self.gone.cancelled() => {
                Err(CallFailure::Failed("it is not configured any more".to_owned()))
            }
            connected = work => match connected {
                Ok(connected) => connected.map_err(CallFailure::Failed),
                Err(_) => Err(CallFailure::Failed(match self.state() {
                    ServerState::Failed(failure) => failure.message,
                    ServerState::NotStarted | ServerState::Starting | ServerState::Ready(_) => {
                        "it is still starting; try again later".to_owned()
                    }
                })),
            },
        }
    }

    async fn connection(self: &Arc<Self>) -> Result<Arc<McpConnection>, String> {
        let mut states = self.state.subscribe();
        loop {
            self.ensure_started();
            let state = states.borrow_and_update().clone();
            match state {
                ServerState::Ready(connection) if !connection.is_closed() => {
                    let is_silent = connection.silent_for() >= SILENT_AFTER;
                    if !is_silent || connection.answers().await {
                        return Ok(connection);
                    }
                    self.replace(&connection);
                }
                ServerState::Failed(failure) if !failure.is_retrying => {
                    return Err(failure.message);
                }
                ServerState::Ready(_)
                | ServerState::Failed(_)
                | ServerState::NotStarted
                | ServerState::Starting => {
                    // The other end is in this slot.
                    let _ = states.changed().await;
                }
            }
        }
    }

    /// Ends a connection that does not answer, so that the next is made.
    fn replace(self: &Arc<Self>, dead: &Arc<McpConnection>) {
        self.state.send_if_modified(|state| {
            let is_it = matches!(state, ServerState::Ready(now) if Arc::ptr_eq(now, dead));
            if is_it {
                *state = ServerState::NotStarted;
            }
            is_it
        });
        let dead = Arc::clone(dead);
        tokio::spawn(async move { dead.close().await });
        self.ensure_started();
    }

    /// Ends it for good.
    pub async fn let_go(&self) {
        self.gone.cancel();
        let state = self.state.send_replace(ServerState::NotStarted);
        if let ServerState::Ready(connection) = state {
            connection.close().await;
        }
    }

    async fn cached(&self) -> Option<Arc<ServerLists>> {
        let load = || async {
            let (home, server) = (self.parts.options.home.clone(), self.server.clone());
            let loaded = tokio::task::spawn_blocking(move || cache::load(&home, &server)).await;
            loaded.ok().flatten().map(Arc::new)
        };
        let known = self.saved.lock().clone();
        match known {
            Some(lists) => Some(lists),
            None => self.cached.get_or_init(load).await.clone(),
        }
    }

    /// Keeps what it has for the next start.
    pub(super) fn save(&self, lists: &Arc<ServerLists>) {
        let mut saved = self.saved.lock();
        if saved
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, lists))
        {
            return;
        }
        *saved = Some(Arc::clone(lists));
        let (home, server) = (self.parts.options.home.clone(), self.server.clone());
        let lists = Arc::clone(lists);
        tokio::task::spawn_blocking(move || cache::save(&home, &server, &lists));
    }

    /// Notes that a start failed, or a connection ended.
    pub(super) fn failed(&self, message: String, is_retrying: bool) -> Duration {
        let failures = self.failures.fetch_add(1, Ordering::Relaxed);
        let pause = back_off(failures);
        let failure = StartFailure {
            message,
            next: Instant::now() + pause,
            is_retrying,
        };
        self.state.send_replace(ServerState::Failed(failure));
        pause
    }

    /// A connection ended.
    pub(super) fn ended(&self, connection: &McpConnection) {
        let is_it = match &*self.state.borrow() {
            ServerState::Ready(now) => std::ptr::eq(&raw const **now, connection),
            ServerState::NotStarted | ServerState::Starting | ServerState::Failed(_) => false,
        };
        if !is_it {
            return;
        }
        if connection.was_let_go() {
            self.state.send_replace(ServerState::NotStarted);
            return;
        }
        if connection.begun.elapsed() >= LIVED {
            self.failures.store(0, Ordering::Relaxed);
        }
        self.failed(connection.end_message(), false);
    }
}
