//! Git's format of settings: sections, subsections, names and values.

/// One setting. Section and name are in lower case, as git compares them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitSetting {
    pub section: String,
    pub subsection: Option<String>,
    pub name: String,
    /// `None`: a name without `=`, which means true.
    pub value: Option<String>,
}

impl GitSetting {
    pub(super) fn is_boolean(&self) -> bool {
        let Some(value) = &self.value else {
            return true;
        };
        let words = ["true", "yes", "on", "false", "no", "off", ""];
        words.iter().any(|word| value.eq_ignore_ascii_case(word)) || value.parse::<i64>().is_ok()
    }
}

impl std::fmt::Display for GitSetting {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.subsection {
            Some(subsection) => write!(formatter, "{}.{subsection}.{}", self.section, self.name),
            None => write!(formatter, "{}.{}", self.section, self.name),
        }
    }
}

/// All settings of a file, or the number of the line that git would not take either.
pub fn parse(bytes: &[u8]) -> Result<Vec<GitSetting>, usize> {
    let text = String::from_utf8_lossy(bytes);
    let mut reader = ConfigReader {
        rest: text.strip_prefix('\u{feff}').unwrap_or(&text).chars(),
        ahead: None,
        line: 1,
    };
    reader.settings().ok_or(reader.line)
}

struct ConfigReader<'a> {
    rest: std::str::Chars<'a>,
    ahead: Option<char>,
    line: usize,
}

impl ConfigReader<'_> {
    /// The next character; a line ends with `\n` alone here.
    fn next(&mut self) -> Option<char> {
        let mut letter = self.ahead.take().or_else(|| self.rest.next())?;
        if letter == '\r' {
            match self.rest.next() {
                Some('\n') => letter = '\n',
                other => self.ahead = other,
            }
        }
        if letter == '\n' {
            self.line += 1;
        }
        Some(letter)
    }

    fn settings(&mut self) -> Option<Vec<GitSetting>> {
        let mut settings = Vec::new();
        let mut section: Option<(String, Option<String>)> = None;
        while let Some(letter) = self.next() {
            match letter {
                letter if letter.is_ascii_whitespace() => {}
                '#' | ';' => self.comment(),
                '[' => section = Some(self.header()?),
                letter if letter.is_ascii_alphabetic() => {
                    let (section, subsection) = section.clone()?;
                    let (name, value) = self.setting(letter)?;
                    settings.push(GitSetting {
                        section,
                        subsection,
                        name,
                        value,
                    });
                }
                _ => return None,
            }
        }
        Some(settings)
    }

    fn comment(&mut self) {
        while self.next().is_some_and(|letter| letter != '\n') {}
    }

    /// `name]`, `name "sub"]` or the old `name.sub]`.
    fn header(&mut self) -> Option<(String, Option<String>)> {
        let mut name = String::new();
        loop {
            match self.next()? {
                ']' => break,
                letter if letter.is_ascii_whitespace() && letter != '\n' => {
                    return Some((name.to_ascii_lowercase(), Some(self.subsection()?)));
                }
                letter if letter.is_ascii_alphanumeric() || "-.".contains(letter) => {
                    name.push(letter);
                }
                _ => return None,
            }
        }
        let name = name.to_ascii_lowercase();
        Some(match name.split_once('.') {
            Some((section, subsection)) => (section.to_owned(), Some(subsection.to_owned())),
            None => (name, None),
        })
    }

    fn subsection(&mut self) -> Option<String> {
        let mut letter = self.next()?;
        while letter.is_ascii_whitespace() && letter != '\n' {
            letter = self.next()?;
        }
        if letter != '"' {
            return None;
        }
        let mut subsection = String::new();
        loop {
            match self.next()? {
                '\n' => return None,
                '"' => break,
                '\\' => match self.next()? {
                    '\n' => return None,
                    letter => subsection.push(letter),
                },
                letter => subsection.push(letter),
            }
        }
        (self.next()? == ']').then_some(subsection)
    }

    fn setting(&mut self, first: char) -> Option<(String, Option<String>)> {
        let mut name = String::from(first);
        let mut letter = self.next();
        while let Some(part) = letter.filter(|part| part.is_ascii_alphanumeric() || *part == '-') {
            name.push(part);
            letter = self.next();
        }
        while letter.is_some_and(|blank| blank == ' ' || blank == '\t') {
            letter = self.next();
        }
        let name = name.to_ascii_lowercase();
        match letter {
            None | Some('\n') => Some((name, None)),
            Some('=') => Some((name, Some(self.value()?))),
            Some(_) => None,
        }
    }

    fn value(&mut self) -> Option<String> {
        let mut value = String::new();
        // Blanks count only where something comes behind them.
        let mut blanks = String::new();
        let mut quoted = false;
        loop {
            let letter = match self.next() {
                None | Some('\n') if quoted => return None,
                None | Some('\n') => return Some(value),
                Some('#' | ';') if !quoted => {
                    self.comment();
                    return Some(value);
                }
                Some(letter) if letter.is_ascii_whitespace() && !quoted => {
                    if !value.is_empty() {
                        blanks.push(letter);
                    }
                    continue;
                }
                Some('"') => {
                    quoted = !quoted;
                    value.push_str(&std::mem::take(&mut blanks));
                    continue;
                }
                Some('\\') => match self.next()? {
                    '\n' => continue,
                    'n' => '\n',
                    't' => '\t',
                    'b' => '\u{8}',
                    letter @ ('\\' | '"') => letter,
                    _ => return None,
                },
                Some(letter) => letter,
            };
            value.push_str(&std::mem::take(&mut blanks));
            value.push(letter);
        }
    }
}
