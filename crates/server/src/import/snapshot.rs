//! One session as another program wrote it, by the names of its fields: in one object or in objects within
//! it, in either way of joining words.

use std::path::PathBuf;

use engine::import::{ForeignBlock, ForeignMessage, ForeignResult, ForeignThread};
use serde_json::{Map, Value};
use vocabulary::{ModelRef, PlanStep, PlanStepStatus, Timestamp, Title, TitleSource};

type SnapshotFields = Map<String, Value>;

/// Objects in which fields may stand.
const WITHIN: [&str; 4] = ["session", "context", "state", "config"];

/// The session's id.
pub fn name(fields: &SnapshotFields) -> Option<String> {
    text(fields, &["sessionId", "session_id", "id"])
}

pub fn parse(fields: &SnapshotFields) -> Result<ForeignThread, String> {
    let id = name(fields).ok_or("it has no sessionId")?;
    let directory = text(fields, &["workingDirectory", "working_directory", "cwd"])
        .ok_or("it has no workingDirectory")?;
    let directory = PathBuf::from(directory);
    if !directory.is_absolute() {
        return Err(format!(
            "its workingDirectory {} is no absolute path",
            directory.display()
        ));
    }
    let messages = list(fields, &["messages", "messages_json", "messagesJson"])?;
    let updated_at = time(fields, &["updatedAt", "updated_at"]);
    let created_at = time(fields, &["createdAt", "created_at"]).or(updated_at);
    let created_at = created_at.unwrap_or_default();
    let mcp = find(fields, &["enableMcp", "enable_mcp"]);
    Ok(ForeignThread {
        id,
        title: title(fields),
        directory,
        model: ModelRef {
            provider: text(fields, &["provider"]).ok_or("it has no provider")?,
            model: text(fields, &["model"]).ok_or("it has no model")?,
        },
        mcp: mcp.is_none_or(|value| value.as_bool().unwrap_or(value.as_i64() != Some(0))),
        created_at,
        updated_at: updated_at.unwrap_or(created_at),
        messages: messages.iter().filter_map(message).collect(),
        plan: list(fields, &["todos", "todos_json", "todosJson"])?
            .iter()
            .filter_map(plan_step)
            .collect(),
    })
}

fn find<'a>(fields: &'a SnapshotFields, names: &[&str]) -> Option<&'a Value> {
    let within = WITHIN
        .iter()
        .filter_map(|name| fields.get(*name)?.as_object());
    let mut all = std::iter::once(fields).chain(within);
    all.find_map(|fields| names.iter().find_map(|name| fields.get(*name)))
        .filter(|value| !value.is_null())
}

fn text(fields: &SnapshotFields, names: &[&str]) -> Option<String> {
    let text = find(fields, names)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// A list, or the text of one.
fn list(fields: &SnapshotFields, names: &[&str]) -> Result<Vec<Value>, String> {
    match find(fields, names) {
        None => Ok(Vec::new()),
        Some(Value::Array(list)) => Ok(list.clone()),
        Some(Value::String(text)) => serde_json::from_str(text)
            .map_err(|error| format!("its {} cannot be read: {error}", names[0])),
        Some(_) => Err(format!("its {} are no list", names[0])),
    }
}

fn time(fields: &SnapshotFields, names: &[&str]) -> Option<Timestamp> {
    let value = find(fields, names)?;
    if let Some(millis) = value.as_i64() {
        return Some(Timestamp(millis));
    }
    let time: jiff::Timestamp = value.as_str()?.parse().ok()?;
    Some(Timestamp(time.as_millisecond()))
}

fn title(fields: &SnapshotFields) -> Title {
    let Some(words) = text(fields, &["title"]) else {
        return Title::default();
    };
    let source = match text(fields, &["titleSource", "title_source"]).as_deref() {
        Some("manual") => TitleSource::Manual,
        Some("model") => TitleSource::Model,
        Some("heuristic") => TitleSource::Heuristic,
        Some(_) | None => return Title::default(),
    };
    Title {
        text: words,
        source,
        model: text(fields, &["titleModel", "title_model"]),
    }
}

fn message(value: &Value) -> Option<ForeignMessage> {
    let content = value.get("content")?;
    match value.get("role")?.as_str()? {
        "user" => Some(ForeignMessage::User(words(content))),
        "assistant" => Some(ForeignMessage::Assistant(blocks(content))),
        "tool" => {
            let results = content.as_array()?.iter().filter_map(result);
            Some(ForeignMessage::Results(results.collect()))
        }
        "toolResult" => Some(ForeignMessage::Results(vec![ForeignResult {
            call_id: str_of(value, &["toolCallId"])?.to_owned(),
            output: words(content),
            is_error: value
                .get("isError")
                .and_then(Value::as_bool)
                .unwrap_or(false),
        }])),
        _ => None,
    }
}

/// All text of a content, whatever form it has.
fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => content.to_string(),
    }
}

fn blocks(content: &Value) -> Vec<ForeignBlock> {
    match content {
        Value::String(text) => vec![ForeignBlock::Text(text.clone())],
        Value::Array(parts) => parts.iter().filter_map(block).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

fn block(part: &Value) -> Option<ForeignBlock> {
    match part.get("type")?.as_str()? {
        "text" => Some(ForeignBlock::Text(str_of(part, &["text"])?.to_owned())),
        "reasoning" | "thinking" => {
            let text = str_of(part, &["text", "thinking"])?;
            Some(ForeignBlock::Reasoning(text.to_owned()))
        }
        "tool-call" | "toolCall" => {
            let input = ["input", "args", "arguments"]
                .iter()
                .find_map(|name| part.get(*name));
            Some(ForeignBlock::Call {
                call_id: str_of(part, &["toolCallId", "id"])?.to_owned(),
                name: str_of(part, &["toolName", "name"])?.to_owned(),
                input: input.cloned().unwrap_or_default(),
            })
        }
        _ => None,
    }
}

fn result(part: &Value) -> Option<ForeignResult> {
    let output = part.get("output").or_else(|| part.get("result"));
    // The text stands in an object that says what it is.
    let output = output.map(|output| output.get("value").unwrap_or(output));
    Some(ForeignResult {
        call_id: str_of(part, &["toolCallId", "id"])?.to_owned(),
        output: output.map(words).unwrap_or_default(),
        is_error: part
            .get("isError")
            .and_then(Value::as_bool)
            .unwrap_or(false),
    })
}

fn plan_step(value: &Value) -> Option<PlanStep> {
    let content = str_of(value, &["content"])?;
    Some(PlanStep {
        content: content.to_owned(),
        status: match str_of(value, &["status"]) {
            Some("completed") => PlanStepStatus::Completed,
            Some("in_progress") => PlanStepStatus::InProgress,
            Some(_) | None => PlanStepStatus::Pending,
        },
        active_form: str_of(value, &["activeForm", "active_form"])
            .unwrap_or(content)
            .to_owned(),
    })
}

fn str_of<'a>(value: &'a Value, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| value.get(*name)?.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(value: Value) -> Result<ForeignThread, String> {
        parse(value.as_object().expect("an object"))
    }

    fn whole() -> Value {
        json!({
            "version": 1,
            "sessionId": "s-1",
            "createdAt": "2026-02-19T18:00:00.000Z",
            "updatedAt": "2026-02-19T18:05:00.000Z",
            "session": {
                "title": "A title", "titleSource": "manual", "titleModel": null,
                "provider": "openai", "model": "gpt-5.2", "enableMcp": false,
                "workingDirectory": "/work",
            },
            "context": {
                "system": "never read",
                "messages": [
                    {"role": "system", "content": "left out"},
                    {"role": "user", "content": "list"},
                    {"role": "assistant", "content": [
                        {"type": "reasoning", "text": "hm"},
                        {"type": "tool-call", "toolCallId": "c", "toolName": "bash", "input": {"command": "ls"}},
                    ]},
                    {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c", "toolName": "bash",
                        "output": {"type": "text", "value": "a"}, "isError": false}]},
                    {"role": "assistant", "content": "done"},
                ],
                "todos": [{"content": "x", "status": "in_progress", "activeForm": "doing x"}],
            },
        })
    }

    #[test]
    fn a_snapshot_is_read_whole() {
        let found = parsed(whole()).expect("reads");
        assert_eq!((found.id.as_str(), found.mcp), ("s-1", false));
        assert_eq!(found.title.source, TitleSource::Manual);
        assert_eq!(found.created_at.iso(), "2026-02-19T18:00:00.000Z");
        assert_eq!(found.updated_at.iso(), "2026-02-19T18:05:00.000Z");
        let call = ForeignBlock::Call {
            call_id: "c".to_owned(),
            name: "bash".to_owned(),
            input: json!({"command": "ls"}),
        };
        let result = ForeignResult {
            call_id: "c".to_owned(),
            output: "a".to_owned(),
            is_error: false,
        };
        let expected = [
            ForeignMessage::User("list".to_owned()),
            ForeignMessage::Assistant(vec![ForeignBlock::Reasoning("hm".to_owned()), call]),
            ForeignMessage::Results(vec![result]),
            ForeignMessage::Assistant(vec![ForeignBlock::Text("done".to_owned())]),
        ];
        assert_eq!(found.messages, expected);
        assert_eq!(found.plan[0].status, PlanStepStatus::InProgress);
    }

    #[test]
    fn the_columns_of_a_row_mean_the_same() {
        let messages = json!([{"role": "user", "content": [{"type": "text", "text": "hi"}]}]);
        let row = json!({
            "session_id": "s-2", "title": "New session", "title_source": "default",
            "provider": "google", "model": "gemini", "working_directory": "/work", "enable_mcp": 1,
            "created_at": "2026-02-19T18:00:00.000Z", "updated_at": 1_771_524_000_007_i64,
            "messages_json": messages.to_string(), "todos_json": "[]",
        });
        let found = parsed(row).expect("reads");
        assert_eq!(found.messages, [ForeignMessage::User("hi".to_owned())]);
        assert_eq!((found.mcp, found.title), (true, Title::default()));
        assert_eq!(found.updated_at, Timestamp(1_771_524_000_007));
    }

    #[test]
    fn what_cannot_be_a_session_says_why() {
        let without = |name: &str| {
            let mut value = whole();
            value["session"]
                .as_object_mut()
                .expect("an object")
                .remove(name);
            parsed(value).expect_err("refused")
        };
        assert_eq!(without("workingDirectory"), "it has no workingDirectory");
        assert_eq!(without("model"), "it has no model");
        let mut torn = whole();
        torn["context"]["messages"] = json!("[{");
        assert!(
            parsed(torn)
                .expect_err("refused")
                .contains("messages cannot be read")
        );
    }
}
