//! Tool calls: what the model wants done, what that is about, and what came of it.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ItemId, Native};

/// A call that the model wants made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    pub item: ItemId,
    /// The provider's id of the call.
    pub call_id: String,
    pub name: String,
    /// Null where only a reference to the call is known.
    #[serde(default)]
    pub input: Value,
    #[serde(default)]
    pub subject: Subject,
    #[serde(default)]
    pub effects: Effects,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Box<Native>>,
    /// Why it must not run: the model wrote arguments that cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The sub-agent that makes it; the thread's own agent when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<SubAgent>>,
    /// Whether a person makes it themselves, beside the agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_user: bool,
}

impl ToolCall {
    /// What people are shown as its title: the few words that the model gave with it, or its name.
    pub fn title(&self) -> &str {
        const TITLE_BYTES_MAX: usize = 200;
        let words = self.input.get("description").and_then(Value::as_str);
        let words = words.map(str::trim).filter(|words| {
            let fits = !words.is_empty() && words.len() <= TITLE_BYTES_MAX;
            fits && !words.contains(char::is_control)
        });
        words.unwrap_or(&self.name)
    }

    pub fn is_command(&self) -> bool {
        matches!(self.subject, Subject::Command { .. })
    }

    pub fn changes_files(&self) -> bool {
        matches!(self.subject, Subject::Files(_)) && self.effects.writes
    }
}

/// Which call it is and what it is about, without what it was called with: a command's line is part of
/// that, and kept where the call is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRef {
    pub item: ItemId,
    /// The provider's id of the call.
    pub call_id: String,
    pub name: String,
    #[serde(default)]
    pub subject: Subject,
    #[serde(default)]
    pub effects: Effects,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<SubAgent>>,
    /// Whether a person makes it themselves, beside the agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_user: bool,
}

impl CallRef {
    pub fn is_command(&self) -> bool {
        matches!(self.subject, Subject::Command { .. })
    }

    pub fn changes_files(&self) -> bool {
        matches!(self.subject, Subject::Files(_)) && self.effects.writes
    }
}

/// Names of pictures that a model can be shown.
const PICTURE_ENDINGS: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];

impl ToolCall {
    /// The picture that it looks at, as the call names it.
    pub fn picture(&self) -> Option<&str> {
        let Subject::Files(files) = &self.subject else {
            return None;
        };
        let [file] = files.as_slice() else {
            return None;
        };
        let ending = std::path::Path::new(&file.path).extension()?;
        let ending = ending.to_string_lossy().to_ascii_lowercase();
        let is_picture = PICTURE_ENDINGS.contains(&ending.as_str());
        (is_picture && self.effects == Effects::READS).then_some(file.path.as_str())
    }
}

impl From<&ToolCall> for CallRef {
    fn from(call: &ToolCall) -> Self {
        Self {
            item: call.item.clone(),
            call_id: call.call_id.clone(),
            name: call.name.clone(),
            subject: call.subject.in_short(),
            effects: call.effects,
            agent: call.agent.clone(),
            by_user: call.by_user,
        }
    }
}

/// All that is known of the call is the reference.
impl From<CallRef> for ToolCall {
    fn from(call: CallRef) -> Self {
        Self {
            item: call.item,
            call_id: call.call_id,
            name: call.name,
            input: Value::Null,
            subject: call.subject,
            effects: call.effects,
            native: None,
            problem: None,
            agent: call.agent,
            by_user: call.by_user,
        }
    }
}

/// An agent that works for a call of another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubAgent {
    /// The call it works for.
    pub parent: ItemId,
    /// What kind it is: `explore`, `research`, `general`; `check` and `format` are commands that look
    /// at what the call has edited, without an agent.
    pub kind: String,
    /// 1 for one that the thread's own agent started.
    pub depth: u32,
}

impl ToolCall {
    /// The same as the log has it.
    pub(crate) fn without_previews(&self) -> Cow<'_, Self> {
        match self.subject.has_previews() {
            false => Cow::Borrowed(self),
            true => Cow::Owned(Self {
                subject: self.subject.in_short(),
                ..self.clone()
            }),
        }
    }
}

/// What a call is about, as its tool says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    Command {
        line: String,
        /// Where it runs; in the thread's own directory when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        directory: Option<String>,
    },
    Files(Vec<FileSubject>),
    Web {
        url: String,
    },
    /// A search of the web.
    Search {
        query: String,
    },
    /// Another agent that is to work for this call.
    Agent {
        prompt: String,
    },
    Mcp {
        server: String,
        tool: String,
    },
    Question,
    Plan,
    #[default]
    Other,
}

/// A file that a call is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSubject {
    /// As the call names it.
    pub path: String,
    /// What the call would do to it, as far as its input tells. The log has the input instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<FilePreview>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePreview {
    pub kind: FileChangeKind,
    /// Unified diff; for a new file its content.
    pub diff: String,
}

impl Subject {
    /// The files that it names.
    pub fn files(&self) -> &[FileSubject] {
        match self {
            Subject::Files(files) => files,
            Subject::Command { .. }
            | Subject::Web { .. }
            | Subject::Search { .. }
            | Subject::Agent { .. }
            | Subject::Mcp { .. }
            | Subject::Question
            | Subject::Plan
            | Subject::Other => &[],
        }
    }

    /// The same without words of any length: references are kept several times for each call.
    fn in_short(&self) -> Self {
        match self {
            Subject::Command { directory, .. } => Subject::Command {
                line: String::new(),
                directory: directory.clone(),
            },
            Subject::Files(files) => {
                let named = |file: &FileSubject| FileSubject {
                    path: file.path.clone(),
                    preview: None,
                };
                Subject::Files(files.iter().map(named).collect())
            }
            // Its words are in what it was called with.
            Subject::Agent { .. } => Subject::Agent {
                prompt: String::new(),
            },
            Subject::Web { .. }
            | Subject::Search { .. }
            | Subject::Mcp { .. }
            | Subject::Question
            | Subject::Plan
            | Subject::Other => self.clone(),
        }
    }

    pub(crate) fn has_previews(&self) -> bool {
        match self {
            Subject::Files(files) => files.iter().any(|file| file.preview.is_some()),
            Subject::Command { .. }
            | Subject::Web { .. }
            | Subject::Search { .. }
            | Subject::Agent { .. }
            | Subject::Mcp { .. }
            | Subject::Question
            | Subject::Plan
            | Subject::Other => false,
        }
    }

    /// A file without a preview.
    pub fn file(path: impl Into<String>) -> Self {
        let path = path.into();
        let preview = None;
        Subject::Files(vec![FileSubject { path, preview }])
    }
}

/// What running a call can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Effects {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reads: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub writes: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
    /// It runs something else: a process, another agent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub runs: bool,
}

impl Effects {
    pub const NONE: Self = Self {
        reads: false,
        writes: false,
        network: false,
        runs: false,
    };
    pub const READS: Self = Self {
        reads: true,
        ..Self::NONE
    };
    pub const WRITES: Self = Self {
        reads: true,
        writes: true,
        ..Self::NONE
    };
    pub const NETWORK: Self = Self {
        network: true,
        ..Self::NONE
    };
    pub const RUNS: Self = Self {
        reads: true,
        writes: true,
        network: true,
        runs: true,
    };

    /// Whether it may change the world, so that it must never happen twice.
    pub fn leave_traces(self) -> bool {
        self.writes || self.network || self.runs
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputStream {
    Stdout,
    Stderr,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    Succeeded(ToolOutput),
    /// The tool itself failed; the model reads why.
    Failed {
        error: String,
    },
    /// A person said no.
    Denied(ToolOutput),
    /// It was running when the turn was cancelled or the process died.
    Interrupted(ToolOutput),
    /// It never started.
    NotRun {
        why: String,
    },
}

/// What a tool gives back: one copy, typed, so that each dialect can show it in its own way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutput {
    Text(String),
    Command {
        stdout: String,
        stderr: String,
        exit_code: i32,
        #[serde(default)]
        duration_ms: u64,
        /// What a model reads instead: how it ended, then both streams in the order in which they came.
        /// Logs of older versions have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model_text: Option<String>,
    },
    Files {
        summary: String,
        changes: Vec<FileChange>,
    },
    Json(Value),
    /// Pieces of several kinds, in their order.
    Content(Vec<ContentBlock>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentBlock {
    Text(String),
    Image {
        media_type: String,
        base64: Arc<str>,
    },
    /// A file of pages, and what of its text one answer holds.
    Document {
        name: String,
        media_type: String,
        base64: Arc<str>,
        text: String,
    },
    /// Something that has an address, with its text where that came along.
    Resource {
        uri: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        media_type: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// For programs.
    Structured(Value),
}

impl ToolOutput {
    /// All of it in words, for those who can show nothing else.
    pub fn words(&self) -> Cow<'_, str> {
        match self {
            ToolOutput::Text(text) => Cow::Borrowed(text),
            ToolOutput::Command { stdout, stderr, .. } => {
                match (stdout.as_str(), stderr.as_str()) {
                    (only, "") | ("", only) => Cow::Borrowed(only),
                    (stdout, stderr) => Cow::Owned(format!("{stdout}{stderr}")),
                }
            }
            ToolOutput::Files { summary, .. } => Cow::Borrowed(summary),
            ToolOutput::Json(value) => Cow::Owned(value.to_string()),
            ToolOutput::Content(blocks) => match &blocks[..] {
                [only] => only.words(),
                _ => {
                    let words: Vec<_> = blocks.iter().map(ContentBlock::words).collect();
                    Cow::Owned(words.join("\n"))
                }
            },
        }
    }
}

impl ContentBlock {
    pub fn words(&self) -> Cow<'_, str> {
        match self {
            ContentBlock::Text(text) | ContentBlock::Document { text, .. } => Cow::Borrowed(text),
            ContentBlock::Image { media_type, .. } => Cow::Owned(format!("[{media_type}]")),
            ContentBlock::Resource {
                text: Some(text), ..
            } => Cow::Borrowed(text),
            ContentBlock::Resource { uri, .. } => Cow::Owned(format!("[{uri}]")),
            ContentBlock::Structured(value) => Cow::Owned(value.to_string()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Relative to the workspace where it lies inside it.
    pub path: String,
    pub kind: FileChangeKind,
    /// Unified diff; for a new file its content.
    pub diff: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChangeKind {
    Add,
    Update,
    Delete,
}
