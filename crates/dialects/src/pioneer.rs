//! The pioneer dialect: workspaces and threads over JSON-RPC.

use vocabulary::{Event, Notice, Refusal, Reply, ThreadCard};

use crate::{Action, Cx, Delivery, Dialect, Frame, Hello, Reason, Tag, Variant};

/// One connection of this dialect.
#[derive(Default)]
pub struct Pioneer {}

impl Dialect for Pioneer {
    fn variant(&self) -> Variant {
        Variant::Pioneer
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
pub fn tell(_card: &ThreadCard, _event: &Event) -> Vec<Frame> {
    Vec::new()
}
