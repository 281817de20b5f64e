//! Judges a URL before anything is asked of it: its scheme, host and port.

use reqwest::Url;

use crate::web::Web;
use crate::web::resolver::Blocked;

pub(crate) const URL_CHARS_MAX: usize = 8000;

/// Ports of services that must not be spoken to in HTTP: the list that browsers keep.
const BAD_PORTS: &[u16] = &[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
];

/// How a URL may be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// At public addresses only.
    Public,
    /// Wherever it lies: the user allowed this host.
    Anywhere,
}

/// The host that a URL names, for a policy to judge.
pub fn host_of(url: &str) -> Option<String> {
    let url = Url::parse(url.trim()).ok()?;
    Some(host(&url))
}

/// In lower case, without the dot that may end a name.
pub(crate) fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    host.trim_end_matches('.').to_ascii_lowercase()
}

pub(crate) fn parse(text: &str) -> Result<Url, String> {
    Url::parse(text.trim()).map_err(|problem| {
        format!("{text:?} is not a URL ({problem}); it must begin with https:// or http://")
    })
}

/// Whether and how this URL may be asked.
pub(crate) fn check(web: &Web, url: &Url) -> Result<Reach, String> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!(
            "only http and https can be fetched, not {}:",
            url.scheme()
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("a URL with a user name or password in it is not fetched".to_owned());
    }
    let host = host(url);
    let port = url.port_or_known_default().unwrap_or_default();
    let allowed = |entry: &String| allows(entry, &host, port);
    if web.options().allow_private.iter().any(allowed) {
        return Ok(Reach::Anywhere);
    }
    if BAD_PORTS.contains(&port) {
        return Err(format!("port {port} is not one of a web server"));
    }
    // A number needs no lookup, so the guarded resolver never sees it.
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = literal.parse() {
        let kind = (web.fence)(address);
        if kind.is_some() {
            return Err(Blocked::new(&host, kind).to_string());
        }
    }
    Ok(Reach::Public)
}

/// Whether an entry like `host`, `host:port`, `::1` or `[::1]:8080` names this place.
fn allows(entry: &str, host: &str, port: u16) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let same = |name: &str| {
        let name = name.trim_start_matches('[').trim_end_matches(']');
        name.trim_end_matches('.').eq_ignore_ascii_case(bare)
    };
    if same(entry) {
        return true;
    }
    match entry.rsplit_once(':') {
        Some((name, number)) => {
            let whole = !name.contains(':') || name.ends_with(']');
            whole && same(name) && number.parse() == Ok(port)
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::web::Options;

    fn web() -> Web {
        let options = Options {
            allow_private: ["Intra.test", "localhost:3000", "::1", "[fd00::5]:81"]
                .map(String::from)
                .to_vec(),
            ..Options::default()
        };
        Web::new(options, std::sync::Arc::new(|_| None))
    }

    #[test]
    fn a_url_is_judged_by_scheme_host_and_port() {
        let refused = [
            ("file:///etc/passwd", "only http and https"),
            ("ftp://a.test/", "only http and https"),
            ("data:text/html,hi", "only http and https"),
            ("javascript:alert(1)", "only http and https"),
            ("http://user@a.test/", "user name or password"),
            ("http://user:pw@a.test/", "user name or password"),
            ("http://:pw@a.test/", "user name or password"),
            ("http://a.test:22/", "port 22"),
            ("http://a.test:6000/", "port 6000"),
            ("http://a.test:0/", "port 0"),
            ("http://127.0.0.1/", "(loopback address)"),
            ("http://127.1/", "(loopback address)"),
            ("http://2130706433/", "(loopback address)"),
            ("http://0x7f000001/", "(loopback address)"),
            ("http://0177.0.0.1/", "(loopback address)"),
            ("http://①②⑦.0.0.1/", "(loopback address)"),
            ("http://0/", "(unspecified address)"),
            ("http://169.254.169.254/latest", "(cloud metadata address)"),
            ("http://[::]/", "(unspecified address)"),
            ("http://[::ffff:127.0.0.1]/", "(IPv4-mapped address)"),
            ("http://[fd00::5]/", "(unique local address)"),
            ("http://10.0.0.1:8080/", "(private address)"),
        ];
        for (url, expected) in refused {
            let url = parse(url).expect(url);
            let message = check(&web(), &url).expect_err(url.as_str());
            assert!(message.contains(expected), "{url}: {message}");
        }
        let passed = [
            ("https://a.test/", Reach::Public),
            ("http://a.test:8080/", Reach::Public),
            ("http://93.184.216.34/", Reach::Public),
            ("http://localhost/", Reach::Public),
            ("http://localhost:3001/", Reach::Public),
            ("http://localhost:3000/", Reach::Anywhere),
            ("http://intra.test:22/", Reach::Anywhere),
            ("http://a.intra.test/", Reach::Public),
            ("http://[::1]:9/", Reach::Anywhere),
            ("http://[fd00::5]:81/", Reach::Anywhere),
        ];
        for (url, expected) in passed {
            let parsed = parse(url).expect(url);
            assert_eq!(check(&web(), &parsed), Ok(expected), "{url}");
        }
    }

    #[test]
    fn a_policy_sees_the_host() {
        let of = host_of;
        assert_eq!(
            of(" https://Docs.Example.com./a"),
            Some("docs.example.com".to_owned())
        );
        assert_eq!(of("http://[::1]:3/"), Some("[::1]".to_owned()));
        assert_eq!(of("nonsense"), None);
        assert_eq!(host_of(""), None);
    }
}
