//! One endpoint: what waits for it, the task that delivers, and how that fares.
//!
//! Handing a span over never waits. The task begins with the first span, gathers what comes within a
//! moment, and tries again for as long as the endpoint is away; what does not fit meanwhile is lost,
//! and counted.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use vocabulary::{Timestamp, TracingHealth};

use crate::batch::BatchEncoder;
use crate::limits::{
    BATCH_BYTES_MAX, BATCH_SPANS_MAX, QUEUE_BYTES_MAX, QUEUE_SPANS_MAX, RETRY_DELAY,
    RETRY_DELAY_MAX,
};
use crate::span::TraceSpan;
use crate::transport::{DeliveryError, Transport};

/// Called when the health of any endpoint changed.
pub type HealthListener = Arc<dyn Fn() + Send + Sync>;

pub struct Outlet {
    delivery: Arc<SpanDelivery>,
    /// There from the first span on.
    queue: OnceLock<mpsc::Sender<Arc<TraceSpan>>>,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// What the task shares with who hands spans over.
struct SpanDelivery {
    transport: Box<dyn Transport>,
    encoder: BatchEncoder,
    batch_delay: Duration,
    /// Of what waits or is on its way.
    bytes: AtomicUsize,
    lost: AtomicU64,
    health: Mutex<TracingHealth>,
    changed: OnceLock<HealthListener>,
    closing: CancellationToken,
}

impl Outlet {
    pub fn new(
        transport: Box<dyn Transport>,
        encoder: BatchEncoder,
        batch_delay: Duration,
    ) -> Self {
        let delivery = SpanDelivery {
            transport,
            encoder,
            batch_delay,
            bytes: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
            health: Mutex::new(TracingHealth::Ready { since: None }),
            changed: OnceLock::new(),
            closing: CancellationToken::new(),
        };
        Self {
            delivery: Arc::new(delivery),
            queue: OnceLock::new(),
            task: Mutex::default(),
        }
    }

    pub fn on_change(&self, listener: HealthListener) {
        // Only one is ever set.
        let _ = self.delivery.changed.set(listener);
    }

    pub fn health(&self) -> TracingHealth {
        self.delivery.health.lock().clone()
    }

    /// Spans that nobody will ever get.
    pub fn lost(&self) -> u64 {
        self.delivery.lost.load(Ordering::Relaxed)
    }

    /// Spans that wait, those on their way not counted.
    pub fn waiting(&self) -> usize {
        let queue = self.queue.get();
        queue.map_or(0, |queue| queue.max_capacity() - queue.capacity())
    }

    /// Takes a span, or counts it as lost. Must be called within a runtime.
    pub fn offer(&self, span: Arc<TraceSpan>) {
        let queue = self.queue.get_or_init(|| {
            let (queue, waiting) = mpsc::channel(QUEUE_SPANS_MAX);
            let work = Arc::clone(&self.delivery).run(waiting);
            *self.task.lock() = Some(tokio::spawn(work));
            queue
        });
        let size = span.bytes();
        let before = self.delivery.bytes.fetch_add(size, Ordering::Relaxed);
        let fits = before + size <= QUEUE_BYTES_MAX;
        if !fits || queue.try_send(span).is_err() {
            self.delivery.bytes.fetch_sub(size, Ordering::Relaxed);
            self.delivery.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// From now on what is left is tried once, without a wait.
    pub fn begin_close(&self) {
        self.delivery.closing.cancel();
    }

    /// Returns when nothing is left to try.
    pub async fn closed(&self) {
        let task = self.task.lock().take();
        if let Some(task) = task {
            // It is over either way.
            let _ = task.await;
        }
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        if let Some(task) = self.task.get_mut().take() {
            task.abort();
        }
    }
}

impl SpanDelivery {
    async fn run(self: Arc<Self>, mut waiting: mpsc::Receiver<Arc<TraceSpan>>) {
        loop {
            let first = tokio::select! {
                biased;
                first = waiting.recv() => first,
                () = self.closing.cancelled() => None,
            };
            let Some(first) = first else { return };
            let batch = self.gather(first, &mut waiting).await;
            let size: usize = batch.iter().map(|span| span.bytes()).sum();
            self.deliver(&batch).await;
            self.bytes.fetch_sub(size, Ordering::Relaxed);
        }
    }

    /// What comes within a moment, as much as one request may have.
    async fn gather(
        &self,
        first: Arc<TraceSpan>,
        waiting: &mut mpsc::Receiver<Arc<TraceSpan>>,
    ) -> Vec<Arc<TraceSpan>> {
        let until = Instant::now() + self.batch_delay;
        let mut bytes = first.bytes();
        let mut batch = vec![first];
        while batch.len() < BATCH_SPANS_MAX && bytes < BATCH_BYTES_MAX {
            let next = tokio::select! {
                biased;
                next = waiting.recv() => next,
                () = self.closing.cancelled() => None,
                () = tokio::time::sleep_until(until) => None,
            };
            let Some(span) = next else { break };
            bytes += span.bytes();
            batch.push(span);
        }
        batch
    }

    /// Tries until they are taken, or refused, or the server ends.
    async fn deliver(&self, batch: &[Arc<TraceSpan>]) {
        let Ok(body) = self.encoder.encode(batch) else {
            return self.lose(batch.len() as u64);
        };
        let mut delay = RETRY_DELAY;
        loop {
            let error = match self.transport.deliver(body.clone()).await {
                Ok(()) => return self.set_health(None),
                Err(error) => error,
            };
            let passes = matches!(error, DeliveryError::Unreachable(_));
            let closing = self.closing.is_cancelled();
            match &error {
                DeliveryError::Partly { rejected, .. } => self.lose(*rejected),
                DeliveryError::Refused(_) => self.lose(batch.len() as u64),
                DeliveryError::Unreachable(_) if closing => self.lose(batch.len() as u64),
                DeliveryError::Unreachable(_) => {}
            }
            self.set_health(Some(&error));
            if !passes || closing {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = self.closing.cancelled() => {}
            }
            delay = (delay * 2).min(RETRY_DELAY_MAX);
        }
    }

    fn lose(&self, count: u64) {
        self.lost.fetch_add(count, Ordering::Relaxed);
    }

    /// A failure that goes on is told once: its words change only with what is wrong, and when the
    /// first span is lost.
    fn set_health(&self, error: Option<&DeliveryError>) {
        let to = self.transport.destination();
        let lost = match self.lost.load(Ordering::Relaxed) {
            0 => "",
            1.. => " Some were lost since the start.",
        };
        let said = error.map(|error| match error {
            DeliveryError::Unreachable(what) => (
                false,
                format!("Traces do not reach {to}: {what}. They wait and are sent again.{lost}"),
            ),
            DeliveryError::Refused(what) => {
                (true, format!("Traces were refused by {to}: {what}.{lost}"))
            }
            DeliveryError::Partly { message, .. } => (
                true,
                format!("Some traces were refused by {to}: {message}.{lost}"),
            ),
        });
        let mut health = self.health.lock();
        let now = match (&*health, said) {
            (TracingHealth::Ready { .. } | TracingHealth::Unconfigured, None) => return,
            (TracingHealth::Failing { message, .. }, Some((_, words))) if *message == words => {
                return;
            }
            (_, None) => TracingHealth::Ready {
                since: Some(wall_clock()),
            },
            (_, Some((refused, message))) => TracingHealth::Failing {
                refused,
                message,
                since: wall_clock(),
            },
        };
        match &now {
            TracingHealth::Failing { message, .. } => tracing::warn!("{message}"),
            TracingHealth::Ready { .. } => tracing::info!("traces reach {to} again"),
            TracingHealth::Unconfigured => {}
        }
        *health = now;
        drop(health);
        if let Some(changed) = self.changed.get() {
            changed();
        }
    }
}

fn wall_clock() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Timestamp(since.unwrap_or_default().as_millis() as i64)
}
