//! How long a provider asks us to wait: `retry-after-ms`, `Retry-After` in seconds or as a date, the
//! limits that are used up in `x-ratelimit-*`, and what the body says of it, in fields or in words.

use std::time::{Duration, SystemTime};

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use serde_json::Value;

/// No one means a wait beyond a year; larger numbers would not fit into a date.
const WAIT_SECONDS_MAX: f64 = 366.0 * 86_400.0;

pub(crate) fn retry_after(headers: &HeaderMap, body: &[u8]) -> Option<Duration> {
    let text = |name: &str| Some(headers.get(name)?.to_str().ok()?.trim());
    if let Some(milliseconds) = text("retry-after-ms").and_then(number) {
        return seconds(milliseconds / 1000.0);
    }
    if let Some(asked) = text(RETRY_AFTER.as_str()) {
        return match number(asked) {
            Some(number) => seconds(number),
            None => until(asked, text(DATE.as_str())),
        };
    }
    in_body(body)
        .or_else(|| in_words(&String::from_utf8_lossy(body)))
        .or_else(|| used_up(headers))
}

/// When a quota is renewed, where the body tells: what ChatGPT does.
pub(crate) fn renewal(body: &[u8]) -> Option<Duration> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let error = &body["error"];
    if let Some(left) = error["resets_in_seconds"].as_f64() {
        return seconds(left);
    }
    moment(error["resets_at"].as_f64()?)
}

/// "Please try again in 9m38.016s": the wait after such words.
pub(crate) fn in_words(text: &str) -> Option<Duration> {
    const LEADS: [&str; 3] = ["try again in ", "retry in ", "retry after "];
    let text = text.to_ascii_lowercase();
    let after = LEADS.iter().find_map(|lead| {
        let at = text.find(lead)?;
        Some(&text[at + lead.len()..])
    })?;
    spelled(after)
}

/// `9m38.016s`, `120ms`, `2 hours 5 minutes`, at the beginning of a text; a bare number is seconds.
fn spelled(text: &str) -> Option<Duration> {
    let mut rest = text.trim_start();
    let mut total: Option<f64> = None;
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (amount, after) = rest.split_at(digits.unwrap_or(rest.len()));
        let Some(amount) = number(amount.trim_end_matches('.')) else {
            break;
        };
        let after = after.trim_start();
        let letters = after.find(|c: char| !c.is_ascii_alphabetic());
        let (unit, after) = after.split_at(letters.unwrap_or(after.len()));
        let unit = match unit {
            "ms" | "milliseconds" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86_400.0,
            _ if total.is_none() => 1.0,
            _ => break,
        };
        total = Some(total.unwrap_or(0.0) + amount * unit);
        rest = after.trim_start();
    }
    seconds(total?)
}

/// The longest wait of the limits that are used up: `x-ratelimit-remaining-tokens: 0` and
/// `x-ratelimit-reset-tokens: 6m0s`.
fn used_up(headers: &HeaderMap) -> Option<Duration> {
    const RESET: &str = "x-ratelimit-reset";
    const REMAINING: &str = "x-ratelimit-remaining";
    let waits = headers.iter().filter_map(|(name, value)| {
        let of = name.as_str().strip_prefix(RESET)?;
        let remaining = headers.get(format!("{REMAINING}{of}"))?;
        if remaining.to_str().ok()?.trim() != "0" {
            return None;
        }
        let value = value.to_str().ok()?.trim();
        match number(value) {
            Some(number) => moment(number),
            None => spelled(value),
        }
    });
    waits.max()
}

/// Seconds from now, or since 1970, or milliseconds since then: told apart by their size.
fn moment(number: f64) -> Option<Duration> {
    const EPOCH_SECONDS: f64 = 1e9;
    const EPOCH_MILLISECONDS: f64 = 1e12;
    let at = match number {
        ..EPOCH_SECONDS => return seconds(number),
        EPOCH_SECONDS..EPOCH_MILLISECONDS => number,
        _ => number / 1000.0,
    };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    seconds((at - now.ok()?.as_secs_f64()).max(0.0))
}

fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|number| number.is_finite())
}

fn seconds(number: f64) -> Option<Duration> {
    (number >= 0.0).then(|| Duration::from_secs_f64(number.min(WAIT_SECONDS_MAX)))
}

/// Counted from the server's own clock where it tells it, because ours may differ.
fn until(date: &str, now: Option<&str>) -> Option<Duration> {
    let at = httpdate::parse_http_date(date).ok()?;
    let now = now
        .and_then(|now| httpdate::parse_http_date(now).ok())
        .unwrap_or_else(SystemTime::now);
    let wait = at.duration_since(now).unwrap_or_default();
    seconds(wait.as_secs_f64())
}

/// `error.details[]` of type `google.rpc.RetryInfo`: `"retryDelay": "34.5s"`.
fn in_body(body: &[u8]) -> Option<Duration> {
    let body: Value = serde_json::from_slice(body).ok()?;
    // Some of its streams wrap the error in a list.
    let error = body.get("error").or_else(|| body.get(0)?.get("error"))?;
    let details = error.get("details")?.as_array()?;
    let delay = details
        .iter()
        .find_map(|each| each.get("retryDelay")?.as_str())?;
    seconds(number(delay.strip_suffix('s')?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(headers: &[(&'static str, &'static str)], body: &str) -> Option<Duration> {
        let map = headers.iter().map(|(name, value)| {
            let name = reqwest::header::HeaderName::from_static(name);
            (name, reqwest::header::HeaderValue::from_static(value))
        });
        retry_after(&map.collect(), body.as_bytes())
    }

    #[test]
    fn every_way_of_saying_it() {
        let seconds = |seconds| Some(Duration::from_secs_f64(seconds));
        assert_eq!(asked(&[("retry-after", "7")], ""), seconds(7.0));
        assert_eq!(asked(&[("retry-after", " 1.5 ")], ""), seconds(1.5));
        let both = [("retry-after", "1"), ("retry-after-ms", "250")];
        assert_eq!(asked(&both, ""), seconds(0.25));
        let dates = [
            ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("date", "Sun, 06 Nov 1994 08:49:07 GMT"),
        ];
        assert_eq!(asked(&dates, ""), seconds(30.0));
        let body = r#"{"error": {"details": [{"a": 1}, {"retryDelay": "34.5s"}]}}"#;
        assert_eq!(asked(&[], body), seconds(34.5));
        assert_eq!(asked(&[], &format!("[{body}]")), seconds(34.5));
    }

    #[test]
    fn so_is_a_wait_in_words() {
        for (words, milliseconds) in [
            ("Please try again in 22.1s. Visit us.", 22_100),
            ("Please try again in 120ms.", 120),
            ("Please try again in 9m38.016s. Need more tokens?", 578_016),
            ("Please retry in 34.5s.", 34_500),
            ("Try again in 5 days 22 hours 11 minutes.", 511_860_000),
            ("retry after 20 seconds", 20_000),
            ("Please retry after 7", 7_000),
        ] {
            let expected = Some(Duration::from_millis(milliseconds));
            let body = serde_json::json!({ "error": { "message": words } }).to_string();
            assert_eq!(asked(&[], &body), expected, "{words}");
        }
        for words in ["try again in a moment", "please try again", "retry in ."] {
            assert_eq!(asked(&[], words), None, "{words}");
        }
    }

    #[test]
    fn of_the_limits_that_are_used_up_the_longest_counts() {
        let headers = [
            ("x-ratelimit-remaining-requests", "0"),
            ("x-ratelimit-reset-requests", "1.5s"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "6m0s"),
            ("x-ratelimit-remaining-requests-day", "17"),
            ("x-ratelimit-reset-requests-day", "33011.382867"),
        ];
        assert_eq!(asked(&headers, ""), Some(Duration::from_secs(360)));
        let seconds = [
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "11.5"),
        ];
        assert_eq!(asked(&seconds, ""), Some(Duration::from_millis(11_500)));
        let past = [
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "1741305600000"),
        ];
        assert_eq!(asked(&past, ""), Some(Duration::ZERO));
        assert_eq!(asked(&headers[4..], ""), None);
    }

    #[test]
    fn a_quota_says_when_it_is_renewed() {
        let body =
            br#"{"error":{"type":"usage_limit_reached","resets_at":1,"resets_in_seconds":13872}}"#;
        assert_eq!(renewal(body), Some(Duration::from_secs(13_872)));
        assert_eq!(
            renewal(br#"{"error":{"resets_at":1777936568}}"#),
            Some(Duration::ZERO)
        );
        assert_eq!(renewal(br#"{"error":{"message":"no"}}"#), None);
        assert_eq!(renewal(b"no"), None);
    }

    #[test]
    fn a_date_in_the_past_is_now_and_one_without_a_clock_is_counted_from_ours() {
        let past = [("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")];
        assert_eq!(asked(&past, ""), Some(Duration::ZERO));
        let at = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(100));
        let wait = until(&at, None).expect("a date");
        assert!(wait > Duration::from_secs(90) && wait <= Duration::from_secs(100));
    }

    #[test]
    fn nonsense_is_no_wait() {
        for value in ["", "soon", "-3", "inf", "NaN"] {
            assert_eq!(asked(&[("retry-after", value)], "{}"), None, "{value}");
        }
        assert_eq!(asked(&[], "not json"), None);
        let long = asked(&[("retry-after", "1e300")], "").expect("a wait");
        assert!(long <= Duration::from_secs_f64(WAIT_SECONDS_MAX));
    }
}
