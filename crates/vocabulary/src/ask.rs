//! Asks and answers: the agent waits for a person.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{AskId, ItemId, Timestamp, TurnId};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    pub id: AskId,
    pub turn: TurnId,
    /// The tool call that waits.
    pub item: ItemId,
    /// The provider's id of that call.
    pub call_id: String,
    pub tool: String,
    pub kind: AskKind,
    /// The sub-agent whose call waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<crate::SubAgent>>,
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
    /// The shell command, or one line that says what would happen (`edit src/main.rs`).
    pub command: String,
    pub dangerous: bool,
    pub risk: RiskCode,
    /// Why a person is asked, in words for them.
    #[serde(default)]
    pub reason: String,
    /// Whether a yes lets it out of the sandbox; the reason says how far.
    #[serde(default)]
    pub leaves_sandbox: bool,
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

/// Why a command is, or is not, put before a person (seed 000's `ApprovalRiskCode`).
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
    /// What it covers, word for word: the command, or one line that says what would happen.
    pub what: String,
    pub scope: GrantScope,
    pub at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantScope {
    Turn,
    Session,
    Workspace,
}

impl ApprovalAnswer {
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
        matches!(
            self,
            Closing::Answered(Answer::Approval(
                ApprovalAnswer::Once
                    | ApprovalAnswer::ForTurn
                    | ApprovalAnswer::ForSession
                    | ApprovalAnswer::ForWorkspace
            ))
        )
    }
}
