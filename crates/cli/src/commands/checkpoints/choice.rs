//! Which thread is meant, and which of its checkpoints.

use anyhow::{anyhow, bail};
use checkpoints::{Millis, Moment, ThreadHistory};

use super::{VaultCx, words};
use crate::screen::harmless;

/// Threads that an error names.
const NAMED_MAX: usize = 5;
/// Letters of a thread's id that a person is shown, where they are enough.
const SHORT_CHARS_MIN: usize = 8;
/// A longer title is cut where a thread is named.
const TITLE_CHARS_MAX: usize = 60;

/// What a thread can be taken back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Original,
    Checkpoint(u64),
}

/// One side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Kept(Target),
    /// The files as they are.
    Now,
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Target::Original => f.write_str("original"),
            Target::Checkpoint(number) => f.write_str(&words::id(*number)),
        }
    }
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Side::Kept(target) => target.fmt(f),
            Side::Now => f.write_str("now"),
        }
    }
}

/// `cp-0003`; a person may leave zeros and letters away.
pub fn number(text: &str) -> anyhow::Result<u64> {
    let digits = text.strip_prefix("cp-").unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    let number = is_number.then(|| digits.parse().ok()).flatten();
    number.ok_or_else(|| anyhow!("`{text}` is not a checkpoint; write it like cp-0003"))
}

pub fn target(text: &str) -> anyhow::Result<Target> {
    match text {
        "original" => Ok(Target::Original),
        text => match number(text) {
            Ok(number) => Ok(Target::Checkpoint(number)),
            Err(error) => bail!("{error}, or `original`"),
        },
    }
}

pub fn side(text: &str) -> anyhow::Result<Side> {
    match text {
        "now" => Ok(Side::Now),
        text => match target(text) {
            Ok(target) => Ok(Side::Kept(target)),
            Err(error) => bail!("{error}, or `now`"),
        },
    }
}

/// A thread and what it has kept.
#[derive(Clone, Debug)]
pub struct Chosen {
    pub thread: String,
    /// As much of the id as no other thread of the workspace begins with.
    pub short: String,
    pub title: Option<String>,
    pub kept: ThreadHistory,
    /// Whether a person named it.
    named: bool,
}

impl Chosen {
    /// How it is named to people: `0198aaaa (Fix the login)`.
    pub fn name(&self) -> String {
        match &self.title {
            Some(title) => format!("{} ({})", self.short, shortened(title)),
            None => self.short.clone(),
        }
    }

    /// Whether it changed a file, and when it did so last; else when it was last seen at all.
    fn newest(&self) -> (bool, Millis) {
        let list = &self.kept.checkpoints;
        let changed = list.iter().rfind(|each| each.changed);
        let last = changed.or(list.last());
        (changed.is_some(), last.map_or(self.kept.at, |last| last.at))
    }

    /// The checkpoint that it has last.
    pub fn last(&self) -> Target {
        let last = self.kept.checkpoints.last();
        last.map_or(Target::Original, |last| Target::Checkpoint(last.number))
    }

    /// The checkpoint before the last.
    pub fn before_last(&self) -> Target {
        let before = self.kept.checkpoints.iter().nth_back(1);
        before.map_or(Target::Original, |before| Target::Checkpoint(before.number))
    }

    pub fn moment(&self, target: Target) -> anyhow::Result<Moment> {
        let Target::Checkpoint(number) = target else {
            return Ok(self.kept.original);
        };
        let list = &self.kept.checkpoints;
        if let Some(found) = list.iter().find(|each| each.number == number) {
            return Ok(found.moment);
        }
        let has = match (list.first(), list.last()) {
            (Some(first), Some(last)) if first.number < last.number => {
                let (first, last) = (words::id(first.number), words::id(last.number));
                format!("it has {first} to {last}")
            }
            (Some(only), _) => format!("it has {}", words::id(only.number)),
            (None, _) => "it has none".to_owned(),
        };
        let other = match self.named {
            true => "",
            false => "; name another thread with --thread",
        };
        bail!("thread {} has no {target}: {has}{other}", self.name())
    }
}

/// All threads, the one that changed something last first.
pub fn threads(cx: &VaultCx) -> anyhow::Result<Vec<Chosen>> {
    let ids = cx.vault.threads()?;
    let mut all = Vec::new();
    for thread in &ids {
        if let Some(kept) = cx.vault.kept(thread)? {
            all.push(Chosen {
                short: short(thread, &ids),
                title: cx.titles.get(thread).cloned(),
                thread: thread.clone(),
                kept,
                named: false,
            });
        }
    }
    all.sort_by_key(|each| std::cmp::Reverse(each.newest()));
    Ok(all)
}

/// The thread that is meant: the one that was named, or else the one that changed something last.
pub fn thread(cx: &VaultCx) -> anyhow::Result<Chosen> {
    let workspace = words::path(cx.vault.workspace());
    let mut all = threads(cx)?.into_iter();
    let Some(prefix) = cx.thread.as_deref() else {
        return all.next().ok_or_else(|| {
            anyhow!("no checkpoints of {workspace} yet; they are made when a thread works there")
        });
    };
    let (mut meant, others): (Vec<Chosen>, Vec<Chosen>) =
        all.partition(|each| each.thread.starts_with(prefix));
    let exactly = meant.iter().position(|each| each.thread == prefix);
    match (exactly, meant.len()) {
        (Some(at), _) => Ok(meant.swap_remove(at)),
        (None, 1) => Ok(meant.swap_remove(0)),
        (None, 0) => bail!(
            "no thread of {workspace} begins with {prefix:?}; there are {}",
            names(&others)
        ),
        (None, _) => bail!(
            "several threads begin with {prefix:?}: {}; write more of the one that you mean",
            names(&meant)
        ),
    }
    .map(|chosen| Chosen {
        named: true,
        ..chosen
    })
}

/// The beginning of an id that is no other's.
fn short(id: &str, all: &[String]) -> String {
    let same = |other: &String| {
        let letters = id.chars().zip(other.chars());
        letters.take_while(|(one, other)| one == other).count()
    };
    let others = all.iter().filter(|other| other.as_str() != id);
    let shared = others.map(same).max().unwrap_or(0);
    let short: String = id.chars().take((shared + 1).max(SHORT_CHARS_MIN)).collect();
    match short.ends_with('-') {
        true => id.chars().take(short.len() + 1).collect(),
        false => short,
    }
}

fn shortened(title: &str) -> String {
    let title = harmless(title);
    match title.chars().count() > TITLE_CHARS_MAX {
        true => title
            .chars()
            .take(TITLE_CHARS_MAX - 1)
            .chain(['…'])
            .collect(),
        false => title,
    }
}

fn names(threads: &[Chosen]) -> String {
    let mut names: Vec<String> = threads.iter().map(Chosen::name).collect();
    let more = names.len().saturating_sub(NAMED_MAX);
    names.truncate(NAMED_MAX);
    match (names.is_empty(), more) {
        (true, _) => "none".to_owned(),
        (false, 0) => names.join(", "),
        (false, more) => format!("{} and {more} more", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn an_id_is_as_short_as_no_other_begins() {
        let all = ["0198aaaa-1", "0198aaaa-2", "0198aaaab", "0199"].map(str::to_owned);
        let shorts: Vec<String> = all.iter().map(|id| short(id, &all)).collect();
        assert_eq!(shorts, ["0198aaaa-1", "0198aaaa-2", "0198aaaab", "0199"]);
        assert_eq!(short("0198aaaa-7000", &[]), "0198aaaa");
    }

    #[test]
    fn what_a_person_names_is_understood() {
        assert_eq!(
            ["cp-0003", "cp-3", "12"].map(|text| number(text).unwrap()),
            [3, 3, 12]
        );
        for wrong in ["", "cp-", "cp-x", "+3", "cp--3", "99999999999999999999999"] {
            assert!(number(wrong).is_err(), "{wrong}");
        }
        assert_eq!(target("original").unwrap(), Target::Original);
        assert!(target("now").is_err());
        assert_eq!(side("now").unwrap(), Side::Now);
        assert_eq!(side("7").unwrap(), Side::Kept(Target::Checkpoint(7)));
        assert_eq!(
            side("then").unwrap_err().to_string(),
            "`then` is not a checkpoint; write it like cp-0003, or `original`, or `now`"
        );
    }
}
