//! The codex dialect: codex app-server's JSON-RPC, and Zane's older form of it.

use vocabulary::{Event, Notice, Refusal, Reply, ThreadCard};

use crate::{Action, Cx, Delivery, Dialect, Frame, Hello, Reason, Tag, Variant};

/// Which of the two forms a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Seed 003: no handshake, `orbit.*` frames, capitalised statuses.
    Zane,
    /// The app-server itself.
    Codex,
}

impl Codex {
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint }
    }
}

/// One connection of this dialect.
pub struct Codex {
    endpoint: Endpoint,
}

impl Dialect for Codex {
    fn variant(&self) -> Variant {
        match self.endpoint {
            Endpoint::Zane => Variant::Zane,
            Endpoint::Codex => Variant::Codex,
        }
    }

    fn opened(&mut self, _cx: &Cx<'_>, out: &mut Vec<Action>, _hello: &Hello) {
        let reason = Reason::new(
            Reason::POLICY,
            "this dialect is not available in this build yet",
        );
        out.push(Action::Close(reason));
    }

    fn heard(&mut self, _cx: &Cx<'_>, _out: &mut Vec<Action>, _frame: &str) {}

    fn replied(
        &mut self,
        _cx: &Cx<'_>,
        _out: &mut Vec<Action>,
        _tag: Tag,
        _outcome: Result<Reply, Refusal>,
    ) {
    }

    fn told(&mut self, _cx: &Cx<'_>, _out: &mut Vec<Action>, _delivery: Delivery<'_>) {}

    fn noticed(&mut self, _cx: &Cx<'_>, _out: &mut Vec<Action>, _notice: &Notice) {}

    fn woke(&mut self, _cx: &Cx<'_>, _out: &mut Vec<Action>) {}

    fn gone(&mut self, _cx: &Cx<'_>, _out: &mut Vec<Action>) {}
}

/// Events as this dialect's frames.
pub fn tell(_card: &ThreadCard, _event: &Event, _endpoint: Endpoint) -> Vec<Frame> {
    Vec::new()
}
