//! Scripts of the rehearsal model: a line format that people write by hand.

use std::time::Duration;

use serde_json::Value;
use thiserror::Error;

use super::ScriptPosition;
use super::act::{Act, DeltaSource, WrittenBlock};
use crate::{ErrorKind, ModelUsage, ProviderError, RequestPurpose};

/// The most that `repeat` may ask for.
pub const REPEAT_MAX: u64 = 10_000_000;
/// The longest `pause`.
pub const PAUSE_MAX: Duration = Duration::from_secs(3600);
/// How much of an offending line an error shows.
const FOUND_CHARS_MAX: usize = 60;

const VERBS: &str = "turn, task, next, think, summary, part, say, call, repeat, raw, cite, file, pause, pace, hold, retry, full, \
     fail or usage";

/// What the rehearsal model answers, turn by turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RehearsalScript {
    turns: Vec<ScriptTurn>,
    /// What every sub-agent does.
    task: Option<ScriptTurn>,
    /// Whether lines are added to the task.
    in_task: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct ScriptTurn {
    /// `turn *`: answers every further user message.
    every: bool,
    /// The answer to the user message, then the answers to tool results.
    steps: Vec<Vec<Act>>,
}

/// Why a text is not a script.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: found `{found}`, expected {expected}")]
pub struct ScriptError {
    /// From 1.
    pub line: usize,
    pub found: String,
    pub expected: String,
}

impl RehearsalScript {
    /// Reads a script; `docs/rehearsal.md` describes the format.
    pub fn parse(text: &str) -> Result<RehearsalScript, ScriptError> {
        let mut script = RehearsalScript::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            script.add(line).map_err(|expected| ScriptError {
                line: index + 1,
                found: shorten(line),
                expected,
            })?;
        }
        Ok(script)
    }

    /// Adds a line, or says what was expected in its place.
    fn add(&mut self, line: &str) -> Result<(), String> {
        let (verb, rest) = split_word(line);
        match verb {
            "turn" => self.add_turn(rest),
            "task" => self.add_task(),
            "next" => {
                if !rest.is_empty() {
                    return Err("`next` alone on its line".to_owned());
                }
                self.open_turn()?.steps.push(Vec::new());
                Ok(())
            }
            _ => {
                let act = parse_act(verb, rest)?;
                let step = self.open_turn()?.steps.last_mut();
                step.ok_or("`turn` before any other line")?.push(act);
                Ok(())
            }
        }
    }

    fn open_turn(&mut self) -> Result<&mut ScriptTurn, String> {
        let open = match self.in_task {
            true => self.task.as_mut(),
            false => self.turns.last_mut(),
        };
        open.ok_or_else(|| "`turn` before any other line".to_owned())
    }

    fn add_task(&mut self) -> Result<(), String> {
        if self.task.is_some() {
            return Err("one `task`: every sub-agent does the same".to_owned());
        }
        self.task = Some(ScriptTurn {
            every: true,
            steps: vec![Vec::new()],
        });
        self.in_task = true;
        Ok(())
    }

    fn add_turn(&mut self, note: &str) -> Result<(), String> {
        self.in_task = false;
        if self.turns.last().is_some_and(|turn| turn.every) {
            return Err("no turn after `turn *`, which answers every further message".to_owned());
        }
        self.turns.push(ScriptTurn {
            every: note == "*",
            steps: vec![Vec::new()],
        });
        Ok(())
    }

    /// What the script has for this place, with the texts filled in.
    pub(super) fn acts(
        &self,
        place: &ScriptPosition<'_>,
        purpose: RequestPurpose,
    ) -> Option<Vec<Act>> {
        let turn = match purpose {
            RequestPurpose::Task => self.task.as_ref()?,
            RequestPurpose::Answer | RequestPurpose::Summary | RequestPurpose::Title => self
                .turns
                .get(place.turn - 1)
                .or_else(|| self.turns.last().filter(|turn| turn.every))?,
        };
        let step = turn.steps.get(place.step)?;
        let played = step
            .iter()
            .filter(|act| !(place.summarised && matches!(act, Act::Full(_))));
        Some(played.map(|act| fill(act, place)).collect())
    }
}

/// Reads the line of one verb, or says what was expected.
fn parse_act(verb: &str, rest: &str) -> Result<Act, String> {
    match verb {
        "think" => parse_text(rest, "think").map(|text| words(WrittenBlock::Reasoning, text)),
        "summary" => parse_text(rest, "summary").map(|text| words(WrittenBlock::Summary, text)),
        "part" => parse_text(rest, "part").map(Act::Part),
        "say" => parse_text(rest, "say").map(|text| words(WrittenBlock::Text, text)),
        "call" => parse_call(rest),
        "repeat" => parse_repeat(rest),
        "raw" => serde_json::from_str(rest)
            .map(Act::Raw)
            .map_err(|error| format!("JSON after `raw` ({error})")),
        "cite" => parse_cite(rest),
        "file" => parse_file(rest),
        "pause" => parse_pause(rest).map(Act::Pause),
        "pace" => parse_pause(rest).map(Act::Pace),
        "hold" if rest.is_empty() => Ok(Act::Hold),
        "hold" => Err("`hold` alone on its line".to_owned()),
        "retry" => parse_text(rest, "retry").map(Act::Retry),
        "full" => parse_text(rest, "full").map(|text| {
            let error = ProviderError::new(ErrorKind::ContextTooLong, text);
            Act::Full(error.with_status(413))
        }),
        "fail" => parse_fail(rest),
        "usage" => parse_usage(rest),
        _ => Err(VERBS.to_owned()),
    }
}

/// An address, and perhaps a title behind it.
fn parse_cite(rest: &str) -> Result<Act, String> {
    let (url, title) = rest.split_once(' ').unwrap_or((rest, ""));
    if url.is_empty() {
        return Err("an address after `cite`".to_owned());
    }
    let title = Some(title.trim()).filter(|title| !title.is_empty());
    Ok(Act::Cite {
        url: url.to_owned(),
        title: title.map(str::to_owned),
    })
}

/// A media type, and the file in base64.
fn parse_file(rest: &str) -> Result<Act, String> {
    match rest.split_once(' ') {
        Some((media_type, base64)) if media_type.contains('/') => Ok(Act::File {
            media_type: media_type.to_owned(),
            base64: base64.trim().into(),
        }),
        Some(_) | None => Err("a media type and base64 after `file`".to_owned()),
    }
}

fn words(kind: WrittenBlock, text: String) -> Act {
    Act::write(kind, DeltaSource::Words(text))
}

fn parse_text(rest: &str, verb: &str) -> Result<String, String> {
    if rest.is_empty() {
        return Err(format!("a text after `{verb}`"));
    }
    Ok(unescape(rest))
}

fn parse_call(rest: &str) -> Result<Act, String> {
    let (name, json) = split_word(rest);
    if name.is_empty() || name.starts_with('{') {
        return Err("`call NAME {json}`".to_owned());
    }
    let input: Value = serde_json::from_str(json)
        .map_err(|error| format!("a JSON object after `call {name}` ({error})"))?;
    if !input.is_object() {
        return Err(format!("a JSON object after `call {name}`"));
    }
    Ok(Act::Call {
        name: name.to_owned(),
        input,
    })
}

fn parse_repeat(rest: &str) -> Result<Act, String> {
    let (times, text) = split_word(rest);
    let times = times
        .parse()
        .ok()
        .filter(|times| (1..=REPEAT_MAX).contains(times));
    match times {
        Some(times) if !text.is_empty() => Ok(Act::write(
            WrittenBlock::Text,
            DeltaSource::Repeat {
                times,
                text: unescape(text),
            },
        )),
        _ => Err(format!("`repeat N TEXT` with N from 1 to {REPEAT_MAX}")),
    }
}

fn parse_pause(rest: &str) -> Result<Duration, String> {
    let millis = rest.strip_suffix("ms").map(|number| (number, 1));
    let seconds = rest.strip_suffix('s').map(|number| (number, 1000));
    millis
        .or(seconds)
        .and_then(|(number, unit)| number.parse::<u64>().ok()?.checked_mul(unit))
        .map(Duration::from_millis)
        .filter(|pause| *pause <= PAUSE_MAX)
        .ok_or_else(|| {
            let most = PAUSE_MAX.as_secs();
            format!("`pause 200ms` or `pause 2s`, at most {most}s")
        })
}

fn parse_fail(rest: &str) -> Result<Act, String> {
    let (first, text) = split_word(rest);
    let (status, text) = match first.parse::<u16>() {
        Ok(status @ 100..=599) => (Some(status), text),
        _ => (None, rest),
    };
    if text.is_empty() {
        return Err("`fail TEXT` or `fail STATUS TEXT`".to_owned());
    }
    let message = unescape(text);
    let error = ProviderError::new(kind_of(status), message);
    Ok(Act::Fail(match status {
        Some(status) => error.with_status(status),
        None => error,
    }))
}

/// The kind of error a real service means by this status.
fn kind_of(status: Option<u16>) -> ErrorKind {
    match status {
        Some(401 | 403) => ErrorKind::Auth,
        Some(413) => ErrorKind::ContextTooLong,
        Some(429) => ErrorKind::RateLimited,
        Some(500..=599) => ErrorKind::Overloaded,
        _ => ErrorKind::Other,
    }
}

fn parse_usage(rest: &str) -> Result<Act, String> {
    let (input, rest) = split_word(rest);
    let (output, cost) = split_word(rest);
    let cost = Some(cost).filter(|cost| !cost.is_empty());
    match (
        input.parse(),
        output.parse(),
        cost.map(str::parse).transpose(),
    ) {
        (Ok(input_tokens), Ok(output_tokens), Ok(cost_micro_dollars)) => {
            Ok(Act::Usage(ModelUsage {
                input_tokens,
                output_tokens,
                cost_micro_dollars,
                ..ModelUsage::default()
            }))
        }
        _ => Err("`usage IN OUT [MICRO-DOLLARS]`, whole numbers".to_owned()),
    }
}

/// The act with `{user}` and `{result}` filled in.
fn fill(act: &Act, place: &ScriptPosition<'_>) -> Act {
    let mut act = act.clone();
    match &mut act {
        Act::Write { source, .. } => match source {
            DeltaSource::Words(text) | DeltaSource::Repeat { text, .. } => *text = place.fill(text),
            DeltaSource::Numbered { .. } => {}
        },
        Act::Fail(error) | Act::Full(error) => error.message = place.fill(&error.message),
        Act::Retry(text) | Act::Part(text) => *text = place.fill(text),
        Act::Call { .. }
        | Act::Raw(_)
        | Act::Cite { .. }
        | Act::File { .. }
        | Act::Pause(_)
        | Act::Pace(_)
        | Act::Hold
        | Act::Usage(_) => {}
    }
    act
}

fn split_word(line: &str) -> (&str, &str) {
    match line.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim_start()),
        None => (line, ""),
    }
}

/// `\n` is a line break and `\\` a backslash; any other backslash stands for itself.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('\\', Some('n')) => {
                characters.next();
                plain.push('\n');
            }
            ('\\', Some('\\')) => {
                characters.next();
                plain.push('\\');
            }
            _ => plain.push(character),
        }
    }
    plain
}

fn shorten(line: &str) -> String {
    let mut short: String = line.chars().take(FOUND_CHARS_MAX).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}
