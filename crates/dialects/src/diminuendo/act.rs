//! Client messages as calls.

use std::collections::BTreeMap;

use serde_json::Number;
use vocabulary::{
    Answer, ApprovalAnswer, ArchivedThreads, Call, Cause, Changes, CheckpointCall, FileCall,
    Idempotency, NewThread, Seq, StartTurn, SteerTurn, ThreadId, ThreadQuery,
};

use super::calls::{DiminuendoPurpose, Join};
use super::files::{CONTENT_BYTES_MAX, FileQuery};
use super::hear::ClientRequest;
use super::read::{EventsRead, HistoryRead};
use super::snapshot::AGENT_TYPE_LABEL;
use super::wire::ServerEvent;
use super::wire::client::{AnswerValue, Answers, ClientMessage};
use super::wire::parts::ErrorCode;
use super::{Diminuendo, Form, members, refuse};
use crate::request_id::RequestId;
use crate::{Action, Cx};

/// How many sessions one connection may be in.
const JOINED_MAX: usize = 2_000;
const NO_CALLER: &str = "say who you are first: send `authenticate` with your token";
const NO_SUCH_SESSION: &str = "there is no such session";

/// A no that needs no engine.
type Refused = (ErrorCode, String);

impl Diminuendo {
    pub(super) fn act(&mut self, cx: &Cx<'_>, out: &mut Vec<Action>, hearing: ClientRequest) {
        let request_id = hearing.request_id.clone();
        if let Err((code, message)) = self.try_to_act(cx, out, hearing) {
            let frame = refuse::error(code, &message).answer(request_id.as_deref());
            out.push(Action::Send(frame));
        }
    }

    fn try_to_act(
        &mut self,
        cx: &Cx<'_>,
        out: &mut Vec<Action>,
        hearing: ClientRequest,
    ) -> Result<(), Refused> {
        let ClientRequest {
            request_id,
            message,
        } = hearing;
        let is_stranger = cx.caller.is_none();
        let (wanted, call) = match message {
            ClientMessage::Authenticate { token, features } => {
                if features.iter().any(|feature| feature == "dotted") {
                    self.form = Form::Dotted;
                }
                match cx.caller {
                    // Whatever it is, it says nothing that counts.
                    Some(caller) if self.dev_mode => {
                        self.welcome_caller(out, caller, request_id.as_deref());
                    }
                    Some(_) | None => {
                        let pending = &mut self.authentications;
                        pending.authenticate(out, request_id, token.into());
                    }
                }
                return Ok(());
            }
            ClientMessage::Ping { ts } => {
                let server_ts = cx.now.millis();
                let client_ts = &ts;
                let pong = ServerEvent::Pong {
                    client_ts,
                    server_ts,
                };
                out.push(Action::Send(pong.answer(request_id.as_deref())));
                return Ok(());
            }
            // The rest is for those whom we know.
            _ if is_stranger => return Err((ErrorCode::Unauthenticated, NO_CALLER.to_owned())),
            ClientMessage::JoinSession {
                session_id,
                after_seq,
            } => {
                let join = Join {
                    thread: thread(&session_id)?,
                    after: cursor(after_seq.as_ref())?,
                    left: false,
                };
                // Only near the limit it matters which of the open calls are joins.
                let near = self.joined.len() + self.calls.open() >= JOINED_MAX;
                if near && self.joined.len() + self.calls.joins() >= JOINED_MAX {
                    let message = format!("a connection may join {JOINED_MAX} sessions at most");
                    return Err((ErrorCode::TooManySessions, message));
                }
                self.calls.join(out, request_id, join);
                return Ok(());
            }
            ClientMessage::LeaveSession { session_id } => {
                let thread = thread(&session_id)?;
                self.calls.leave(thread);
                self.joined.remove(&thread);
                out.push(Action::Unlisten(thread));
                return Ok(());
            }
            ClientMessage::ListSessions { include_archived } => (
                DiminuendoPurpose::List,
                Call::ListThreads(ThreadQuery {
                    archived: match include_archived {
                        true => ArchivedThreads::Included,
                        false => ArchivedThreads::LeftOut,
                    },
                    ..ThreadQuery::default()
                }),
            ),
            ClientMessage::CreateSession { agent_type, name } => {
                (DiminuendoPurpose::Create, create(agent_type, name))
            }
            ClientMessage::RenameSession { session_id, name } => {
                let title = Some(name);
                let changes = Changes {
                    title,
                    ..Changes::default()
                };
                (DiminuendoPurpose::Rename, change(&session_id, changes)?)
            }
            ClientMessage::ArchiveSession { session_id } => {
                (DiminuendoPurpose::Archive, archive(&session_id, true)?)
            }
            ClientMessage::UnarchiveSession { session_id } => {
                (DiminuendoPurpose::Unarchive, archive(&session_id, false)?)
            }
            ClientMessage::DeleteSession { session_id } => {
                let thread = thread(&session_id)?;
                let call = Call::DeleteThread { thread };
                (DiminuendoPurpose::Delete(thread), call)
            }
            ClientMessage::RunTurn {
                session_id,
                text,
                client_turn_id,
            } => {
                let turn = StartTurn {
                    files: Vec::new(),
                    changes: Box::default(),
                    listen: None,
                    images: Vec::new(),
                    thread: thread(&session_id)?,
                    text,
                    display: None,
                    cause: Cause::UserMessage,
                    client_message_id: None,
                    client_turn_id,
                    idempotency: Idempotency::Lasting,
                    pieces: Vec::new(),
                };
                (DiminuendoPurpose::Told, Call::StartTurn(turn))
            }
            ClientMessage::StopTurn { session_id } => {
                let thread = thread(&session_id)?;
                let call = Call::CancelTurn { thread, turn: None };
                (DiminuendoPurpose::Stop(thread), call)
            }
            ClientMessage::Steer {
                session_id,
                content,
            } => {
                let thread = thread(&session_id)?;
                let call = Call::SteerTurn(SteerTurn {
                    thread,
                    turn: None,
                    text: content.clone(),
                    client_message_id: None,
                    images: Vec::new(),
                    pieces: Vec::new(),
                });
                (DiminuendoPurpose::Steer { thread, content }, call)
            }
            ClientMessage::AnswerQuestion {
                session_id,
                request_id,
                answers,
                dismissed,
            } => {
                let answer = match (answers, dismissed) {
                    (_, true) => Answer::Dismissed,
                    (Some(answers), false) => answer(answers)?,
                    (None, false) => {
                        let message = "answer_question: answers is missing: expected an object";
                        return Err((ErrorCode::InvalidMessage, message.to_owned()));
                    }
                };
                (
                    DiminuendoPurpose::Told,
                    reply_to(&session_id, &request_id, answer)?,
                )
            }
            ClientMessage::Approve {
                session_id,
                request_id,
                approved,
            } => {
                let answer = approval(approved);
                (
                    DiminuendoPurpose::Told,
                    reply_to(&session_id, &request_id, answer)?,
                )
            }
            ClientMessage::GetHistory {
                session_id,
                limit,
                after_seq,
            } => {
                let thread = thread(&session_id)?;
                let read = HistoryRead::new(thread, limit, cursor(after_seq.as_ref())?);
                let call = read.first_call();
                (DiminuendoPurpose::History(read), call)
            }
            ClientMessage::GetEvents {
                session_id,
                after_seq,
                limit,
            } => {
                let thread = thread(&session_id)?;
                let read = EventsRead::new(thread, limit, cursor(after_seq.as_ref())?);
                let call = read.next_call();
                (DiminuendoPurpose::Events(read), call)
            }
            ClientMessage::FileHistory { session_id, path } => {
                let thread = thread(&session_id)?;
                let call = CheckpointCall::History { path: path.clone() };
                let wanted = DiminuendoPurpose::FileHistory(FileQuery { thread, path });
                (wanted, Call::Checkpoints { thread, call })
            }
            ClientMessage::FileAtIteration {
                session_id,
                path,
                iteration,
            } => {
                let thread = thread(&session_id)?;
                let call = CheckpointCall::FileAt {
                    path: path.clone(),
                    iteration,
                };
                let wanted = DiminuendoPurpose::FileAtIteration(FileQuery { thread, path });
                (wanted, Call::Checkpoints { thread, call })
            }
            ClientMessage::ListFiles {
                session_id,
                path,
                depth,
            } => {
                let thread = thread(&session_id)?;
                let depth = depth.unwrap_or(1);
                let call = FileCall::List { path, depth };
                (
                    DiminuendoPurpose::FileList(thread),
                    Call::Files { thread, call },
                )
            }
            ClientMessage::ReadFile { session_id, path } => {
                let thread = thread(&session_id)?;
                let call = FileCall::Read {
                    path: path.clone(),
                    bytes_max: CONTENT_BYTES_MAX as u64,
                };
                let wanted = DiminuendoPurpose::ReadFile(FileQuery { thread, path });
                (wanted, Call::Files { thread, call })
            }
            ClientMessage::ManageMembers {
                action,
                user_id,
                role,
            } => {
                let (user_id, role) = (user_id.as_deref(), role.as_deref());
                let call = members::call(self.dev_mode, &action, user_id, role)?;
                (DiminuendoPurpose::Members, call)
            }
        };
        self.calls.request(out, request_id, wanted, call);
        Ok(())
    }
}

fn thread(session_id: &str) -> Result<ThreadId, Refused> {
    ThreadId::parse(session_id)
        .ok_or_else(|| (ErrorCode::SessionNotFound, NO_SUCH_SESSION.to_owned()))
}

/// A negative position is a wrong one (docs/protocols/diminuendo.md, decision 5).
fn cursor(after_seq: Option<&Number>) -> Result<Option<Seq>, Refused> {
    let Some(number) = after_seq else {
        return Ok(None);
    };
    match number.as_u64() {
        Some(seq) => Ok(Some(Seq(seq))),
        None => {
            let message = "afterSeq must not be negative".to_owned();
            Err((ErrorCode::InvalidCursor, message))
        }
    }
}

fn create(agent_type: String, name: Option<String>) -> Call {
    Call::CreateThread(Box::new(NewThread {
        changes: Changes {
            agent: Some(agent_type.clone()),
            ..Changes::default()
        },
        title: name.map(|name| name.trim().to_owned()),
        labels: BTreeMap::from([(AGENT_TYPE_LABEL.to_owned(), agent_type)]),
        keep: true,
        ..NewThread::default()
    }))
}

fn change(session_id: &str, changes: Changes) -> Result<Call, Refused> {
    let thread = thread(session_id)?;
    Ok(Call::ChangeThread { thread, changes })
}

fn archive(session_id: &str, archived: bool) -> Result<Call, Refused> {
    let changes = Changes {
        archived: Some(archived),
        ..Changes::default()
    };
    change(session_id, changes)
}

/// An id that is not ours was never asked.
fn reply_to(session_id: &str, request_id: &str, answer: Answer) -> Result<Call, Refused> {
    let thread = thread(session_id)?;
    let id = RequestId::parse(request_id).filter(|id| id.position == 0);
    let Some(id) = id else {
        let message = "this request is not open: it was answered before, or never made";
        return Err((ErrorCode::RequestAlreadyResolved, message.to_owned()));
    };
    Ok(Call::AnswerAsk {
        thread,
        ask: id.ask,
        answer,
    })
}

/// `approved` answers a permission, anything else the questions it names
/// (docs/protocols/diminuendo.md, decision 2).
fn answer(answers: Answers) -> Result<Answer, Refused> {
    let by_question = match answers {
        Answers::Word(word) => return Ok(approval(word == "approve")),
        Answers::ByQuestion(answers) => answers,
    };
    if let Some(approved) = by_question.get("approved") {
        return match approved {
            AnswerValue::Yes(approved) => Ok(approval(*approved)),
            AnswerValue::Text(word) if word == "approve" => Ok(approval(true)),
            AnswerValue::Text(word) if word == "deny" => Ok(approval(false)),
            AnswerValue::Text(_) | AnswerValue::Texts(_) => {
                let message = "answer_question: answers.approved must be a boolean";
                Err((ErrorCode::InvalidMessage, message.to_owned()))
            }
        };
    }
    let texts = |value| match value {
        AnswerValue::Yes(yes) => vec![yes.to_string()],
        AnswerValue::Text(text) => vec![text],
        AnswerValue::Texts(texts) => texts,
    };
    let answers = by_question
        .into_iter()
        .map(|(id, value)| (id, texts(value)));
    Ok(Answer::Questions(answers.collect()))
}

fn approval(approved: bool) -> Answer {
    Answer::Approval(match approved {
        true => ApprovalAnswer::Once,
        false => ApprovalAnswer::Deny,
    })
}
