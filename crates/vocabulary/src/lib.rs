//! The nouns of Dragoman: plain data that crosses between dialects and engine.
//!
//! A client makes a [`Call`] and gets a [`Reply`] or a [`Refusal`]. A session tells [`Event`]s.
//! When the agent needs a person it opens an [`Ask`] and waits for the [`Answer`].
//! Nothing here does IO, and nothing here is ever serialised to a client: the dialects spell
//! these words in their own way. The serde derives serve the log and other processes of ours.

mod answer_style;
mod ask;
mod assignment;
mod call;
mod caller;
mod carried;
mod catalog;
mod checkpoint;
mod directories;
mod event;
mod exec;
mod facts;
mod find_files;
mod git_info;
mod ids;
mod item;
mod library;
mod mcp;
mod member;
mod named_model;
mod nearest;
mod notice;
mod observability;
mod past;
mod permissions;
mod push;
mod refusal;
mod reply;
mod review;
mod role;
mod search;
mod sections;
mod skills;
mod status;
mod terminal;
mod thread;
mod thread_query;
mod tool;
mod tree_thread;
mod turn;
mod upload;
mod workspace_files;

pub use answer_style::{SummaryDetail, Verbosity};
pub use ask::{
    Answer, Approval, ApprovalAnswer, Ask, AskKind, Closing, Grant, GrantScope, Person, Question,
    QuestionOption, RiskCode,
};
pub use assignment::Assignment;
pub use call::{Attendance, Audience, Call, Changes, Idempotency, NewThread, StartTurn, SteerTurn};
pub use caller::{Caller, CallerCredential, CredentialOrigin, LONE_MEMBER};
pub use carried::CarriedCall;
pub use catalog::{
    Account, AuthMethod, AuthMode, Catalog, CatalogModel, CatalogProvider, Challenge,
    ProviderStatus, Secret, SignInCall, SignedIn,
};
pub use checkpoint::{
    Checkpoint, CheckpointCall, CheckpointId, CheckpointNews, CheckpointReply, Checkpoints,
    FileIteration, FileVersion, NoCheckpointId, RestoreAction, Standing, Touched, Trigger,
};
pub use directories::{
    CreatedWorktree, DirectoryCall, DirectoryList, DirectoryReply, InspectedRepository,
    NewWorktree, Worktree, WorktreeList,
};
pub use event::{Event, Fact, StreamTag, ToolEvent};
pub use exec::{ExecCommand, ExecOutput};
pub use facts::{
    AskFact, FilesFact, Growth, ItemFact, KeptContext, KeptSteps, NoteFact, Opening, RetryStage,
    StepFact, ThreadFact, TimeLimit, ToolFact, TurnFact, TurnLimit,
};
pub use find_files::{FindFiles, FoundFile, FoundFiles};
pub use git_info::{FieldChange, GitInfo, GitInfoChange};
pub use ids::{AskId, ItemId, SectionId, Seq, TenantId, ThreadId, Timestamp, TurnId, WorkspaceId};
pub use item::{
    Item, Native, PART_BREAK, PlanMarks, PlanStep, PlanStepStatus, ReasoningKind, reasoning_parts,
};
pub use library::{
    DEFAULT_WORKSPACE, Folder, LibraryCall, LibraryReply, Placement, Tree, Workspace,
    WorkspaceCall, WorkspaceChange, WorkspaceDirectory,
};
pub use mcp::{
    McpAuth, McpAuthMode, McpAuthState, McpCall, McpChangeKind, McpCheck, McpFile,
    McpInstallOutcome, McpInstalled, McpLayer, McpReply, McpRunning, McpScope, McpServer,
    McpServerState, McpSnapshot, McpToolInfo, McpTransport,
};
pub use member::{Member, MemberCall, MemberReply};
pub use named_model::{ModelOffer, NamedModel};
pub use nearest::{did_you_mean, nearest};
pub use notice::Notice;
pub use observability::{LangfuseTarget, TracingHealth, TracingState};
pub use past::{ForkPlace, ForkThread, ForkedFrom, RevertPoint, RevertThread, RevertTo};
pub use permissions::{Approvals, PermissionOffer, SandboxInForce, SandboxMechanism, SandboxMode};
pub use push::{PushCall, PushMatter, PushNews, PushSubscription};
pub use refusal::{Refusal, Why};
pub use reply::{
    Entry, EventPage, MessagePage, Reply, StartedTurn, SteeredTurn, ThreadPage, TurnPage,
};
pub use review::{ReviewTarget, StartReview};
pub use role::{Permission, Role};
pub use search::{FoundThread, IndexingProgress, SearchKind, SearchPage, SearchQuery, TextHit};
pub use sections::{
    InSection, PINNED_SECTION, Section, SectionAppearance, SectionCall, SectionFilter, SectionPlace,
};
pub use skills::{
    CommandOrigin, InspectedSkill, ReplacedSkill, RunCommand, Skill, SkillArchive, SkillCall,
    SkillChange, SkillChangeKind, SkillFault, SkillLook, SkillReport, SkillText, SkillTier,
    SlashCommand,
};
pub use status::{IllegalTransition, Status, StatusReason};
pub use terminal::{BackgroundTerminal, RunShell, TerminalCall, TerminalReply};
pub use thread::{
    AgentMode, Changed, Growing, LiveItem, OpenAsk, PlannedCall, RunningTurn, Thread, ThreadCard,
    ThreadSettings, ThreadView, Title, TitleSource, VISIBILITY_LABEL,
};
pub use thread_query::{ArchivedThreads, ListDirection, ThreadQuery, ThreadSort};
pub use tool::{
    CallRef, ContentBlock, Effects, FileChange, FileChangeKind, FilePreview, FileSubject,
    OutputStream, SubAgent, Subject, ToolCall, ToolOutcome, ToolOutput,
};
pub use tree_thread::TreeThread;
pub use turn::{
    Budgets, Cause, EndedTurn, Image, IndexedTurn, InputPiece, ModelRef, Purpose, StopReason,
    TextMark, TurnError, TurnErrorKind, TurnOutcome, TurnSelection, Usage, UserInput,
};
pub use upload::{FileUpload, UploadedFile, WorkFolders};
pub use workspace_files::{FileCall, FileListing, FileReply, ListedFile, ListedKind, ReadFile};
