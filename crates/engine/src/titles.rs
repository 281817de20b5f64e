//! Titles made from what the user first said.

/// As long as a title may be before it is cut.
const CHARS_MAX: usize = 50;

/// The first line, without what ends a sentence, cut at a word where it is long.
pub fn heuristic(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let line = tools::shown::title(line);
    let line = line.trim_end_matches(['.', '!', '?', ' ']);
    if line.is_empty() {
        return None;
    }
    if line.chars().count() <= CHARS_MAX {
        return Some(line.to_owned());
    }
    let cut: String = line.chars().take(CHARS_MAX - 1).collect();
    let end = cut
        .rfind(' ')
        .filter(|end| *end > CHARS_MAX / 2)
        .unwrap_or(cut.len());
    Some(format!("{}…", cut[..end].trim_end()))
}

/// What a model gave as a title, as one short line; nothing where there is none.
pub fn tidied(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    heuristic(line.trim_matches(['"', '\'', '`', '*', '#', ' ', '“', '”', '«', '»']))
}

#[cfg(test)]
mod tests {
    use super::{heuristic, tidied};

    #[test]
    fn a_title_is_the_first_line_without_its_full_stop() {
        assert_eq!(heuristic("Hello there.").as_deref(), Some("Hello there"));
        assert_eq!(
            heuristic("\n  fix it!! \nplease").as_deref(),
            Some("fix it")
        );
        assert_eq!(heuristic("  ?! "), None);
        assert_eq!(heuristic(""), None);
    }

    #[test]
    fn a_title_hides_nothing() {
        assert_eq!(
            heuristic("fix \u{1b}[31mit\u{202e}\u{200b}").as_deref(),
            Some("fix \\u{1b}[31mit\\u{202e}\\u{200b}")
        );
    }

    #[test]
    fn a_models_title_loses_its_quotation_marks() {
        assert_eq!(
            tidied("\n\"Fix the login.\"\n").as_deref(),
            Some("Fix the login")
        );
        assert_eq!(
            tidied("**Parser rewrite**").as_deref(),
            Some("Parser rewrite")
        );
        assert_eq!(tidied(" \n "), None);
    }

    #[test]
    fn a_long_line_is_cut_at_a_word() {
        let title = heuristic(&"word ".repeat(40)).expect("a title");
        assert!(
            title.chars().count() <= 50 && title.ends_with("word…"),
            "{title}"
        );
        let title = heuristic(&"ü".repeat(80)).expect("a title");
        assert_eq!(title.chars().count(), 50);
    }
}
