//! The ten events a connection starts with (docs/protocols/cowork.md, "Connection Lifecycle").
//!
//! The first five are known at once. The other five are slots, filled by calls and sent in order;
//! after a short while what is ready overtakes what is late, which follows when it comes. Asks that
//! wait are told again right behind them, then the plan. What is being written right now is told
//! behind the first five: more of it may come at once.

use std::collections::BTreeSet;

use vocabulary::{
    AskFact, AskId, AskKind, Call, CheckpointCall, Event, Fact, McpCall, RunningTurn, ThreadFact,
    ThreadView, TracingState, TurnFact,
};

use super::calls::{CoworkCalls, CoworkPurpose};
use super::session::CoworkSession;
use super::show;
use super::tell::thread::todos;
use super::wire::ServerEvent;
use super::wire::session::{Capabilities, Resume, ServerHello};
use crate::{Action, Cx, Frame, Variant, tell};

const PROTOCOL_VERSION: &str = "7.0";

/// How long a ready event waits for a late one before it.
const PATIENCE_MS: i64 = 250;

/// The events that are asked for, in the order in which they are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GreetingSlot {
    ProviderCatalog,
    ProviderAuthMethods,
    ProviderStatus,
    McpServers,
    SessionBackupState,
}

#[derive(Debug, Default)]
enum SlotState {
    #[default]
    Empty,
    Ready(Vec<Frame>),
    Sent,
}

#[derive(Debug, Default)]
pub struct Slots {
    states: [SlotState; 5],
    overtaking: bool,
    /// Asks to tell again behind the ten, until they were, or changed meanwhile.
    replay: BTreeSet<AskId>,
    /// The plan, to be told behind them, unless it changed meanwhile.
    plan: Option<Frame>,
}

impl Slots {
    pub fn fill(&mut self, slot: GreetingSlot, frames: Vec<Frame>) {
        self.states[slot as usize] = SlotState::Ready(frames);
    }

    /// What may be sent now.
    fn take_ready(&mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        for state in &mut self.states {
            match state {
                SlotState::Ready(ready) => {
                    frames.append(ready);
                    *state = SlotState::Sent;
                }
                SlotState::Sent => {}
                SlotState::Empty if self.overtaking => {}
                SlotState::Empty => break,
            }
        }
        frames
    }

    fn past(&self) -> bool {
        let sent = |state: &SlotState| matches!(state, SlotState::Sent);
        self.overtaking || self.states.iter().all(sent)
    }

    /// What was just told live is not told again: a question would be asked twice, a plan undone.
    pub fn follow(&mut self, fact: &Fact) {
        if let Fact::Ask {
            what: AskFact::Progressed {
                ask, next: Some(_), ..
            },
            ..
        } = fact
        {
            self.replay.remove(ask);
        } else if matches!(
            fact,
            Fact::Turn(TurnFact::PlanChanged { .. })
                | Fact::Thread(ThreadFact::Reset | ThreadFact::Reverted { .. })
        ) {
            self.plan = None;
        }
    }
}

/// What a greeting is made from.
pub struct GreetingFacts<'a> {
    pub view: &'a ThreadView,
    pub tracing: &'a TracingState,
    /// Whether the session was asked for, and is not new.
    pub resumed: bool,
}

impl CoworkSession {
    /// The first five events, and the calls for the rest.
    pub fn greet(
        &mut self,
        cx: &Cx<'_>,
        out: &mut Vec<Action>,
        calls: &mut CoworkCalls,
        facts: &GreetingFacts<'_>,
    ) {
        let (view, resumed) = (facts.view, facts.resumed);
        let thread = &view.thread;
        let (id, card, settings) = (&self.id, &thread.card, &thread.settings);
        let (title, updated) = (&thread.title, thread.updated_at);
        let five = [
            self.server_hello(view, resumed),
            show::session_settings(id, settings),
            show::session_config(id, settings),
            show::session_info(id, card, title, &settings.model, updated),
            show::observability_status(id, settings, facts.tracing, cx.now),
        ];
        out.extend(five.map(Action::Send));
        let thread = card.id;
        for (slot, call) in [
            // Its answer fills the auth methods too.
            (GreetingSlot::ProviderCatalog, Call::GetCatalog),
            (
                GreetingSlot::ProviderStatus,
                Call::GetProviderStatus { verify: false },
            ),
            (
                GreetingSlot::McpServers,
                Call::Mcp {
                    thread,
                    call: McpCall::Get,
                },
            ),
            (
                GreetingSlot::SessionBackupState,
                Call::Checkpoints {
                    thread,
                    call: CheckpointCall::Get,
                },
            ),
        ] {
            calls.make(out, CoworkPurpose::Connect(slot), call);
        }
        out.push(Action::WakeAt(cx.now.plus_millis(PATIENCE_MS)));
        self.slots.replay = view.asks.iter().map(|open| open.ask.id).collect();
        let plan = (!view.plan.is_empty()).then(|| todos(&self.id, &view.plan));
        self.slots.plan = plan;
    }

    /// What is being written right now, before more of it comes: as far as it has come, in the
    /// chunks that told it, with the numbers those had.
    pub fn retell(&self, out: &mut Vec<Action>, view: &ThreadView, variant: Variant) {
        let facts = view.turn.iter().flat_map(RunningTurn::so_far);
        for fact in facts {
            let event = Event {
                seq: view.head,
                at: view.thread.updated_at,
                by: None,
                fact,
            };
            let frames = tell(variant, &self.card, &event);
            out.extend(frames.into_iter().map(Action::Send));
        }
    }

    fn server_hello(&self, view: &ThreadView, resumed: bool) -> Frame {
        let waits = |wanted: fn(&AskKind) -> bool| view.asks.iter().any(|a| wanted(&a.ask.kind));
        let resume = resumed.then(|| Resume {
            is_resume: true,
            resumed_from_storage: view.woken,
            busy: view.turn.is_some(),
            message_count: view.thread.message_count,
            has_pending_ask: waits(|kind| matches!(kind, AskKind::Questions(_))),
            has_pending_approval: waits(|kind| matches!(kind, AskKind::Approval(_))),
        });
        ServerEvent::ServerHello(ServerHello {
            session_id: &self.id,
            protocol_version: PROTOCOL_VERSION,
            capabilities: Capabilities {
                model_stream_chunk: "v1",
            },
            config: show::public_config(&self.card, &self.settings.model),
            resume,
        })
        .frame()
    }

    /// A slot's event has come.
    pub fn fill(&mut self, out: &mut Vec<Action>, slot: GreetingSlot, frames: Vec<Frame>) {
        self.slots.fill(slot, frames);
        self.send_ready(out);
    }

    /// The deadline: what is ready goes, whatever is still missing before it.
    pub fn stop_waiting(&mut self, out: &mut Vec<Action>) {
        self.slots.overtaking = true;
        self.send_ready(out);
    }

    fn send_ready(&mut self, out: &mut Vec<Action>) {
        out.extend(self.slots.take_ready().into_iter().map(Action::Send));
        if self.slots.past() {
            let asks = std::mem::take(&mut self.slots.replay);
            let frames = self.asks.replay(&self.id, &asks);
            let plan = self.slots.plan.take();
            out.extend(frames.into_iter().chain(plan).map(Action::Send));
        }
    }
}
