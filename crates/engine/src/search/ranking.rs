//! Which texts are better: BM25, a title before all, newer threads before older ones of the same worth.
//!
//! As every text has all the words, what counts is how often, in how long a text, and how rare a word is.

use std::collections::HashMap;

use store::words::{PhrasePlaces, SearchTerms, TextWords};
use store::{MatchedText, SearchMatch, SearchWindow};
use vocabulary::{ItemId, SearchKind, TextHit, ThreadId, Timestamp, TurnId};

use super::{snippet, texts};
use crate::codec;

/// Of each thread so many places are shown.
pub const HITS_SHOWN: usize = 3;
/// How soon more of the same word counts less.
const SATURATION: f64 = 1.2;
/// How much the length of a text counts.
const LENGTH_WEIGHT: f64 = 0.75;
/// What is taken for the usual length of a text, in words.
const USUAL_WORDS: f64 = 60.0;
/// Texts there are, as a word's rarity goes: it is counted up to a thousand.
const TEXTS: f64 = 10_000.0;
const TITLE_WEIGHT: f64 = 4.0;
/// Differences below this are none: then the newer one is better.
const SCORE_STEP: f64 = 0.01;

#[derive(Debug)]
pub struct RankedThread {
    pub thread: ThreadId,
    pub hits: Vec<TextHit>,
    pub more_hits: u32,
}

struct ScoredText {
    score: i64,
    kind: SearchKind,
    turn: Option<TurnId>,
    item: Option<ItemId>,
    at: Timestamp,
    text: String,
    places: Vec<PhrasePlaces>,
}

/// The threads of a window, the best first.
pub fn rank(terms: &SearchTerms, window: SearchWindow, hits_max: usize) -> Vec<RankedThread> {
    let rarity: Vec<f64> = window
        .frequencies
        .iter()
        .map(|count| rarity(*count))
        .collect();
    let mut threads: HashMap<ThreadId, (Timestamp, Vec<ScoredText>)> = HashMap::new();
    for found in window.matches {
        let (thread, updated_at) = (found.thread, found.updated_at);
        if let Some(scored) = score(terms, &rarity, found) {
            let (_, texts) = threads.entry(thread).or_insert((updated_at, Vec::new()));
            texts.push(scored);
        }
    }
    let mut ranked: Vec<(i64, Timestamp, ThreadId, Vec<ScoredText>)> = threads
        .into_iter()
        .map(|(thread, (updated_at, mut texts))| {
            texts.sort_by_key(|text| (-text.score, std::cmp::Reverse(text.at)));
            let best = texts.first().map_or(0, |text| text.score);
            (best, updated_at, thread, texts)
        })
        .collect();
    ranked.sort_by_key(|(score, updated_at, thread, _)| {
        (-score, std::cmp::Reverse(*updated_at), *thread)
    });
    let shown = |(_, _, thread, texts): (i64, Timestamp, ThreadId, Vec<ScoredText>)| {
        let more = texts.len().saturating_sub(hits_max);
        RankedThread {
            thread,
            more_hits: u32::try_from(more).unwrap_or(u32::MAX),
            hits: texts.into_iter().take(hits_max).map(hit).collect(),
        }
    };
    ranked.into_iter().map(shown).collect()
}

/// Nothing where the text has not what the index says: then it is the index that is wrong.
fn score(terms: &SearchTerms, rarity: &[f64], found: SearchMatch) -> Option<ScoredText> {
    let (kind, turn, item, at, text) = match found.text {
        MatchedText::Title(title) => (found.kind, None, None, found.updated_at, title),
        MatchedText::Event(stored) => {
            let text = texts::of(codec::decode(&stored).ok()?)?;
            let (turn, item) = (Some(text.turn), Some(text.item));
            (text.kind, turn, item, stored.at, text.text)
        }
    };
    let words = TextWords::of(&text);
    let places = terms.find(&words)?;
    let length = words.len() as f64 / USUAL_WORDS;
    let drag = SATURATION * (1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * length);
    let worth = |(phrase, rarity): (&PhrasePlaces, &f64)| {
        let count = phrase.places.len() as f64;
        rarity * count * (SATURATION + 1.0) / (count + drag)
    };
    let score: f64 = places.iter().zip(rarity).map(worth).sum();
    let weight = match kind {
        SearchKind::Title => TITLE_WEIGHT,
        SearchKind::User | SearchKind::Agent | SearchKind::Command | SearchKind::Path => 1.0,
    };
    Some(ScoredText {
        score: (score * weight / SCORE_STEP).round() as i64,
        kind,
        turn,
        item,
        at,
        text,
        places,
    })
}

fn rarity(count: u32) -> f64 {
    let count = f64::from(count);
    (1.0 + (TEXTS - count + 0.5) / (count + 0.5)).ln()
}

fn hit(text: ScoredText) -> TextHit {
    let places: Vec<_> = text
        .places
        .into_iter()
        .map(|phrase| phrase.places)
        .collect();
    let (snippet, matches) = snippet::cut(&text.text, &places);
    TextHit {
        kind: text.kind,
        turn: text.turn,
        item: text.item,
        at: text.at,
        snippet,
        matches,
    }
}
