//! Replies as frames of the connection that asked.

use vocabulary::{Refusal, Reply, ThreadView};

use super::calls::{DiminuendoPurpose, Join};
use super::read::Progress;
use super::replay::Replay;
use super::wire::ServerEvent;
use super::wire::parts::ErrorCode;
use super::{Diminuendo, files, members, refuse, send, snapshot};
use crate::Action;

impl Diminuendo {
    /// What an answer is for says what it is.
    pub(super) fn answer(
        &mut self,
        out: &mut Vec<Action>,
        request_id: Option<&str>,
        wanted: DiminuendoPurpose,
        reply: Reply,
    ) -> Result<(), Refusal> {
        let mut answer = |event: ServerEvent<'_>| out.push(Action::Send(event.answer(request_id)));
        match wanted {
            // Events tell the rest.
            DiminuendoPurpose::Told => {}
            DiminuendoPurpose::List => {
                let page = reply.threads()?;
                let sessions = page.threads.iter().map(snapshot::meta).collect();
                answer(ServerEvent::SessionList { sessions });
            }
            DiminuendoPurpose::Create => {
                let thread = reply.thread()?;
                let session = snapshot::meta(&thread);
                answer(ServerEvent::SessionCreated { session });
                self.created(out, Some(&thread));
            }
            DiminuendoPurpose::Rename => {
                let thread = reply.thread()?;
                let session = snapshot::meta(&thread);
                answer(ServerEvent::SessionUpdated { session });
                self.answered = Some(*thread);
            }
            DiminuendoPurpose::Archive => {
                let thread = reply.thread()?;
                let session = snapshot::meta(&thread);
                answer(ServerEvent::SessionArchived { session });
            }
            DiminuendoPurpose::Unarchive => {
                let thread = reply.thread()?;
                let session = snapshot::meta(&thread);
                answer(ServerEvent::SessionUnarchived { session });
            }
            DiminuendoPurpose::Delete(thread) => {
                reply.done()?;
                let session_id = &thread.to_string();
                answer(ServerEvent::SessionDeleted { session_id });
                self.joined.remove(&thread);
                self.deleted = Some(thread);
            }
            DiminuendoPurpose::Stop(thread) => match reply.cancelled()? {
                Some(turn) => answer(ServerEvent::StopAcknowledged {
                    session_id: &thread.to_string(),
                    turn_id: turn.as_str(),
                }),
                None => {
                    let message = "no turn is running in this session";
                    answer(refuse::error(ErrorCode::NoActiveTurn, message));
                }
            },
            DiminuendoPurpose::Steer { thread, content } => {
                let item = reply.steered()?.item;
                answer(ServerEvent::SteerSent {
                    session_id: &thread.to_string(),
                    steer_id: item.as_str(),
                    content: &content,
                    // They know who they are.
                    user_id: None,
                });
                if self.joined.contains_key(&thread) {
                    self.steered = Some(item);
                }
            }
            DiminuendoPurpose::Members => {
                members::answer(self.dev_mode, &*reply.members()?, answer);
            }
            DiminuendoPurpose::Join(join) => self.join(out, request_id, &join, &*reply.view()?),
            DiminuendoPurpose::Snapshot => {
                let mut view = reply.view()?;
                // It counts among those who listen, unless it has left.
                view.listeners = view.listeners.saturating_sub(1);
                if self.joined.contains_key(&view.thread.card.id) {
                    tell_state(out, None, &view);
                }
            }
            DiminuendoPurpose::Fence => {
                let view = reply.view()?;
                if let Some(joined) = self.joined.get_mut(&view.thread.card.id) {
                    joined.fence(out, &view);
                }
            }
            DiminuendoPurpose::Reload => {
                for thread in &reply.threads()?.threads {
                    self.session_updated(out, thread);
                }
            }
            DiminuendoPurpose::History(read) => {
                let progress = read
                    .take_in(&reply.messages()?)
                    .map(DiminuendoPurpose::History);
                self.go_on(out, request_id, progress);
            }
            DiminuendoPurpose::Events(read) => {
                let progress = read
                    .take_in(&reply.events()?)
                    .map(DiminuendoPurpose::Events);
                self.go_on(out, request_id, progress);
            }
            DiminuendoPurpose::FileHistory(asked) => {
                asked.history(&reply.checkpoints()?.history()?, answer)
            }
            DiminuendoPurpose::FileAtIteration(asked) => {
                asked.content(&reply.checkpoints()?.content()?, answer);
            }
            DiminuendoPurpose::FileList(thread) => {
                files::list(thread, &reply.files()?.list()?, answer);
            }
            DiminuendoPurpose::ReadFile(asked) => {
                let read = reply.files()?.content()?;
                match read.content {
                    Some(content) => asked.content(&content, answer),
                    None => files::too_large(read.size, answer),
                }
            }
        }
        Ok(())
    }

    /// The snapshots, what is replayed, its end, what waits for an answer, how it wakes up, then live
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
        if !join.left {
            replay.wake();
        }
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
        progress: Progress<DiminuendoPurpose>,
    ) {
        match progress {
            Progress::Done(answer) => out.push(Action::Send(answer.frame(request_id))),
            Progress::More(call, wanted) => {
                let request_id = request_id.map(str::to_owned);
                self.calls.go_on(out, request_id, wanted, call);
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
