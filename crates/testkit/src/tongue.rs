//! Tongues: how one dialect says a step, and what its frames mean in core words.

pub mod codex;
pub mod cowork;
pub mod cowork1;
pub mod diminuendo;
pub mod pioneer;

/// What a person wants, in core words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    Say(String),
    Approve,
    Deny,
    Answer(String),
    Skip,
    /// An answer of nothing but blanks.
    Blank,
    Cancel,
    /// Says more to the turn that runs.
    Steer(String),
    Reset,
    Read,
    List,
    Title(String),
    Archive,
    Unarchive,
    Close,
    /// Keeps the files as they are.
    Checkpoint,
    /// Puts the files back; without an id as they were before the first change.
    Restore(Option<String>),
    DeleteCheckpoint(String),
    /// Asks which checkpoints there are.
    Checkpoints,
    /// Asks for the versions of a file.
    FileHistory(String),
    /// Asks for one of them.
    FileVersion {
        path: String,
        iteration: u64,
    },
    Order(OrderDeed),
    Skill(SkillDeed),
    Setting(SettingDeed),
    Past(PastDeed),
}

/// What a person does with a thread's past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PastDeed {
    /// Goes on in a thread that begins with it.
    Fork,
    /// Takes so many of the newest turns back.
    Rollback(u32),
    /// Takes the newest turn back, by its name where that can be said.
    Revert,
    /// Begins a thread beside this one that has none and leaves none.
    Aside,
    /// Looks for threads with these words.
    Search(String),
    /// Asks which threads are awake.
    Loaded,
    /// Forgets the thread for good.
    Delete,
}

/// What a person orders in a thread beside what they say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrderDeed {
    /// A summary of the conversation.
    Compact,
    /// A review of the uncommitted changes.
    Review,
    /// A command line of their own.
    Shell(String),
    /// Which commands run in the background.
    Terminals,
    /// The end of all of them.
    Clean,
    /// The end of one, by its number.
    End(String),
    /// Types to the first of them.
    Type(String),
}

/// What a person gives a thread, or sets for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingDeed {
    /// A file: its name, then its content in base64.
    Upload(String),
    /// What the work is for.
    Objective(String),
    ReadObjective,
    /// A provider and one of its models.
    Model(String),
    SubAgentModel(String),
    NoMcp,
}

/// What a person wants of skills and slash commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillDeed {
    List,
    Read(String),
    Enable(String),
    Disable(String),
    Delete(String),
    /// Asks which slash commands there are.
    Commands,
    /// Gives one, with its arguments.
    Run(String),
}

/// What a frame means for somebody who waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    Connected,
    /// A piece of the answer.
    Text(String),
    Asked,
    Rest,
    Refused,
    /// Something that was asked for is told or done.
    Done,
}

/// One client's side of one connection.
pub trait Tongue: Send {
    /// The address to connect to, for a new thread or one that exists.
    fn url(&self, base: &str, thread: Option<&str>) -> String;
    /// What it says as soon as the socket is open, for a new thread or one that exists.
    fn greet(&mut self, _thread: Option<&str>) -> Vec<String> {
        Vec::new()
    }
    /// The frame that says it; `None` where the dialect has no word for it.
    fn say(&mut self, deed: &Deed) -> anyhow::Result<Option<String>>;
    /// What it says because of what it has heard since it was last asked.
    fn follow_up(&mut self) -> Vec<String> {
        Vec::new()
    }
    fn hear(&mut self, frame: &str) -> anyhow::Result<Vec<Signal>>;
    /// Whether a frame comes when it pleases, and so has no place in a transcript.
    fn aside(&self, _frame: &str) -> bool {
        false
    }
    /// The thread this connection is about, once it has been told.
    fn thread(&self) -> Option<&str>;
}

/// A dialect that scenarios are told in.
pub struct Language {
    /// Also the name of its transcripts.
    pub name: &'static str,
    pub learn: fn() -> Box<dyn Tongue>,
}

/// Every tongue there is; one line per dialect.
pub const LANGUAGES: &[Language] = &[
    Language {
        name: "cowork",
        learn: || Box::new(cowork::Cowork::default()),
    },
    Language {
        name: "cowork1",
        learn: || Box::new(cowork1::Cowork1::default()),
    },
    Language {
        name: "diminuendo",
        learn: || Box::new(diminuendo::Diminuendo::default()),
    },
    Language {
        name: "zane",
        learn: || Box::new(codex::Codex::new(codex::Form::Zane)),
    },
    Language {
        name: "codex",
        learn: || Box::new(codex::Codex::new(codex::Form::Codex)),
    },
    Language {
        name: "pioneer",
        learn: || Box::new(pioneer::Pioneer::default()),
    },
];

pub fn language(name: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|language| language.name == name)
}
