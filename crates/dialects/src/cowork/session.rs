//! A connection's session, once it is known.

use std::sync::Arc;

use vocabulary::{
    Call, Changed, Event, Fact, Idempotency, Seq, ThreadCard, ThreadFact, ThreadId, ThreadSettings,
    ThreadView, TracingHealth, TracingState, TurnFact,
};

use super::asks::OpenAsks;
use super::calls::{CoworkCalls, CoworkPurpose};
use super::connect::{GreetingSlot, Slots};
use super::hear;
use super::refuse::error_frame;
use super::show;
use super::sign_in::Methods;
use super::wire::session::{ServerErrorCode, ServerErrorSource};
use crate::{Action, Cx, Frame};

pub struct CoworkSession {
    /// The thread's id as frames spell it.
    pub id: String,
    pub card: ThreadCard,
    pub settings: ThreadSettings,
    pub asks: OpenAsks,
    pub slots: Slots,
    /// How one can sign in, as the catalog said last.
    pub methods: Methods,
    /// The ids of the catalog's providers.
    pub providers: Arc<[String]>,
    /// Where the thread stood when this connection came.
    joined_at: Seq,
    /// A turn is running.
    pub busy: bool,
    /// A sign-in waits for a person.
    pub signing_in: bool,
    /// The client asked for the end: nothing it says after that counts.
    pub closing: bool,
}

impl CoworkSession {
    pub fn new(view: &ThreadView, providers: Arc<[String]>) -> Self {
        let mut asks = OpenAsks::default();
        view.asks.iter().for_each(|open| asks.remember(open));
        Self {
            id: view.thread.card.id.to_string(),
            card: view.thread.card.clone(),
            settings: view.thread.settings.clone(),
            asks,
            slots: Slots::default(),
            methods: Methods::default(),
            providers,
            joined_at: view.head,
            busy: view.turn.is_some(),
            signing_in: false,
            closing: false,
        }
    }

    pub fn thread(&self) -> ThreadId {
        self.card.id
    }

    /// Clients count their messages anew whenever they start.
    pub fn idempotency(&self) -> Idempotency {
        Idempotency::Reconnect {
            joined_at: self.joined_at,
        }
    }

    pub fn heard(&mut self, out: &mut Vec<Action>, calls: &mut CoworkCalls, frame: &str) {
        if self.closing {
            return;
        }
        let known = hear::MessageContext {
            session: &self.id,
            methods: &self.methods,
        };
        match hear::hear(frame, known) {
            Ok(hearing) => self.act(out, calls, hearing),
            Err(wrong) => {
                let told_as = (wrong.code, ServerErrorSource::Protocol);
                send(out, error_frame(&self.id, &wrong.message, told_as));
            }
        }
    }

    pub fn told(
        &mut self,
        out: &mut Vec<Action>,
        calls: &mut CoworkCalls,
        tracing: &TracingState,
        event: &Event,
    ) {
        self.asks.follow(&event.fact);
        self.slots.follow(&event.fact);
        self.follow(&event.fact);
        // It goes before the new configuration. How tracing fares is the server's, and no event has it.
        if let Fact::Thread(ThreadFact::SettingsChanged {
            changed, settings, ..
        }) = &event.fact
            && changed.contains(&Changed::Observability)
        {
            let status = show::observability_status(&self.id, settings, tracing, event.at);
            send(out, status);
        }
        out.push(Action::Shared);
        // The catalog shows the current selection, and only the engine has it.
        if let Fact::Thread(ThreadFact::SettingsChanged { changed, .. }) = &event.fact
            && changed.contains(&Changed::Model)
        {
            let waiting = CoworkPurpose::Asked(GreetingSlot::ProviderCatalog);
            calls.make(out, waiting, Call::GetCatalog);
        }
    }

    /// The server's tracing fares otherwise now. What was refused is lost, and so told as an error.
    pub fn tracing_changed(&self, cx: &Cx<'_>, out: &mut Vec<Action>, tracing: &TracingState) {
        let status = show::observability_status(&self.id, &self.settings, tracing, cx.now);
        send(out, status);
        if let TracingHealth::Failing {
            refused: true,
            message,
            ..
        } = &tracing.health
            && self.settings.observability
        {
            let told_as = (
                ServerErrorCode::ObservabilityError,
                ServerErrorSource::Observability,
            );
            send(out, error_frame(&self.id, message, told_as));
        }
    }

    fn follow(&mut self, fact: &Fact) {
        if let Fact::Turn(TurnFact::Started { .. }) = fact {
            self.busy = true;
        } else if let Fact::Turn(TurnFact::Finished { .. }) = fact {
            self.busy = false;
        } else if let Fact::Thread(ThreadFact::SettingsChanged { settings, .. }) = fact {
            self.settings = settings.clone();
        }
    }
}

pub fn send(out: &mut Vec<Action>, frame: Frame) {
    out.push(Action::Send(frame));
}
