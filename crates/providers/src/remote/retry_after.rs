//! How long a provider asks us to wait: `retry-after-ms`, `Retry-After` in seconds or as a date,
//! and what Google says in the body instead.

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
