//! Replies and refusals as frames of the connection that asked.

use vocabulary::{Call, Catalog, Refusal, Reply, Why};

use super::backup::{self, ComparedWith};
use super::calls::{CoworkCalls, CoworkPurpose};
use super::connect::GreetingSlot;
use super::history;
use super::mcp::{self, McpPurpose};
use super::offer;
use super::refuse::refusal_frame;
use super::session::{CoworkSession, send};
use super::show;
use super::sign_in::{self, Methods};
use super::skills;
use super::tell::turn::user_message;
use crate::{Action, Frame, Reason};

impl CoworkSession {
    pub fn answered(
        &mut self,
        out: &mut Vec<Action>,
        calls: &mut CoworkCalls,
        waiting: CoworkPurpose,
        outcome: Result<Reply, Refusal>,
    ) {
        if let CoworkPurpose::SignIn(sign_in) = &waiting {
            self.signing_in &= !sign_in.waits;
        }
        if let CoworkPurpose::Mcp(McpPurpose::SignIn { waits, .. }) = &waiting {
            self.signing_in &= !waits;
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
        calls: &mut CoworkCalls,
        waiting: &CoworkPurpose,
        reply: Reply,
    ) -> Result<(), Refusal> {
        match waiting {
            // Its answer fills the auth methods too.
            CoworkPurpose::Connect(GreetingSlot::ProviderCatalog) => {
                let (catalog, methods) = self.catalog(&*reply.catalog()?);
                self.slots
                    .fill(GreetingSlot::ProviderAuthMethods, vec![methods]);
                self.fill(out, GreetingSlot::ProviderCatalog, vec![catalog]);
            }
            CoworkPurpose::Connect(slot) => {
                let frame = self.asked(*slot, reply)?;
                self.fill(out, *slot, vec![frame]);
            }
            CoworkPurpose::Asked(slot) => {
                let frame = self.asked(*slot, reply)?;
                send(out, frame);
            }
            CoworkPurpose::Tools => send(out, offer::tools(&self.id, &reply.tools()?)),
            CoworkPurpose::Skills => {
                send(out, skills::skills_list(&self.id, &reply.skills()?));
            }
            CoworkPurpose::ChangedSkills => {
                send(out, skills::skills_list(&self.id, &reply.skills()?));
                self.list_commands(out, calls);
            }
            CoworkPurpose::SkillContent => {
                send(
                    out,
                    skills::skill_content(&self.id, &*reply.skill_content()?),
                );
            }
            CoworkPurpose::Commands => {
                send(out, skills::commands(&self.id, &reply.commands()?));
            }
            CoworkPurpose::Sessions => {
                send(out, show::sessions(&self.id, &reply.threads()?.threads))
            }
            CoworkPurpose::Messages => send(out, history::messages(&self.id, &reply.messages()?)),
            CoworkPurpose::Turn {
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
            CoworkPurpose::Challenge(sign_in) => {
                self.challenged(out, sign_in, &*reply.challenge()?)
            }
            CoworkPurpose::SignIn(sign_in) => {
                self.signed_in(out, calls, sign_in, &reply.signed_in()?)
            }
            CoworkPurpose::Mcp(purpose) => self.mcp_answered(out, calls, purpose, reply)?,
            CoworkPurpose::Deletion { target } => {
                reply.done()?;
                send(out, self.session_deleted(target));
            }
            CoworkPurpose::Close => out.push(Action::Close(closed())),
            CoworkPurpose::Defaults(settings) => {
                let (thread, settings) = (self.thread(), settings.clone());
                let call = Call::KeepDefaults { thread, settings };
                calls.make(out, CoworkPurpose::Told, call);
            }
            // Events tell what these did.
            CoworkPurpose::Told
            | CoworkPurpose::Cancel
            | CoworkPurpose::AskResponse(_)
            | CoworkPurpose::ApprovalResponse(_)
            | CoworkPurpose::Backup(_) => {}
        }
        Ok(())
    }

    /// One of the events that a connection starts with.
    fn asked(&mut self, slot: GreetingSlot, reply: Reply) -> Result<Frame, Refusal> {
        let id = &self.id;
        Ok(match slot {
            GreetingSlot::ProviderCatalog => self.catalog(&*reply.catalog()?).0,
            GreetingSlot::ProviderAuthMethods => self.catalog(&*reply.catalog()?).1,
            GreetingSlot::ProviderStatus => offer::provider_status(id, &reply.provider_status()?),
            GreetingSlot::McpServers => mcp::servers_frame(id, *reply.mcp()?)?,
            GreetingSlot::SessionBackupState => {
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
    fn show(&mut self, out: &mut Vec<Action>, waiting: CoworkPurpose, frame: Frame) {
        match waiting {
            CoworkPurpose::Connect(slot) => self.fill(out, slot, vec![frame]),
            _ => send(out, frame),
        }
    }

    fn refused(&mut self, out: &mut Vec<Action>, waiting: CoworkPurpose, refusal: &Refusal) {
        let error = refusal_frame(&self.id, refusal);
        let unknown = matches!(refusal.why, Why::UnknownAsk | Why::AlreadyAnswered);
        match waiting {
            CoworkPurpose::Connect(GreetingSlot::SessionBackupState)
            | CoworkPurpose::Asked(GreetingSlot::SessionBackupState) => {
                let frame = backup::failed(&self.id, &self.card, refusal);
                self.show(out, waiting, frame);
            }
            CoworkPurpose::Connect(GreetingSlot::ProviderCatalog) => {
                self.slots
                    .fill(GreetingSlot::ProviderAuthMethods, Vec::new());
                self.fill(out, GreetingSlot::ProviderCatalog, vec![error]);
            }
            CoworkPurpose::Connect(_) => self.show(out, waiting, error),
            CoworkPurpose::AskResponse(id) if unknown => {
                send(out, self.unknown_request("ask_response", &id.to_string()));
            }
            CoworkPurpose::AskResponse(id) if refusal.why == Why::BlankAnswer => {
                self.blank_answer(out, id);
            }
            CoworkPurpose::ApprovalResponse(id) if unknown => {
                let line = self.unknown_request("approval_response", &id.to_string());
                send(out, line);
            }
            CoworkPurpose::Challenge(_) | CoworkPurpose::SignIn(_) => {
                send(out, sign_in::refusal_frame(&self.id, refusal))
            }
            CoworkPurpose::Backup(wanted) => {
                send(out, backup::refusal_frame(&self.id, &wanted, refusal));
            }
            CoworkPurpose::Mcp(purpose) => self.mcp_refused(out, &purpose, refusal),
            // No turn to cancel is no error.
            CoworkPurpose::Cancel if refusal.why == Why::NoRunningTurn => {}
            CoworkPurpose::Deletion { target } if refusal.why == Why::UnknownThread => {
                send(out, self.session_deleted(&target));
            }
            CoworkPurpose::Close => {
                // What was never kept needs no closing.
                if refusal.why != Why::UnknownThread {
                    send(out, error);
                }
                out.push(Action::Close(closed()));
            }
            CoworkPurpose::Asked(_)
            | CoworkPurpose::Tools
            | CoworkPurpose::Skills
            | CoworkPurpose::ChangedSkills
            | CoworkPurpose::SkillContent
            | CoworkPurpose::Commands
            | CoworkPurpose::Sessions
            | CoworkPurpose::Messages
            | CoworkPurpose::Told
            | CoworkPurpose::Defaults(_)
            | CoworkPurpose::Cancel
            | CoworkPurpose::Turn { .. }
            | CoworkPurpose::AskResponse(_)
            | CoworkPurpose::ApprovalResponse(_)
            | CoworkPurpose::Deletion { .. } => send(out, error),
        }
    }
}

fn closed() -> Reason {
    Reason::new(Reason::NORMAL, "session closed")
}
