//! Who listens to a session or looks at it, and what they see first.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::Instant;
use vocabulary::{
    Attendance, Caller, PlannedCall, Refusal, RunningTurn, Seq, StartTurn, ThreadView,
};

use super::{AttachedListener, ListenFrom, Session, SessionView};

impl Session {
    /// A listener, and the turn that it starts. The listener comes first, so that it misses nothing of the
    /// turn; it goes again if there is none.
    pub(super) async fn attach(
        &mut self,
        attendance: Attendance,
        from: ListenFrom,
        start: Option<(Box<StartTurn>, Caller)>,
        reply: oneshot::Sender<Result<AttachedListener, Refusal>>,
    ) {
        let head = self.recorder.last();
        let (cursor, replay_to) = match from {
            ListenFrom::Head => (head, None),
            ListenFrom::After(after) if after > head => {
                let message = format!("position {after} is past the head, {head}");
                let _ = reply.send(Err(Refusal::invalid("after", message)));
                return;
            }
            ListenFrom::After(after) => (after, Some(head)),
        };
        let mut seen = self.seen_at(head);
        let outbox = &self.recorder.outbox;
        let (store, untold) = (Arc::clone(&self.store), self.state.untold());
        let listener = outbox.listen(store, attendance, cursor, replay_to, untold);
        self.asking.heard_by(attendance);
        let started = match start {
            None => {
                self.activate();
                None
            }
            Some((start, caller)) => match self.start_turn(*start, &caller).await {
                Ok(started) => Some(started),
                Err(refusal) => {
                    let _ = reply.send(Err(refusal));
                    return;
                }
            },
        };
        self.resting.close_when_idle = false;
        self.resting.was_heard = true;
        seen.view.woken = std::mem::take(&mut self.woken);
        let attached = AttachedListener {
            seen,
            listener: listener.into(),
            started,
        };
        self.recorder.after_commit(move |committed| {
            let _ = reply.send(committed.map(|()| attached));
        });
    }

    /// Somebody listens no more; who may be the last one.
    pub(super) fn listener_left(&mut self) {
        let now = Instant::now();
        self.resting.idle_since = now;
        self.asking.unattended_since = now;
        let outbox = &self.recorder.outbox;
        if outbox.listeners() == 0 && outbox.last_lets_sleep() {
            self.resting.close_when_idle = true;
        }
    }

    /// Answers with the thread as it is, once all of that is on disk.
    pub(super) fn look(&mut self, reply: oneshot::Sender<SessionView>) {
        let head = self.recorder.last();
        let seen = self.seen_at(head);
        self.recorder.reply_after_commit(head, move |committed| {
            if committed.is_ok() {
                let _ = reply.send(seen);
            }
        });
    }

    fn seen_at(&self, head: Seq) -> SessionView {
        let calls = self.live.calls.iter();
        SessionView {
            calls: calls.filter(|call| call.changes_files()).cloned().collect(),
            view: self.view(head),
            turn_from: self.state.turn.as_ref().map(|turn| turn.started_seq),
            from_ordinal: self.state.history_from,
        }
    }

    fn view(&self, head: Seq) -> ThreadView {
        ThreadView {
            thread: self.shown_thread(),
            head,
            turn: self.running_turn(),
            asks: self.state.asks.clone(),
            plan: self.state.plan.clone(),
            plan_turn: self.state.plan_turn.clone(),
            recent: Vec::new(),
            woken: false,
            kept: self.recorder.kept,
            listeners: self.recorder.outbox.listeners(),
            // Filled in by who asked, who may wait for it to be found out.
            sandbox: vocabulary::SandboxInForce::default(),
            effort: None,
        }
    }

    fn running_turn(&self) -> Option<RunningTurn> {
        let turn = self.state.turn.as_ref()?;
        Some(RunningTurn {
            turn: turn.turn.clone(),
            started_at: turn.started_at,
            input: turn.input.clone(),
            text: self.live.texts(),
            reasoning: self.live.reasoning(),
            calls: turn
                .calls
                .iter()
                .map(|call| PlannedCall {
                    call: call.call.clone(),
                    started: call.started,
                    finished: call.finished,
                })
                .collect(),
            step: self.live.step(),
            live: self.live.items(),
            events: Vec::new(),
            unplaced: self.live.unplaced(),
        })
    }
}
