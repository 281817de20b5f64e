//! How batches leave, wait, get lost and recover.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use vocabulary::TracingHealth;

use super::{root, settings};
use crate::attributes::AttributeWords;
use crate::batch::BatchEncoder;
use crate::limits::{BATCH_DELAY, BATCH_SPANS_MAX, QUEUE_BYTES_MAX, QUEUE_SPANS_MAX};
use crate::outlet::Outlet;
use crate::span::{TraceSpan, cut};
use crate::transport::{Delivering, DeliveryError, Transport};

/// An endpoint that does what the test says.
struct Scripted {
    outcome: Arc<Mutex<Result<(), DeliveryError>>>,
    taken: Arc<watch::Sender<usize>>,
    tried: Arc<AtomicUsize>,
}

impl Transport for Scripted {
    fn destination(&self) -> &str {
        "the endpoint"
    }

    fn deliver(&self, _body: Vec<u8>) -> Delivering<'_> {
        Box::pin(async {
            self.tried.fetch_add(1, Ordering::Relaxed);
            let outcome = self.outcome.lock().clone();
            if outcome.is_ok() {
                self.taken.send_modify(|count| *count += 1);
            }
            outcome
        })
    }
}

struct Story {
    outlet: Outlet,
    outcome: Arc<Mutex<Result<(), DeliveryError>>>,
    taken: watch::Receiver<usize>,
    tried: Arc<AtomicUsize>,
    health: watch::Receiver<usize>,
}

impl Story {
    fn new(outcome: Result<(), DeliveryError>) -> Self {
        let (outcome, tried) = (Arc::new(Mutex::new(outcome)), Arc::default());
        let (taken, takes) = watch::channel(0);
        let transport = Scripted {
            outcome: Arc::clone(&outcome),
            taken: Arc::new(taken),
            tried: Arc::clone(&tried),
        };
        let words = AttributeWords::Langfuse;
        let encoder = BatchEncoder::new(&settings(), words, "i", Arc::default());
        let outlet = Outlet::new(Box::new(transport), encoder, BATCH_DELAY);
        let (changed, health) = watch::channel(0);
        outlet.on_change(Arc::new(move || changed.send_modify(|count| *count += 1)));
        Self {
            outlet,
            outcome,
            taken: takes,
            tried,
            health,
        }
    }

    fn offer(&self, count: usize) {
        for _ in 0..count {
            self.outlet.offer(Arc::new(root()));
        }
    }

    async fn until_taken(&mut self, batches: usize) {
        self.taken
            .wait_for(|taken| *taken >= batches)
            .await
            .expect("an endpoint");
    }

    async fn until_health_changed(&mut self, times: usize) {
        self.health
            .wait_for(|count| *count >= times)
            .await
            .expect("an outlet");
    }
}

fn away() -> Result<(), DeliveryError> {
    Err(DeliveryError::Unreachable(
        "nothing answers there".to_owned(),
    ))
}

#[tokio::test(start_paused = true)]
async fn spans_gather_for_a_moment_and_a_full_batch_goes_at_once() {
    let mut story = Story::new(Ok(()));
    let since = Instant::now();
    story.offer(3);
    story.until_taken(1).await;
    assert_eq!(since.elapsed(), BATCH_DELAY);
    let since = Instant::now();
    story.offer(BATCH_SPANS_MAX);
    story.until_taken(2).await;
    assert_eq!(since.elapsed(), Duration::ZERO);
    assert_eq!(story.outlet.health(), TracingHealth::Ready { since: None });
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_is_away_for_a_minute_gets_everything_when_it_is_back() {
    let mut story = Story::new(away());
    story.offer(1);
    story.until_health_changed(1).await;
    let TracingHealth::Failing {
        refused, message, ..
    } = story.outlet.health()
    else {
        panic!("{:?}", story.outlet.health())
    };
    assert!(!refused);
    assert!(
        message.contains("the endpoint: nothing answers there"),
        "{message}"
    );
    // Handing over takes no time, whatever the endpoint does.
    let since = Instant::now();
    for _ in 0..60 {
        story.offer(20);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(since.elapsed(), Duration::from_secs(60));
    let tried = story.tried.load(Ordering::Relaxed);
    assert!((5..=10).contains(&tried), "tried {tried} times");
    // One failure is told once.
    assert_eq!(*story.health.borrow(), 1);
    *story.outcome.lock() = Ok(());
    story.until_taken(4).await;
    assert_eq!(story.outlet.waiting(), 0);
    assert_eq!(story.outlet.lost(), 0);
    assert!(matches!(
        story.outlet.health(),
        TracingHealth::Ready { since: Some(_) }
    ));
    assert_eq!(*story.health.borrow(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_is_counted_and_the_rest_is_kept() {
    let mut story = Story::new(away());
    story.offer(1);
    story.until_health_changed(1).await;
    story.offer(QUEUE_SPANS_MAX + 10);
    assert_eq!(story.outlet.lost(), 10);
    story.until_health_changed(2).await;
    let TracingHealth::Failing { message, .. } = story.outlet.health() else {
        panic!("{:?}", story.outlet.health())
    };
    assert!(
        message.ends_with("Some were lost since the start."),
        "{message}"
    );
    *story.outcome.lock() = Ok(());
    story
        .until_taken(1 + QUEUE_SPANS_MAX / BATCH_SPANS_MAX)
        .await;
    assert_eq!(story.outlet.lost(), 10);
}

#[tokio::test(start_paused = true)]
async fn long_texts_fill_the_queue_sooner() {
    let mut story = Story::new(away());
    let long = || TraceSpan {
        input: cut(&"x".repeat(1 << 20)),
        ..root()
    };
    story.offer(1);
    story.until_health_changed(1).await;
    let size = long().bytes();
    for _ in 0..QUEUE_BYTES_MAX / size + 5 {
        story.outlet.offer(Arc::new(long()));
    }
    // The one on its way has its room, too.
    assert!(
        (5..=6).contains(&story.outlet.lost()),
        "{}",
        story.outlet.lost()
    );
}

#[tokio::test(start_paused = true)]
async fn a_refusal_loses_its_batch_and_the_next_one_is_tried_all_the_same() {
    let refusal = DeliveryError::Refused("it answered 401 Unauthorized".to_owned());
    let mut story = Story::new(Err(refusal));
    story.offer(2);
    story.until_health_changed(1).await;
    assert_eq!(story.outlet.lost(), 2);
    assert!(matches!(
        story.outlet.health(),
        TracingHealth::Failing { refused: true, .. }
    ));
    *story.outcome.lock() = Ok(());
    story.offer(1);
    story.until_taken(1).await;
    story.until_health_changed(2).await;
    assert_eq!(story.outlet.lost(), 2);
}

#[tokio::test(start_paused = true)]
async fn rejected_spans_of_a_batch_that_was_taken_are_counted() {
    let partly = DeliveryError::Partly {
        rejected: 3,
        message: "too old".to_owned(),
    };
    let mut story = Story::new(Err(partly));
    story.offer(5);
    story.until_health_changed(1).await;
    assert_eq!(story.outlet.lost(), 3);
    assert_eq!(story.tried.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn the_end_delivers_what_is_left_and_waits_for_nobody() {
    let mut story = Story::new(Ok(()));
    story.offer(2);
    let since = Instant::now();
    story.outlet.begin_close();
    story.outlet.closed().await;
    assert_eq!(since.elapsed(), Duration::ZERO);
    story.until_taken(1).await;

    let story = Story::new(away());
    story.offer(2);
    tokio::time::sleep(BATCH_DELAY * 2).await;
    let since = Instant::now();
    story.outlet.begin_close();
    story.outlet.closed().await;
    assert_eq!(since.elapsed(), Duration::ZERO);
    assert_eq!(story.outlet.lost(), 2);
}

#[tokio::test(start_paused = true)]
async fn without_a_span_nothing_runs() {
    let story = Story::new(Ok(()));
    tokio::time::sleep(BATCH_DELAY * 10).await;
    story.outlet.closed().await;
    assert_eq!(story.tried.load(Ordering::Relaxed), 0);
}
