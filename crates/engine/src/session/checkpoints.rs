//! A session and its thread's checkpoints: which calls may change them, and the facts that tell of them.

use snapshots::{Asked, Came, Report, Task};
use tokio::sync::oneshot;
use vocabulary::{CheckpointCall, Fact, Refusal, Reply, Seq};

use super::{Flow, Outcome, Replied, Session};

impl Session {
    pub(super) fn take_in_checkpoints(&mut self, came: Came) -> Result<(), Refusal> {
        let as_of = self.recorder.last();
        let turn = self.turn.as_ref();
        let turn_waits = turn.is_some_and(|turn| turn.writing.waits());
        let handled = self.checkpoints.handle(came, turn_waits);
        for report in handled.reports {
            self.record(match report {
                Report::Line(line) => Fact::Logged { line },
                Report::Files(files) => {
                    let turn = self.state.turn.as_ref().map(|turn| turn.turn.clone());
                    let files = files.to_vec();
                    Fact::FilesChanged { turn, files }
                }
                Report::Checkpoints { news, now } => Fact::CheckpointsChanged { news, now },
            })?;
        }
        if let Some((reply, outcome)) = handled.reply {
            self.reply_done(reply, as_of, outcome);
        }
        Ok(())
    }

    /// Takes on what a client wants done; it is answered when it is done.
    pub(super) async fn open_checkpoint_call(
        &mut self,
        call: CheckpointCall,
        reply: oneshot::Sender<Outcome>,
    ) -> Result<Option<Flow>, Refusal> {
        match self.admit_checkpoint_call(call).await {
            Ok((task, asked)) => self.checkpoints.begin(task, asked, reply),
            Err(refusal) => {
                let _ = reply.send(Err(refusal));
            }
        }
        Ok(None)
    }

    async fn admit_checkpoint_call(
        &mut self,
        call: CheckpointCall,
    ) -> Result<(Task, Asked), Refusal> {
        let (task, asked) = self.checkpoints.admit(call, &self.card.directory)?;
        if self.state.turn.is_some() {
            return Err(Refusal::busy());
        }
        if self.stopping.is_some() {
            return Err(Refusal::shutting_down());
        }
        if asked != Asked::Delete {
            // What is kept of its files must not outlive the thread itself.
            self.keep().await?;
        }
        Ok((task, asked))
    }

    fn reply_done(
        &mut self,
        reply: oneshot::Sender<Outcome>,
        as_of: Seq,
        outcome: Result<(), Refusal>,
    ) {
        if let Err(refusal) = outcome {
            let _ = reply.send(Err(refusal));
            return;
        }
        let done = move |()| Replied {
            reply: Reply::Done,
            as_of,
        };
        self.recorder.reply_after_commit(as_of, move |committed| {
            let _ = reply.send(committed.map(done));
        });
    }
}
