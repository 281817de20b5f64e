//! Replies as frames of the connection that asked.

use vocabulary::{CheckpointReply, Reply, Thread, ThreadView};

use super::calls::{Join, Waiting, Wanted};
use super::read::Progress;
use super::replay::Replay;
use super::wire::ServerEvent;
use super::wire::parts::{ErrorCode, SessionMeta};
use super::{Diminuendo, refuse, send, snapshot};
use crate::Action;

impl Diminuendo {
    pub(super) fn answer(&mut self, out: &mut Vec<Action>, waiting: Waiting, reply: Reply) {
        let Waiting { request_id, wanted } = waiting;
        let request_id = request_id.as_deref();
        let mut answer = |event: ServerEvent<'_>| out.push(Action::Send(event.answer(request_id)));
        match (wanted, reply) {
            (Wanted::List, Reply::Threads { threads, .. }) => {
                let sessions = threads.iter().map(snapshot::meta).collect();
                answer(ServerEvent::SessionList { sessions });
            }
            (Wanted::Create, Reply::Thread(thread)) => {
                answer(about(&thread, |session| ServerEvent::SessionCreated {
                    session,
                }));
                self.answered = Some(*thread);
            }
            (Wanted::Rename, Reply::Thread(thread)) => {
                answer(about(&thread, |session| ServerEvent::SessionUpdated {
                    session,
                }));
                self.answered = Some(*thread);
            }
            (Wanted::Archive, Reply::Thread(thread)) => {
                answer(about(&thread, |session| ServerEvent::SessionArchived {
                    session,
                }));
            }
            (Wanted::Unarchive, Reply::Thread(thread)) => {
                answer(about(&thread, |session| ServerEvent::SessionUnarchived {
                    session,
                }));
            }
            (Wanted::Delete(thread), Reply::Done) => {
                let session_id = &thread.to_string();
                answer(ServerEvent::SessionDeleted { session_id });
                self.joined.remove(&thread);
                self.deleted = Some(thread);
            }
            (Wanted::Stop(thread), Reply::Cancelled { turn: Some(turn) }) => {
                answer(ServerEvent::StopAcknowledged {
                    session_id: &thread.to_string(),
                    turn_id: turn.as_str(),
                });
            }
            (Wanted::Stop(_), Reply::Cancelled { turn: None }) => {
                answer(refuse::error(
                    ErrorCode::NoActiveTurn,
                    "no turn is running in this session",
                ));
            }
            (Wanted::Steer { thread, content }, Reply::Steered { item, .. }) => {
                answer(ServerEvent::SteerSent {
                    session_id: &thread.to_string(),
                    steer_id: item.as_str(),
                    content: &content,
                });
                if self.joined.contains_key(&thread) {
                    self.steered = Some(item);
                }
            }
            (Wanted::Join(join), Reply::Listening(view)) => {
                self.join(out, request_id, &join, &view);
            }
            (Wanted::Snapshot, Reply::View(mut view)) => {
                // It counts among those who listen, unless it has left.
                view.listeners = view.listeners.saturating_sub(1);
                if self.joined.contains_key(&view.thread.card.id) {
                    tell_state(out, None, &view);
                }
            }
            (Wanted::Reload, Reply::Threads { threads, .. }) => {
                for thread in &threads {
                    self.session_updated(out, thread);
                }
            }
            (Wanted::History(read), Reply::Messages { entries, total, .. }) => {
                let progress = read.take_in(entries, total).map(Wanted::History);
                self.go_on(out, request_id, progress);
            }
            (Wanted::Events(read), Reply::Events { events, more, .. }) => {
                let progress = read.take_in(&events, more).map(Wanted::Events);
                self.go_on(out, request_id, progress);
            }
            (Wanted::FileHistory(asked), Reply::Checkpoints(reply)) => {
                if let CheckpointReply::History(iterations) = *reply {
                    asked.history(&iterations, answer);
                }
            }
            (Wanted::FileAtIteration(asked), Reply::Checkpoints(reply)) => {
                if let CheckpointReply::File { content, .. } = *reply {
                    asked.content(&content, answer);
                }
            }
            // Events tell the rest.
            (
                Wanted::Told
                | Wanted::List
                | Wanted::Create
                | Wanted::Rename
                | Wanted::Archive
                | Wanted::Unarchive
                | Wanted::Delete(_)
                | Wanted::Stop(_)
                | Wanted::Steer { .. }
                | Wanted::Join(_)
                | Wanted::Reload
                | Wanted::Snapshot
                | Wanted::History(_)
                | Wanted::Events(_)
                | Wanted::FileHistory(_)
                | Wanted::FileAtIteration(_),
                _,
            ) => {}
        }
    }

    /// The snapshots, what is replayed, its end, what waits for an answer, then live
    /// (docs/protocols/diminuendo.md, decision 5).
    fn join(
        &mut self,
        out: &mut Vec<Action>,
        request_id: Option<&str>,
        join: &Join,
        view: &ThreadView,
    ) {
        tell_state(out, request_id, view);
        let mut replay = Replay::new(join.thread.to_string(), view);
        if join.after.is_none() || join.left {
            replay.caught_up(out, view.head);
        }
        if join.left {
            out.push(Action::Unlisten(join.thread));
        } else {
            self.joined.insert(join.thread, replay);
        }
    }

    /// Answers what has been read, or reads on.
    fn go_on(
        &mut self,
        out: &mut Vec<Action>,
        request_id: Option<&str>,
        progress: Progress<Wanted>,
    ) {
        match progress {
            Progress::Done(answer) => out.push(Action::Send(answer.frame(request_id))),
            Progress::More(call, wanted) => {
                let request_id = request_id.map(str::to_owned);
                self.calls.request(out, request_id, wanted, call);
            }
        }
    }
}

fn tell_state(out: &mut Vec<Action>, request_id: Option<&str>, view: &ThreadView) {
    let session = view.thread.card.id.to_string();
    let state = snapshot::state(&session, view);
    out.push(Action::Send(state.answer(request_id)));
    if let Some(turn) = &view.turn {
        send(out, &snapshot::stream(&session, turn));
    }
}

fn about<'a>(
    thread: &'a Thread,
    tell: impl FnOnce(SessionMeta<'a>) -> ServerEvent<'a>,
) -> ServerEvent<'a> {
    tell(snapshot::meta(thread))
}
