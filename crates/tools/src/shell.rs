//! Takes a command line apart: which simple commands it runs, and with which words.
//!
//! Every line is read twice, by a full grammar of bash and by a plain splitter that shares nothing
//! with it. No reader of shell is without faults, so whoever judges must look at both readings, and
//! the stricter one counts: a fault opens a door only where both have it.

mod grammar;
mod splitter;

/// Longer lines are not taken apart by the grammar, so they ask. Over hostile ones its work grows
/// with the square of their length; up to here they take a fraction of a second.
const GRAMMAR_BYTES_MAX: usize = 4_000;

/// One reading of a command line.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub commands: Vec<SimpleCommand>,
    /// Has a control operator, a redirection or a command substitution outside of quotes.
    pub control: bool,
    /// Has a redirection, a here-document or a process substitution.
    pub redirects: bool,
    /// Could not be followed to its end.
    pub unclear: bool,
}

/// One simple command; the targets of its redirections are among its words.
#[derive(Debug, Default)]
pub(crate) struct SimpleCommand {
    pub words: Vec<Word>,
    /// The scripts of its command and process substitutions.
    pub nested: Vec<Script>,
    /// Reads what a command before it writes.
    pub piped: bool,
}

/// One word, without its quotes.
#[derive(Debug)]
pub(crate) struct Word {
    pub text: String,
    /// The text is what the command will get: no variable, no pattern, no brace to expand; and it
    /// is an ordinary word, not an assignment.
    pub plain: bool,
    /// Starts with a `~` that the shell expands.
    pub tilde: bool,
}

impl Word {
    fn empty() -> Word {
        Word {
            text: String::new(),
            plain: true,
            tilde: false,
        }
    }
}

impl Script {
    fn not_understood() -> Script {
        Script {
            unclear: true,
            ..Script::default()
        }
    }

    /// The line's words, if it is nothing but one simple command that the shell does not change.
    pub fn only_plain_words(&self) -> Option<Vec<&str>> {
        let [command] = self.commands.as_slice() else {
            return None;
        };
        let plain = !self.unclear && !self.control && command.words.iter().all(|word| word.plain);
        plain.then(|| command.texts())
    }

    /// All simple commands, those within substitutions included.
    pub fn all_commands(&self) -> Vec<&SimpleCommand> {
        let mut found = Vec::new();
        for command in &self.commands {
            found.push(command);
            found.extend(command.nested.iter().flat_map(Script::all_commands));
        }
        found
    }

    /// Whether anything in it runs a command or opens a file on the side of its simple commands.
    pub fn has_side_ways(&self) -> bool {
        self.redirects
            || self
                .commands
                .iter()
                .any(|command| !command.nested.is_empty())
    }
}

impl SimpleCommand {
    pub fn texts(&self) -> Vec<&str> {
        self.words.iter().map(|word| word.text.as_str()).collect()
    }
}

/// Both readings of a command line.
pub(crate) fn read(line: &str) -> [Script; 2] {
    // What bash takes as blanks; it would take a further space of Unicode as part of a word.
    let line = line.trim_matches([' ', '\t', '\n']);
    let mut grammar = match line.len() <= GRAMMAR_BYTES_MAX {
        true => grammar::read(line),
        false => Script::not_understood(),
    };
    grammar.unclear |= line.chars().any(is_hidden);
    [grammar, splitter::read(line)]
}

/// The second reading alone: quick, and it rather finds a command too many than one too few.
pub(crate) fn split(line: &str) -> Script {
    splitter::read(line)
}

/// The line's words, if both readings agree that it is one simple command that runs as written.
pub(crate) fn plain_words(line: &str) -> Option<Vec<String>> {
    let [grammar, splitter] = read(line);
    let words = grammar.only_plain_words()?;
    let agreed = splitter.only_plain_words()? == words;
    agreed.then(|| words.into_iter().map(str::to_owned).collect())
}

/// Characters that a person who is asked cannot see, or sees as another: they make a line say one
/// thing and do another, so that a line with one of them is never clear.
pub(crate) fn is_hidden(character: char) -> bool {
    match character {
        '\n' | '\t' | ' ' => false,
        // Soft hyphen, fillers, joiners, marks of direction, variation selectors, tags.
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        other => other.is_control() || other.is_whitespace(),
    }
}

#[cfg(all(test, unix))]
mod tests;
