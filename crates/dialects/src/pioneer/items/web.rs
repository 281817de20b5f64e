//! What the tools of the web gave, read back from their words.

use crate::pioneer::wire::item::{SearchResult, WebLink};

/// Links of a page that are told.
const LINKS_MAX: usize = 100;
const REDIRECTED: &str = "[redirected to ";

/// The numbered results of a search: a title, its address, and an extract where there is one.
pub fn results(words: &str) -> Vec<SearchResult<'_>> {
    let entries = words.split("\n\n");
    entries.filter_map(result).collect()
}

fn result(entry: &str) -> Option<SearchResult<'_>> {
    let mut lines = entry.lines();
    let (rank, title) = lines.next()?.split_once(". ")?;
    let url = lines.next()?.trim();
    let host = url.split_once("://")?.1;
    Some(SearchResult {
        rank: rank.trim().parse().ok()?,
        title,
        url,
        snippet: lines.next().map(str::trim).unwrap_or_default(),
        source: host.split('/').next().unwrap_or_default(),
    })
}

/// Where a page was really read.
pub fn redirected(page: &str) -> Option<&str> {
    page.strip_prefix(REDIRECTED)?
        .split_once(']')
        .map(|(url, _)| url)
}

/// The links in what was read of a page.
pub fn links(page: &str) -> Vec<WebLink<'_>> {
    let starts = page.match_indices("](http");
    let link = |(at, _): (usize, &str)| {
        let text = &page[page[..at].rfind('[')? + 1..at];
        let url = page[at + 2..].split([')', ' ', '\n']).next()?;
        Some(WebLink { text, url })
    };
    starts.filter_map(link).take(LINKS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_back() {
        let words = "1. A title. With a dot\n   https://a.example/x\n   Some words.\n\n2. B\n   http://b.example";
        let found = results(words);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].rank, found[0].title), (1, "A title. With a dot"));
        assert_eq!(found[0].source, "a.example");
        assert_eq!(found[0].snippet, "Some words.");
        assert_eq!((found[1].url, found[1].snippet), ("http://b.example", ""));
        assert!(results("Brave found nothing.").is_empty());
    }

    #[test]
    fn a_page_has_its_links_and_its_real_address() {
        let page = "[redirected to https://b.example/]\n\nSee [the docs](https://docs.example/a) or [x](mailto:a).";
        assert_eq!(redirected(page), Some("https://b.example/"));
        let found = links(page);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].text, found[0].url),
            ("the docs", "https://docs.example/a")
        );
    }
}
