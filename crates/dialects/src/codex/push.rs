//! Push messages as the service worker of Zane's client reads them.

use serde::Serialize;
use vocabulary::{PushMatter, PushNews};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PushMessage {
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'static str,
    body: &'static str,
    thread_id: String,
    /// Where a touch leads, on the page's own origin.
    action_url: String,
}

/// The message that tells this.
pub fn message(news: &PushNews) -> String {
    let (kind, title, body) = match news {
        PushNews::Test => ("test", "Push works", "This is what a message looks like."),
        PushNews::Asked { matter, .. } => match matter {
            PushMatter::Command => (
                "approval",
                "Command Approval",
                "A command waits for your answer.",
            ),
            PushMatter::FileChange => (
                "approval",
                "File Change Approval",
                "A change of files waits for your answer.",
            ),
            PushMatter::OtherTool => (
                "approval",
                "Approval Required",
                "A tool waits for your answer.",
            ),
            PushMatter::Question => ("user-input", "Input Required", "The agent has a question."),
        },
    };
    let (thread_id, action_url) = match news {
        PushNews::Test => (String::new(), "/app".to_owned()),
        PushNews::Asked { thread, .. } => (thread.to_string(), format!("/thread/{thread}")),
    };
    let message = PushMessage {
        kind,
        title,
        body,
        thread_id,
        action_url,
    };
    // Our own types always serialise.
    serde_json::to_string(&message).unwrap_or_default()
}
