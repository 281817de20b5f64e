//! Replies: what a call gets when it is not refused.

use serde::{Deserialize, Serialize};

use crate::{
    Catalog, Challenge, CheckpointReply, Event, Grant, ItemId, LibraryReply, McpSnapshot,
    ProviderStatus, SignedIn, Thread, ThreadCard, ThreadView, TurnId,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    Done,
    Thread(Box<Thread>),
    /// The answer to a wish to listen.
    Listening(Box<ThreadView>),
    /// A thread at one moment, to one who does not listen.
    View(Box<ThreadView>),
    Threads {
        threads: Vec<Thread>,
        next: Option<String>,
    },
    /// The turn that will now end; none was running.
    Cancelled {
        turn: Option<TurnId>,
    },
    /// A turn started, or had been started before by the same client id.
    Turn {
        turn: TurnId,
        again: bool,
    },
    /// What was said to the running turn is kept, and will be read at its next step.
    Steered {
        turn: TurnId,
        item: ItemId,
    },
    Messages {
        entries: Vec<Entry>,
        total: u64,
        offset: u64,
        limit: u64,
    },
    Events {
        card: Box<ThreadCard>,
        events: Vec<Event>,
        /// Whether there are more in the direction that was read.
        more: bool,
    },
    Catalog(Box<Catalog>),
    ProviderStatus(Vec<ProviderStatus>),
    Grants(Vec<Grant>),
    Challenge(Box<Challenge>),
    SignedIn(SignedIn),
    /// Names and first lines of their descriptions, sorted.
    Tools(Vec<(String, String)>),
    McpServers(McpSnapshot),
    Checkpoints(Box<CheckpointReply>),
    Library(Box<LibraryReply>),
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
