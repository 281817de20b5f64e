//! `<think>` tags in what servers call content.

use proptest::prelude::*;
use serde_json::json;

use super::compatible::{read, replayed, target};
use super::decode::{chat, chat_end};
use super::*;
use crate::Block;
use crate::format::Quirks;
use crate::kept_blocks::kept_blocks;

#[test]
fn think_tags_are_thoughts_wherever_they_are_cut() {
    let whole = "\n<think>\nI </t look.</think>\n\nYes, <think> it </think> is.";
    let expected = ["thought: I </t look.", "text: Yes, <think> it </think> is."];
    let cuts = [1, 2, 3, 5, 8, whole.len()];
    for size in cuts {
        let pieces = whole.as_bytes().chunks(size);
        let pieces: Vec<_> = pieces
            .map(|piece| std::str::from_utf8(piece).unwrap())
            .collect();
        assert_eq!(told("m", &pieces), expected, "{size}");
    }
    assert_eq!(told("m", &["<think>\n\n</think>\n\nYes."]), ["text: Yes."]);
    assert_eq!(told("m", &["<thi"]), ["text: <thi"]);
    assert_eq!(told("m", &["<think>cut"]), ["thought: cut"]);
    assert_eq!(told("m", &[" a </think> "]), ["text:  a </think> "]);
}

/// The prompt of some models ends with the tag, so that only the end of the thought is written.
#[test]
fn a_thought_that_the_prompt_opened_ends_with_its_tag() {
    let open = ["thought: Hm.", "text: Yes."];
    for model in ["qwq-32", "qwen/qwen3-30b-a3b-thinking-2507", "DeepSeek-R1"] {
        assert_eq!(told(model, &["Hm.</thi", "nk>\nYes."]), open, "{model}");
    }
    // A server that keeps the thought to itself: what was shown as one was the answer.
    let hidden = ["thought: Yes.", "text: Yes."];
    assert_eq!(told("qwq-32", &["Ye", "s."]), hidden);
}

#[test]
fn a_server_that_tells_thoughts_apart_has_no_tags() {
    let data = [
        chat(json!({ "reasoning_text": "Hm." })),
        chat(json!({ "content": "<think> is a tag." })),
        chat_end("stop"),
    ];
    let parts = read(&target("qwq-32", Quirks::default()), &data);
    let expected = [
        thought(0, false, &["Hm."], None),
        text(1, &["<think> is a tag."]),
        finish(StopCause::Stop, 0, 0),
    ];
    assert_eq!(parts, expected.concat());
}

/// Neither the tags nor what stands between them goes back as words.
#[test]
fn a_thought_in_tags_does_not_go_back_as_text() {
    let plain = target("some-model", Quirks::default());
    let data = [
        chat(json!({ "content": "<think>Hm.</think>Yes." })),
        chat_end("stop"),
    ];
    let expected = json!({ "role": "assistant", "content": "Yes." });
    assert_eq!(replayed(&plain, kept_blocks(read(&plain, &data))), expected);
}

/// What is told of an answer whose content comes in these pieces.
fn told(model: &str, pieces: &[&str]) -> Vec<String> {
    let mut data: Vec<_> = pieces
        .iter()
        .map(|piece| chat(json!({ "content": piece })))
        .collect();
    data.push(chat_end("stop"));
    let blocks = kept_blocks(read(&target(model, Quirks::default()), &data));
    let told = blocks.into_iter().map(|block| match block {
        Block::Text { text, .. } => format!("text: {text}"),
        Block::Reasoning { text, .. } => format!("thought: {text}"),
        Block::ToolCall { name, .. } => format!("call: {name}"),
        Block::File { media_type, .. } => format!("file: {media_type}"),
    });
    told.collect()
}

proptest! {
    #[test]
    fn where_content_is_cut_does_not_matter(
        words in prop::collection::vec("(<think>|</think>|<thi|nk>|</|a ä|\n| )", 0..12),
        cuts in prop::collection::vec(0usize..80, 0..6),
        model in prop::sample::select(&["m", "qwq-32b"][..]),
    ) {
        let whole = words.concat();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| whole.floor_char_boundary(cut)).collect();
        cuts.extend([0, whole.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&str> = cuts.windows(2).map(|two| &whole[two[0]..two[1]]).collect();
        prop_assert_eq!(told(model, &pieces), told(model, &[&whole]));
    }
}
