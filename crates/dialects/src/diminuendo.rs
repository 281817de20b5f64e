//! The diminuendo dialect: the multi-tenant gateway's wire protocol, version 1.

use vocabulary::{Event, Notice, Refusal, Reply, ThreadCard};

use crate::{Action, Cx, Delivery, Dialect, Frame, Hello, Reason, Tag, Variant};

/// How streamed text is named: with snake-case events alone, or with their dotted twins besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    #[default]
    Snake,
    Dotted,
}

/// One connection of this dialect.
#[derive(Default)]
pub struct Diminuendo {
    form: Form,
}

impl Dialect for Diminuendo {
    fn variant(&self) -> Variant {
        match self.form {
            Form::Snake => Variant::Diminuendo,
            Form::Dotted => Variant::DiminuendoDotted,
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
pub fn tell(_card: &ThreadCard, _event: &Event, _form: Form) -> Vec<Frame> {
    Vec::new()
}
