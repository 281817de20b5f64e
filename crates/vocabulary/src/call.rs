//! Calls: what a client can want of the engine.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{
    AgentMode, Answer, Approvals, AskId, Assignment, Budgets, Cause, Changed, CheckpointCall,
    DirectoryCall, ExecCommand, FileCall, FileUpload, FindFiles, ForkThread, GitInfoChange,
    GrantScope, Image, InputPiece, LibraryCall, McpCall, MemberCall, ModelRef, NamedModel,
    PushCall, RevertThread, RunCommand, RunShell, SandboxMode, Seq, SignInCall, SkillCall,
    StartReview, SummaryDetail, TerminalCall, ThreadId, ThreadQuery, TurnId, TurnSelection,
    Verbosity, WorkspaceCall, WorkspaceId,
};

/// Which family of clients listens. The engine only compares them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Audience(pub u8);

/// How somebody listens to a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attendance {
    pub audience: Audience,
    /// Whether asks reach a person there. Who listens without it leaves nobody to be asked.
    pub answers: bool,
    /// Whether the thread may fall asleep at once when this one, the last, has left.
    pub lets_sleep: bool,
}

impl From<Audience> for Attendance {
    fn from(audience: Audience) -> Self {
        Self {
            audience,
            answers: true,
            lets_sleep: false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Call {
    /// Threads of the caller's tenant, newest first.
    ListThreads(ThreadQuery),
    CreateThread(Box<NewThread>),
    /// A new thread with the past of another one.
    ForkThread(Box<ForkThread>),
    /// Hides the newest turns of a thread; refused while one runs.
    RevertThread(RevertThread),
    /// The thread that a client names: by our id, else by the one it made up.
    FindThread {
        name: String,
    },
    /// One thread as a list shows it, without waking it.
    GetThread {
        thread: ThreadId,
    },
    /// Forgets a thread for good. A running turn is cancelled first; whoever listens is told of both.
    DeleteThread {
        thread: ThreadId,
    },
    ChangeThread {
        thread: ThreadId,
        changes: Changes,
    },

    StartTurn(StartTurn),
    /// Summarises the conversation now, in a turn of its own. Answered as `StartTurn` is.
    CompactThread {
        thread: ThreadId,
    },
    StartReview(StartReview),
    RunShell(RunShell),
    /// The commands in the thread's background.
    Terminals {
        thread: ThreadId,
        call: TerminalCall,
    },
    /// Says more to the running turn; refused when there is none, or another one than `turn`.
    SteerTurn(SteerTurn),
    /// No turn running is no error.
    CancelTurn {
        thread: ThreadId,
        turn: Option<TurnId>,
    },
    AnswerAsk {
        thread: ThreadId,
        ask: AskId,
        answer: Answer,
    },
    ResetThread {
        thread: ThreadId,
    },
    /// What was allowed for more than once in a thread, its workspace's grants included.
    ListGrants {
        thread: ThreadId,
    },
    /// Takes back the grants of these words and this scope; none is no error.
    RevokeGrant {
        thread: ThreadId,
        what: String,
        scope: GrantScope,
    },
    /// Lets the runtime go: everyone of the same audience leaves, unless another one listens too.
    /// A running turn is cancelled only when no one else listens.
    CloseThread {
        thread: ThreadId,
        audience: Audience,
    },

    /// A thread as one who joins sees it, with its newest messages, without joining it.
    ReadThread {
        thread: ThreadId,
        recent: u32,
    },

    /// A page of the transcript by message: a user's, or one answer of the model with its calls,
    /// or the results of those calls.
    ReadMessages {
        thread: ThreadId,
        offset: u64,
        limit: u64,
    },
    /// A page of a thread's turns since its last reset.
    ReadTurns {
        thread: ThreadId,
        selection: TurnSelection,
        limit: u32,
        /// With what happened in them.
        entries: bool,
    },
    /// A page of the log: durable events after a position.
    ReadEvents {
        thread: ThreadId,
        after: Seq,
        limit: u32,
    },

    /// The last durable events up to a position, oldest first.
    ReadEventsBefore {
        thread: ThreadId,
        upto: Seq,
        limit: u32,
    },

    /// Workspaces and folders.
    Library(LibraryCall),
    /// Who is in the caller's tenant.
    Members(MemberCall),

    /// Runs a command of the client's own, which belongs to no thread.
    Exec(Box<ExecCommand>),

    GetCatalog,
    /// `verify`: the providers themselves are asked whether they accept what is saved.
    GetProviderStatus {
        verify: bool,
    },
    SignIn(SignInCall),
    /// What the thread's agent can use.
    ListTools {
        thread: ThreadId,
    },
    Mcp {
        thread: ThreadId,
        call: McpCall,
    },
    Skills {
        thread: ThreadId,
        call: SkillCall,
    },
    /// What a workspace's directory has, without a thread in it.
    Workspace {
        workspace: WorkspaceId,
        call: Box<WorkspaceCall>,
    },
    ListCommands {
        thread: ThreadId,
    },
    RunCommand(RunCommand),
    /// What these settings are in a thread now is what new threads of its directory begin with.
    KeepDefaults {
        thread: ThreadId,
        settings: Vec<Changed>,
    },
    /// Puts a file where the thread's uploads lie; its model is told.
    UploadFile(FileUpload),
    Checkpoints {
        thread: ThreadId,
        call: CheckpointCall,
    },
    /// The files of its workspace, as they are now.
    Files {
        thread: ThreadId,
        call: FileCall,
    },
    /// Directories of the server's machine, as far as the caller may see them.
    Directories(DirectoryCall),
    FindFiles(FindFiles),
    Push(PushCall),
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NewThread {
    /// The same id again names the same thread.
    pub client_id: Option<String>,
    pub workspace: Option<WorkspaceId>,
    /// The server's own directory when absent.
    pub directory: Option<PathBuf>,
    pub title: Option<String>,
    pub changes: Changes,
    /// When this family of clients expects to be asked, where neither the client nor the server's
    /// owner said.
    pub approvals_expected: Option<Approvals>,
    pub labels: BTreeMap<String, String>,
    /// How the client wants work done in it.
    pub instructions: Option<Box<str>>,
    /// It has directories for results and uploads in any case, and they are there from the start.
    pub usual_folders: bool,
    /// Keep it from now on, rather than from the first thing that happens in it.
    pub keep: bool,
    /// It is in no list, and gone with its last listener.
    pub ephemeral: bool,
    /// The id that a client still has of a thread that is not there. The new one gets it, if we gave it out and
    /// nobody deleted that thread.
    pub resumed: Option<ThreadId>,
}

/// A patch of what an owner may set: absent fields stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    pub title: Option<String>,
    pub archived: Option<bool>,
    pub model: Option<ModelRef>,
    /// The model by a name, which the engine looks up; the one in use stays if there is none of it.
    pub named_model: Option<NamedModel>,
    pub auto_approve: Option<bool>,
    pub approvals: Option<Approvals>,
    pub sandbox: Option<SandboxMode>,
    pub network: Option<bool>,
    pub mode: Option<AgentMode>,
    /// What drives its turns, by name; empty for the built-in agent.
    pub agent: Option<String>,
    pub max_steps: Option<u32>,
    pub sub_agent_model: Option<String>,
    pub observability: Option<bool>,
    pub mcp: Option<bool>,
    /// How hard the model thinks; empty for its own default.
    pub effort: Option<String>,
    pub verbosity: Option<Verbosity>,
    pub summary: Option<SummaryDetail>,
    pub budgets: Option<Box<Budgets>>,
    pub assignment: Option<Box<Assignment>>,
    /// How the client wants work done in it.
    pub instructions: Option<String>,
    /// What is kept of its repository.
    pub git: Option<Box<GitInfoChange>>,
    /// Labels that it gets beside those it has, or in their place.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

impl Changes {
    /// The settings this names, as `Fact::SettingsChanged` lists them.
    pub fn settings_named(&self) -> Vec<Changed> {
        [
            (self.model.is_some(), Changed::Model),
            (self.auto_approve.is_some(), Changed::AutoApprove),
            (self.approvals.is_some(), Changed::Approvals),
            (self.sandbox.is_some(), Changed::Sandbox),
            (self.network.is_some(), Changed::Network),
            (self.mode.is_some(), Changed::Mode),
            (self.agent.is_some(), Changed::Agent),
            (self.max_steps.is_some(), Changed::MaxSteps),
            (self.sub_agent_model.is_some(), Changed::SubAgentModel),
            (self.observability.is_some(), Changed::Observability),
            (self.mcp.is_some(), Changed::Mcp),
            (self.effort.is_some(), Changed::Effort),
            (self.verbosity.is_some(), Changed::Verbosity),
            (self.summary.is_some(), Changed::Summary),
            (self.budgets.is_some(), Changed::Budgets),
            (self.assignment.is_some(), Changed::Assignment),
            (self.instructions.is_some(), Changed::Instructions),
            (self.git.is_some(), Changed::Git),
        ]
        .into_iter()
        .filter_map(|(named, setting)| named.then_some(setting))
        .collect()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartTurn {
    pub thread: ThreadId,
    pub text: String,
    pub display: Option<String>,
    pub cause: Cause,
    /// Told back in the echo; the same id and text again are answered again, not run again.
    pub client_message_id: Option<String>,
    /// When the same is the same.
    pub idempotency: Idempotency,
    /// Becomes the turn's id.
    pub client_turn_id: Option<String>,
    pub images: Vec<Image>,
    /// Files of the user's own machine, by their absolute paths: the engine reads them when it takes the input,
    /// text as text and pictures as pictures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<PathBuf>,
    /// As in the input that it becomes.
    #[serde(default)]
    pub pieces: Vec<InputPiece>,
    /// What the thread is to be set to with it; a turn that is refused changes nothing.
    pub changes: Box<Changes>,
    /// Who starts it listens to the thread from before its first event; a turn that is refused leaves no
    /// listener. The reply says how the thread stood.
    pub listen: Option<Audience>,
}

/// What a client's own id for a message proves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Idempotency {
    /// Each message has its own, for ever; the same for another one is refused.
    #[default]
    Lasting,
    /// Nothing by itself: clients use them again. Only the newest message, said again by a client that joined
    /// the thread after it, at this position, is the same one.
    Reconnect { joined_at: Seq },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteerTurn {
    pub thread: ThreadId,
    /// The turn that the client believes to be running.
    pub turn: Option<TurnId>,
    pub text: String,
    /// Told back in the echo.
    pub client_message_id: Option<String>,
    pub images: Vec<Image>,
    /// As in the input that it becomes.
    #[serde(default)]
    pub pieces: Vec<InputPiece>,
}

impl Call {
    /// Whether it waits for something outside, a person, a provider or a disk, and so for longer than
    /// the calls behind it should wait with it.
    pub fn waits_outside(&self) -> bool {
        match self {
            Call::SignIn(SignInCall::Finish { code, .. }) => code.is_none(),
            Call::GetProviderStatus { verify } => *verify,
            // It runs as long as it runs.
            Call::Exec(_) => true,
            // A server is started, or a person signs in.
            Call::Mcp { call, .. } => !call.only_reads(),
            Call::Workspace { call, .. } => !call.only_reads(),
            // The first snapshot of a large workspace takes its time.
            Call::Checkpoints { call, .. } => *call == CheckpointCall::Get,
            // A large tree is walked, a worktree written.
            Call::Directories(_) | Call::FindFiles(_) => true,
            // tidy: wildcard, because only what is named here waits.
            _ => false,
        }
    }

    /// Whether it reads what a thread told, so that the answer has a place among what the thread tells:
    /// behind all that is in it, before all that is not.
    pub fn reads_history(&self) -> bool {
        match self {
            Call::ReadThread { .. }
            | Call::ReadMessages { .. }
            | Call::ReadTurns { .. }
            | Call::ReadEvents { .. }
            | Call::ReadEventsBefore { .. } => true,
            // tidy: wildcard, because only what is named here reads.
            _ => false,
        }
    }

    /// Whether who makes it listens to its thread from then on.
    pub fn listens(&self) -> bool {
        matches!(self, Call::StartTurn(start) if start.listen.is_some())
    }

    /// The thread a call is for; calls without one go to the library.
    pub fn thread(&self) -> Option<ThreadId> {
        match self {
            Call::GetThread { thread }
            | Call::DeleteThread { thread }
            | Call::ChangeThread { thread, .. }
            | Call::StartTurn(StartTurn { thread, .. })
            | Call::CompactThread { thread }
            | Call::StartReview(StartReview { thread, .. })
            | Call::RunShell(RunShell { thread, .. })
            | Call::Terminals { thread, .. }
            | Call::SteerTurn(SteerTurn { thread, .. })
            | Call::CancelTurn { thread, .. }
            | Call::AnswerAsk { thread, .. }
            | Call::ResetThread { thread }
            | Call::RevertThread(RevertThread { thread, .. })
            | Call::ListGrants { thread }
            | Call::RevokeGrant { thread, .. }
            | Call::CloseThread { thread, .. }
            | Call::ReadThread { thread, .. }
            | Call::ReadMessages { thread, .. }
            | Call::ReadTurns { thread, .. }
            | Call::ReadEvents { thread, .. }
            | Call::ReadEventsBefore { thread, .. }
            | Call::ListTools { thread }
            | Call::Mcp { thread, .. }
            | Call::Skills { thread, .. }
            | Call::ListCommands { thread }
            | Call::RunCommand(RunCommand { thread, .. })
            | Call::UploadFile(FileUpload { thread, .. })
            | Call::KeepDefaults { thread, .. }
            | Call::Checkpoints { thread, .. }
            | Call::Files { thread, .. } => Some(*thread),
            Call::ForkThread(fork) => Some(fork.thread),
            Call::ListThreads(_)
            | Call::CreateThread(_)
            | Call::FindThread { .. }
            | Call::Library(_)
            | Call::Workspace { .. }
            | Call::Members(_)
            | Call::Exec(_)
            | Call::GetCatalog
            | Call::GetProviderStatus { .. }
            | Call::SignIn(_)
            | Call::Directories(_)
            | Call::FindFiles(_)
            | Call::Push(_) => None,
        }
    }
}
