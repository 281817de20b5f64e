//! Every client message with its fields, in the order in which they are checked.

use serde_json::{Map, Value};

/// One field: its name, another name clients use for it, and what it must be.
#[derive(Clone, Copy)]
pub struct FieldRule {
    name: &'static str,
    alias: Option<&'static str>,
    shape: FieldType,
    required: bool,
}

#[derive(Clone, Copy)]
enum FieldType {
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

impl FieldType {
    fn fits(self, value: &Value) -> bool {
        let text = value.as_str();
        match self {
            FieldType::Text => value.is_string(),
            FieldType::NonBlank => text.is_some_and(|text| !text.trim().is_empty()),
            FieldType::Name => text.is_some_and(|text| {
                !text.trim().is_empty() && text.chars().count() <= NAME_CHARS_MAX
            }),
            FieldType::Boolean => value.is_boolean(),
            FieldType::Number => value.is_number(),
            FieldType::Integer => value.is_i64() || value.is_u64(),
            FieldType::Count => value.is_u64(),
            FieldType::Texts => texts(value),
            FieldType::Answers => match value {
                Value::String(word) => matches!(word.as_str(), "approve" | "deny"),
                Value::Object(answers) => answers
                    .values()
                    .all(|answer| answer.is_string() || answer.is_boolean() || texts(answer)),
                _ => false,
            },
            FieldType::OneOf(words) => text.is_some_and(|text| words.contains(&text)),
        }
    }

    fn expected(self) -> String {
        match self {
            FieldType::Text => "a string".to_owned(),
            FieldType::NonBlank => "a string that is not empty".to_owned(),
            FieldType::Name => format!("a string of 1 to {NAME_CHARS_MAX} characters"),
            FieldType::Boolean => "a boolean".to_owned(),
            FieldType::Number => "a number".to_owned(),
            FieldType::Integer => "an integer".to_owned(),
            FieldType::Count => "an integer that is not negative".to_owned(),
            FieldType::Texts => "an array of strings".to_owned(),
            FieldType::Answers => {
                "an object of answers by question id, \"approve\" or \"deny\"".to_owned()
            }
            FieldType::OneOf(words) => format!("one of {}", words.join(", ")),
        }
    }
}

fn texts(value: &Value) -> bool {
    let items = value.as_array();
    items.is_some_and(|items| items.iter().all(Value::is_string))
}

impl FieldRule {
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

const fn required(name: &'static str, shape: FieldType) -> FieldRule {
    FieldRule {
        name,
        alias: None,
        shape,
        required: true,
    }
}

const fn optional(name: &'static str, shape: FieldType) -> FieldRule {
    FieldRule {
        required: false,
        ..required(name, shape)
    }
}

const fn either(name: &'static str, alias: &'static str, shape: FieldType) -> FieldRule {
    FieldRule {
        alias: Some(alias),
        ..required(name, shape)
    }
}

const SESSION: FieldRule = required("sessionId", FieldType::NonBlank);
const PATH: FieldRule = required("path", FieldType::NonBlank);
const AFTER_SEQ: FieldRule = optional("afterSeq", FieldType::Integer);
const LIMIT: FieldRule = optional("limit", FieldType::Count);
const ASKED: FieldRule = required("requestId", FieldType::NonBlank);
const ROLES: &[&str] = &["owner", "admin", "billing_admin", "member", "viewer"];

/// All may have a `requestId` besides, which is checked before these.
pub const MESSAGES: &[(&str, &[FieldRule])] = &[
    (
        "authenticate",
        &[
            required("token", FieldType::Text),
            optional("features", FieldType::Texts),
        ],
    ),
    (
        "list_sessions",
        &[optional("includeArchived", FieldType::Boolean)],
    ),
    (
        "create_session",
        &[
            required("agentType", FieldType::Name),
            optional("name", FieldType::Name),
        ],
    ),
    (
        "rename_session",
        &[SESSION, required("name", FieldType::Name)],
    ),
    ("archive_session", &[SESSION]),
    ("unarchive_session", &[SESSION]),
    ("delete_session", &[SESSION]),
    ("join_session", &[SESSION, AFTER_SEQ]),
    ("leave_session", &[SESSION]),
    (
        "run_turn",
        &[
            SESSION,
            either("text", "content", FieldType::NonBlank),
            optional("clientTurnId", FieldType::Name),
        ],
    ),
    ("stop_turn", &[SESSION]),
    (
        "steer",
        &[SESSION, either("content", "text", FieldType::NonBlank)],
    ),
    (
        "answer_question",
        &[
            SESSION,
            ASKED,
            optional("answers", FieldType::Answers),
            optional("dismissed", FieldType::Boolean),
        ],
    ),
    (
        "approve",
        &[SESSION, ASKED, required("approved", FieldType::Boolean)],
    ),
    ("get_history", &[SESSION, LIMIT, AFTER_SEQ]),
    ("get_events", &[SESSION, AFTER_SEQ, LIMIT]),
    ("ping", &[required("ts", FieldType::Number)]),
    (
        "list_files",
        &[
            SESSION,
            optional("path", FieldType::Text),
            optional("depth", FieldType::Count),
        ],
    ),
    ("read_file", &[SESSION, PATH]),
    ("file_history", &[SESSION, PATH]),
    (
        "file_at_iteration",
        &[SESSION, PATH, required("iteration", FieldType::Count)],
    ),
    (
        "manage_members",
        &[
            required("action", FieldType::OneOf(&["list", "set_role", "remove"])),
            optional("userId", FieldType::NonBlank),
            optional("role", FieldType::OneOf(ROLES)),
        ],
    ),
];
