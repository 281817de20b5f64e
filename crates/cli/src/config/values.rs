//! How values are written, and what is said when one cannot be understood.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use providers::remote::{ATTEMPTS_LIMIT, SILENCE_LIMIT, WAIT_LIMIT};
use tracing_subscriber::filter::{LevelFilter, Targets};
use vocabulary::ModelRef;

const COUNT_MAX: u32 = 1_000;

pub fn switch(text: &str) -> anyhow::Result<bool> {
    match text {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => bail!("`{text}` is neither yes nor no"),
    }
}

/// Whom somebody may turn to, as push services want to know it.
pub fn contact(text: &str) -> anyhow::Result<String> {
    let is_address = |rest: &str| rest.contains(['.', '@']) && !rest.contains(char::is_whitespace);
    let known = ["mailto:", "https://"];
    let mut rest = known.iter().filter_map(|scheme| text.strip_prefix(scheme));
    ensure!(
        rest.any(is_address),
        "`{text}` is no address like mailto:you@example.com or https://example.com/contact"
    );
    Ok(text.to_owned())
}

pub fn port(text: &str) -> anyhow::Result<u16> {
    text.parse().map_err(|_| {
        anyhow::anyhow!("`{text}` is not a port; write a number up to 65535, or 0 for any free one")
    })
}

pub fn number(text: &str) -> anyhow::Result<u64> {
    text.parse()
        .with_context(|| format!("`{text}` is not a number; write it like 200000"))
}

/// A number of files: few enough to be moved at once.
pub fn count(text: &str) -> anyhow::Result<u32> {
    match text.parse() {
        Ok(count) if count <= COUNT_MAX => Ok(count),
        Ok(_) | Err(_) => bail!("`{text}` is not a number from 0 to {COUNT_MAX}"),
    }
}

pub fn attempts(text: &str) -> anyhow::Result<u32> {
    match text.parse() {
        Ok(count) if (1..=ATTEMPTS_LIMIT).contains(&count) => Ok(count),
        Ok(_) | Err(_) => bail!("`{text}` is not a number from 1 to {ATTEMPTS_LIMIT}"),
    }
}

/// Where something is asked by HTTP.
pub fn web_address(text: &str) -> anyhow::Result<String> {
    let text = text.trim();
    let host = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    match host {
        Some(host) if !host.is_empty() && !text.contains(char::is_whitespace) => {
            Ok(text.to_owned())
        }
        Some(_) | None => {
            bail!("`{text}` is not an address; write it like https://host or http://host:4318")
        }
    }
}

/// A word or a few.
pub fn label(text: &str) -> anyhow::Result<String> {
    match text.trim() {
        "" => bail!("it is empty; leave it away instead"),
        text => Ok(text.to_owned()),
    }
}

/// A wait that a service asks for.
pub fn wait(text: &str) -> anyhow::Result<Duration> {
    duration(text, WAIT_LIMIT)
}

pub fn silence(text: &str) -> anyhow::Result<Duration> {
    duration(text, SILENCE_LIMIT)
}

/// `90s`, `5m`, `2h`; a bare number is seconds.
fn duration(text: &str, longest: Duration) -> anyhow::Result<Duration> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let seconds = match &text[digits.len()..] {
        "" | "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3600),
        _ => None,
    };
    let amount = || digits.parse::<u64>().ok()?.checked_mul(seconds?);
    match amount().map(Duration::from_secs) {
        Some(time) if !time.is_zero() && time <= longest => Ok(time),
        Some(_) | None => bail!(
            "`{text}` is not a time up to {} h; write it like 90s, 5m or 1h",
            longest.as_secs() / 3600
        ),
    }
}

/// Dollars, as millionths of one.
pub fn micro_dollars(text: &str) -> anyhow::Result<u64> {
    let amount = || -> Option<u64> {
        let text = text.strip_prefix('$').unwrap_or(text);
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        if part.len() > 6 || !part.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let part: u64 = format!("{part:0<6}").parse().ok()?;
        whole
            .parse::<u64>()
            .ok()?
            .checked_mul(1_000_000)?
            .checked_add(part)
    };
    amount().with_context(|| format!("`{text}` is not an amount of dollars; write it like 2.50"))
}

pub fn model(text: &str) -> anyhow::Result<ModelRef> {
    match text.split_once('/') {
        Some((provider, model)) if !provider.is_empty() && !model.is_empty() => Ok(ModelRef {
            provider: provider.to_owned(),
            model: model.to_owned(),
        }),
        _ => bail!("`{text}` is not a model; write it like openai/gpt-5.2"),
    }
}

/// An address, or the one name that always means the same.
pub fn address(text: &str) -> anyhow::Result<IpAddr> {
    match text {
        "localhost" => Ok(Ipv4Addr::LOCALHOST.into()),
        text => text.parse().map_err(|_| {
            anyhow::anyhow!("`{text}` is not an address; write it like 127.0.0.1, 0.0.0.0 or ::1")
        }),
    }
}

/// What is logged: a level, or levels of parts of the program. A lone word that is no level would
/// silently be taken for the name of a part, and nothing else would be logged.
pub fn log_filter(text: &str) -> anyhow::Result<Targets> {
    let is_level = |part: &str| !part.is_empty() && part.parse::<LevelFilter>().is_ok();
    let fine = text
        .split(',')
        .all(|part| match part.trim().split_once('=') {
            Some((_, level)) => is_level(level),
            None => is_level(part.trim()),
        });
    let filter = if fine { text.parse().ok() } else { None };
    filter.with_context(|| {
        format!(
            "`{text}` is not what can be logged; write off, error, warn, info, debug or trace, or \
             levels of parts like info,engine=debug"
        )
    })
}

/// `a, b or c`.
pub fn listed(words: impl Iterator<Item = &'static str>) -> String {
    let words: Vec<&str> = words.collect();
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, before)) => format!("{} or {last}", before.join(", ")),
        None => String::new(),
    }
}

/// The known word that was probably meant.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|each| (strsim::damerau_levenshtein(word, each), each))
        .min()
        .filter(|(distance, _)| *distance <= word.len().max(3) / 2)
        .map(|(_, each)| each)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_exact() {
        for (text, expected) in [
            ("2", 2_000_000),
            ("0.50", 500_000),
            ("$1.000001", 1_000_001),
        ] {
            assert_eq!(micro_dollars(text).expect(text), expected);
        }
        for text in ["", "-1", "1.0000001", "1,5", "99999999999999999"] {
            assert!(micro_dollars(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_have_units_and_bounds() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("5m", 300), ("1h", 3600)] {
            let expected = Duration::from_secs(seconds);
            assert_eq!(silence(text).expect(text), expected);
        }
        for text in [
            "",
            "0",
            "5 m",
            "-1",
            "2h",
            "5d",
            "99999999999999999999s",
            "m",
        ] {
            assert!(silence(text).is_err(), "{text}");
        }
        assert_eq!(wait("24h").expect("a day"), WAIT_LIMIT);
        assert!(attempts("0").is_err() && attempts("31").is_err());
    }

    #[test]
    fn a_word_that_is_no_level_is_not_taken_for_a_part() {
        for text in ["info", "warn,engine=debug", "off"] {
            assert!(log_filter(text).is_ok(), "{text}");
        }
        for text in ["loud", "engine=loudly", "info,engine", ""] {
            assert!(log_filter(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_nearest_word_is_near() {
        let known = || ["port", "host", "model"].into_iter();
        assert_eq!(nearest("prot", known()), Some("port"));
        assert_eq!(nearest("frobnicate", known()), None);
    }
}
