//! A session and its thread's checkpoints: which calls may change them, and the facts that tell of them.

use snapshots::{CheckpointRequest, CheckpointTask, SnapshotEvent, SnapshotReport};
use tokio::sync::oneshot;
use vocabulary::{CheckpointCall, Fact, FilesFact, NoteFact, Refusal, Reply, Seq};

use super::{Outcome, Replied, RoundOutcome, Session};

impl Session {
    pub(super) fn take_in_checkpoints(&mut self, event: SnapshotEvent) -> Result<(), Refusal> {
        let as_of = self.recorder.last();
        let turn = self.turn.as_ref();
        let turn_waits = turn.is_some_and(|turn| turn.writes.waits());
        let effects = self.checkpoints.handle(event, turn_waits);
        for report in effects.reports {
            self.record(match report {
                SnapshotReport::Line(line) => Fact::Note(NoteFact::Logged { line }),
                SnapshotReport::FilesChanged(files) => {
                    let turn = self.state.turn.as_ref().map(|turn| turn.turn.clone());
                    let files = files.to_vec();
                    Fact::Files(FilesFact::Changed { turn, files })
                }
                SnapshotReport::Checkpoints { news, now } => {
                    Fact::Files(FilesFact::CheckpointsChanged { news, now })
                }
            })?;
        }
        if let Some((reply, outcome)) = effects.reply {
            self.reply_to_checkpoint_call(reply, as_of, outcome);
        }
        Ok(())
    }

    /// Takes on what a client wants done; it is answered when it is done.
    pub(super) async fn open_checkpoint_call(
        &mut self,
        call: CheckpointCall,
        reply: oneshot::Sender<Outcome>,
    ) -> Result<Option<RoundOutcome>, Refusal> {
        match self.admit_checkpoint_call(call).await {
            Ok((task, request)) => self.checkpoints.begin(task, request, reply),
            Err(refusal) => {
                let _ = reply.send(Err(refusal));
            }
        }
        Ok(None)
    }

    async fn admit_checkpoint_call(
        &mut self,
        call: CheckpointCall,
    ) -> Result<(CheckpointTask, CheckpointRequest), Refusal> {
        let (task, request) = self.checkpoints.admit(call, &self.card.directory)?;
        if self.state.turn.is_some() {
            return Err(Refusal::busy());
        }
        if self.resting.stopping.is_some() {
            return Err(Refusal::shutting_down());
        }
        if request != CheckpointRequest::Delete {
            // What is kept of its files must not outlive the thread itself.
            self.keep().await?;
        }
        Ok((task, request))
    }

    fn reply_to_checkpoint_call(
        &mut self,
        reply: oneshot::Sender<Outcome>,
        as_of: Seq,
        outcome: Result<(), Refusal>,
    ) {
        if let Err(refusal) = outcome {
            let _ = reply.send(Err(refusal));
            return;
        }
        self.recorder.reply_after_commit(as_of, move |committed| {
            let _ = reply.send(committed.map(|()| Replied::new(as_of, Reply::Done)));
        });
    }
}
