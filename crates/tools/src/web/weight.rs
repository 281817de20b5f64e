//! Estimates what it would cost to parse a page, so that one made to be expensive is not parsed.
//!
//! The HTML standard lets few bytes cost much: formatting elements that are left open are made
//! again in every paragraph that follows, every start tag searches all open elements, and every
//! attribute all others of its tag. The estimate errs on the high side: what might still be open counts as open.

/// The most elements that a page may come to.
const ELEMENTS_MAX: usize = 150_000;
/// The most searching through open elements.
const STEPS_MAX: usize = 20_000_000;

/// Looking at so many bytes of a tag is one step.
const SCAN_BYTES_PER_STEP: usize = 32;

/// These end by themselves when the next begins, or hold nothing.
const SHORT_LIVED: &[&str] = &[
    "area", "base", "body", "br", "caption", "col", "colgroup", "dd", "dt", "embed", "head", "hr",
    "html", "img", "input", "li", "link", "meta", "optgroup", "option", "p", "param", "rp", "rt",
    "source", "tbody", "td", "tfoot", "th", "thead", "tr", "track", "wbr",
];
/// These are made again after their parent was closed.
const FORMATTING: &[&str] = &[
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
];
/// An end tag behind one of these does not close what was opened before it.
const WALLS: &[&str] = &[
    "applet", "button", "caption", "marquee", "math", "object", "select", "svg", "table", "td",
    "template", "th",
];
const RAW: &[&str] = &["script", "style"];

/// Whether a page is cheap enough to be parsed.
pub(crate) fn is_bearable(html: &str) -> bool {
    let mut tally = Tally::default();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        let ends = rest.starts_with('/');
        let name = name(&rest[usize::from(ends)..]);
        if name.is_empty() {
            tally.elements += 1;
        } else if ends {
            tally.end(&name);
        } else {
            tally.start(&name);
            tally.steps += attribute_steps(&rest.as_bytes()[name.len()..]);
            if RAW.contains(&name.as_str()) && !tally.foreign {
                rest = after(rest, &format!("</{name}"));
            }
        }
        if tally.elements > ELEMENTS_MAX || tally.steps > STEPS_MAX {
            return false;
        }
    }
    true
}

/// The name of a tag, in lower case; a long one is cut, as no known one is long.
fn name(rest: &str) -> String {
    if !rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return String::new();
    }
    let letters = rest.chars().take_while(|c| c.is_ascii_alphanumeric());
    letters.take(16).collect::<String>().to_ascii_lowercase()
}

/// What the attributes of a tag cost: each is compared with those before it. Nothing is skipped
/// because of what is found here, as it may not be a tag at all but part of a comment.
fn attribute_steps(tag: &[u8]) -> usize {
    let is_space = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'/';
    let mut at = 0;
    let mut count = 0;
    let until = |from: usize, stop: &dyn Fn(&u8) -> bool| {
        let rest = tag.get(from..).unwrap_or_default();
        from + rest.iter().position(stop).unwrap_or(rest.len())
    };
    loop {
        at = until(at, &|byte| !is_space(byte));
        if matches!(tag.get(at), None | Some(b'>')) || count * count > STEPS_MAX {
            return count * count + at / SCAN_BYTES_PER_STEP;
        }
        count += 1;
        // The first letter of a name may be anything.
        at = until(at + 1, &|byte| {
            is_space(byte) || matches!(byte, b'>' | b'=')
        });
        let value = until(at, &|byte| !byte.is_ascii_whitespace());
        if tag.get(value) != Some(&b'=') {
            continue;
        }
        at = until(value + 1, &|byte| !byte.is_ascii_whitespace());
        at = match tag.get(at) {
            Some(quote @ (b'"' | b'\'')) => until(at + 1, &|byte| byte == quote) + 1,
            Some(_) | None => until(at, &|byte| byte.is_ascii_whitespace() || *byte == b'>'),
        };
    }
}

/// What follows the raw text of a script or style.
fn after<'a>(rest: &'a str, end: &str) -> &'a str {
    let found = rest.match_indices("</").find(|(at, _)| {
        let tag = rest.as_bytes().get(*at..at + end.len());
        tag.is_some_and(|tag| tag.eq_ignore_ascii_case(end.as_bytes()))
    });
    found.map_or("", |(at, _)| &rest[at..])
}

#[derive(Default)]
struct Tally {
    /// What may be open, and how much of it is formatting.
    open: Vec<String>,
    formatting: usize,
    /// Nothing before this one in `open` is closed any more.
    wall: usize,
    /// Whether drawings or formulas came, in which a script is an element like others.
    foreign: bool,
    elements: usize,
    steps: usize,
}

impl Tally {
    fn start(&mut self, name: &str) {
        self.elements += 1 + self.formatting;
        self.steps += self.open.len();
        self.foreign |= matches!(name, "svg" | "math");
        if !SHORT_LIVED.contains(&name) {
            self.open.push(name.to_owned());
        }
        if FORMATTING.contains(&name) {
            self.formatting += 1;
        }
        if WALLS.contains(&name) {
            self.wall = self.open.len();
        }
    }

    fn end(&mut self, name: &str) {
        self.elements += self.formatting;
        let behind = &self.open[self.wall..];
        self.steps += behind.len();
        if let Some(at) = behind.iter().rposition(|open| open == name) {
            self.open.remove(self.wall + at);
            if FORMATTING.contains(&name) {
                self.formatting -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_made_to_be_expensive_is_known_before_it_is_parsed() {
        let many_bold: String = (0..2000).map(|n| format!("<b id={n}>")).collect();
        let many_attributes: String = (0..10_000).map(|n| format!(" a{n}=1")).collect();
        let expensive = [
            "<div>".repeat(200_000),
            format!("{many_bold}{}", "<p>x".repeat(100_000)),
            // Closed where closing has no effect.
            format!(
                "{many_bold}<table><td>{}</table>{}",
                "</b>".repeat(2000),
                "<p>x".repeat(100_000)
            ),
            format!("<svg><style>{many_bold}{}", "<p>x".repeat(100_000)),
            "<div><table></div>".repeat(100_000),
            "<DIV></b>".repeat(200_000),
            "<".repeat(200_000),
            format!("<p {}>", many_attributes),
            format!("<p a='>'{}>", many_attributes),
            "<p a=\"".repeat(100_000),
        ];
        for page in expensive {
            assert!(!is_bearable(&page), "{}", &page[..40]);
        }
    }

    #[test]
    fn large_honest_pages_are_parsed() {
        let row = "<tr><td><a href=x><b>one</b></a></td><td>two</td></tr>";
        let honest = [
            format!("<table>{}</table>", row.repeat(10_000)),
            "<div><p>text <em>and</em> more<ul><li>a<li>b</ul></div>".repeat(15_000),
            format!("<script>{}</script><p>x", "'<b><div>'".repeat(200_000)),
            "a < b, 1 <2 </ >".repeat(10_000),
            "<p>".repeat(100_000),
            format!("<img src=\"data:{}\" alt=x>", "A".repeat(2_000_000)),
        ];
        for page in honest {
            assert!(is_bearable(&page), "{}", &page[..40]);
        }
    }
}
