//! Push messages: how a browser that is not connected hears that somebody is asked for.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ThreadId;

/// What a member can want of them. Subscriptions are the member's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PushCall {
    /// The same endpoint again replaces what is known of it.
    Subscribe(PushSubscription),
    /// One that is not there is removed already.
    Unsubscribe { endpoint: String },
    /// Sends a message to all of the caller's browsers, now. Answered when they are on their way.
    Test,
}

/// Where a browser takes push messages, and the keys that only it can open them with.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushSubscription {
    pub endpoint: String,
    /// The browser's public key, base64url.
    pub p256dh: String,
    /// What both sides know, base64url.
    pub auth: String,
}

/// Who has the endpoint and the keys can send messages in our name: none of them is shown.
impl fmt::Debug for PushSubscription {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("PushSubscription").finish_non_exhaustive()
    }
}

/// What a push message tells: never what somebody said or what a command is, because screens show it that
/// are locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushNews {
    Asked {
        thread: ThreadId,
        matter: PushMatter,
    },
    /// Somebody tries whether messages arrive.
    Test,
}

/// What a person is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushMatter {
    Command,
    FileChange,
    OtherTool,
    Question,
}
