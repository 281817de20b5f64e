//! Commands that people run or look after themselves: in a thread's background, or at once.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::reply::misfit;
use crate::{ItemId, Refusal, ThreadId};

/// A command line of the user's own, run at once and without asking, in what holds the thread's commands.
/// Answered as `StartTurn` is: with the turn that it runs in, the running one or one of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunShell {
    pub thread: ThreadId,
    pub command: String,
    /// After this time it is ended.
    pub timeout_ms: Option<u64>,
}

impl RunShell {
    /// As people write it in a terminal client.
    pub fn display(&self) -> String {
        format!("!{}", self.command)
    }
}

/// What a client can want of the commands in a thread's background.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TerminalCall {
    /// Those that run, the oldest first.
    List,
    /// Ends one, or all of them.
    End { process: Option<u32> },
    /// Types to one that takes input.
    Write { process: u32, text: String },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TerminalReply {
    List(Vec<BackgroundTerminal>),
    /// How many of them ran.
    Ended(usize),
    Written,
}

/// A command that runs in the background of its thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackgroundTerminal {
    /// Its number in the thread.
    pub process: u32,
    /// The call that started it.
    pub item: Option<ItemId>,
    pub line: String,
    pub directory: PathBuf,
}

impl TerminalReply {
    pub fn list(self) -> Result<Vec<BackgroundTerminal>, Refusal> {
        match self {
            TerminalReply::List(terminals) => Ok(terminals),
            TerminalReply::Ended(_) | TerminalReply::Written => Err(misfit()),
        }
    }

    pub fn ended(self) -> Result<usize, Refusal> {
        match self {
            TerminalReply::Ended(count) => Ok(count),
            TerminalReply::List(_) | TerminalReply::Written => Err(misfit()),
        }
    }
}
