//! Base URLs as people write them, made into the one form that paths are joined to.

use reqwest::Url;

use crate::format::Wire;

/// The base URL with its version and without a slash at the end. By custom `ANTHROPIC_BASE_URL` and
/// `GEMINI_BASE_URL` come without the version and `OPENAI_BASE_URL` with it; both forms are taken.
pub fn normalised(wire: Wire, url: &str) -> Option<String> {
    let url = url.trim().trim_end_matches('/');
    let parsed = Url::parse(url).ok()?;
    if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
        return None;
    }
    let version = match wire {
        Wire::Messages => "v1",
        Wire::Gemini => "v1beta",
        // Compatible servers put what they like there, so it is taken as it is.
        Wire::Responses | Wire::Chat => return Some(url.to_owned()),
    };
    // Vertex has the version in front of the publisher of a model.
    if ends_with_version(url) || url.ends_with("/publishers/google") {
        return Some(url.to_owned());
    }
    Some(format!("{url}/{version}"))
}

/// Whether the last segment is `v1`, `v1beta`, `v1alpha2` and the like.
fn ends_with_version(url: &str) -> bool {
    let last = url.rsplit('/').next().unwrap_or_default();
    let Some(rest) = last.strip_prefix('v') else {
        return false;
    };
    rest.starts_with(|letter: char| letter.is_ascii_digit())
        && rest.chars().all(|letter| letter.is_ascii_alphanumeric())
}

/// A host as a server on this machine takes it to listen on (`0.0.0.0`, `:11434`, `host`,
/// `http://host:1`), as a base URL to reach it. The port is that of `usual` when it has none.
pub fn from_host(host: &str, usual: &str) -> Option<String> {
    let usual = Url::parse(usual).ok()?;
    let host = host.trim().trim_end_matches('/');
    if host.is_empty() {
        return None;
    }
    let host = match host.strip_prefix(':') {
        Some(port) => format!("127.0.0.1:{port}"),
        None => host.to_owned(),
    };
    let has_scheme = host.contains("://");
    let mut url = Url::parse(&if has_scheme {
        host.clone()
    } else {
        format!("{}://{host}", usual.scheme())
    })
    .ok()?;
    if !has_scheme && url.port().is_none() {
        url.set_port(usual.port()).ok()?;
    }
    // What it listens on everywhere is reached here.
    if matches!(url.host_str(), Some("0.0.0.0" | "[::]")) {
        url.set_host(Some("127.0.0.1")).ok()?;
    }
    if matches!(url.path(), "" | "/") {
        url.set_path(usual.path());
    }
    Some(url.as_str().trim_end_matches('/').to_owned())
}

/// A base URL as it may be shown: without what could be a secret in it.
pub fn shown(url: &str) -> String {
    let Ok(mut url) = Url::parse(url) else {
        return "(not a URL)".to_owned();
    };
    // Neither can fail on a URL that has a host, and another has nothing to hide there.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.as_str().trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_customs_of_writing_a_base_url_are_taken() {
        let table = [
            (Wire::Messages, "https://a.example", "https://a.example/v1"),
            (
                Wire::Messages,
                "https://a.example/v1/",
                "https://a.example/v1",
            ),
            (Wire::Messages, "http://h:1/proxy", "http://h:1/proxy/v1"),
            (
                Wire::Gemini,
                "https://g.example/",
                "https://g.example/v1beta",
            ),
            (
                Wire::Gemini,
                "https://g.example/v1beta",
                "https://g.example/v1beta",
            ),
            (Wire::Gemini, "https://g.example/v1", "https://g.example/v1"),
            (
                Wire::Gemini,
                "https://g.example/very",
                "https://g.example/very/v1beta",
            ),
            (
                Wire::Gemini,
                "https://v.example/v1/publishers/google",
                "https://v.example/v1/publishers/google",
            ),
            (
                Wire::Responses,
                "https://o.example/v1/",
                "https://o.example/v1",
            ),
            (
                Wire::Chat,
                " https://z.example/api/paas/v4 ",
                "https://z.example/api/paas/v4",
            ),
        ];
        for (wire, written, expected) in table {
            assert_eq!(
                normalised(wire, written).as_deref(),
                Some(expected),
                "{written}"
            );
        }
        for broken in ["", "no url", "file:///etc/passwd", "api.example/v1"] {
            assert_eq!(normalised(Wire::Chat, broken), None, "{broken}");
        }
    }

    #[test]
    fn a_host_to_listen_on_becomes_a_url_to_reach() {
        let usual = "http://127.0.0.1:11434/v1";
        let table = [
            ("0.0.0.0", "http://127.0.0.1:11434/v1"),
            ("0.0.0.0:5", "http://127.0.0.1:5/v1"),
            (":5", "http://127.0.0.1:5/v1"),
            ("box", "http://box:11434/v1"),
            ("https://box.example/", "https://box.example/v1"),
            ("http://box:9/other/v1", "http://box:9/other/v1"),
        ];
        for (written, expected) in table {
            assert_eq!(
                from_host(written, usual).as_deref(),
                Some(expected),
                "{written}"
            );
        }
        assert_eq!(from_host("  ", usual), None);
        let far = "https://x.openai.example/openai/v1";
        for written in ["https://mine.example/", "mine.example"] {
            let url = from_host(written, far);
            assert_eq!(url.as_deref(), Some("https://mine.example/openai/v1"));
        }
    }

    #[test]
    fn what_is_shown_of_a_url_has_no_password_in_it() {
        assert_eq!(shown("http://me:pass@h:1/v1?key=k"), "http://h:1/v1");
    }
}
