//! A `match` on a core enum names every case, so that the compiler leads to each place
//! that a new one concerns.

use super::Finding;
use super::source::{Kind, Source, Token};

const CORE: [&str; 4] = ["Call", "Fact", "Reply", "Why"];
const EXEMPTION: &str = "// tidy: wildcard, because ";

pub fn check(source: &Source<'_>) -> Vec<Finding> {
    let tokens = source.without_tests();
    let mut findings = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if token.is_word("match")
            && let Some(body) = body(&tokens[at + 1..])
        {
            check_match(source, body, &mut findings);
        }
    }
    findings
}

fn check_match(source: &Source<'_>, body: &[Token], findings: &mut Vec<Finding>) {
    let patterns = patterns(body);
    let Some(name) = patterns.iter().find_map(|pattern| core_enum(pattern)) else {
        return;
    };
    for pattern in patterns {
        let Some(line) = catch_all(pattern) else {
            continue;
        };
        if exempt(source, line) {
            continue;
        }
        findings.push(Finding::error(
            source.path,
            line,
            format!("catch-all arm in a match on `{name}`; name the cases, or write `{EXEMPTION}…` above it"),
        ));
    }
}

fn exempt(source: &Source<'_>, line: usize) -> bool {
    let above = source.line(line - 1).trim();
    above
        .strip_prefix(EXEMPTION.trim_end())
        .is_some_and(|reason| !reason.trim().is_empty())
}

/// The tokens between the braces of a match whose keyword stands just before.
fn body(tokens: &[Token]) -> Option<&[Token]> {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate() {
        if depth == 0 && token.is_mark('{') {
            let end = closing(&tokens[at..])?;
            return Some(&tokens[at + 1..at + end]);
        }
        if token.opens() {
            depth += 1;
        } else if token.closes() {
            depth = depth.checked_sub(1)?;
        }
    }
    None
}

/// The place of the mark that closes the one at 0.
fn closing(tokens: &[Token]) -> Option<usize> {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate() {
        if token.opens() {
            depth += 1;
        } else if token.closes() {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

/// What stands before the arrow of each arm. A guard is left in: an arm with one tells which
/// enum this is, and is no catch-all.
fn patterns(mut body: &[Token]) -> Vec<&[Token]> {
    let mut patterns = Vec::new();
    while let Some(arrow) = top_level(body, |two| two[0].is_mark('=') && two[1].is_mark('>')) {
        patterns.push(&body[..arrow]);
        body = skip_expression(&body[arrow + 2..]);
    }
    patterns
}

/// What follows an arm's expression.
fn skip_expression(body: &[Token]) -> &[Token] {
    let mut at = 0;
    while at < body.len() {
        if body[at].opens() {
            let block = at == 0 && body[at].is_mark('{');
            at += closing(&body[at..]).map_or(body.len() - at, |end| end + 1);
            let goes_on = body
                .get(at)
                .is_some_and(|next| next.is_mark('.') || next.is_mark('?') || next.is_mark(','));
            if block && !goes_on {
                return &body[at..];
            }
        } else if body[at].is_mark(',') {
            return &body[at + 1..];
        } else {
            at += 1;
        }
    }
    &[]
}

/// The first place outside brackets where a token and its successor satisfy the test.
fn top_level(tokens: &[Token], test: impl Fn(&[Token]) -> bool) -> Option<usize> {
    let mut depth = 0usize;
    for (at, two) in tokens.windows(2).enumerate() {
        if depth == 0 && test(two) {
            return Some(at);
        }
        if two[0].opens() {
            depth += 1;
        } else if two[0].closes() {
            depth = depth.saturating_sub(1);
        }
    }
    None
}

fn core_enum(pattern: &[Token]) -> Option<&'static str> {
    CORE.into_iter().find(|name| {
        top_level(pattern, |two| two[0].is_word(name) && two[1].is_mark(':')).is_some()
    })
}

/// The line of an alternative that takes whatever comes: `_` or a lone lower-case binding.
fn catch_all(pattern: &[Token]) -> Option<usize> {
    pattern
        .split(|token| token.is_mark('|'))
        .find_map(|alternative| match alternative {
            [one] => takes_all(one),
            [by, one] if by.is_word("ref") || by.is_word("mut") => takes_all(one),
            [_, at, one] if at.is_mark('@') => takes_all(one),
            _ => None,
        })
}

fn takes_all(token: &Token) -> Option<usize> {
    let Kind::Word(word) = &token.kind else {
        return None;
    };
    let first = word.chars().next()?;
    (first == '_' || first.is_lowercase()).then_some(token.line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let findings = check(&Source::read("crates/engine/src/a.rs", text));
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_wildcard_on_a_core_enum_is_found() {
        let text = "fn f(c: Call) {\n match c {\n Call::GetCatalog => 1,\n _ => 2,\n };\n}";
        assert_eq!(lines(text), [4]);
    }

    #[test]
    fn so_is_a_binding_and_an_alternative() {
        let text = "match why {\n Why::Busy => { a() }\n other => b(other),\n}";
        assert_eq!(lines(text), [3]);
        let text = "match f.fact {\n Fact::ThreadReset | _ => {}\n}";
        assert_eq!(lines(text), [2]);
    }

    #[test]
    fn a_nested_match_is_judged_by_its_own_arms() {
        let text = "match n {\n 1 => match reply {\n Reply::Done => {}\n _ => {}\n },\n _ => {}\n}";
        assert_eq!(lines(text), [4]);
    }

    #[test]
    fn other_enums_inner_wildcards_and_guards_are_free() {
        let text = "match x {\n Some(Call::GetCatalog) => 1,\n _ => 2,\n}";
        assert!(lines(text).is_empty());
        let text =
            "match c {\n Call::ListThreads(_) => 1,\n _ if odd() => 2,\n Call::GetCatalog => 3,\n}";
        assert!(lines(text).is_empty());
    }

    #[test]
    fn a_reason_above_exempts_and_tests_are_free() {
        let text = "match c {\n Call::GetCatalog => 1,\n // tidy: wildcard, because only the catalog counts\n _ => 2,\n}";
        assert!(lines(text).is_empty());
        let text = "match c {\n Call::GetCatalog => 1,\n // tidy: wildcard, because\n _ => 2,\n}";
        assert_eq!(lines(text), [4]);
        let text =
            "#[cfg(test)]\nmod tests { fn f() { match c { Call::GetCatalog => 1, _ => 2 } } }";
        assert!(lines(text).is_empty());
    }
}
