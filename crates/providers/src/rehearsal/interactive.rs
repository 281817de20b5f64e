//! The rehearsal model without a script: it answers people, and shows what they ask for.

use std::time::Duration;

use serde_json::Value;

use super::act::{Act, DeltaSource, WrittenBlock};
use super::demonstration::{self, Demonstration};
use super::{HOW_TO_CONNECT, ScriptPosition};
use crate::ModelRequest;

/// Slow enough that people see an answer stream.
const READING_GAP: Duration = Duration::from_millis(15);
/// Between two deltas of `slow N`.
const SLOW_GAP: Duration = Duration::from_millis(50);
/// The most deltas that `stream N` and `slow N` give.
const DELTAS_MAX: u64 = 10_000_000;
/// How much of the user's message is echoed.
const ECHO_CHARS_MAX: usize = 200;

/// The answer at this place of a conversation.
pub(super) fn answer(place: &ScriptPosition<'_>, request: &ModelRequest) -> Vec<Act> {
    if let Some(acts) = obey(place) {
        return acts;
    }
    match Demonstration::wished_by(place.user) {
        Some(wish) => demonstration::show(wish, place, request),
        None if place.step == 0 => vec![say(introduction(place.user))],
        None => vec![say(place.fill("The tool answered: {result}"))],
    }
}

/// Words at human pace.
pub(super) fn say(text: impl Into<String>) -> Act {
    paced(WrittenBlock::Text, text)
}

pub(super) fn paced(kind: WrittenBlock, text: impl Into<String>) -> Act {
    Act::Write {
        kind,
        source: DeltaSource::Words(text.into()),
        gap: READING_GAP,
    }
}

/// The exact orders for load tests and UI developers, each at the start of the message.
fn obey(place: &ScriptPosition<'_>) -> Option<Vec<Act>> {
    let (order, rest) = place.user.split_once(' ')?;
    match order {
        "echo" => Some(vec![at_once(rest)]),
        "stream" => number(rest).map(|total| vec![numbered(total, Duration::ZERO)]),
        "slow" => number(rest).map(|total| vec![numbered(total, SLOW_GAP)]),
        "tool" if place.step > 0 => Some(vec![at_once(place.fill("Tool result: {result}"))]),
        "tool" => Some(vec![call_as_told(rest)]),
        _ => None,
    }
}

fn at_once(text: impl Into<String>) -> Act {
    Act::write(WrittenBlock::Text, DeltaSource::Words(text.into()))
}

fn numbered(total: u64, gap: Duration) -> Act {
    Act::Write {
        kind: WrittenBlock::Text,
        source: DeltaSource::Numbered { total },
        gap,
    }
}

fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok().map(|n: u64| n.min(DELTAS_MAX))
}

fn call_as_told(rest: &str) -> Act {
    let (name, json) = rest.trim().split_once(' ').unwrap_or((rest.trim(), "{}"));
    match serde_json::from_str::<Value>(json) {
        Ok(input) if !name.is_empty() && input.is_object() => Act::Call {
            name: name.to_owned(),
            input,
        },
        Ok(_) => at_once("Expected `tool NAME {json}`, where {json} is a JSON object."),
        Err(error) => at_once(format!("Expected `tool NAME {{json}}`: {error}.")),
    }
}

fn introduction(user: &str) -> String {
    let mut text = String::new();
    let heard = user.trim();
    if !heard.is_empty() {
        let mut echo: String = heard.chars().take(ECHO_CHARS_MAX).collect();
        if echo.len() < heard.len() {
            echo.push('…');
        }
        text.push_str(&format!("You said: “{echo}”\n\n"));
    }
    text.push_str(&format!(
        "I am a rehearsal: a scripted stand-in without any intelligence, here so that you can try \
         everything around a model. {HOW_TO_CONNECT}\n\nAsk me for any of these:\n"
    ));
    for wish in Demonstration::ALL {
        let (words, shows) = wish.invitation();
        text.push_str(&format!("- `{words}`: {shows}\n"));
    }
    text
}
