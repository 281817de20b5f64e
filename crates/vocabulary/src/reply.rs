//! Replies: what a call gets when it is not refused.

use serde::{Deserialize, Serialize};

use crate::{
    Catalog, Challenge, CheckpointReply, DirectoryReply, Event, ExecOutput, FileReply, FoundFiles,
    Grant, IndexedTurn, ItemId, LibraryReply, McpReply, MemberReply, ProviderStatus, Refusal,
    SignedIn, Skill, SkillReport, SkillText, SlashCommand, TerminalReply, Thread, ThreadCard,
    ThreadView, TurnId, UploadedFile, Why,
};

/// Who made a call knows which kind of reply it gets, and takes it out by the method of that kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    Done,
    Thread(Box<Thread>),
    /// A thread at one moment, to one who reads it or listens to it from then on.
    View(Box<ThreadView>),
    Threads(ThreadPage),
    Turn(StartedTurn),
    /// The turn that will now end; none was running.
    Cancelled(Option<TurnId>),
    Steered(SteeredTurn),
    Messages(MessagePage),
    Turns(Box<TurnPage>),
    Events(EventPage),
    Catalog(Box<Catalog>),
    ProviderStatus(Vec<ProviderStatus>),
    Grants(Vec<Grant>),
    Challenge(Box<Challenge>),
    SignedIn(SignedIn),
    /// Names and first lines of their descriptions, sorted.
    Tools(Vec<(String, String)>),
    Mcp(Box<McpReply>),
    Skills(Vec<Skill>),
    SkillContent(Box<SkillText>),
    SkillReport(Box<SkillReport>),
    Commands(Vec<SlashCommand>),
    Uploaded(Box<UploadedFile>),
    Checkpoints(Box<CheckpointReply>),
    Files(FileReply),
    Terminals(TerminalReply),
    Exec(Box<ExecOutput>),
    Library(Box<LibraryReply>),
    Members(Box<MemberReply>),
    Directories(Box<DirectoryReply>),
    Found(FoundFiles),
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadPage {
    pub threads: Vec<Thread>,
    /// To be passed as `cursor` for the next page.
    pub next: Option<String>,
    /// The same for the other direction, which begins with the first thread of this page.
    pub back: Option<String>,
}

/// A turn started, or had been started before by the same client id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartedTurn {
    pub turn: TurnId,
    pub again: bool,
    /// The thread right before, for who listens from then on.
    pub joined: Option<Box<ThreadView>>,
}

/// What was said to the running turn is kept, and will be read at its next step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SteeredTurn {
    pub turn: TurnId,
    pub item: ItemId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessagePage {
    pub entries: Vec<Entry>,
    pub total: u64,
    pub offset: u64,
    pub limit: u64,
}

/// Some turns of a thread, at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnPage {
    /// Without messages. What the running turn is writing right now is in it.
    pub view: ThreadView,
    /// In the order that was asked for.
    pub turns: Vec<IndexedTurn>,
    /// What happened in them, where that was wanted; oldest first in any case.
    pub entries: Vec<Entry>,
    /// Whether there are more in the direction that was read.
    pub more: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventPage {
    pub card: Box<ThreadCard>,
    pub events: Vec<Event>,
    /// Whether there are more in the direction that was read.
    pub more: bool,
}

/// One entry of the transcript, with the message it belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its place in the transcript.
    pub ordinal: u64,
    /// The number of its message, from 0 since the last reset.
    pub message: u64,
    pub event: Event,
}

/// A method for each kind of reply. A reply of another kind is the engine's fault: it is refused, so
/// that nobody waits for ever.
macro_rules! kinds {
    ($($method:ident: $kind:ident, $content:ty;)*) => {
        impl Reply {
            $(pub fn $method(self) -> Result<$content, Refusal> {
                let Reply::$kind(content) = self else {
                    return Err(misfit());
                };
                Ok(content)
            })*
        }
    };
}

kinds! {
    thread: Thread, Box<Thread>;
    view: View, Box<ThreadView>;
    threads: Threads, ThreadPage;
    turn: Turn, StartedTurn;
    cancelled: Cancelled, Option<TurnId>;
    steered: Steered, SteeredTurn;
    messages: Messages, MessagePage;
    turns: Turns, Box<TurnPage>;
    events: Events, EventPage;
    catalog: Catalog, Box<Catalog>;
    provider_status: ProviderStatus, Vec<ProviderStatus>;
    grants: Grants, Vec<Grant>;
    challenge: Challenge, Box<Challenge>;
    signed_in: SignedIn, SignedIn;
    tools: Tools, Vec<(String, String)>;
    mcp: Mcp, Box<McpReply>;
    skills: Skills, Vec<Skill>;
    skill_content: SkillContent, Box<SkillText>;
    skill_report: SkillReport, Box<SkillReport>;
    commands: Commands, Vec<SlashCommand>;
    uploaded: Uploaded, Box<UploadedFile>;
    checkpoints: Checkpoints, Box<CheckpointReply>;
    files: Files, FileReply;
    terminals: Terminals, TerminalReply;
    exec: Exec, Box<ExecOutput>;
    library: Library, Box<LibraryReply>;
    members: Members, Box<MemberReply>;
    directories: Directories, Box<DirectoryReply>;
    found: Found, FoundFiles;
}

impl Reply {
    pub fn done(self) -> Result<(), Refusal> {
        match self == Reply::Done {
            true => Ok(()),
            false => Err(misfit()),
        }
    }
}

pub(crate) fn misfit() -> Refusal {
    let message = "the server gave an answer that does not fit; try again";
    Refusal::new(Why::Internal, message)
}
