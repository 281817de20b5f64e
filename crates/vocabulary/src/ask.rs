//! Asks and answers: the agent waits for a person.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{AskId, CallRef, Effects, ItemId, Subject, ThreadId, Timestamp, TurnId};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "KeptAsk")]
pub struct Ask {
    pub id: AskId,
    pub turn: TurnId,
    /// The call that waits.
    pub call: Box<CallRef>,
    pub kind: AskKind,
}

/// An ask as the log and the state have it; older versions named the call in fields of their own.
#[derive(Deserialize)]
struct KeptAsk {
    id: AskId,
    turn: TurnId,
    call: Option<Box<CallRef>>,
    item: Option<ItemId>,
    #[serde(default)]
    call_id: String,
    #[serde(default)]
    tool: String,
    agent: Option<Box<crate::SubAgent>>,
    kind: AskKind,
}

impl From<KeptAsk> for Ask {
    fn from(kept: KeptAsk) -> Self {
        let older = CallRef {
            item: kept.item.unwrap_or_else(|| ItemId::new("")),
            call_id: kept.call_id,
            name: kept.tool,
            subject: Subject::Other,
            effects: Effects::NONE,
            agent: kept.agent,
            by_user: false,
        };
        Self {
            id: kept.id,
            turn: kept.turn,
            call: kept.call.unwrap_or_else(|| Box::new(older)),
            kind: kept.kind,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskKind {
    Approval(Approval),
    /// One to four questions; answers may come one by one.
    Questions(Vec<Question>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// The shell command, or one line that says what would happen (`edit src/main.rs`), with
    /// whatever a person could not see made visible.
    pub command: String,
    pub dangerous: bool,
    pub risk: RiskCode,
    /// Why a person is asked, in words for them.
    #[serde(default)]
    pub reason: String,
    /// Whether a yes lets it out of the sandbox; the reason says how far.
    #[serde(default)]
    pub leaves_sandbox: bool,
    /// What a yes for longer than once is kept under: tool and exact input. None where there is no
    /// such yes: it counts once. Older versions kept such a yes under `command`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// For how long a yes counts at least, whatever the answer says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered: Option<GrantScope>,
}

impl Approval {
    /// The command for clients that show nothing else: what it leaves stands above it, as a comment
    /// of the shell, so that nobody says yes to more than they see.
    pub fn command_in_full(&self) -> Cow<'_, str> {
        match self.leaves_sandbox {
            true => Cow::Owned(format!("# {}\n{}", self.reason, self.command)),
            false => Cow::Borrowed(&self.command),
        }
    }
}

/// Why a command is, or is not, put before a person; clients know these words
/// (docs/protocols/cowork.md, "ApprovalRiskCode").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RiskCode {
    SafeAutoApproved,
    MatchesDangerousPattern,
    ContainsShellControlOperator,
    RequiresManualReview,
    FileReadCommandRequiresReview,
    OutsideAllowedScope,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Unique within its ask.
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    pub question: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<QuestionOption>,
    #[serde(default)]
    pub multi_select: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionOption {
    pub label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// What a person says to an ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Approval(ApprovalAnswer),
    /// Answers by question id. The ask closes when every question has one.
    Questions(BTreeMap<String, Vec<String>>),
    /// The person does not want to answer; every open question counts as skipped.
    Dismissed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalAnswer {
    Once,
    /// And the same again without asking, until the turn is over.
    ForTurn,
    /// As long as this thread lives.
    ForSession,
    /// In every thread of this workspace, until it is revoked.
    ForWorkspace,
    Deny,
    /// Deny, and end the turn.
    DenyAndCancel,
}

/// Something a person allowed for more than once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Its name. People may give the beginning of it, if no other has the same.
    #[serde(default)]
    pub id: String,
    /// What it covers, in words for people: the command, or one line that says what would happen.
    pub what: String,
    /// What it covers exactly: calls with this very key, and no others.
    #[serde(default)]
    pub key: String,
    pub scope: GrantScope,
    /// The thread it was given in; the only one it holds in, unless it is for the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// The turn it is for, where it is for one only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The workspace.
    #[serde(default)]
    pub directory: PathBuf,
    /// Who gave it; not known of those from older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Person>,
    pub at: Timestamp,
}

/// Who did something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    pub member: String,
    /// The dialect they spoke.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
}

impl fmt::Display for Person {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.via {
            Some(via) => write!(out, "{} ({via})", self.member),
            None => out.write_str(&self.member),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantScope {
    Turn,
    Session,
    Workspace,
}

impl ApprovalAnswer {
    pub fn is_yes(self) -> bool {
        match self {
            ApprovalAnswer::Once
            | ApprovalAnswer::ForTurn
            | ApprovalAnswer::ForSession
            | ApprovalAnswer::ForWorkspace => true,
            ApprovalAnswer::Deny | ApprovalAnswer::DenyAndCancel => false,
        }
    }

    /// How long this allows the same again; not at all, where it was for once or a no.
    pub fn grants(self) -> Option<GrantScope> {
        match self {
            ApprovalAnswer::ForTurn => Some(GrantScope::Turn),
            ApprovalAnswer::ForSession => Some(GrantScope::Session),
            ApprovalAnswer::ForWorkspace => Some(GrantScope::Workspace),
            ApprovalAnswer::Once | ApprovalAnswer::Deny | ApprovalAnswer::DenyAndCancel => None,
        }
    }
}

/// How an ask came to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Closing {
    Answered(Answer),
    /// The turn was cancelled.
    Cancelled,
    /// Whoever asked is gone; says why.
    Lost {
        why: String,
    },
}

impl Closing {
    /// Whether this grants what an approval asked for.
    pub fn approved(&self) -> bool {
        matches!(self, Closing::Answered(Answer::Approval(answer)) if answer.is_yes())
    }
}
