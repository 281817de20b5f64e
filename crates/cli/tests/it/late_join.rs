//! Joining in the middle of a turn, in every dialect that can join: whoever comes late, at whatever moment,
//! has the same text, the same thoughts and the same output as one who was there from the start.
//!
//! A session of cowork's first protocol is its connection, so that nobody can join one there.

mod folding;

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;
use testkit::chance::Chance;
use testkit::client::Heard;
use testkit::process::Launch;
use testkit::tongue::{Deed, LANGUAGES, Language, Signal};
use testkit::{Client, Process, Scratch};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use self::folding::FoldedTurn;
use crate::together::{Guest, HOST};
use crate::{DRAGOMAN, tell};

const LIMIT: Duration = Duration::from_secs(120);
/// How often each dialect is joined.
const JOINS: usize = 50;
/// Of each thing that grows; each word is its own.
const WORDS: usize = 40;
/// The moments are the same every time.
const SEED: u64 = 20_180;

/// A thought, a command that prints, a thought of two parts, an answer that is held open at its end: so nobody
/// comes when the turn is over.
fn script() -> String {
    let words = |letter: char, from: usize, to: usize| -> String {
        let words = (from..to).map(|number| format!("{letter}{number}"));
        words.collect::<Vec<_>>().join(" ")
    };
    let (half, lines) = (WORDS / 2, WORDS - 1);
    let command =
        format!("touch began.txt; for i in $(seq 0 {lines}); do echo o$i; sleep 0.02; done");
    format!(
        "turn\npace 20ms\nthink {}\ncall bash {{\"command\":\"{command}\"}}\nnext\npace 20ms\nsummary {}\n\
         part {}\nsay {}\nhold\n",
        words('t', 0, WORDS),
        words('s', 0, half),
        words('s', half, WORDS),
        words('w', 0, 2 * WORDS),
    )
}

/// One who joins now and listens until the turn is over; gives every frame it heard. Clients of the app-server
/// read the thread once more as soon as they are in.
async fn overhear(
    language: &Language,
    base: String,
    thread: String,
    joined: mpsc::Sender<()>,
) -> anyhow::Result<Vec<Value>> {
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
        if signals.contains(&Signal::Connected) {
            if ["codex", "zane"].contains(&language.name) {
                let read = tongue.say(&Deed::Read)?.context("a word for reading")?;
                client.send(read).await?;
            }
            joined.send(()).await?;
        }
        if signals.contains(&Signal::Rest) {
            return Ok(frames);
        }
    }
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

/// Whether a frame tells of something that grew.
fn grew(frame: &str) -> bool {
    frame.contains(r#""delta":"#)
}

/// The one who starts the turn and tells the time by it: who is to join when it has grown so often.
async fn lead(
    leader: &mut Guest,
    mut due: Vec<(usize, &'static Language)>,
    base: &str,
) -> anyhow::Result<JoinSet<(&'static Language, anyhow::Result<Vec<Value>>)>> {
    let thread = leader.tongue.thread().context("a thread")?.to_owned();
    let (joined, mut came) = mpsc::channel(due.len());
    let (mut late, all) = (JoinSet::new(), due.len());
    due.sort_by_key(|(moment, _)| std::cmp::Reverse(*moment));
    leader.say(&Deed::Say("Go".to_owned())).await?;
    let (mut growths, mut heard) = (0, 0);
    while let Some((moment, language)) = due.pop() {
        while growths < moment {
            for frame in &leader.frames[heard..] {
                growths += usize::from(grew(frame));
            }
            heard = leader.frames.len();
            if growths < moment && leader.listen().await?.contains(&Signal::Asked) {
                leader.say(&Deed::Approve).await?;
            }
        }
        let (base, thread, joined) = (base.to_owned(), thread.clone(), joined.clone());
        late.spawn(async move {
            let heard = overhear(language, base, thread, joined).await;
            (language, heard)
        });
    }
    for _ in 0..all {
        came.recv().await.context("all join")?;
    }
    let last = format!("w{}", 2 * WORDS - 1);
    while !leader.told(&last) {
        leader.listen().await?;
    }
    leader.say(&Deed::Cancel).await?;
    leader.hear(&Signal::Rest).await?;
    Ok(late)
}

#[test]
fn whoever_joins_in_the_middle_of_a_turn_has_all_of_it() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let script = scratch.write("script.txt", &script())?;
        let server = Process::start(&Launch::new(DRAGOMAN, &scratch).rehearsal(&script)).await?;
        let guests: Vec<&'static Language> = LANGUAGES
            .iter()
            .filter(|language| language.name != HOST)
            .collect();
        let named = |name: &str| guests.iter().find(|language| language.name == name);
        // A workspace exists from the first time a client asks for it; a pioneer client does so once.
        Guest::seat(named("pioneer").context("no pioneer")?, &server, None).await?;
        let codex = named("codex").context("no codex")?;
        let mut leader = Guest::seat(codex, &server, None).await?;
        let mut chance = Chance::new(SEED);
        // Commands may print several lines at once, so that not all of it grows word by word.
        let moments = 4 * WORDS;
        let due = (0..JOINS).flat_map(|_| guests.iter().copied());
        let due: Vec<_> = due
            .map(|language| (chance.below(moments), language))
            .collect();
        let mut late = lead(&mut leader, due, server.url()).await?;
        let frames = leader
            .frames
            .iter()
            .map(|frame| serde_json::from_str(frame));
        let frames = frames.collect::<Result<Vec<Value>, _>>()?;
        let whole = FoldedTurn::of("codex", &frames);
        whole.ensure_whole(WORDS)?;
        while let Some(joined) = late.join_next().await {
            let (language, frames) = joined?;
            let name = language.name;
            let frames = frames.with_context(|| name.to_owned())?;
            let folded = FoldedTurn::of(name, &frames);
            folded
                .ensure_like(name, &whole)
                .with_context(|| format!("{name}, late"))?;
            if name == "cowork" {
                ensure_numbered(&frames)?;
            }
        }
        Ok(())
    });
}
