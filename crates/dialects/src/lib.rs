//! The wire protocols as pure state machines: frames in, calls out; events in, frames out.
//!
//! No sockets, no clock, no randomness: time and caller come in with [`Cx`], everything a dialect
//! wants done goes out as an [`Action`]. `server` owns the socket and the engine and joins the two.

use std::path::PathBuf;
use std::sync::Arc;

use vocabulary::{
    Attendance, Audience, Call, Caller, Event, Notice, Refusal, Reply, Secret, Seq, ThreadCard,
    ThreadId, Timestamp, TracingState,
};

pub mod codex;
mod content;
pub mod cowork;
pub mod diminuendo;
mod frame;
mod images;
pub mod jsonrpc;
mod pending;
pub mod pioneer;
mod request_id;
pub mod schemas;
mod secret;
mod turn_input;

pub use cowork::tell::RawParts;

/// One WebSocket text message.
pub type Frame = String;

/// One client protocol, as seen from one connection.
pub trait Dialect: Send {
    /// How this connection wants events spelled.
    fn variant(&self) -> Variant;
    /// The socket is open.
    fn opened(&mut self, cx: &Cx<'_>, out: &mut Vec<Action>, hello: &Hello);
    /// The client said something.
    fn heard(&mut self, cx: &Cx<'_>, out: &mut Vec<Action>, frame: &str);
    /// The client sent a binary message: its text, where a protocol has nothing else in them.
    fn heard_binary(&mut self, cx: &Cx<'_>, out: &mut Vec<Action>, bytes: &[u8]) {
        self.heard(cx, out, &String::from_utf8_lossy(bytes));
    }
    /// The engine answered a `Call` or a `Listen`.
    fn replied(
        &mut self,
        cx: &Cx<'_>,
        out: &mut Vec<Action>,
        tag: Tag,
        outcome: Result<Reply, Refusal>,
    );
    /// An `Authenticate` was answered; from a yes on, `Cx` has the caller.
    fn authenticated(
        &mut self,
        _cx: &Cx<'_>,
        _out: &mut Vec<Action>,
        _tag: Tag,
        _outcome: Result<(), NotAuthenticated>,
    ) {
    }
    /// What the client came in by is not good any more; the socket is closed behind it.
    fn dismissed(&mut self, _cx: &Cx<'_>, _out: &mut Vec<Action>) {}
    /// A thread this connection listens to told something.
    fn told(&mut self, cx: &Cx<'_>, out: &mut Vec<Action>, delivery: Delivery<'_>);
    /// A list this connection watches changed, or the server is about to stop.
    fn noticed(&mut self, cx: &Cx<'_>, out: &mut Vec<Action>, notice: &Notice);
    /// A `WakeAt` came due.
    fn woke(&mut self, cx: &Cx<'_>, out: &mut Vec<Action>);
    /// The client is gone; frames sent now reach nobody, calls are still made.
    fn gone(&mut self, cx: &Cx<'_>, out: &mut Vec<Action>);
    /// How this connection listens to threads.
    fn attendance(&self) -> Attendance {
        self.variant().audience().into()
    }
    /// Whether each call waits for the answer to the one before.
    fn calls_in_order(&self) -> bool {
        true
    }
}

/// What a dialect may know of the moment.
pub struct Cx<'a> {
    pub now: Timestamp,
    /// Nobody, until the client has said who it is: where a dialect's clients do that on the socket.
    pub caller: Option<&'a Caller>,
}

/// What the upgrade told about the connection.
#[derive(Clone, Debug, Default)]
pub struct Hello {
    /// Unique among all connections.
    pub connection: String,
    pub query: Vec<(String, String)>,
    /// The directory the server was started for.
    pub directory: PathBuf,
    /// Where the server keeps its data.
    pub home: PathBuf,
    /// What the server's machine is called.
    pub host: String,
    /// What the server was configured to say, where a dialect has a choice.
    pub raw_parts: RawParts,
    /// Whether pioneer's request ids must have the form of the original's.
    pub strict_ids: bool,
    /// The ids of all providers of the catalog.
    pub providers: Arc<[String]>,
    /// How the tracing of turns fares.
    pub tracing: Arc<TracingState>,
    /// Whether the server asks nobody who they are: it is its own user's alone.
    pub lone_user: bool,
}

impl Hello {
    pub fn query(&self, name: &str) -> Option<&str> {
        self.query
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Matches a reply to the call it answers; the dialect chooses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag(pub u64);

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// This connection's own frame.
    Send(Frame),
    /// The event just told, as everyone of this variant hears it.
    Shared,
    Call {
        tag: Tag,
        call: Call,
    },
    /// As `Call`, and before all that wait: the request that it is for was made before theirs.
    CallNext {
        tag: Tag,
        call: Call,
    },
    /// Answered with `Reply::View`, with the last `recent` messages; deliveries start right behind
    /// it.
    Listen {
        tag: Tag,
        thread: ThreadId,
        from: StartAt,
        recent: u32,
    },
    Unlisten(ThreadId),
    /// Says who the client is. Until it is taken every call is refused; who is known stays who they
    /// are, and may come with a token that is good for longer.
    Authenticate {
        tag: Tag,
        token: Secret,
    },
    /// Hear notices of the caller's tenant.
    Watch,
    /// Hear only what concerns every client of the server: how tracing fares. The newest state comes
    /// at once.
    WatchServer,
    WakeAt(Timestamp),
    Close(Reason),
}

/// Why a token was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAuthenticated {
    /// It is nobody's.
    Wrong,
    /// Too many wrong ones came from there; this one was not looked at.
    TooMany { retry_after_ms: i64 },
    /// It is good, but for other dialects.
    OtherDialect,
    /// It is good, but the socket is somebody else's.
    OtherCaller,
    /// Whose it is cannot be found out now.
    NotNow,
}

/// From where a listener wants to hear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartAt {
    Head,
    After(Seq),
}

/// Why a socket is closed: a WebSocket close code and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    pub code: u16,
    pub text: String,
}

impl Reason {
    pub const NORMAL: u16 = 1000;
    pub const GOING_AWAY: u16 = 1001;
    pub const POLICY: u16 = 1008;
    pub const TRY_AGAIN_LATER: u16 = 1013;

    pub fn new(code: u16, text: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
        }
    }

    /// For a dialect whose connection is one thread's and ends with it.
    pub fn ended(ending: Ending) -> Self {
        match ending {
            Ending::Asleep => Self::new(Self::GOING_AWAY, "the session ended; connect again"),
            Ending::Deleted => Self::new(Self::NORMAL, "the session was deleted"),
            Ending::HandedOver => Self::new(
                Self::TRY_AGAIN_LATER,
                "the session was opened in another process",
            ),
            Ending::Failed => Self::new(
                Self::TRY_AGAIN_LATER,
                "the store failed; connect again to resume",
            ),
        }
    }

    pub fn too_slow() -> Self {
        Self::new(
            Self::TRY_AGAIN_LATER,
            "client reads too slowly; connect again to resume",
        )
    }
}

/// What a listener hears of one thread.
#[derive(Clone, Copy)]
pub struct Delivery<'a> {
    pub card: &'a ThreadCard,
    pub what: Heard<'a>,
}

#[derive(Clone, Copy)]
pub enum Heard<'a> {
    /// Read back from the log.
    Replay(&'a Event),
    Live(&'a Event),
    /// Nothing in `after < seq <= to` can be told any more.
    Gap {
        after: Seq,
        to: Seq,
    },
    /// The replay is over; live events follow.
    CaughtUp {
        head: Seq,
    },
    /// The thread tells nothing more, and is not listened to any more.
    Ended(Ending),
}

/// Why a thread tells nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Asleep,
    Deleted,
    /// Another process has the thread now.
    HandedOver,
    /// The store failed; what was not committed did not happen.
    Failed,
}

/// How an event is spelled. Connections of one variant share the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    Cowork,
    CoworkRaw,
    CoworkRawFull,
    Cowork1,
    Diminuendo,
    DiminuendoDotted,
    Zane,
    Codex,
    Pioneer,
}

impl Variant {
    pub const COUNT: usize = 9;

    pub fn index(self) -> usize {
        self as usize
    }

    /// Whether its clients are told of changed files, whoever changed them.
    pub fn tells_changed_files(self) -> bool {
        match self {
            Variant::Diminuendo | Variant::DiminuendoDotted => true,
            Variant::Cowork
            | Variant::CoworkRaw
            | Variant::CoworkRawFull
            | Variant::Cowork1
            | Variant::Zane
            | Variant::Codex
            | Variant::Pioneer => false,
        }
    }

    /// Which family of clients this is: they come and go together.
    pub fn audience(self) -> Audience {
        match self {
            Variant::Cowork | Variant::CoworkRaw | Variant::CoworkRawFull => Audience(0),
            Variant::Cowork1 => Audience(1),
            Variant::Diminuendo | Variant::DiminuendoDotted => Audience(2),
            Variant::Zane => Audience(3),
            Variant::Codex => Audience(4),
            Variant::Pioneer => Audience(5),
        }
    }
}

/// Spells one event. Stateless: the same event gives the same frames to everyone, at any time.
pub fn tell(variant: Variant, card: &ThreadCard, event: &Event) -> Vec<Frame> {
    match variant {
        Variant::Cowork => cowork::tell::tell(card, event, RawParts::Leave),
        Variant::CoworkRaw => cowork::tell::tell(card, event, RawParts::Sanitized),
        Variant::CoworkRawFull => cowork::tell::tell(card, event, RawParts::Full),
        Variant::Cowork1 => cowork::v1::tell(card, event),
        Variant::Diminuendo => diminuendo::tell(card, event, diminuendo::Form::Snake),
        Variant::DiminuendoDotted => diminuendo::tell(card, event, diminuendo::Form::Dotted),
        Variant::Zane => codex::tell::tell(card, event, codex::Endpoint::Zane),
        Variant::Codex => codex::tell::tell(card, event, codex::Endpoint::Codex),
        Variant::Pioneer => pioneer::tell(card, event),
    }
}
