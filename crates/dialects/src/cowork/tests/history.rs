//! The transcript as messages.

use serde_json::json;
use vocabulary::{
    Cause, Entry, Fact, Image, Item, ItemFact, ItemId, MessagePage, Reply, ToolEvent, ToolFact,
    ToolOutcome, ToolOutput, TurnFact, TurnId, UserInput,
};

use super::commands::said;
use super::samples::{SESSION, bash, event, tag};

#[test]
fn pictures_that_came_with_a_message_are_pieces_of_it() {
    let input = UserInput {
        images: vec![
            Image::Data {
                media_type: "image/png".to_owned(),
                base64: "iVBORw0=".into(),
            },
            Image::Url("https://example.com/a.png".to_owned()),
        ],
        item: ItemId::new("i1"),
        text: "What is this?".to_owned(),
        display: None,
        client_id: None,
        pieces: Vec::new(),
    };
    let started = Fact::Turn(TurnFact::Started {
        turn: TurnId::new("t1"),
        cause: Cause::UserMessage,
        input,
        model: None,
    });
    let mut stub = said(json!({ "type": "get_messages" }));
    stub.reply(Ok(Reply::Messages(MessagePage {
        entries: vec![Entry {
            ordinal: 0,
            message: 0,
            event: event(started),
        }],
        total: 1,
        offset: 0,
        limit: 100,
    })));
    assert_eq!(
        stub.take()[0]["messages"],
        json!([{ "role": "user", "content": [
            { "type": "text", "text": "What is this?" },
            { "type": "image", "image": "iVBORw0=", "mediaType": "image/png" },
            { "type": "image", "image": "https://example.com/a.png" },
        ]}])
    );
}

#[test]
fn history_is_told_message_by_message() {
    let entry = |ordinal, message, fact| Entry {
        ordinal,
        message,
        event: event(fact),
    };
    let (turn, item) = (TurnId::new("t1"), ItemId::new("i1"));
    let input = UserInput {
        images: Vec::new(),
        item: item.clone(),
        text: "Hello".to_owned(),
        display: Some("/hello".to_owned()),
        client_id: None,
        pieces: Vec::new(),
    };
    let finished = |body| Fact::Item {
        tag: tag(0),
        item: item.clone(),
        content: 0,
        what: ItemFact::Finished { began: None, body },
    };
    let call = bash(json!({ "command": "ls" }));
    let result = |outcome| {
        Fact::Tool(ToolEvent {
            tag: tag(0),
            call: call.clone().into(),
            what: ToolFact::Finished {
                outcome,
                duration_ms: None,
            },
        })
    };
    let entries = vec![
        entry(
            0,
            0,
            Fact::Turn(TurnFact::Started {
                turn,
                cause: Cause::UserMessage,
                input,
                model: tag(0).model,
            }),
        ),
        entry(
            1,
            1,
            finished(Item::Reasoning {
                native: None,
                kind: vocabulary::ReasoningKind::Summary,
                text: "Hm.".to_owned(),
                partial: false,
                breaks: Vec::new(),
            }),
        ),
        entry(
            2,
            1,
            finished(Item::AgentMessage {
                native: None,
                text: "Let me look.".to_owned(),
                partial: true,
            }),
        ),
        entry(
            2,
            1,
            finished(Item::File {
                media_type: "image/png".to_owned(),
                base64: "aGk=".into(),
                native: None,
            }),
        ),
        entry(
            3,
            1,
            Fact::Tool(ToolEvent {
                tag: tag(0),
                call: call.clone().into(),
                what: ToolFact::Planned { content: 2 },
            }),
        ),
        entry(
            4,
            2,
            result(ToolOutcome::Succeeded(ToolOutput::Command {
                stdout: "a".to_owned(),
                stderr: String::new(),
                exit_code: 0,
                duration_ms: 3,
                model_text: None,
            })),
        ),
        entry(
            5,
            2,
            result(ToolOutcome::Failed {
                error: "no such tool".to_owned(),
            }),
        ),
    ];
    let mut stub = said(json!({ "type": "get_messages" }));
    stub.reply(Ok(Reply::Messages(MessagePage {
        entries,
        total: 3,
        offset: 0,
        limit: 100,
    })));
    let result = |value: &str, is_error: bool| {
        json!({
            "type": "tool-result",
            "toolCallId": "call_1",
            "toolName": "bash",
            "output": { "type": "text", "value": value },
            "isError": is_error,
        })
    };
    assert_eq!(
        stub.take(),
        [json!({
            "type": "messages",
            "sessionId": SESSION,
            "messages": [
                { "role": "user", "content": "Hello" },
                {
                    "role": "assistant",
                    "content": [
                        { "type": "reasoning", "text": "Hm." },
                        { "type": "text", "text": "Let me look." },
                        { "type": "file", "data": "aGk=", "mediaType": "image/png" },
                        {
                            "type": "tool-call",
                            "toolCallId": "call_1",
                            "toolName": "bash",
                            "input": { "command": "ls" },
                        },
                    ],
                },
                {
                    "role": "tool",
                    "content": [
                        result("{\"stdout\":\"a\",\"stderr\":\"\",\"exitCode\":0}", false),
                        result("no such tool", true),
                    ],
                },
            ],
            "total": 3,
            "offset": 0,
            "limit": 100,
        })]
    );
}
