//! Every client message with its fields, in the order in which they are checked.

use serde_json::{Map, Value};

/// One field: its name, another name clients use for it, and what it must be.
#[derive(Clone, Copy)]
pub struct Field {
    name: &'static str,
    alias: Option<&'static str>,
    shape: Shape,
    required: bool,
}

#[derive(Clone, Copy)]
enum Shape {
    Text,
    /// A string with something in it.
    NonBlank,
    /// A name that is kept: not blank, and not too long.
    Name,
    Boolean,
    Number,
    /// Also a negative one: a position may be wrong without being malformed.
    Integer,
    /// An integer that is not negative.
    Count,
    Texts,
    Answers,
    OneOf(&'static [&'static str]),
}

const NAME_CHARS_MAX: usize = 200;

impl Shape {
    fn fits(self, value: &Value) -> bool {
        let text = value.as_str();
        match self {
            Shape::Text => value.is_string(),
            Shape::NonBlank => text.is_some_and(|text| !text.trim().is_empty()),
            Shape::Name => text.is_some_and(|text| {
                !text.trim().is_empty() && text.chars().count() <= NAME_CHARS_MAX
            }),
            Shape::Boolean => value.is_boolean(),
            Shape::Number => value.is_number(),
            Shape::Integer => value.is_i64() || value.is_u64(),
            Shape::Count => value.is_u64(),
            Shape::Texts => texts(value),
            Shape::Answers => match value {
                Value::String(word) => matches!(word.as_str(), "approve" | "deny"),
                Value::Object(answers) => answers
                    .values()
                    .all(|answer| answer.is_string() || answer.is_boolean() || texts(answer)),
                _ => false,
            },
            Shape::OneOf(words) => text.is_some_and(|text| words.contains(&text)),
        }
    }

    fn expected(self) -> String {
        match self {
            Shape::Text => "a string".to_owned(),
            Shape::NonBlank => "a string that is not empty".to_owned(),
            Shape::Name => format!("a string of 1 to {NAME_CHARS_MAX} characters"),
            Shape::Boolean => "a boolean".to_owned(),
            Shape::Number => "a number".to_owned(),
            Shape::Integer => "an integer".to_owned(),
            Shape::Count => "an integer that is not negative".to_owned(),
            Shape::Texts => "an array of strings".to_owned(),
            Shape::Answers => {
                "an object of answers by question id, \"approve\" or \"deny\"".to_owned()
            }
            Shape::OneOf(words) => format!("one of {}", words.join(", ")),
        }
    }
}

fn texts(value: &Value) -> bool {
    let items = value.as_array();
    items.is_some_and(|items| items.iter().all(Value::is_string))
}

impl Field {
    /// What is wrong with it, in words.
    pub fn check(&self, object: &Map<String, Value>) -> Result<(), String> {
        let value = object.get(self.name).or_else(|| object.get(self.alias?));
        let (name, expected) = (self.name, self.shape.expected());
        match value {
            None if self.required => Err(format!("{name} is missing: expected {expected}")),
            Some(value) if !self.shape.fits(value) => Err(format!("{name} must be {expected}")),
            None | Some(_) => Ok(()),
        }
    }
}

const fn required(name: &'static str, shape: Shape) -> Field {
    Field {
        name,
        alias: None,
        shape,
        required: true,
    }
}

const fn optional(name: &'static str, shape: Shape) -> Field {
    Field {
        required: false,
        ..required(name, shape)
    }
}

const fn either(name: &'static str, alias: &'static str, shape: Shape) -> Field {
    Field {
        alias: Some(alias),
        ..required(name, shape)
    }
}

const SESSION: Field = required("sessionId", Shape::NonBlank);
const PATH: Field = required("path", Shape::NonBlank);
const AFTER_SEQ: Field = optional("afterSeq", Shape::Integer);
const LIMIT: Field = optional("limit", Shape::Count);
const ASKED: Field = required("requestId", Shape::NonBlank);
const ROLES: &[&str] = &["owner", "admin", "billing_admin", "member", "viewer"];

/// All may have a `requestId` besides, which is checked before these.
pub const MESSAGES: &[(&str, &[Field])] = &[
    (
        "authenticate",
        &[
            required("token", Shape::Text),
            optional("features", Shape::Texts),
        ],
    ),
    (
        "list_sessions",
        &[optional("includeArchived", Shape::Boolean)],
    ),
    (
        "create_session",
        &[
            required("agentType", Shape::Name),
            optional("name", Shape::Name),
        ],
    ),
    ("rename_session", &[SESSION, required("name", Shape::Name)]),
    ("archive_session", &[SESSION]),
    ("unarchive_session", &[SESSION]),
    ("delete_session", &[SESSION]),
    ("join_session", &[SESSION, AFTER_SEQ]),
    ("leave_session", &[SESSION]),
    (
        "run_turn",
        &[
            SESSION,
            either("text", "content", Shape::NonBlank),
            optional("clientTurnId", Shape::Name),
        ],
    ),
    ("stop_turn", &[SESSION]),
    (
        "steer",
        &[SESSION, either("content", "text", Shape::NonBlank)],
    ),
    (
        "answer_question",
        &[
            SESSION,
            ASKED,
            optional("answers", Shape::Answers),
            optional("dismissed", Shape::Boolean),
        ],
    ),
    (
        "approve",
        &[SESSION, ASKED, required("approved", Shape::Boolean)],
    ),
    ("get_history", &[SESSION, LIMIT, AFTER_SEQ]),
    ("get_events", &[SESSION, AFTER_SEQ, LIMIT]),
    ("ping", &[required("ts", Shape::Number)]),
    (
        "list_files",
        &[
            SESSION,
            optional("path", Shape::Text),
            optional("depth", Shape::Count),
        ],
    ),
    ("read_file", &[SESSION, PATH]),
    ("file_history", &[SESSION, PATH]),
    (
        "file_at_iteration",
        &[SESSION, PATH, required("iteration", Shape::Count)],
    ),
    (
        "manage_members",
        &[
            required("action", Shape::OneOf(&["list", "set_role", "remove"])),
            optional("userId", Shape::NonBlank),
            optional("role", Shape::OneOf(ROLES)),
        ],
    ),
];
