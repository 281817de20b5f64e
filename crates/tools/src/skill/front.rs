//! The front matter of a skill: the lines between two `---` at its beginning.
//!
//! It is YAML, of which skills use little: `key: value`, quoted or not, texts over several lines, lists
//! of words, and keys below a key. That much is read here, line by line: what a whole reader of YAML
//! would refuse (`description: Use it when: always`) is common in skills, and there is nothing in it
//! that refers to itself or grows.

pub(super) const NAME_CHARS_MAX: usize = 64;
const DESCRIPTION_CHARS_MAX: usize = 1024;

/// Whether it is words of small letters and digits, joined by `-`.
pub(crate) fn is_name(name: &str) -> bool {
    let word = |word: &str| {
        let mut letters = word.bytes();
        !word.is_empty() && letters.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    name.len() <= NAME_CHARS_MAX && name.split('-').all(word)
}

/// The instructions behind the front matter, which must fit the directory's name.
pub(crate) fn body<'a>(skill: &'a str, directory: &str) -> Result<&'a str, String> {
    Ok(parts(skill, directory)?.1)
}

/// The description and the instructions.
pub(super) fn parts<'a>(skill: &'a str, directory: &str) -> Result<(String, &'a str), String> {
    FrontMatter::of(skill)?.described(directory, "its directory")
}

/// A text with a front matter, taken apart.
pub(crate) struct FrontMatter<'a> {
    lines: &'a str,
    body: &'a str,
}

impl<'a> FrontMatter<'a> {
    pub fn of(text: &'a str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (lines, body) = split(text).ok_or("it does not begin with lines between two ---")?;
        Ok(Self { lines, body })
    }

    /// The text of a key that is not nested.
    pub fn field(&self, key: &str) -> Option<String> {
        field(self.lines, key)
    }

    /// The words of a key that has several: a list, or a text with commas.
    pub fn list(&self, key: &str) -> Vec<String> {
        list(self.lines, key)
    }

    /// The same of a key below another.
    pub fn nested_list(&self, parent: &str, key: &str) -> Vec<String> {
        nested(self.lines, parent).map_or_else(Vec::new, |lines| list(&lines, key))
    }

    /// What follows it.
    pub fn body(&self) -> &'a str {
        self.body
    }

    /// The description and what follows the front matter; the name must be that of `place`.
    pub fn described(&self, expected: &str, place: &str) -> Result<(String, &'a str), String> {
        let name = self.field("name").ok_or("it has no name")?;
        if name != expected {
            return Err(format!("its name is {name:?}, but {place} is {expected:?}"));
        }
        let description = self.field("description").unwrap_or_default();
        match description.chars().count() {
            0 => Err("it has no description".to_owned()),
            1..=DESCRIPTION_CHARS_MAX => Ok((description, self.body)),
            count => Err(format!(
                "its description has {count} characters, more than {DESCRIPTION_CHARS_MAX}"
            )),
        }
    }
}

fn split(skill: &str) -> Option<(&str, &str)> {
    let (first, rest) = skill.split_once('\n')?;
    if first.trim_end() != "---" {
        return None;
    }
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((&rest[..at], &rest[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

/// What stands behind a key that is not nested, in its line; and the lines below it.
fn found<'a>(front: &'a str, key: &str) -> Option<(&'a str, std::str::Lines<'a>)> {
    let mut lines = front.lines();
    let value = lines.find_map(|line| {
        let rest = line.strip_prefix(key)?.trim_start().strip_prefix(':')?;
        (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim())
    })?;
    Some((value, lines))
}

/// The lines below a key, as if they stood alone.
pub(super) fn nested(front: &str, key: &str) -> Option<String> {
    let (_, lines) = found(front, key)?;
    let is_deeper = |line: &&str| line.trim().is_empty() || line.starts_with([' ', '\t']);
    let deeper: Vec<&str> = lines.take_while(is_deeper).collect();
    let first = deeper.iter().find(|line| !line.trim().is_empty())?;
    let indent = first.len() - first.trim_start().len();
    let lines = deeper.iter().map(|line| line.get(indent..).unwrap_or(""));
    Some(lines.collect::<Vec<_>>().join("\n"))
}

/// The words of a key that has several.
pub(super) fn list(front: &str, key: &str) -> Vec<String> {
    let Some((value, lines)) = found(front, key) else {
        return Vec::new();
    };
    let value = value.split(" #").next().unwrap_or(value).trim();
    let words: Vec<String> = match value.is_empty() || value.starts_with('#') {
        true => {
            let items = lines.map(str::trim);
            let items = items.filter(|line| !line.is_empty() && !line.starts_with('#'));
            items
                .map_while(|line| line.strip_prefix('-'))
                .map(|item| unquoted(item.trim()))
                .collect()
        }
        false => {
            let inner = value.strip_prefix('[').and_then(|v| v.strip_suffix(']'));
            // One text with commas may be quoted as a whole.
            let inner = inner.map_or_else(|| unquoted(value), str::to_owned);
            inner.split(',').map(|word| unquoted(word.trim())).collect()
        }
    };
    words.into_iter().filter(|word| !word.is_empty()).collect()
}

/// The text of a key that is not nested.
pub(super) fn field(front: &str, key: &str) -> Option<String> {
    let (value, lines) = found(front, key)?;
    let deeper = lines.take_while(|line| line.is_empty() || line.starts_with([' ', '\t']));
    let deeper: Vec<&str> = deeper.map(str::trim).collect();
    let text = match value.chars().next() {
        Some('|') => deeper.join("\n"),
        Some('>') => deeper.join(" "),
        // A plain or quoted text may go on in the next lines.
        _ => [&[value], deeper.as_slice()].concat().join(" "),
    };
    Some(unquoted(text.trim()))
}

fn unquoted(text: &str) -> String {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    if let Some(inner) = inner('"') {
        // It is written as in JSON, mostly.
        if let Ok(text) = serde_json::from_str::<String>(text) {
            return text;
        }
        return inner.replace("\\\"", "\"").replace("\\\\", "\\");
    }
    if let Some(inner) = inner('\'') {
        return inner.replace("''", "'");
    }
    // A comment begins with a blank and a #.
    text.split(" #").next().unwrap_or(text).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_in_the_forms_that_skills_use() {
        let table = [
            ("name: a", Some("a")),
            ("name: \"a \\\"b\\\"\"", Some("a \"b\"")),
            ("name: 'it''s'", Some("it's")),
            ("name: a # why", Some("a")),
            ("name: >-\n  one\n  two\nother: x", Some("one two")),
            ("name: |\n  one\n  two", Some("one\ntwo")),
            ("name: one\n  two", Some("one two")),
            ("metadata:\n  name: nested", None),
            ("names: x", None),
        ];
        for (front, expected) in table {
            assert_eq!(field(front, "name").as_deref(), expected, "{front}");
        }
    }

    #[test]
    fn lists_are_read_in_the_forms_that_skills_use() {
        let table: [(&str, &[&str]); 9] = [
            ("k: a, b", &["a", "b"]),
            ("k: \"/a, b\"", &["/a", "b"]),
            ("k: [a, 'b c', \"d\"]", &["a", "b c", "d"]),
            ("k:\n  - a\n  # why\n\n  - \"b\"\nother: x", &["a", "b"]),
            ("k:\n- a\n- b\nother: x", &["a", "b"]),
            ("k: # why\n  - a", &["a"]),
            ("k: []", &[]),
            ("k:\nother:\n  - a", &[]),
            ("other: a", &[]),
        ];
        for (front, expected) in table {
            assert_eq!(list(front, "k"), expected, "{front}");
        }
        let front = "a: 1\nmetadata:\n    k: x, y\n    deeper:\n      k: no\nb: 2";
        assert_eq!(
            list(&nested(front, "metadata").unwrap_or_default(), "k"),
            ["x", "y"]
        );
        assert_eq!(nested(front, "a"), None);
        assert_eq!(nested("a:\n\u{a0}é: 1", "a"), None);
    }

    #[test]
    fn the_front_matter_must_fit() {
        let skill = |front: &str| format!("---\r\n{front}\r\n---\r\nBody\r\n");
        let long = format!("name: a\ndescription: {}", "x".repeat(1025));
        let table = [
            (skill("name: a\r\ndescription: b"), Ok("Body\r\n")),
            (
                skill("name: b\ndescription: b"),
                Err("its name is \"b\", but its directory is \"a\""),
            ),
            (skill("description: b"), Err("it has no name")),
            (skill("name: a"), Err("it has no description")),
            (
                skill(&long),
                Err("its description has 1025 characters, more than 1024"),
            ),
            (
                "Body".to_owned(),
                Err("it does not begin with lines between two ---"),
            ),
            (
                "---\nname: a\n".to_owned(),
                Err("it does not begin with lines between two ---"),
            ),
        ];
        for (text, expected) in table {
            assert_eq!(body(&text, "a"), expected.map_err(str::to_owned), "{text}");
        }
    }
}
