//! What is counted when somebody asks for metrics, beside what is counted on the way.

use std::sync::Arc;

use observability::metrics::MetricsText;
use vocabulary::TracingHealth;

use crate::Shared;

/// How many asks of one session are open. They are counted for the whole server, and no more when the
/// session is gone.
pub struct OpenAskCount {
    shared: Arc<Shared>,
    count: usize,
}

impl OpenAskCount {
    pub fn new(shared: &Arc<Shared>, count: usize) -> Self {
        let mut open = Self {
            shared: Arc::clone(shared),
            count: 0,
        };
        open.set(count);
        open
    }

    /// Costs a comparison where nothing changed.
    pub fn set(&mut self, count: usize) {
        if count != self.count {
            let change = count as i64 - self.count as i64;
            self.shared.metrics.asks_open.add(change);
            self.count = count;
        }
    }
}

impl Drop for OpenAskCount {
    fn drop(&mut self) {
        self.set(0);
    }
}

pub fn write(shared: &Shared, out: &mut MetricsText) {
    shared.metrics.write(out);
    write_queues(shared, out);
    write_traces(shared, out);
}

/// Walks over all that is awake: whoever asks for metrics does it seldom.
fn write_queues(shared: &Shared, out: &mut MetricsText) {
    let awake = shared.registry.awake();
    out.gauge("dragoman_sessions_awake", "Threads that are awake.");
    out.sample("dragoman_sessions_awake", &[], awake.len());
    let (mut mail, mut events, mut bytes) = (0, 0, 0);
    for handle in &awake {
        mail += handle.mail.max_capacity() - handle.mail.capacity();
        let held = handle.outbox.held();
        events += held.events;
        bytes += held.bytes;
    }
    for (name, help, value) in [
        (
            "dragoman_mailbox_messages",
            "Messages that wait for their sessions.",
            mail,
        ),
        (
            "dragoman_outbox_events",
            "Events in the rings that listeners read.",
            events,
        ),
        (
            "dragoman_outbox_bytes",
            "Bytes of the events in those rings.",
            bytes,
        ),
        (
            "dragoman_store_writes_waiting",
            "Writes that wait for the store's one writer.",
            shared.store.writes_waiting(),
        ),
    ] {
        out.gauge(name, help);
        out.sample(name, &[], value);
    }
}

fn write_traces(shared: &Shared, out: &mut MetricsText) {
    let Some(exporter) = shared.traces.exporter() else {
        return;
    };
    let failing = matches!(exporter.health(), TracingHealth::Failing { .. });
    out.gauge(
        "dragoman_traces_failing",
        "1 while traces do not reach an endpoint.",
    );
    out.sample("dragoman_traces_failing", &[], u8::from(failing));
    out.gauge(
        "dragoman_trace_spans_waiting",
        "Spans that wait for an endpoint.",
    );
    out.sample("dragoman_trace_spans_waiting", &[], exporter.waiting());
    out.counter(
        "dragoman_trace_spans_lost_total",
        "Spans that no endpoint will get.",
    );
    out.sample("dragoman_trace_spans_lost_total", &[], exporter.lost());
}
