//! Where a request goes: a base URL and a path put together, and what of it may be said aloud.

use reqwest::Url;

/// The path and query of `path` added to those of the base URL.
pub(crate) fn join(base: &str, path: &str) -> Result<Url, String> {
    // The base URL itself is not repeated: it may hold a password.
    let mut url =
        Url::parse(base.trim()).map_err(|error| format!("its base URL is not valid ({error})"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err("its base URL must begin with http:// or https://".to_owned());
    }
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let joined = format!(
        "{}/{}",
        url.path().trim_end_matches('/'),
        path.trim_start_matches('/')
    );
    url.set_path(&joined);
    let queries = [url.query().unwrap_or_default(), query];
    let queries: Vec<&str> = queries
        .into_iter()
        .filter(|each| !each.is_empty())
        .collect();
    let query = queries.join("&");
    url.set_query((!query.is_empty()).then_some(&query));
    url.set_fragment(None);
    Ok(url)
}

/// Host and port: no credentials, no path, no query.
pub(crate) fn place(url: &Url) -> String {
    let host = url.host_str().unwrap_or("an unknown host");
    match url.port_or_known_default() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(base: &str, path: &str) -> String {
        join(base, path).expect("a URL").to_string()
    }

    #[test]
    fn paths_and_queries_are_put_together() {
        assert_eq!(joined("http://a/v1/", "/chat"), "http://a/v1/chat");
        assert_eq!(joined("http://a", "chat"), "http://a/chat");
        assert_eq!(
            joined("https://a:1/v1?api-version=2", "/m/x:go?alt=sse"),
            "https://a:1/v1/m/x:go?api-version=2&alt=sse"
        );
    }

    #[test]
    fn only_http_and_never_the_password() {
        for bad in ["", "a/v1", "file:///etc/x", "ftp://a/"] {
            assert!(join(bad, "/x").is_err(), "{bad}");
        }
        let error = join("http://me:hunter22@:x/", "/x").expect_err("no host");
        assert!(!error.contains("hunter22"));
        let url = join("https://me:hunter22@a.b/v1?key=k", "/x").expect("a URL");
        assert_eq!(place(&url), "a.b:443");
    }
}
