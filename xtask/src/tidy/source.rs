//! A Rust file as words: enough of a lexer to tell code from comments, strings and tests.

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An identifier, a keyword or a number.
    Word(String),
    Mark(char),
    /// A string's contents, escapes untouched.
    Text(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: Kind,
    pub line: usize,
}

impl Token {
    pub fn is_word(&self, word: &str) -> bool {
        matches!(&self.kind, Kind::Word(own) if own == word)
    }

    pub fn is_mark(&self, mark: char) -> bool {
        self.kind == Kind::Mark(mark)
    }

    pub fn opens(&self) -> bool {
        ['(', '[', '{'].iter().any(|mark| self.is_mark(*mark))
    }

    pub fn closes(&self) -> bool {
        [')', ']', '}'].iter().any(|mark| self.is_mark(*mark))
    }
}

pub struct Source<'a> {
    pub path: &'a str,
    /// Everything that is not a comment.
    pub tokens: Vec<Token>,
    lines: Vec<&'a str>,
}

impl<'a> Source<'a> {
    pub fn read(path: &'a str, text: &'a str) -> Self {
        Self {
            path,
            tokens: Lexer::new(text).run(),
            lines: text.lines().collect(),
        }
    }

    /// A line by its number, from 1.
    pub fn line(&self, number: usize) -> &'a str {
        let index = number.checked_sub(1);
        index.and_then(|index| self.lines.get(index)).unwrap_or(&"")
    }

    /// The tokens outside `#[cfg(test)]` items; none when the whole file is a test.
    pub fn without_tests(&self) -> Vec<Token> {
        if self.path.contains("/tests/") || self.path.ends_with("/tests.rs") {
            return Vec::new();
        }
        let mut kept = Vec::new();
        let mut at = 0;
        while at < self.tokens.len() {
            if starts_test(&self.tokens[at..]) {
                at = item_end(&self.tokens, at);
            } else {
                kept.push(self.tokens[at].clone());
                at += 1;
            }
        }
        kept
    }
}

fn starts_test(tokens: &[Token]) -> bool {
    const ATTRIBUTE: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    tokens.len() > ATTRIBUTE.len()
        && ATTRIBUTE.iter().zip(tokens).all(|(want, token)| {
            token.is_word(want) || want.chars().next().is_some_and(|mark| token.is_mark(mark))
        })
}

/// Where the item that begins at `start` ends: behind its first block, or behind its semicolon.
fn item_end(tokens: &[Token], start: usize) -> usize {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        if token.opens() {
            depth += 1;
        } else if token.closes() {
            depth = depth.saturating_sub(1);
            if depth == 0 && token.is_mark('}') {
                return at + 1;
            }
        } else if depth == 0 && token.is_mark(';') {
            return at + 1;
        }
    }
    tokens.len()
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    line: usize,
    tokens: Vec<Token>,
}

impl Lexer {
    fn new(text: &str) -> Self {
        Self {
            chars: text.chars().collect(),
            at: 0,
            line: 1,
            tokens: Vec::new(),
        }
    }

    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn bump(&mut self) -> char {
        let char = self.peek(0);
        self.at += 1;
        if char == '\n' {
            self.line += 1;
        }
        char
    }

    fn run(mut self) -> Vec<Token> {
        while self.at < self.chars.len() {
            let line = self.line;
            let kind = match (self.peek(0), self.peek(1)) {
                ('/', '/') => self.line_comment(),
                ('/', '*') => self.block_comment(),
                ('"', _) => Some(self.string()),
                ('\'', _) => self.char_or_lifetime(),
                (char, _) if char.is_alphanumeric() || char == '_' => Some(self.word()),
                (char, _) => {
                    self.bump();
                    (!char.is_whitespace()).then_some(Kind::Mark(char))
                }
            };
            self.tokens.extend(kind.map(|kind| Token { kind, line }));
        }
        self.tokens
    }

    fn line_comment(&mut self) -> Option<Kind> {
        while self.at < self.chars.len() && self.peek(0) != '\n' {
            self.bump();
        }
        None
    }

    fn block_comment(&mut self) -> Option<Kind> {
        let mut depth = 0;
        while self.at < self.chars.len() {
            match (self.peek(0), self.peek(1)) {
                ('/', '*') => depth += 1,
                ('*', '/') => depth -= 1,
                _ => {
                    self.bump();
                    continue;
                }
            }
            self.bump();
            self.bump();
            if depth == 0 {
                break;
            }
        }
        None
    }

    fn string(&mut self) -> Kind {
        self.bump();
        let mut text = String::new();
        while self.at < self.chars.len() && self.peek(0) != '"' {
            if self.peek(0) == '\\' {
                text.push(self.bump());
            }
            text.push(self.bump());
        }
        self.bump();
        Kind::Text(text)
    }

    fn raw_string(&mut self) -> Kind {
        let mut hashes = 0;
        while self.peek(0) == '#' {
            hashes += 1;
            self.bump();
        }
        self.bump();
        let mut text = String::new();
        while self.at < self.chars.len() {
            let closed = self.peek(0) == '"' && (1..=hashes).all(|ahead| self.peek(ahead) == '#');
            if closed {
                self.at += 1 + hashes;
                break;
            }
            text.push(self.bump());
        }
        Kind::Text(text)
    }

    /// `'a'` and `'\n'` are characters; `'a` alone is a lifetime and says nothing to our rules.
    fn char_or_lifetime(&mut self) -> Option<Kind> {
        self.bump();
        if self.peek(0) == '\\' {
            self.bump();
            self.bump();
            while self.at < self.chars.len() && self.peek(0) != '\'' {
                self.bump();
            }
            self.bump();
        } else if self.peek(1) == '\'' {
            self.bump();
            self.bump();
        } else {
            self.word();
        }
        None
    }

    fn word(&mut self) -> Kind {
        let mut word = String::new();
        while self.peek(0).is_alphanumeric() || self.peek(0) == '_' {
            word.push(self.bump());
        }
        let prefix = matches!(word.as_str(), "r" | "b" | "br" | "c" | "cr");
        let raw = word.ends_with('r') && (self.peek(0) == '"' || self.hashes_then_quote());
        match (prefix, self.peek(0)) {
            (true, _) if raw => self.raw_string(),
            (true, '"') => self.string(),
            _ => Kind::Word(word),
        }
    }

    fn hashes_then_quote(&self) -> bool {
        let hashes = (0..).take_while(|ahead| self.peek(*ahead) == '#').count();
        hashes > 0 && self.peek(hashes) == '"'
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let source = Source::read("a.rs", text);
        source
            .tokens
            .into_iter()
            .filter_map(|token| match token.kind {
                Kind::Word(word) => Some(word),
                Kind::Mark(_) | Kind::Text(_) => None,
            })
            .collect()
    }

    #[test]
    fn comments_strings_and_lifetimes_are_not_words() {
        let text = "fn a<'x>(b: &'x str) { /* c /* d */ e */ \"f \\\" g\"; r#\"h\"i\"#; 'j'; '\\''; b'k' } // l";
        assert_eq!(words(text), ["fn", "a", "b", "str", "b"]);
    }

    #[test]
    fn tests_are_left_out() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests { fn b() {} }\nfn c() {}\n#[cfg(test)]\nmod d;\nfn e() {}";
        let kept = Source::read("a.rs", text).without_tests();
        let kept: Vec<_> = ["a", "b", "c", "d", "e"]
            .into_iter()
            .filter(|name| kept.iter().any(|token| token.is_word(name)))
            .collect();
        assert_eq!(kept, ["a", "c", "e"]);
    }
}
