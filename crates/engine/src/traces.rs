//! Traces of turns, for the endpoints that the operator configured: one trace per turn, with a span for
//! each request to a model and each call.
//!
//! A turn and its calls are taken from the facts that its session records, so that every agent has
//! them; requests are watched where they are made. Without an endpoint, or in a thread that does not
//! want it, there is no [`TurnTrace`], and nothing is done.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use observability::{
    ObservationKind, SpanId, SpanProblem, TraceExporter, TraceId, TraceInfo, TraceSpan,
    TracingSettings, cut,
};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;
use vocabulary::{
    AgentMode, ItemId, Person, Thread, Timestamp, ToolCall, ToolEvent, ToolFact, ToolOutcome,
    ToolOutput, TracingState, TurnOutcome,
};

use crate::session::state::TurnState;

pub mod requests;
mod words;

/// What a trace is called, and its root.
const TURN: &str = "agent.turn";

/// The traces of all turns.
pub(crate) struct Traces {
    exporter: Option<Arc<TraceExporter>>,
    state: Arc<watch::Sender<Arc<TracingState>>>,
}

impl Traces {
    pub(crate) fn new(settings: &TracingSettings) -> Self {
        let state = Arc::new(watch::Sender::new(Arc::new(settings.state())));
        let exporter = TraceExporter::new(settings).map(Arc::new);
        if let Some(exporter) = &exporter {
            let (known, told) = (Arc::downgrade(exporter), Arc::clone(&state));
            exporter.on_change(Arc::new(move || {
                if let Some(exporter) = known.upgrade() {
                    let health = exporter.health();
                    told.send_modify(|state| Arc::make_mut(state).health = health);
                }
            }));
        }
        Self { exporter, state }
    }

    pub(crate) fn state(&self) -> Arc<TracingState> {
        Arc::clone(&self.state.borrow())
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Arc<TracingState>> {
        let mut changes = self.state.subscribe();
        // Whoever begins to watch may know an older state.
        changes.mark_changed();
        changes
    }

    pub(crate) fn exporter(&self) -> Option<&TraceExporter> {
        self.exporter.as_deref()
    }

    /// The trace of a turn, if there is to be one. The same turn has the same trace again after a
    /// restart.
    pub(crate) fn of_turn(
        &self,
        thread: &Thread,
        turn: &TurnState,
        by: Option<&Person>,
    ) -> Option<Arc<TurnTrace>> {
        let exporter = self.exporter.as_ref()?;
        if !thread.settings.observability {
            return None;
        }
        let session = thread.card.id.to_string();
        let hash = blake3::hash(format!("{session}/{}", turn.turn.as_str()).as_bytes());
        let mut id = [0; 16];
        id.copy_from_slice(&hash.as_bytes()[..16]);
        let mut metadata = vec![("turn", Value::from(turn.turn.as_str()))];
        if let Some(model) = &turn.model {
            let name = format!("{}/{}", model.provider, model.model);
            metadata.push(("model", Value::from(name)));
        }
        if let Some(via) = by.and_then(|person| person.via.as_deref()) {
            metadata.push(("via", Value::from(via)));
        }
        let mode = match thread.settings.mode {
            AgentMode::Chat => "chat",
            AgentMode::Plan => "plan",
            AgentMode::Code => "code",
        };
        let tags = [Some(mode), thread.settings.agent.as_deref()];
        let info = TraceInfo {
            id: TraceId(id),
            name: TURN,
            user: by.map(|person| person.member.clone()),
            session,
            tags: tags.into_iter().flatten().map(str::to_owned).collect(),
            metadata,
        };
        Some(Arc::new(TurnTrace {
            exporter: Arc::clone(exporter),
            root: span_id(info.id, TURN),
            info: Arc::new(info),
            running: Mutex::default(),
            requests: AtomicU64::new(0),
        }))
    }
}

/// The trace of one turn.
pub struct TurnTrace {
    exporter: Arc<TraceExporter>,
    info: Arc<TraceInfo>,
    root: SpanId,
    /// When the calls began that have not ended.
    running: Mutex<HashMap<ItemId, Timestamp>>,
    requests: AtomicU64,
}

impl TurnTrace {
    /// Follows what happened to a call.
    pub(crate) fn follow(&self, at: Timestamp, tool: &ToolEvent) {
        match &tool.what {
            // The time in which a person is asked is not the tool's.
            ToolFact::Planned { .. } | ToolFact::Started => {
                self.running.lock().insert(tool.call.item.clone(), at);
            }
            ToolFact::Finished { outcome, .. } => self.call_ended(at, &tool.call, outcome),
            ToolFact::Reached
            | ToolFact::Wrote { .. }
            | ToolFact::Interacted { .. }
            | ToolFact::JobEnded { .. }
            | ToolFact::Progressed { .. }
            | ToolFact::TimedOut { .. }
            | ToolFact::Exited { .. } => {}
        }
    }

    fn call_ended(&self, at: Timestamp, call: &ToolCall, outcome: &ToolOutcome) {
        let began = self.running.lock().remove(&call.item);
        let (output, problem) = result_of(outcome);
        self.exporter.offer(TraceSpan {
            trace: Arc::clone(&self.info),
            id: self.of_item(&call.item),
            parent: Some(self.parent_of(call)),
            name: call.name.clone(),
            started_ms: began.unwrap_or(at).millis(),
            ended_ms: at.millis(),
            input: cut(&call.input.to_string()),
            output,
            problem,
            kind: ObservationKind::Tool {
                call_id: call.call_id.clone(),
            },
        });
    }

    /// The turn has come to rest.
    pub(crate) fn ended(&self, at: Timestamp, turn: &TurnState, text: &str, end: &TurnOutcome) {
        let problem = match end {
            TurnOutcome::Completed => None,
            TurnOutcome::Cancelled => Some(SpanProblem::Warning("cancelled".to_owned())),
            TurnOutcome::Failed(error) => Some(SpanProblem::Error(cut(&error.message))),
        };
        self.exporter.offer(TraceSpan {
            trace: Arc::clone(&self.info),
            id: self.root,
            parent: None,
            name: TURN.to_owned(),
            started_ms: turn.started_at.millis(),
            ended_ms: at.millis(),
            input: cut(&turn.input.text),
            output: cut(text),
            problem,
            kind: ObservationKind::Agent,
        });
    }

    fn of_item(&self, item: &ItemId) -> SpanId {
        span_id(self.info.id, item.as_str())
    }

    /// A sub-agent's call belongs to the call that the sub-agent works for.
    fn parent_of(&self, call: &ToolCall) -> SpanId {
        match &call.agent {
            Some(agent) => self.of_item(&agent.parent),
            None => self.root,
        }
    }

    fn next_request(&self, at: Timestamp) -> SpanId {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        // With its time: a turn that is picked up counts anew.
        span_id(self.info.id, &format!("request {number} {}", at.millis()))
    }
}

/// The same in every process, so that nothing has to be remembered.
fn span_id(trace: TraceId, name: &str) -> SpanId {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&trace.0).update(name.as_bytes());
    let mut id = [0; 8];
    id.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    SpanId(id)
}

fn result_of(outcome: &ToolOutcome) -> (String, Option<SpanProblem>) {
    let words = |output: &ToolOutput| cut(&output.words());
    let warning = |what: &str| Some(SpanProblem::Warning(what.to_owned()));
    match outcome {
        ToolOutcome::Succeeded(output) => (words(output), None),
        ToolOutcome::Failed { error } => (cut(error), Some(SpanProblem::Error(cut(error)))),
        ToolOutcome::Denied(output) => (words(output), warning("denied")),
        ToolOutcome::Interrupted(output) => (words(output), warning("interrupted")),
        ToolOutcome::NotRun { why } => (cut(why), warning("not run")),
    }
}
