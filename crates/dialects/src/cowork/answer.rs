//! Replies and refusals as frames of the connection that asked.

use vocabulary::{Catalog, CheckpointReply, Refusal, Reply, Why};

use super::backup::{self, ComparedWith};
use super::calls::{Calls, Waiting};
use super::connect::Slot;
use super::history::{self, Page};
use super::offer;
use super::refuse::refusal_frame;
use super::session::{Session, send};
use super::show;
use super::sign_in::{self, Methods};
use super::tell::turn::user_message;
use crate::{Action, Frame, Reason};

impl Session {
    pub fn answered(
        &mut self,
        out: &mut Vec<Action>,
        calls: &mut Calls,
        waiting: Waiting,
        outcome: Result<Reply, Refusal>,
    ) {
        if let Waiting::SignIn(sign_in) = &waiting {
            self.signing_in &= !sign_in.waits;
        }
        match outcome {
            Ok(reply) => self.answer(out, calls, waiting, reply),
            Err(refusal) => self.refused(out, waiting, &refusal),
        }
    }

    fn answer(&mut self, out: &mut Vec<Action>, calls: &mut Calls, waiting: Waiting, reply: Reply) {
        match reply {
            Reply::Done => self.done(out, waiting),
            Reply::Turn { again, .. } => self.turn(out, waiting, again),
            Reply::Threads { threads, .. } => send(out, show::sessions(&self.id, &threads)),
            Reply::Messages {
                entries,
                total,
                offset,
                limit,
            } => {
                let page = Page {
                    total,
                    offset,
                    limit,
                };
                send(out, history::messages(&self.id, &entries, page));
            }
            Reply::Catalog(catalog) => self.catalog(out, waiting, &catalog),
            Reply::ProviderStatus(statuses) => {
                let frame = offer::provider_status(&self.id, &statuses);
                self.show(out, waiting, frame);
            }
            Reply::Tools(tools) => send(out, offer::tools(&self.id, &tools)),
            Reply::McpServers(snapshot) => {
                let frame = offer::mcp_servers(&self.id, &snapshot);
                self.show(out, waiting, frame);
            }
            Reply::Checkpoints(reply) => self.checkpoints(out, waiting, &reply),
            Reply::Challenge(challenge) => self.challenged(out, &waiting, &challenge),
            Reply::SignedIn(end) => self.signed_in(out, calls, &waiting, &end),
            // Events tell what a change did; the others are never asked for once a session is open.
            Reply::Thread(_)
            | Reply::Listening(_)
            | Reply::View(_)
            | Reply::Turns(_)
            | Reply::Events { .. }
            | Reply::Steered { .. }
            | Reply::Grants(_)
            | Reply::Library(_)
            | Reply::Cancelled { .. } => {}
        }
    }

    fn done(&self, out: &mut Vec<Action>, waiting: Waiting) {
        if let Waiting::Deletion { target } = waiting {
            send(out, self.session_deleted(&target));
        } else if let Waiting::Close = waiting {
            out.push(Action::Close(closed()));
        }
    }

    /// A turn tells itself, unless it was told before: then only who asked again hears it.
    fn turn(&self, out: &mut Vec<Action>, waiting: Waiting, again: bool) {
        if let Waiting::Turn {
            text,
            client_message_id,
        } = waiting
            && again
        {
            let echo = user_message(&self.id, &text, client_message_id.as_deref());
            send(out, echo);
        }
    }

    fn catalog(&mut self, out: &mut Vec<Action>, waiting: Waiting, catalog: &Catalog) {
        self.methods = Methods::of(catalog);
        let shown = offer::provider_catalog(&self.id, catalog, &self.settings.model);
        let methods = offer::provider_auth_methods(&self.id, catalog);
        if let Waiting::Connect(_) = waiting {
            self.slots.fill(Slot::ProviderAuthMethods, vec![methods]);
            self.fill(out, Slot::ProviderCatalog, vec![shown]);
        } else if let Waiting::Asked(Slot::ProviderAuthMethods) = waiting {
            send(out, methods);
        } else {
            send(out, shown);
        }
    }

    fn checkpoints(&mut self, out: &mut Vec<Action>, waiting: Waiting, reply: &CheckpointReply) {
        match reply {
            CheckpointReply::State(now) => {
                let compared = ComparedWith::Previous;
                let frame = backup::requested(&self.id, &self.card, now, compared);
                self.show(out, waiting, frame);
            }
            // This protocol has no words to ask for these.
            CheckpointReply::Preview(_)
            | CheckpointReply::Diff(_)
            | CheckpointReply::History(_)
            | CheckpointReply::File { .. } => {}
        }
    }

    /// Into its slot while connecting, out at once otherwise.
    fn show(&mut self, out: &mut Vec<Action>, waiting: Waiting, frame: Frame) {
        match waiting {
            Waiting::Connect(slot) => self.fill(out, slot, vec![frame]),
            _ => send(out, frame),
        }
    }

    fn refused(&mut self, out: &mut Vec<Action>, waiting: Waiting, refusal: &Refusal) {
        let error = refusal_frame(&self.id, refusal);
        let unknown = matches!(refusal.why, Why::UnknownAsk | Why::AlreadyAnswered);
        match waiting {
            Waiting::Connect(Slot::SessionBackupState)
            | Waiting::Asked(Slot::SessionBackupState) => {
                let frame = backup::failed(&self.id, &self.card, refusal);
                self.show(out, waiting, frame);
            }
            Waiting::Connect(Slot::ProviderCatalog) => {
                self.slots.fill(Slot::ProviderAuthMethods, Vec::new());
                self.fill(out, Slot::ProviderCatalog, vec![error]);
            }
            Waiting::Connect(_) => self.show(out, waiting, error),
            Waiting::AskResponse(id) if unknown => {
                send(out, self.unknown_request("ask_response", &id.to_string()));
            }
            Waiting::AskResponse(id) if refusal.why == Why::BlankAnswer => {
                self.blank_answer(out, id);
            }
            Waiting::ApprovalResponse(id) if unknown => {
                let line = self.unknown_request("approval_response", &id.to_string());
                send(out, line);
            }
            Waiting::SignIn(_) => send(out, sign_in::refusal_frame(&self.id, refusal)),
            Waiting::Backup(wanted) => {
                send(out, backup::refusal_frame(&self.id, &wanted, refusal));
            }
            // No turn to cancel is no error.
            Waiting::Cancel if refusal.why == Why::NoRunningTurn => {}
            Waiting::Deletion { target } if refusal.why == Why::UnknownThread => {
                send(out, self.session_deleted(&target));
            }
            Waiting::Close => {
                // What was never kept needs no closing.
                if refusal.why != Why::UnknownThread {
                    send(out, error);
                }
                out.push(Action::Close(closed()));
            }
            Waiting::Creation
            | Waiting::Listening
            | Waiting::Resumption
            | Waiting::Asked(_)
            | Waiting::Tools
            | Waiting::Sessions
            | Waiting::Messages
            | Waiting::Told
            | Waiting::Cancel
            | Waiting::Turn { .. }
            | Waiting::AskResponse(_)
            | Waiting::ApprovalResponse(_)
            | Waiting::Deletion { .. } => send(out, error),
        }
    }
}

fn closed() -> Reason {
    Reason::new(Reason::NORMAL, "session closed")
}
