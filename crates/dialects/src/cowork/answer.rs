//! Replies and refusals as frames of the connection that asked.

use vocabulary::{Catalog, Refusal, Reply, Why};

use super::backup::{self, ComparedWith};
use super::calls::{Calls, Waiting};
use super::connect::Slot;
use super::history;
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
        let done = outcome.and_then(|reply| self.answer(out, calls, &waiting, reply));
        if let Err(refusal) = done {
            self.refused(out, waiting, &refusal);
        }
    }

    /// What an answer is for says what it is.
    fn answer(
        &mut self,
        out: &mut Vec<Action>,
        calls: &mut Calls,
        waiting: &Waiting,
        reply: Reply,
    ) -> Result<(), Refusal> {
        match waiting {
            // Its answer fills the auth methods too.
            Waiting::Connect(Slot::ProviderCatalog) => {
                let (catalog, methods) = self.catalog(&*reply.catalog()?);
                self.slots.fill(Slot::ProviderAuthMethods, vec![methods]);
                self.fill(out, Slot::ProviderCatalog, vec![catalog]);
            }
            Waiting::Connect(slot) => {
                let frame = self.asked(*slot, reply)?;
                self.fill(out, *slot, vec![frame]);
            }
            Waiting::Asked(slot) => {
                let frame = self.asked(*slot, reply)?;
                send(out, frame);
            }
            Waiting::Tools => send(out, offer::tools(&self.id, &reply.tools()?)),
            Waiting::Sessions => send(out, show::sessions(&self.id, &reply.threads()?.threads)),
            Waiting::Messages => send(out, history::messages(&self.id, &reply.messages()?)),
            Waiting::Turn {
                text,
                client_message_id,
            } => {
                // A turn tells itself, unless it was told before: then only who asked again hears it.
                if reply.turn()?.again {
                    send(
                        out,
                        user_message(&self.id, text, client_message_id.as_deref()),
                    );
                }
            }
            Waiting::Challenge(sign_in) => self.challenged(out, sign_in, &*reply.challenge()?),
            Waiting::SignIn(sign_in) => self.signed_in(out, calls, sign_in, &reply.signed_in()?),
            Waiting::Deletion { target } => {
                reply.done()?;
                send(out, self.session_deleted(target));
            }
            Waiting::Close => out.push(Action::Close(closed())),
            // Events tell what these did.
            Waiting::Told
            | Waiting::Cancel
            | Waiting::AskResponse(_)
            | Waiting::ApprovalResponse(_)
            | Waiting::Backup(_) => {}
        }
        Ok(())
    }

    /// One of the events that a connection starts with.
    fn asked(&mut self, slot: Slot, reply: Reply) -> Result<Frame, Refusal> {
        let id = &self.id;
        Ok(match slot {
            Slot::ProviderCatalog => self.catalog(&*reply.catalog()?).0,
            Slot::ProviderAuthMethods => self.catalog(&*reply.catalog()?).1,
            Slot::ProviderStatus => offer::provider_status(id, &reply.provider_status()?),
            Slot::McpServers => offer::mcp_servers(id, &reply.mcp_servers()?),
            Slot::SessionBackupState => {
                let now = reply.checkpoints()?.state()?;
                backup::requested(id, &self.card, &now, ComparedWith::Previous)
            }
        })
    }

    /// As the catalog and as the auth methods.
    fn catalog(&mut self, catalog: &Catalog) -> (Frame, Frame) {
        self.methods = Methods::of(catalog);
        (
            offer::provider_catalog(&self.id, catalog, &self.settings.model),
            offer::provider_auth_methods(&self.id, catalog),
        )
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
            Waiting::Challenge(_) | Waiting::SignIn(_) => {
                send(out, sign_in::refusal_frame(&self.id, refusal))
            }
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
            Waiting::Asked(_)
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
