//! What the agent can do: one file per built-in tool, and the judgement of a command's risk.
//!
//! A tool knows neither threads nor clients. What it needs of the world comes with [`ToolCx`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use vocabulary::{
    Effects, FileChange, OutputStream, PlanStep, Question, StreamTag, Subject, TimeLimit, ToolCall,
    ToolOutput,
};

pub mod agent_files;
mod ask;
mod bash;
mod change;
pub mod checks;
pub mod commands;
pub mod directories;
mod edit;
pub mod exec;
mod faces;
pub mod find_files;
pub mod folders;
#[doc(hidden)]
pub mod fuzzing;
pub mod git;
mod glob;
mod grep;
mod held;
mod input;
mod job;
mod jobs;
mod kind;
mod memory;
mod nearest;
pub mod normalize;
mod notebook_edit;
mod patch;
pub mod path;
mod pdf;
pub mod pictures;
pub mod policy;
pub mod project_defaults;
mod protected;
mod read;
pub mod risk;
pub mod sandbox;
mod seen;
mod shell;
pub mod shown;
pub mod skill;
pub mod spawn_agent;
mod spill;
pub mod surroundings;
mod text;
mod todo_write;
mod toolbox;
mod trusted;
pub mod uploads;
mod walk;
pub mod web;
mod web_fetch;
mod web_search;
pub mod workspace_files;
mod write;

pub use ask::ASK;
pub use bash::environment::secret_variables;
pub use faces::{ToolFace, ToolFaces, WrittenToolCall};
pub use jobs::{JobEnd, Jobs};
pub use project_defaults::ProjectDefaults;
pub use sandbox::Sandbox;
pub use seen::SeenFiles;
pub use skill::{SKILL, SkillSummary};
pub use spawn_agent::{
    OwnKind, SPAWN_AGENT, SpawnKind, SpawnRequest, SubAgentKindSummary, SubAgentModel, Thoroughness,
};
pub use spill::cut as cut_to_fit;
pub use surroundings::Surroundings;
pub use toolbox::{ToolSource, Toolbox};
pub use trusted::Trusted;
pub use web::Web;

#[cfg(test)]
mod scratch;

/// A tool: what the model is told about it, what it would do, and doing it.
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    fn name(&self) -> &str;
    /// For the model; the first line is also for people.
    fn description(&self) -> &str;
    /// JSON Schema of the input.
    fn parameters(&self) -> Value;
    /// What running it can do.
    fn effects(&self) -> Effects;
    /// What a call with this input is about. Input that cannot be run has a subject all the same.
    fn subject(&self, input: &Value) -> Subject;
    /// What a call with this input would make of files as they are now, for people to see before it
    /// runs; nothing where that is not known. Reads files.
    fn preview(&self, _scope: &Scope, _seen: &SeenFiles, _input: &Value) -> Vec<FileChange> {
        Vec::new()
    }
    /// Whether a person must allow this input before it runs. Bad input is judged harmless here:
    /// `run` refuses it without any effect.
    fn judge(&self, scope: &Scope, input: &Value) -> Judgement;
    /// The place outside of the workspace that a call with this input reads, where a person is to be
    /// asked for it first.
    fn reads_outside(&self, _scope: &Scope, _input: &Value) -> Option<PathBuf> {
        None
    }
    /// As [`Tool::judge`], for a tool to which it matters what runs in the background.
    fn judge_with(&self, scope: &Scope, _jobs: &Jobs, input: &Value) -> Judgement {
        self.judge(scope, input)
    }
    /// Whether it is of use where nothing may be changed: some of what it does only looks.
    fn looks(&self) -> bool {
        let effects = self.effects();
        !effects.writes && !effects.runs
    }
    /// Whether a call with this input may change anything although its scope only reads. What `run`
    /// refuses anyway changes nothing.
    fn changes(&self, _jobs: &Jobs, _input: &Value) -> bool {
        !self.looks()
    }
    /// What a person's yes to this input for longer than once is kept under: it covers the calls with
    /// the same key. A tool may narrow or widen that.
    fn grant_key(&self, input: &Value) -> String {
        policy::grant_key(self.name(), input)
    }
    /// Whether a yes is meant for the whole conversation, so that the same key is asked for once.
    fn is_asked_once(&self) -> bool {
        false
    }
    /// Runs it. Cancelling is prompt and leaves no process of this call behind.
    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure>;
}

/// Where the agent may read and write.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The workspace; commands run here and relative paths start here.
    pub directory: PathBuf,
    /// Further directories that are open to it.
    pub extra: Vec<PathBuf>,
    /// Never to be read or written, whatever else is open: the server's own data and its keys.
    pub private: Vec<PathBuf>,
    /// Where what does not fit an answer is kept for the model to read on. Open for reading.
    pub spill: Option<PathBuf>,
    /// Where skills lie that do not come with the workspace, the first wins. Open for reading.
    pub skills: Vec<PathBuf>,
    /// Whether the user trusts what came with the workspace, such as its skills.
    pub trusted: bool,
    /// Whether nothing in the workspace may be changed without a person's word.
    pub read_only: bool,
    pub outside: OutsideAccess,
}

impl Scope {
    /// Where keys lie that were saved for an open directory.
    pub(crate) fn saved_keys(&self) -> Vec<PathBuf> {
        let roots = std::iter::once(&self.directory).chain(&self.extra);
        roots
            .map(|root| root.join(folders::OWN).join(folders::AUTH))
            .collect()
    }
}

/// What may be read outside of the workspace.
#[derive(Clone, Debug, Default)]
pub struct OutsideAccess {
    /// The user's home directory: what `~` means, and where their keys and their libraries lie.
    pub home: Option<PathBuf>,
    /// The place that this one call reads, if it is allowed to. It is found before anybody judges the
    /// call, so that a link that changes meanwhile leads nowhere else.
    pub asked: Option<PathBuf>,
    /// Set where others own files on this machine that are none of this scope's business: the places
    /// that the open directories must lie in. Nothing but the system's programs and libraries is
    /// seen outside of the workspace then, whatever a person answers.
    pub own_places: Option<Vec<PathBuf>>,
    /// Whether nothing runs without a sandbox, whatever a person answers.
    pub held: bool,
    /// Whether nobody is asked for more than the sandbox gives, because the agent only plans.
    pub no_more: bool,
}

impl OutsideAccess {
    pub(crate) fn is_closed(&self) -> bool {
        self.own_places.is_some()
    }

    /// Whether a directory, as the file system knows it, may be open at all.
    pub(crate) fn may_open(&self, canonical: &Path) -> bool {
        let Some(own) = &self.own_places else {
            return true;
        };
        let own = own.iter().filter_map(|place| place.canonicalize().ok());
        own.into_iter().any(|place| canonical.starts_with(place))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Runs without asking.
    Allow,
    Ask {
        command: String,
        dangerous: bool,
        risk: Risk,
        /// Why a person is asked, in words for them.
        why: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Risk {
    DangerousPattern,
    ShellControlOperator,
    ManualReview,
    FileRead,
    OutsideScope,
    /// Reads a file outside of the workspace, which no sandbox holds.
    OutsideRead,
    /// Asks to leave the sandbox: never lifted but by a person.
    BeyondSandbox,
}

impl Risk {
    /// Why a command with this risk is put before a person.
    pub fn in_words(self) -> &'static str {
        match self {
            Risk::DangerousPattern => {
                "this can destroy data, change permissions or run what it fetched"
            }
            Risk::ShellControlOperator => "this joins or redirects commands",
            Risk::ManualReview => "this command is not known to be harmless",
            Risk::FileRead => "this shows the content of files",
            Risk::OutsideScope => "this reaches outside the workspace",
            Risk::OutsideRead => "this reads outside the workspace",
            Risk::BeyondSandbox => "this wants more than the sandbox gives",
        }
    }
}

/// What a running tool may use.
pub struct ToolCx {
    pub scope: Scope,
    /// What of the workspace's own skills and settings may be used.
    pub trusted: Trusted,
    pub cancel: CancellationToken,
    pub host: Arc<dyn Host>,
    /// What fences commands in.
    pub sandbox: Arc<Sandbox>,
    /// The files this conversation has read, as they were then.
    pub seen: Arc<SeenFiles>,
    /// What runs in the background of this conversation.
    pub jobs: Arc<Jobs>,
    /// How the web is reached.
    pub web: Arc<Web>,
}

/// A call, and where in its conversation it is.
#[derive(Clone, Debug)]
pub struct PlacedCall {
    pub tag: StreamTag,
    pub call: Arc<ToolCall>,
}

/// The agent's side of a tool: what only it can do.
#[async_trait]
pub trait Host: Send + Sync {
    /// Shows output as it comes.
    async fn output(&self, stream: OutputStream, text: String);
    /// The call that is made, where it is one of a conversation.
    fn call(&self) -> Option<PlacedCall> {
        None
    }
    /// Somebody typed to a command that another call started; nothing: its output is waited for.
    async fn interacted(&self, _started_by: Arc<ToolCall>, _process: u32, _stdin: String) {}
    /// Says that it has taken longer than it may.
    async fn timed_out(&self, _limit: Duration, _by: TimeLimit) {}
    /// Says how far it is.
    async fn progress(&self, _message: String) {}
    /// Puts questions before a person. `None`: the turn was cancelled, or nobody can be asked; whose turn it
    /// is tells the model which.
    async fn ask(&self, questions: Vec<Question>) -> Option<Vec<QuestionAnswer>>;
    async fn set_plan(&self, steps: Vec<PlanStep>);
    /// Whether the call may go on as if it had been called with this input; if not, why.
    async fn may_go_on(&self, _input: Value) -> Result<(), String> {
        Ok(())
    }
    /// Whether a command that the sandbox stopped may run again, outside of it. `why`: what it wanted.
    async fn let_out(&self, _command: String, _why: String) -> bool {
        false
    }
    /// Runs a sub-agent to its end; gives what its caller is told of it.
    async fn spawn(&self, request: SpawnRequest) -> Result<String, Failure>;
}

/// Answers to one question, in the order asked; empty means skipped.
pub type QuestionAnswer = Vec<String>;

/// Why a tool did not do it; the model reads the text.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    Error(String),
    /// It was cancelled; what it had done by then.
    Cancelled(ToolOutput),
}
