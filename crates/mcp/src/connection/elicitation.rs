//! What a server wants to know of a person, as questions.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Number, Value};
use tools::{Host, QuestionAnswer};
use vocabulary::{Question, QuestionOption};

use crate::limits::FORM_FIELDS_MAX;
use crate::transport::without_secrets;

/// Questions of one ask.
const QUESTIONS_MAX: usize = 4;
const QUESTION_CHARS_MAX: usize = 1_500;
const OPTION_CHARS_MAX: usize = 200;
const HEADER_CHARS_MAX: usize = 100;
const OPTIONS_MAX: usize = 50;
const YES: &str = "Yes";
const NO: &str = "No";
const DONE: &str = "Done";
const DECLINE: &str = "Decline";

/// Puts it before a person.
pub(super) async fn ask(
    server: &str,
    request: ElicitRequestParams,
    host: &dyn Host,
) -> ElicitResult {
    match request {
        ElicitRequestParams::FormElicitationParams {
            message,
            requested_schema,
            ..
        } => {
            let schema = serde_json::to_value(requested_schema).unwrap_or_default();
            match form(&schema) {
                Some(fields) if fields.is_empty() => confirm(server, &message, YES, host).await,
                Some(fields) => fill_in(server, &message, &fields, host).await,
                None => ElicitResult::new(ElicitationAction::Decline),
            }
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            let parsed = reqwest::Url::parse(&url).ok();
            let host_name = parsed.as_ref().and_then(reqwest::Url::host_str);
            let Some(host_name) = host_name else {
                return ElicitResult::new(ElicitationAction::Decline);
            };
            let message = format!("{message}\nOpen this page of {host_name}: {url}");
            confirm(server, &message, DONE, host).await
        }
        // The enum is not closed: what is not known cannot be asked.
        _ => ElicitResult::new(ElicitationAction::Decline),
    }
}

/// A question of yes or no.
async fn confirm(server: &str, message: &str, yes: &str, host: &dyn Host) -> ElicitResult {
    let question = Question {
        id: "q1".to_owned(),
        header: Some(without_secrets(server, &[], HEADER_CHARS_MAX)),
        question: without_secrets(message, &[], QUESTION_CHARS_MAX),
        options: [yes, DECLINE].map(option).into(),
        multi_select: false,
    };
    match host.ask(vec![question]).await {
        None => ElicitResult::new(ElicitationAction::Cancel),
        Some(answers) if answers.first().is_some_and(|words| words == &[yes]) => {
            ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(Map::new()))
        }
        Some(_) => ElicitResult::new(ElicitationAction::Decline),
    }
}

/// Asks for each field, a few at a time.
async fn fill_in(
    server: &str,
    message: &str,
    fields: &[FormField],
    host: &dyn Host,
) -> ElicitResult {
    let mut content = Map::new();
    let mut answered = false;
    for fields in fields.chunks(QUESTIONS_MAX) {
        let questions: Vec<Question> = fields
            .iter()
            .enumerate()
            .map(|(place, field)| field.question(server, message, place))
            .collect();
        let Some(answers) = host.ask(questions).await else {
            return ElicitResult::new(ElicitationAction::Cancel);
        };
        for (field, answer) in fields.iter().zip(&answers) {
            answered |= !answer.is_empty();
            match field.value(answer) {
                Ok(Some(value)) => drop(content.insert(field.name.clone(), value)),
                Ok(None) => {}
                // Without it, or with something else, the server could not go on.
                Err(()) => return ElicitResult::new(ElicitationAction::Decline),
            }
        }
    }
    match answered {
        true => ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content)),
        // All were passed over: the person does not want to.
        false => ElicitResult::new(ElicitationAction::Decline),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldKind {
    Text,
    Number,
    Integer,
    Boolean,
    Several,
}

/// One thing to be filled in.
#[derive(Debug)]
struct FormField {
    name: String,
    label: String,
    kind: FieldKind,
    /// What it is called, and what it means.
    choices: Vec<(String, String)>,
    default: Option<Value>,
    is_required: bool,
}

/// The fields of a form. None where it cannot be asked for.
fn form(schema: &Value) -> Option<Vec<FormField>> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|list| list.iter().any(|each| each == name));
    let fields: Option<Vec<FormField>> = properties
        .into_iter()
        .flatten()
        .map(|(name, schema)| FormField::of(name, schema, is_required(name)))
        .collect();
    fields.filter(|fields| fields.len() <= FORM_FIELDS_MAX)
}

impl FormField {
    fn of(name: &str, schema: &Value, is_required: bool) -> Option<FormField> {
        let kind = match schema.get("type").and_then(Value::as_str) {
            Some("string") | None => FieldKind::Text,
            Some("number") => FieldKind::Number,
            Some("integer") => FieldKind::Integer,
            Some("boolean") => FieldKind::Boolean,
            Some("array") => FieldKind::Several,
            Some(_) => return None,
        };
        let of_choices = match kind {
            FieldKind::Several => schema.get("items")?,
            FieldKind::Text | FieldKind::Number | FieldKind::Integer | FieldKind::Boolean => schema,
        };
        let choices = choices(of_choices);
        if choices.len() > OPTIONS_MAX || (kind == FieldKind::Several && choices.is_empty()) {
            return None;
        }
        let text = |field: &str| schema.get(field).and_then(Value::as_str);
        let title = text("title").unwrap_or(name);
        let label = match text("description") {
            Some(description) => format!("{title}: {description}"),
            None => title.to_owned(),
        };
        Some(FormField {
            name: name.to_owned(),
            label,
            kind,
            choices,
            default: schema
                .get("default")
                .filter(|each| !each.is_null())
                .cloned(),
            is_required,
        })
    }

    fn question(&self, server: &str, message: &str, place: usize) -> Question {
        let mut text = match place {
            0 => format!("{message}\n{}", self.label),
            _ => self.label.clone(),
        };
        match (&self.default, self.is_required) {
            (Some(default), _) => text.push_str(&format!(" (if skipped: {default})")),
            (None, true) => text.push_str(" (required)"),
            (None, false) => {}
        }
        let options = match self.kind {
            FieldKind::Boolean => [YES, NO].map(option).into(),
            FieldKind::Text | FieldKind::Number | FieldKind::Integer | FieldKind::Several => self
                .choices
                .iter()
                .map(|(label, _)| option(label))
                .collect(),
        };
        Question {
            id: format!("q{}", place + 1),
            header: Some(without_secrets(server, &[], HEADER_CHARS_MAX)),
            question: without_secrets(&text, &[], QUESTION_CHARS_MAX),
            options,
            multi_select: self.kind == FieldKind::Several,
        }
    }

    /// What was answered, or stands for it when it was skipped. An error where there must be something
    /// else.
    fn value(&self, answer: &QuestionAnswer) -> Result<Option<Value>, ()> {
        let Some(first) = answer.first().map(|words| words.trim()) else {
            return match (&self.default, self.is_required) {
                (Some(default), _) => Ok(Some(default.clone())),
                (None, true) => Err(()),
                (None, false) => Ok(None),
            };
        };
        let value = match self.kind {
            FieldKind::Text => Value::String(self.meant(first)?),
            FieldKind::Number => {
                let number = first.parse::<f64>().ok().and_then(Number::from_f64);
                Value::Number(number.ok_or(())?)
            }
            FieldKind::Integer => Value::Number(first.parse::<i64>().map_err(|_| ())?.into()),
            FieldKind::Boolean => match first.to_lowercase().as_str() {
                "yes" | "true" | "y" => Value::Bool(true),
                "no" | "false" | "n" => Value::Bool(false),
                _ => return Err(()),
            },
            FieldKind::Several => {
                let meant = answer.iter().map(|each| self.meant(each.trim()));
                let meant: Result<Vec<String>, ()> = meant.collect();
                meant?.into()
            }
        };
        Ok(Some(value))
    }

    /// What a choice stands for.
    fn meant(&self, label: &str) -> Result<String, ()> {
        if self.choices.is_empty() {
            return Ok(label.to_owned());
        }
        let shown = |label: &str| without_secrets(label, &[], OPTION_CHARS_MAX);
        let mut choices = self.choices.iter();
        let found = choices.find(|(each, value)| shown(each) == label || value == label);
        found.map(|(_, value)| value.clone()).ok_or(())
    }
}

/// What can be chosen: `enum` with or without names, or `oneOf` and `anyOf` with titles.
fn choices(schema: &Value) -> Vec<(String, String)> {
    let list = |field: &str| schema.get(field).and_then(Value::as_array);
    if let Some(values) = list("enum") {
        let names = list("enumNames");
        let named = |(place, value): (usize, &Value)| {
            let value = value.as_str()?.to_owned();
            let name = names.and_then(|names| names.get(place)?.as_str());
            Some((name.unwrap_or(&value).to_owned(), value))
        };
        return values.iter().enumerate().filter_map(named).collect();
    }
    let titled = |each: &Value| {
        let value = each.get("const")?.as_str()?.to_owned();
        let title = each.get("title").and_then(Value::as_str).unwrap_or(&value);
        Some((title.to_owned(), value))
    };
    let several = list("oneOf").or_else(|| list("anyOf"));
    several.into_iter().flatten().filter_map(titled).collect()
}

fn option(label: impl AsRef<str>) -> QuestionOption {
    QuestionOption {
        label: without_secrets(label.as_ref(), &[], OPTION_CHARS_MAX),
        description: None,
    }
}
