//! Makes Markdown of a page: its main content where that can be told, else all of it.

use dom_query::{Document, NodeRef};
use dom_smoothie::{Config, Readability};
use htmd::HtmlToMarkdown;
use htmd::options::{BulletListMarker, Options};
use reqwest::Url;

use crate::web::{table, weight};

/// A page of more elements is taken whole, as finding its main content would take long.
const READABLE_ELEMENTS_MAX: usize = 20_000;
/// The conversion goes down the tree by recursion; a deeper page gives plain text.
const DEPTH_MAX: usize = 200;
/// How deep quotes and lists may lie in one another: each puts something before all lines in it.
const INDENTS_MAX: usize = 12;
const INDENTING: &[&str] = &["blockquote", "dd", "dl", "ol", "ul"];
const TITLE_CHARS_MAX: usize = 300;
const LINK_CHARS_MAX: usize = 2000;
/// Less than this share of a page's text is not its main content but a mistake.
const MAIN_SHARE_MIN: f64 = 0.15;

/// Nothing for a reader.
const IDLE_TAGS: &str = "script, style, noscript, template, iframe, svg, canvas, object, embed";
/// What surrounds the content.
const FRAME_TAGS: &str = "nav, footer, aside, form, dialog, [role=navigation], [role=banner], \
                          [role=contentinfo], [role=search], [hidden], [aria-hidden=true]";

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub title: String,
    pub markdown: String,
}

/// Takes a while for a large page.
pub(crate) fn convert(html: &str, url: &Url) -> Page {
    if !weight::is_bearable(html) {
        return Page {
            title: String::new(),
            markdown: without_tags(html),
        };
    }
    let document = Document::from(html);
    let title = title(&document);
    if is_too_deep(&document) {
        let markdown = plain(&document);
        return Page { title, markdown };
    }
    make_links_absolute(&document, url);
    table::prepare(&document);
    let markdown = main_content(&document)
        .and_then(|content| markdown(&content))
        .or_else(|| {
            document.select(IDLE_TAGS).remove();
            document.select(FRAME_TAGS).remove();
            document.select("head").remove();
            markdown(&document.html())
        })
        .unwrap_or_default();
    Page { title, markdown }
}

fn title(document: &Document) -> String {
    let text = document.select_single("head > title").text();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(TITLE_CHARS_MAX).collect()
}

/// Counted without recursion, as it guards against it.
fn is_too_deep(document: &Document) -> bool {
    let mut waiting = vec![(document.root(), 0, 0)];
    while let Some((node, depth, indents)) = waiting.pop() {
        if depth > DEPTH_MAX || indents > INDENTS_MAX {
            return true;
        }
        let indents = indents + usize::from(INDENTING.iter().any(|name| node.has_name(name)));
        let children = node.children_it(false);
        waiting.extend(children.map(|child| (child, depth + 1, indents)));
    }
    false
}

fn make_links_absolute(document: &Document, url: &Url) {
    let named = document.base_uri();
    let base = named.and_then(|named| url.join(&named).ok());
    let base = base.as_ref().unwrap_or(url);
    for (selector, attribute) in [("a[href]", "href"), ("img[src]", "src")] {
        for node in document.select(selector).nodes() {
            let given = node.attr(attribute).unwrap_or_default();
            let kept = |link: &Url| {
                matches!(link.scheme(), "http" | "https" | "mailto")
                    && link.as_str().len() <= LINK_CHARS_MAX
            };
            match base.join(given.trim()).ok().filter(kept) {
                Some(link) => node.set_attr(attribute, link.as_str()),
                None => node.remove_attr(attribute),
            }
        }
    }
}

/// The HTML of the main content, where there is one.
fn main_content(document: &Document) -> Option<String> {
    let config = Config {
        max_elements_to_parse: READABLE_ELEMENTS_MAX,
        // The language of a code block is a class.
        keep_classes: true,
        // Nothing is made of it, so a page's JSON need not be read.
        disable_json_ld: true,
        ..Config::default()
    };
    let copy = document.clone();
    let mut reader = Readability::with_document(copy, None, Some(config)).ok()?;
    if !reader.is_probably_readable() {
        return None;
    }
    let article = reader.parse().ok()?;
    document.select(IDLE_TAGS).remove();
    let all = document
        .select("body")
        .text()
        .split_whitespace()
        .map(str::len)
        .sum::<usize>();
    let main = article
        .text_content
        .split_whitespace()
        .map(str::len)
        .sum::<usize>();
    let enough = main as f64 >= all as f64 * MAIN_SHARE_MIN;
    enough.then(|| article.content.to_string())
}

fn markdown(html: &str) -> Option<String> {
    let options = Options {
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    };
    let converter = HtmlToMarkdown::builder()
        .options(options)
        .skip_tags(vec![
            "script", "style", "noscript", "template", "iframe", "svg",
        ])
        .add_handler(vec!["img"], image)
        .build();
    let text = tidy(&converter.convert(html).ok()?);
    (!text.is_empty()).then_some(text)
}

/// Only an image with a text and an address says anything to a reader.
fn image(
    _: &dyn htmd::element_handler::Handlers,
    element: htmd::Element,
) -> Option<htmd::element_handler::HandlerResult> {
    let attribute = |name: &str| {
        let found = element
            .attrs
            .iter()
            .find(|attribute| &*attribute.name.local == name);
        found.map(|found| found.value.trim().to_owned())
    };
    let text = attribute("alt").filter(|text| !text.is_empty())?;
    let text = text.replace(['[', ']', '\n'], " ");
    Some(match attribute("src") {
        Some(source) => format!("![{text}]({source})").into(),
        None => format!("[image: {text}]").into(),
    })
}

/// No white space at the end of lines, and never two empty lines.
fn tidy(text: &str) -> String {
    let mut tidied = String::with_capacity(text.len());
    let mut empty_lines = 0;
    for line in text.lines().map(str::trim_end) {
        empty_lines = if line.is_empty() { empty_lines + 1 } else { 0 };
        if empty_lines < 2 {
            tidied.push_str(line);
            tidied.push('\n');
        }
    }
    tidied.trim().to_owned()
}

/// For a page that is not converted: each of its texts on a line of its own.
fn plain(document: &Document) -> String {
    document.select(IDLE_TAGS).remove();
    let Some(body) = document.body() else {
        return String::new();
    };
    let texts = body.descendants_it().filter(NodeRef::is_text);
    let lines: Vec<String> = texts.map(|node| node.text().trim().to_owned()).collect();
    tidy(&lines.join("\n"))
}

/// For a page that is not parsed: what stands between its tags.
fn without_tags(html: &str) -> String {
    let pieces = html.split('<').map(|piece| match piece.split_once('>') {
        Some((_, text)) => text,
        None => piece,
    });
    let words: Vec<&str> = pieces.flat_map(str::split_whitespace).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests;
