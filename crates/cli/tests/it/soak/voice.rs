//! What every dialect's client can do, whatever it calls it.

use serde_json::Value;

use super::desk::Desk;
use super::entry::{Entry, TurnSeen};

/// One thing to do. What a dialect has no word for, or what does not fit the moment, is passed over.
#[derive(Clone, Debug)]
pub enum Deed {
    Say(String),
    /// The last message again, with the id it had.
    SayAgain,
    Steer(String),
    Cancel,
    /// To the ask with this number: a yes or a no, or words for each question.
    Answer {
        ask: u64,
        yes: bool,
        words: String,
    },
    Title(String),
    /// Reads the whole conversation and believes it from then on.
    Read,
    /// Reads a part, and looks at nothing but that an answer comes.
    Page(usize),
    List,
    Archive,
    Unarchive,
    /// Listens no more, and then again, on the same connection.
    Rejoin,
    /// Listens anew without having stopped.
    Resume,
    /// One of the dialect's small questions, by number; looked at is only that it is answered.
    Look(usize),
    /// Ends the session, as far as one client can.
    Close,
    Reset,
    /// Makes another thread and deletes it.
    Throwaway,
}

/// Two views of the same that must be equal.
pub struct Pair {
    pub what: &'static str,
    pub seen: Vec<String>,
    pub read: Vec<String>,
}

/// What a client has when a thread is at rest and was read.
#[derive(Default)]
pub struct Views {
    /// The history as it was read, the oldest first; none where a dialect has no history.
    pub history: Option<Vec<Entry>>,
    /// The same by turns, where the dialect has turns.
    pub turns: Option<Vec<TurnSeen>>,
    /// All that was seen since the thread began, until the client left, where nothing can be read.
    pub live: Option<Vec<Entry>>,
    /// What was seen live beside what was read.
    pub pairs: Vec<Pair>,
}

/// A client of one dialect that keeps what it is told.
pub trait Voice: Send {
    fn url(&self, base: &str, thread: Option<&str>) -> String;
    /// A new connection: what to say first.
    fn greet(&mut self, desk: &mut Desk) -> Vec<String>;
    /// Keeps what a frame tells, and gives what to say because of it.
    fn hear(&mut self, desk: &mut Desk, frame: &Value) -> anyhow::Result<Vec<String>>;
    /// The frames that do it: none where there is no word for it, or it does not fit the moment.
    fn act(&mut self, desk: &mut Desk, deed: &Deed) -> Vec<String> {
        self.one_frame(desk, deed).into_iter().collect()
    }
    fn one_frame(&mut self, desk: &mut Desk, deed: &Deed) -> Option<String>;
    /// Whether a connection that is gone can be taken up again.
    fn resumes(&self) -> bool {
        true
    }
    /// What it has, once everything that was asked for has been read.
    fn views(&self, desk: &Desk) -> Views;
}
