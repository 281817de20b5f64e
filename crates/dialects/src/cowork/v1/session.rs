//! A connection's session: what its client says, and what it is answered.

use std::collections::BTreeMap;
use std::sync::Arc;

use vocabulary::{
    Answer, ApprovalAnswer, Call, Cause, Changed, Changes, CheckpointCall, Fact, Idempotency,
    ModelRef, Refusal, Reply, Seq, StartTurn, ThreadCard, ThreadFact, ThreadView, TurnFact, Why,
};

use super::super::act::SKIPPED;
use super::super::asks::OpenAsks;
use super::super::backup::{self, Backup, ComparedWith};
use super::super::names::{ProviderName, parse, spell};

use super::calls::{Cowork1Calls, Cowork1Purpose};
use super::connect::Connecting;
use super::hear;
use super::wire::{ClientMessage, ServerEvent, config, error};
use crate::request_id::RequestId;
use crate::{Action, Frame};

pub struct Cowork1Session {
    /// The thread's id as frames spell it.
    pub id: String,
    pub card: ThreadCard,
    pub model: ModelRef,
    asks: OpenAsks,
    pub busy: bool,
    /// The ids of the catalog's providers.
    providers: Arc<[String]>,
    /// The sign-in that is under way.
    pub connecting: Option<Connecting>,
}

impl Cowork1Session {
    pub fn new(view: &ThreadView, providers: Arc<[String]>) -> Self {
        Self {
            id: view.thread.card.id.to_string(),
            card: view.thread.card.clone(),
            model: view.thread.settings.model.clone(),
            asks: OpenAsks::default(),
            busy: view.turn.is_some(),
            providers,
            connecting: None,
        }
    }

    pub fn hello(&self) -> Frame {
        ServerEvent::ServerHello {
            session_id: &self.id,
            config: config(&self.card, &self.model),
        }
        .frame()
    }

    /// Keeps up with what is told.
    pub fn follow(&mut self, fact: &Fact) {
        self.asks.follow(fact);
        if let Fact::Turn(TurnFact::Started { .. }) = fact {
            self.busy = true;
        } else if let Fact::Turn(TurnFact::Finished { .. }) = fact {
            self.busy = false;
        } else if let Fact::Thread(ThreadFact::SettingsChanged { settings, .. }) = fact {
            self.model = settings.model.clone();
        }
    }

    pub fn heard(&mut self, out: &mut Vec<Action>, calls: &mut Cowork1Calls, frame: &str) {
        match hear::hear(frame, &self.id) {
            Ok(message) => self.act(out, calls, message),
            Err(message) => self.refuse(out, &message),
        }
    }

    pub fn refuse(&self, out: &mut Vec<Action>, message: &str) {
        out.push(Action::Send(error(&self.id, message)));
    }

    fn act(&mut self, out: &mut Vec<Action>, calls: &mut Cowork1Calls, message: ClientMessage) {
        let thread = self.card.id;
        match message {
            ClientMessage::ClientHello {} => {}
            ClientMessage::UserMessage {
                text,
                client_message_id,
            } => self.user_message(out, calls, text, client_message_id),
            ClientMessage::AskResponse { request_id, answer } => {
                self.ask_response(out, calls, &request_id, answer);
            }
            ClientMessage::ApprovalResponse {
                request_id,
                approved,
            } => self.approval_response(out, calls, &request_id, approved),
            ClientMessage::SetModel { .. } if self.busy => {
                self.refuse(out, &Refusal::busy().message);
            }
            ClientMessage::SetModel { model, provider } => {
                let changes = Changes {
                    model: Some(self.model_of(provider.as_deref(), &model)),
                    ..Changes::default()
                };
                let call = Call::ChangeThread { thread, changes };
                calls.make(out, Cowork1Purpose::Model, call);
            }
            ClientMessage::ListTools {} => {
                calls.make(out, Cowork1Purpose::Tools, Call::ListTools { thread })
            }
            ClientMessage::Reset {} => {
                calls.make(out, Cowork1Purpose::Nothing, Call::ResetThread { thread });
            }
            ClientMessage::ConnectProvider { .. } if self.busy => {
                self.refuse(out, &Refusal::busy().message);
            }
            ClientMessage::ConnectProvider { provider, api_key } => {
                self.connect(out, calls, provider, api_key);
            }
            ClientMessage::SessionBackupGet {} => {
                let call = CheckpointCall::Get;
                let call = Call::Checkpoints { thread, call };
                calls.make(out, Cowork1Purpose::BackupState, call);
            }
            ClientMessage::SessionBackupCheckpoint {} => {
                self.backup(out, calls, Backup::Checkpoint);
            }
            ClientMessage::SessionBackupRestore { checkpoint_id } => {
                self.backup(out, calls, Backup::Restore(checkpoint_id));
            }
            ClientMessage::SessionBackupDeleteCheckpoint { checkpoint_id } => {
                self.backup(out, calls, Backup::Delete(checkpoint_id));
            }
        }
    }

    fn backup(&self, out: &mut Vec<Action>, calls: &mut Cowork1Calls, backup: Backup) {
        let Some(call) = backup.call() else {
            return self.refuse(out, &unknown(&backup));
        };
        let thread = self.card.id;
        let call = Call::Checkpoints { thread, call };
        calls.make(out, Cowork1Purpose::Backup(backup), call);
    }

    fn user_message(
        &self,
        out: &mut Vec<Action>,
        calls: &mut Cowork1Calls,
        text: String,
        client_message_id: Option<String>,
    ) {
        // An empty id names no message, and would make the next one look like this one again.
        let client_message_id = client_message_id.filter(|id| !id.is_empty());
        let turn = StartTurn {
            files: Vec::new(),
            changes: Box::default(),
            listen: None,
            images: Vec::new(),
            thread: self.card.id,
            text,
            display: None,
            cause: Cause::UserMessage,
            client_message_id,
            // A session is never joined again, so nothing is ever said again.
            idempotency: Idempotency::Reconnect {
                joined_at: Seq::ZERO,
            },
            client_turn_id: None,
            pieces: Vec::new(),
        };
        calls.make(out, Cowork1Purpose::Turn, Call::StartTurn(turn));
    }

    /// A blank answer is an answer here; the engine takes none, so it counts as skipped.
    fn ask_response(
        &self,
        out: &mut Vec<Action>,
        calls: &mut Cowork1Calls,
        request: &str,
        said: String,
    ) {
        let id = RequestId::parse(request);
        let Some((id, question)) = id.and_then(|id| Some((id, self.asks.question(id)?))) else {
            return;
        };
        let answers = match said.trim() {
            "" | SKIPPED => Vec::new(),
            _ => vec![said],
        };
        let answer = Answer::Questions(BTreeMap::from([(question.id.clone(), answers)]));
        self.answer(out, calls, id, answer);
    }

    fn approval_response(
        &self,
        out: &mut Vec<Action>,
        calls: &mut Cowork1Calls,
        request: &str,
        approved: bool,
    ) {
        let id = RequestId::parse(request);
        let id = id.filter(|id| id.position == 0 && !self.asks.asks_questions(id.ask));
        let answer = match approved {
            true => ApprovalAnswer::Once,
            false => ApprovalAnswer::Deny,
        };
        if let Some(id) = id {
            self.answer(out, calls, id, Answer::Approval(answer));
        }
    }

    fn answer(
        &self,
        out: &mut Vec<Action>,
        calls: &mut Cowork1Calls,
        id: RequestId,
        answer: Answer,
    ) {
        let call = Call::AnswerAsk {
            thread: self.card.id,
            ask: id.ask,
            answer,
        };
        calls.make(out, Cowork1Purpose::Prompt, call);
    }

    fn model_of(&self, provider: Option<&str>, model: &str) -> ModelRef {
        let current = self.model.provider.as_str();
        match provider.unwrap_or(current) {
            id if ProviderName::of(id).is_none() && provider.is_some() => ModelRef {
                provider: id.to_owned(),
                model: model.to_owned(),
            },
            id => {
                let provider = ProviderName::of(id).unwrap_or(spell(&self.model).0);
                parse(provider, model, &self.providers)
            }
        }
    }

    pub fn answered(
        &mut self,
        out: &mut Vec<Action>,
        calls: &mut Cowork1Calls,
        wanted: &Cowork1Purpose,
        outcome: Result<Reply, Refusal>,
    ) {
        let done = outcome.and_then(|reply| self.reply(out, calls, wanted, reply));
        if let Err(refusal) = done {
            self.refused(out, wanted, &refusal);
        }
    }

    /// What an answer is for says what it is.
    fn reply(
        &mut self,
        out: &mut Vec<Action>,
        calls: &mut Cowork1Calls,
        wanted: &Cowork1Purpose,
        reply: Reply,
    ) -> Result<(), Refusal> {
        match wanted {
            Cowork1Purpose::ConnectCatalog => self.connect_chosen(out, calls, &*reply.catalog()?),
            Cowork1Purpose::ConnectChallenge => {
                self.connect_challenged(out, calls, &*reply.challenge()?)
            }
            Cowork1Purpose::ConnectEnd => self.connected(out, calls, reply.signed_in()?),
            Cowork1Purpose::Tools => {
                let tools = reply.tools()?;
                let tools = tools.iter().map(|(name, _)| name.as_str()).collect();
                let session_id = &self.id;
                let event = ServerEvent::Tools { session_id, tools };
                out.push(Action::Send(event.frame()));
            }
            // It tells itself.
            Cowork1Purpose::Turn => {}
            Cowork1Purpose::BackupState => {
                let now = reply.checkpoints()?.state()?;
                let compared = ComparedWith::Original;
                let frame = backup::requested(&self.id, &self.card, &now, compared);
                out.push(Action::Send(frame));
            }
            Cowork1Purpose::Model => {
                let (thread, settings) = (self.card.id, vec![Changed::Model]);
                let call = Call::KeepDefaults { thread, settings };
                calls.make(out, Cowork1Purpose::Nothing, call);
            }
            Cowork1Purpose::Nothing | Cowork1Purpose::Prompt | Cowork1Purpose::Backup(_) => {}
        }
        Ok(())
    }

    fn refused(&mut self, out: &mut Vec<Action>, wanted: &Cowork1Purpose, refusal: &Refusal) {
        match wanted {
            Cowork1Purpose::ConnectCatalog
            | Cowork1Purpose::ConnectChallenge
            | Cowork1Purpose::ConnectEnd => {
                self.connect_failed(out, &refusal.message);
            }
            Cowork1Purpose::BackupState => {
                let frame = backup::failed(&self.id, &self.card, refusal);
                out.push(Action::Send(frame));
            }
            Cowork1Purpose::Backup(backup) if refusal.why == Why::UnknownCheckpoint => {
                self.refuse(out, &unknown(backup));
            }
            // Whoever answers too late, or what nobody asked, hears nothing.
            Cowork1Purpose::Prompt
                if matches!(refusal.why, Why::UnknownAsk | Why::AlreadyAnswered) => {}
            Cowork1Purpose::Nothing
            | Cowork1Purpose::Model
            | Cowork1Purpose::Tools
            | Cowork1Purpose::Prompt
            | Cowork1Purpose::Backup(_)
            | Cowork1Purpose::Turn => self.refuse(out, &refusal.message),
        }
    }
}

/// Error Reference: the same words for a restore and a deletion.
fn unknown(backup: &Backup) -> String {
    format!("Unknown checkpoint id: {}", backup.named())
}
