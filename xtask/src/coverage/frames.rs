//! What a frame of a transcript is: by its type, or by its method where the protocol is JSON-RPC.

use std::collections::BTreeSet;

use serde_json::Value;

/// The name of a message.
pub fn kind(frame: &Value) -> Option<&str> {
    frame["method"].as_str().or(frame["type"].as_str())
}

/// What a refusal says, wherever its protocol has the words.
pub fn words(frame: &Value) -> &str {
    let words = frame["message"].as_str();
    let words = words.or(frame["error"]["message"].as_str());
    words.unwrap_or_default()
}

/// The kinds of the items that a frame shows, in a notification or in the turns of an answer.
pub fn items(frame: &Value) -> BTreeSet<&str> {
    let mut kinds = BTreeSet::new();
    kinds.extend(frame["params"]["item"]["type"].as_str());
    let lists = [
        &frame["result"]["thread"]["turns"],
        &frame["result"]["data"],
        &frame["result"]["initialTurnsPage"]["data"],
    ];
    let turns = lists.into_iter().filter_map(Value::as_array).flatten();
    let items = turns.filter_map(|turn| turn["items"].as_array()).flatten();
    kinds.extend(items.filter_map(|item| item["type"].as_str()));
    let kept = events(frame).filter_map(|event| event["payload"]["item"]["type"].as_str());
    kinds.extend(kept);
    kinds
}

/// The events of a history that a frame has, of a thread's or of a turn's.
fn events(frame: &Value) -> impl Iterator<Item = &Value> {
    let plain = frame["result"]["events"].as_array().into_iter().flatten();
    let timeline = frame["result"]["items"].as_array().into_iter().flatten();
    plain.chain(timeline.map(|item| &item["payload"]["event"]))
}

/// The kinds of the payloads of a history that a frame shows.
pub fn payloads(frame: &Value) -> BTreeSet<&str> {
    events(frame)
        .filter_map(|event| event["payload"]["type"].as_str())
        .collect()
}

/// All kinds of items that a schema has; none where the protocol has no items.
pub fn item_kinds(schema: &str) -> anyhow::Result<BTreeSet<String>> {
    let mut kinds = kinds_of(schema, "ThreadItem")?;
    kinds.append(&mut kinds_of(schema, "TurnItem")?);
    Ok(kinds)
}

/// All kinds of payloads of a history that a schema has.
pub fn payload_kinds(schema: &str) -> anyhow::Result<BTreeSet<String>> {
    kinds_of(schema, "ThreadHistoryEventPayload")
}

fn kinds_of(schema: &str, definition: &str) -> anyhow::Result<BTreeSet<String>> {
    let document: Value = serde_json::from_str(schema)?;
    let item = &document["server"]["$defs"][definition];
    let forms = item["oneOf"].as_array().into_iter().flatten();
    let kinds = forms.filter_map(|form| form["properties"]["type"]["const"].as_str());
    Ok(kinds.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn items_are_found_where_they_are_told_and_where_they_are_read() {
        let told = json!({"method": "item/started", "params": {"item": {"type": "plan"}}});
        assert_eq!(kind(&told), Some("item/started"));
        assert_eq!(items(&told), BTreeSet::from(["plan"]));
        let turns = json!([{"items": [{"type": "reasoning"}, {"type": "plan"}]}]);
        let read = json!({"id": 1, "result": {"thread": {"turns": turns}}});
        assert_eq!(kind(&read), None);
        assert_eq!(items(&read), BTreeSet::from(["plan", "reasoning"]));
        let event = json!({"payload": {"type": "itemStarted", "item": {"type": "task"}}});
        let history = json!({"id": 1, "result": {"events": [event]}});
        assert_eq!(payloads(&history), BTreeSet::from(["itemStarted"]));
        assert_eq!(items(&history), BTreeSet::from(["task"]));
        let timeline = json!({"id": 1, "result": {"items": [{"payload": {"event": event}}]}});
        assert_eq!(payloads(&timeline), BTreeSet::from(["itemStarted"]));
    }

    #[test]
    fn a_schema_without_items_has_none() {
        let none = item_kinds(r#"{"client": {}, "server": {}}"#).expect("kinds");
        assert!(none.is_empty());
        let schema = r#"{"server": {"$defs": {"ThreadItem": {"oneOf": [
            {"properties": {"type": {"const": "plan"}}}
        ]}}}}"#;
        let kinds = item_kinds(schema).expect("kinds");
        assert_eq!(kinds, BTreeSet::from(["plan".to_owned()]));
    }
}
