//! How well a path fits what somebody typed: the letters in their order, the better the closer
//! together, the nearer to the beginnings of words, and all of them in the name.

const LETTER: i64 = 16;
const NEXT_TO_IT: i64 = 12;
const WORD_BEGINS: i64 = 10;
const ALL_IN_NAME: i64 = 40;
const WHOLE_NAME: i64 = 60;
/// What a gap costs, however long it is: at most.
const GAP_MAX: i64 = 8;

pub struct Wanted {
    letters: Vec<char>,
    /// Whoever types a capital means it.
    exact: bool,
}

impl Wanted {
    pub fn new(query: &str) -> Self {
        let letters: Vec<char> = query.chars().filter(|each| !each.is_whitespace()).collect();
        let exact = letters.iter().any(|each| each.is_uppercase());
        Self { letters, exact }
    }

    /// The score, and where the letters are; nothing where one is missing. No letters fit everything.
    pub fn rank(&self, path: &str) -> Option<(u32, Vec<u32>)> {
        let text: Vec<char> = path.chars().collect();
        let name = text
            .iter()
            .rposition(|each| *each == '/')
            .map_or(0, |at| at + 1);
        // The name first: who types a few letters means a file.
        let matched = self.find(&text, name).or_else(|| self.find(&text, 0))?;
        let mut score = 0;
        for (number, at) in matched.iter().enumerate() {
            score += LETTER;
            if begins_word(&text, *at) {
                score += WORD_BEGINS;
            }
            let gap = number.checked_sub(1).map(|before| at - matched[before] - 1);
            score += match gap {
                None => 0,
                Some(0) => NEXT_TO_IT,
                Some(gap) => -(gap as i64).min(GAP_MAX),
            };
        }
        if matched.first().is_some_and(|first| *first >= name) {
            score += ALL_IN_NAME;
            let stem = text[name..].iter().position(|each| *each == '.');
            let stem = stem.unwrap_or(text.len() - name);
            if matched.len() == stem && matched[0] == name {
                score += WHOLE_NAME;
            }
        }
        let places = matched.into_iter().map(|at| at as u32).collect();
        Some((score.max(0) as u32, places))
    }

    /// Forwards to the first end there is, then back to the nearest beginning.
    fn find(&self, text: &[char], from: usize) -> Option<Vec<usize>> {
        let mut wanted = self.letters.iter().peekable();
        let mut end = from;
        for (at, each) in text.iter().enumerate().skip(from) {
            let Some(letter) = wanted.peek() else { break };
            if self.same(*each, **letter) {
                wanted.next();
                end = at + 1;
            }
        }
        if wanted.peek().is_some() {
            return None;
        }
        let mut matched = Vec::with_capacity(self.letters.len());
        let mut wanted = self.letters.iter().rev().peekable();
        for at in (from..end).rev() {
            let Some(letter) = wanted.peek() else { break };
            if self.same(text[at], **letter) {
                matched.push(at);
                wanted.next();
            }
        }
        matched.reverse();
        Some(matched)
    }

    fn same(&self, found: char, wanted: char) -> bool {
        found == wanted || !self.exact && found.to_lowercase().eq(wanted.to_lowercase())
    }
}

fn begins_word(text: &[char], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| text[before]) else {
        return true;
    };
    !before.is_alphanumeric() || before.is_lowercase() && text[at].is_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(query: &str, path: &str) -> Option<u32> {
        Wanted::new(query).rank(path).map(|(score, _)| score)
    }

    #[test]
    fn closer_letters_names_and_beginnings_are_better() {
        for (query, better, worse) in [
            ("main", "src/main.rs", "src/domain.rs"),
            ("main", "src/main.rs", "main/other.rs"),
            ("fb", "foo_bar.rs", "fab.rs"),
            ("fb", "fooBar.rs", "foobar.rs"),
            ("mod", "a/mod.rs", "a/modern.rs"),
            ("srcmain", "src/main.rs", "src/x/y/domain.rs"),
        ] {
            assert!(
                score(query, better) > score(query, worse),
                "{query}: {better}"
            );
        }
    }

    #[test]
    fn letters_come_in_their_order_and_capitals_are_meant() {
        assert_eq!(score("ba", "ab"), None);
        assert_eq!(score("Main", "main.rs"), None);
        assert!(score("MAIN", "MAIN.md").is_some());
        assert!(score("main", "MAIN.md").is_some());
        assert!(score("", "anything").is_some(), "nothing typed fits all");
        assert!(score("é", "café/É.txt").is_some());
    }

    #[test]
    fn the_places_are_those_of_the_tightest_end() {
        let (_, places) = Wanted::new("ab").rank("a_a_b").expect("fits");
        assert_eq!(places, [2, 4]);
    }
}
