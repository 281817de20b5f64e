//! Follows a URL to its answer: every hop is checked before it is asked.

use std::error::Error;

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, LOCATION};
use reqwest::{Response, Url};

use crate::Host;
use crate::web::Web;
use crate::web::resolver::Blocked;
use crate::web::target::{self, Reach, URL_CHARS_MAX};

pub(crate) const REDIRECTS_MAX: usize = 5;

const ACCEPTED: &str = "text/html,application/xhtml+xml,text/markdown,text/plain;q=0.9,\
                        application/json;q=0.9,*/*;q=0.5";
const PROXY_VARIABLES: &[&str] = &["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// The answer at the end of the redirects, its body still unread. The first host is the caller's
/// choice; any other that it sends us on to must be allowed by the host.
pub(crate) async fn visit(web: &Web, host: &dyn Host, url: Url) -> Result<Response, String> {
    let mut url = url;
    let mut known = vec![target::host(&url)];
    for _ in 0..=REDIRECTS_MAX {
        let reach = target::check(web, &url)?;
        let name = target::host(&url);
        if !known.contains(&name) {
            let allowed = host
                .may_go_on(serde_json::json!({ "url": url.as_str() }))
                .await;
            allowed.map_err(|why| format!("the redirect to {name} is not followed: {why}"))?;
            known.push(name);
        }
        let response = ask(web, reach, &url).await?;
        match next(&response)? {
            Some(onward) => url = onward,
            None => return Ok(response),
        }
    }
    Err(format!(
        "more than {REDIRECTS_MAX} redirects, the last to {url}"
    ))
}

async fn ask(web: &Web, reach: Reach, url: &Url) -> Result<Response, String> {
    let client = match reach {
        Reach::Public => web.public_client()?,
        Reach::Anywhere => web.open_client()?,
    };
    client
        .get(url.clone())
        .header(ACCEPT, ACCEPTED)
        // Nothing is unpacked here, so nothing small can become huge.
        .header(ACCEPT_ENCODING, "identity")
        .send()
        .await
        .map_err(|error| unreached(url, &error))
}

/// Where the answer sends us on to.
fn next(response: &Response) -> Result<Option<Url>, String> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let from = response.url();
    let Some(location) = response.headers().get(LOCATION) else {
        return Ok(None);
    };
    let location = String::from_utf8_lossy(location.as_bytes());
    if location.len() > URL_CHARS_MAX {
        return Err(format!("{from} redirects to a URL that is too long"));
    }
    let onward = from
        .join(&location)
        .map_err(|problem| format!("{from} redirects to what is not a URL ({problem})"))?;
    Ok(Some(onward))
}

fn unreached(url: &Url, error: &reqwest::Error) -> String {
    let reason = reason(error);
    let place = url.host_str().unwrap_or_default();
    let proxied = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match PROXY_VARIABLES.iter().find(|name| proxied(name)) {
        Some(name) if error.is_connect() => format!(
            "no answer from {place}: {reason} (the proxy in {name} is not used, because behind it \
             the address could not be checked)"
        ),
        Some(_) | None => format!("no answer from {place}: {reason}"),
    }
}

/// The innermost cause, without any URL; a block speaks for itself.
pub(crate) fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it took too long".to_owned();
    }
    let mut cause: &(dyn Error + 'static) = match error.source() {
        Some(source) => source,
        None => return "the request failed".to_owned(),
    };
    while !cause.is::<Blocked>() {
        match cause.source() {
            Some(source) => cause = source,
            None => break,
        }
    }
    cause.to_string()
}
