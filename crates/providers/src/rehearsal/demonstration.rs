//! What the interactive rehearsal model can show, one ability of the server each.

use serde_json::{Value, json};

use super::ScriptPosition;
use super::act::{Act, WrittenBlock};
use super::interactive::{paced, say};
use crate::{ErrorKind, ModelRequest, ProviderError};

/// The file that the file demonstration makes.
const NOTES: &str = "rehearsal-notes.md";
/// How many sentences a long stream has.
const LONG_SENTENCES: usize = 60;
const PLAN_STEPS: [(&str, &str); 3] = [
    ("Look around", "Looking around"),
    ("Do the work", "Doing the work"),
    ("Check the result", "Checking the result"),
];

/// One thing to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Demonstration {
    Approval,
    Question,
    Plan,
    Reasoning,
    LongStream,
    Error,
    FileEdit,
}

impl Demonstration {
    pub const ALL: [Demonstration; 7] = [
        Demonstration::Approval,
        Demonstration::Question,
        Demonstration::Plan,
        Demonstration::Reasoning,
        Demonstration::LongStream,
        Demonstration::Error,
        Demonstration::FileEdit,
    ];

    /// The words to say, and what they show.
    pub fn invitation(self) -> (&'static str, &'static str) {
        match self {
            Demonstration::Approval => (
                "show me an approval",
                "a command that runs only if you allow it",
            ),
            Demonstration::Question => ("show me a question", "I ask, and you choose"),
            Demonstration::Plan => ("show me a plan", "a to-do list that moves on"),
            Demonstration::Reasoning => ("show me reasoning", "thoughts before the answer"),
            Demonstration::LongStream => ("show me a long stream", "a long answer; try to stop it"),
            Demonstration::Error => ("show me an error", "a model that fails halfway"),
            Demonstration::FileEdit => ("show me a file edit", "a file written, then changed"),
        }
    }

    /// The first of [`Self::ALL`] that the message has a key word of. Matched by the beginnings
    /// of words, so that `plans` is a wish and `explain` is not.
    pub fn wished_by(message: &str) -> Option<Demonstration> {
        let message = message.to_lowercase();
        let words: Vec<&str> = message.split(|c: char| !c.is_alphanumeric()).collect();
        if words.contains(&"help") {
            return None;
        }
        Demonstration::ALL.into_iter().find(|wish| {
            wish.key_words()
                .iter()
                .any(|key| words.iter().any(|word| word.starts_with(key)))
        })
    }

    fn key_words(self) -> &'static [&'static str] {
        match self {
            Demonstration::Approval => &["approv", "permission"],
            Demonstration::Question => &["question"],
            Demonstration::Plan => &["plan", "todo"],
            Demonstration::Reasoning => &["reason", "think", "thought"],
            Demonstration::LongStream => &["long", "stream"],
            Demonstration::Error => &["error", "fail"],
            Demonstration::FileEdit => &["file", "edit"],
        }
    }

    /// The tools without which it cannot be shown.
    fn tools(self) -> &'static [&'static str] {
        match self {
            Demonstration::Approval => &["bash"],
            Demonstration::Question => &["ask"],
            Demonstration::Plan => &["todoWrite"],
            Demonstration::FileEdit => &["write", "edit"],
            Demonstration::Reasoning | Demonstration::LongStream | Demonstration::Error => &[],
        }
    }
}

/// The answer that belongs to this place of the demonstration.
pub(super) fn show(
    wish: Demonstration,
    place: &ScriptPosition<'_>,
    request: &ModelRequest,
) -> Vec<Act> {
    let offered = |name: &&&str| request.tools.iter().any(|tool| tool.name == **name);
    if let Some(missing) = wish.tools().iter().find(|name| !offered(name)) {
        return vec![say(format!(
            "I am a rehearsal and would show this with the tool `{missing}`, but it is not offered here."
        ))];
    }
    if place.result.is_some_and(|result| result.is_error) {
        return vec![say(place.fill(
            "That was not done, and I, a rehearsal, leave it at that. What came back: {result}",
        ))];
    }
    match wish {
        Demonstration::Approval => approval(place),
        Demonstration::Question => question(place),
        Demonstration::Plan => plan(place),
        Demonstration::Reasoning => reasoning(),
        Demonstration::LongStream => vec![say(long_text())],
        Demonstration::Error => error(),
        Demonstration::FileEdit => file_edit(place),
    }
}

fn call(name: &str, input: Value) -> Act {
    Act::Call {
        name: name.to_owned(),
        input,
    }
}

fn approval(place: &ScriptPosition<'_>) -> Vec<Act> {
    match place.step {
        0 => vec![
            say(
                "I am a rehearsal, and this is an approval. I would like to run a harmless command \
                 that makes an empty file; it waits until you say yes or no.",
            ),
            call(
                "bash",
                json!({"command": "touch rehearsal.txt && chmod 600 rehearsal.txt"}),
            ),
        ],
        _ => vec![say(place.fill(
            "Thank you. The command was decided by you, and this came back: {result}\n\n\
             A real model would go on from here; as a rehearsal I stop.",
        ))],
    }
}

fn question(place: &ScriptPosition<'_>) -> Vec<Act> {
    match place.step {
        0 => vec![
            say("I am a rehearsal, and this is how a model asks you something."),
            call(
                "ask",
                json!({
                    "question": "Which colour do you like best?",
                    "options": ["Blue", "Green", "Red"],
                }),
            ),
        ],
        _ => vec![say(place.fill(
            "Your answer reached me: {result}\n\nAs a rehearsal I have no opinion on it.",
        ))],
    }
}

/// Every step moves the list on by one, until all is done.
fn plan(place: &ScriptPosition<'_>) -> Vec<Act> {
    if place.step > PLAN_STEPS.len() {
        return vec![say(
            "The plan is done. As a rehearsal I only ticked the boxes; nothing else happened.",
        )];
    }
    let todos: Vec<Value> = PLAN_STEPS
        .iter()
        .enumerate()
        .map(|(index, (content, active_form))| {
            let status = match index.cmp(&place.step) {
                std::cmp::Ordering::Less => "completed",
                std::cmp::Ordering::Equal => "in_progress",
                std::cmp::Ordering::Greater => "pending",
            };
            json!({"content": content, "status": status, "activeForm": active_form})
        })
        .collect();
    let text = match PLAN_STEPS.get(place.step) {
        Some((_, active_form)) if place.step == 0 => {
            format!("I am a rehearsal, and this is a plan. {active_form}.")
        }
        Some((_, active_form)) => format!("{active_form}."),
        None => "That was the last step.".to_owned(),
    };
    vec![say(text), call("todoWrite", json!({"todos": todos}))]
}

fn reasoning() -> Vec<Act> {
    vec![
        paced(
            WrittenBlock::Reasoning,
            "Someone wants to see reasoning. I am a rehearsal and cannot reason, so I recite: \
             first the question, then what is known, then what follows from it.",
        ),
        say(
            "Above this you saw reasoning, as a model would think aloud before it answers. \
             Mine was learned by heart: I am a rehearsal.",
        ),
    ]
}

fn long_text() -> String {
    let mut text =
        "I am a rehearsal, and this is a long answer. Stop it whenever you like.\n\n".to_owned();
    for sentence in 1..=LONG_SENTENCES {
        text.push_str(&format!(
            "{sentence}. This is sentence {sentence} of {LONG_SENTENCES}, and it says nothing more.\n"
        ));
    }
    text
}

fn error() -> Vec<Act> {
    vec![
        say("I am a rehearsal, and now I fail on purpose, in the middle of"),
        Act::Fail(ProviderError::new(
            ErrorKind::Other,
            "the rehearsal model failed on purpose, because you asked for an error; \
             nothing is wrong",
        )),
    ]
}

fn file_edit(place: &ScriptPosition<'_>) -> Vec<Act> {
    match place.step {
        0 => vec![
            say("I am a rehearsal, and this is a file edit. First I write a small file."),
            // A file of an earlier rehearsal must be read before it may be replaced.
            call("read", json!({"filePath": NOTES})),
            call(
                "write",
                json!({"filePath": NOTES, "content": "# Rehearsal notes\n\nNothing happened yet.\n"}),
            ),
        ],
        1 => vec![
            say("Now I change one line of it."),
            call(
                "edit",
                json!({
                    "filePath": NOTES,
                    "oldString": "Nothing happened yet.",
                    "newString": "This line was edited in a rehearsal.",
                }),
            ),
        ],
        _ => vec![say(format!(
            "Done: look at `{NOTES}` in your workspace. You may delete it; it was only a rehearsal."
        ))],
    }
}
