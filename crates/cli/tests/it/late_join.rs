//! Joining in the middle of an answer, in every dialect: whoever comes late has the same text as
//! one who was there from the start.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;
use testkit::Client;
use testkit::chance::Chance;
use testkit::client::Heard;
use testkit::tongue::{Deed, LANGUAGES, Language, Signal};
use tokio::task::JoinSet;

use crate::together::{HOST, table};
use crate::{Site, tell};

const LIMIT: Duration = Duration::from_secs(60);
/// Deltas of the answer, 50 ms apart.
const WORDS: usize = 80;
/// All have joined by this word: whoever comes when the answer is over waits for its end for ever.
const JOINED_BY: usize = 55;
/// How often each dialect is joined.
const JOINS: usize = 3;

/// One who joins now, and listens until the turn is over; gives every frame it heard. Clients of
/// the app-server read the thread once more as soon as they are in.
async fn overhear(language: &Language, base: String, thread: String) -> anyhow::Result<Vec<Value>> {
    let mut tongue = (language.learn)();
    let mut client = Client::connect(&tongue.url(&base, Some(&thread))).await?;
    client.set_limit(LIMIT);
    for frame in tongue.greet(Some(&thread)) {
        client.send(frame).await?;
    }
    let mut frames = Vec::new();
    loop {
        let Heard::Frame(frame) = client.recv().await? else {
            anyhow::bail!("{} was closed", language.name);
        };
        let signals = tongue.hear(&frame)?;
        frames.push(serde_json::from_str(&frame)?);
        for frame in tongue.follow_up() {
            client.send(frame).await?;
        }
        if signals.contains(&Signal::Connected) && ["codex", "zane"].contains(&language.name) {
            let read = tongue.say(&Deed::Read)?.context("a word for reading")?;
            client.send(read).await?;
        }
        if signals.contains(&Signal::Rest) {
            return Ok(frames);
        }
    }
}

/// The agent's message as a client draws it that believes nothing but what was streamed, and what
/// it was shown as it joined: the whole message at the end of the turn does not count.
fn folded(language: &str, frames: &[Value]) -> String {
    let mut text = String::new();
    for frame in frames {
        match language {
            "cowork" => cowork(&mut text, frame),
            "diminuendo" => match frame["type"].as_str() {
                Some("stream_snapshot") => text = string(&frame["text"]),
                Some("text_delta") => text.push_str(&string(&frame["text"])),
                _ => {}
            },
            "codex" | "zane" => codex(&mut text, frame),
            "pioneer" => match frame["method"].as_str() {
                Some("item/started") => opened(&mut text, &frame["params"]["item"]),
                Some("item/agent_message/delta") => {
                    text.push_str(&string(&frame["params"]["delta"]));
                }
                _ => {}
            },
            other => panic!("no such dialect here: {other}"),
        }
    }
    text
}

fn cowork(text: &mut String, frame: &Value) {
    match frame["partType"].as_str() {
        Some("text_start") => text.clear(),
        Some("text_delta") => text.push_str(&string(&frame["part"]["text"])),
        _ => {}
    }
}

fn codex(text: &mut String, frame: &Value) {
    let turns = frame["result"]["thread"]["turns"].as_array();
    if let Some(turn) = turns.and_then(|turns| turns.last()) {
        text.clear();
        let items = turn["items"].as_array().into_iter().flatten();
        items.for_each(|item| opened(text, item));
    }
    match frame["method"].as_str() {
        Some("item/started") => opened(text, &frame["params"]["item"]),
        Some("item/agentMessage/delta") => text.push_str(&string(&frame["params"]["delta"])),
        _ => {}
    }
}

fn opened(text: &mut String, item: &Value) {
    if item["type"] == "agentMessage" {
        *text = string(&item["text"]);
    }
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Every word of the answer is its own, so whoever hears one twice was told something twice.
fn ensure_told_once(frames: &[Value]) -> anyhow::Result<()> {
    let deltas = frames.iter().map(|frame| &frame["params"]["delta"]);
    let mut words: Vec<&str> = deltas.filter_map(Value::as_str).collect();
    let told = words.len();
    words.sort_unstable();
    words.dedup();
    ensure!(words.len() == told, "told twice: {} of {told}", words.len());
    Ok(())
}

/// The numbers of a cowork client's chunks: each comes once, and in order.
fn ensure_numbered(frames: &[Value]) -> anyhow::Result<()> {
    let numbers: Vec<u64> = frames
        .iter()
        .filter_map(|frame| frame["index"].as_u64())
        .collect();
    ensure!(
        numbers.windows(2).all(|pair| pair[0] < pair[1]),
        "chunks are out of order: {numbers:?}"
    );
    Ok(())
}

#[test]
fn whoever_joins_in_the_middle_of_an_answer_has_all_of_it() {
    // Other moments every time; the seed is told when it fails.
    let seed = u64::from(std::process::id());
    tell(LIMIT, async move {
        let mut chance = Chance::new(seed);
        let site = Site::open().await?;
        let mut guests = table(&site).await?;
        let thread = guests[0].tongue.thread().context("a thread")?.to_owned();
        guests[0].say(&Deed::Say(format!("slow {WORDS}"))).await?;
        let mut languages: Vec<&'static Language> = (0..JOINS)
            .flat_map(|_| LANGUAGES.iter().filter(|language| language.name != HOST))
            .collect();
        chance.shuffle(&mut languages);
        let mut late = JoinSet::new();
        let mut word = 0;
        for language in languages {
            let (base, thread) = (site.server.url().to_owned(), thread.clone());
            late.spawn(async move { (language, overhear(language, base, thread).await) });
            word += chance.below(2 * JOINED_BY / (JOINS * LANGUAGES.len()));
            // The first that joined after the host tells the time.
            if word < JOINED_BY {
                guests[1].hear(&Signal::Text(format!("w{word} "))).await?;
                word += 1;
            }
        }
        let whole: String = (0..WORDS).map(|word| format!("w{word} ")).collect();
        for guest in guests.iter_mut().filter(|guest| guest.name != HOST) {
            guest.hear(&Signal::Rest).await?;
            let frames = guest.frames.iter().map(|frame| serde_json::from_str(frame));
            let frames = frames.collect::<Result<Vec<Value>, _>>()?;
            let there = folded(guest.name, &frames);
            ensure!(
                there.trim() == whole.trim(),
                "{} from the start: {there}",
                guest.name
            );
        }
        while let Some(joined) = late.join_next().await {
            let (language, frames) = joined?;
            let name = language.name;
            let frames = frames.with_context(|| format!("{name}, seed {seed}"))?;
            let came = folded(name, &frames);
            ensure!(
                came.trim() == whole.trim(),
                "{name} late, seed {seed}: {came}"
            );
            let exact = match name {
                "cowork" => ensure_numbered(&frames),
                _ => ensure_told_once(&frames),
            };
            exact.with_context(|| format!("{name}, seed {seed}"))?;
        }
        Ok(())
    });
}
