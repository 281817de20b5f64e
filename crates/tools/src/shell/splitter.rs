//! The second reading of a command line: quotes, escapes, operators, substitutions and comments,
//! letter by letter, without a grammar.
//!
//! It need not understand everything. What it cannot follow it marks as unclear, or it finds words
//! where the shell would find none; both make the judgement stricter, never laxer.

use std::iter::Peekable;
use std::str::Chars;

use super::{Script, SimpleCommand, Word};

/// Deeper substitutions are not followed.
const DEPTH_MAX: usize = 20;

/// Takes a command line apart.
pub(super) fn read(line: &str) -> Script {
    Parser::new(line.chars().peekable(), 0)
        .parse(ScriptEnd::Line)
        .0
}

#[derive(Clone, Copy, PartialEq)]
enum ScriptEnd {
    Line,
    Parenthesis,
}

struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
    depth: usize,
    script: Script,
    command: SimpleCommand,
    word: Option<Word>,
}

impl<'a> Parser<'a> {
    fn new(rest: Peekable<Chars<'a>>, depth: usize) -> Parser<'a> {
        Parser {
            rest,
            depth,
            script: Script::default(),
            command: SimpleCommand::default(),
            word: None,
        }
    }

    /// Reads up to the end; gives back what comes behind it.
    fn parse(mut self, end: ScriptEnd) -> (Script, Peekable<Chars<'a>>) {
        let mut open_parentheses = 0;
        while let Some(character) = self.rest.next() {
            match character {
                '(' => open_parentheses += 1,
                ')' if open_parentheses > 0 => open_parentheses -= 1,
                ')' if end == ScriptEnd::Parenthesis => {
                    self.end_command();
                    return (self.script, self.rest);
                }
                _ => {}
            }
            self.take(character);
        }
        self.script.unclear |= end == ScriptEnd::Parenthesis;
        self.end_command();
        (self.script, self.rest)
    }

    fn take(&mut self, character: char) {
        match character {
            '\n' | ';' | '&' | '(' | ')' => {
                self.script.control = true;
                self.end_command();
            }
            '|' => {
                self.script.control = true;
                self.end_command();
                let or = self.rest.next_if_eq(&'|').is_some();
                // `|&` pipes as well.
                self.rest.next_if_eq(&'&');
                self.command.piped = !or;
            }
            '<' | '>' => {
                self.script.control = true;
                self.script.redirects = true;
                self.end_word();
                if self.rest.next_if_eq(&'(').is_some() {
                    self.nest();
                }
            }
            ' ' | '\t' => self.end_word(),
            '#' if self.word.is_none() => while self.rest.next_if(|c| *c != '\n').is_some() {},
            '\\' => self.escape(),
            '\'' => self.single_quotes(),
            '"' => self.double_quotes(),
            '$' => self.dollar(),
            '`' => self.backticks(),
            '~' if self.word.is_none() => {
                let word = self.word();
                word.text.push('~');
                (word.plain, word.tilde) = (false, true);
            }
            '*' | '?' | '[' | '{' => self.expanding(character),
            _ => self.word().text.push(character),
        }
    }

    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_with(Word::empty)
    }

    /// A character that the shell replaces by something else.
    fn expanding(&mut self, character: char) {
        let word = self.word();
        word.text.push(character);
        word.plain = false;
    }

    fn end_word(&mut self) {
        self.command.words.extend(self.word.take());
    }

    fn end_command(&mut self) {
        self.end_word();
        let command = std::mem::take(&mut self.command);
        if !command.words.is_empty() || !command.nested.is_empty() {
            self.script.commands.push(command);
        } else {
            // A line break behind a pipe does not end the pipe.
            self.command.piped = command.piped;
        }
    }

    fn escape(&mut self) {
        match self.rest.next() {
            Some('\n') => {}
            Some(character) => self.word().text.push(character),
            None => self.script.unclear = true,
        }
    }

    fn single_quotes(&mut self) {
        self.word();
        loop {
            match self.rest.next() {
                Some('\'') => return,
                Some(character) => self.word().text.push(character),
                None => return self.script.unclear = true,
            }
        }
    }

    fn double_quotes(&mut self) {
        self.word();
        loop {
            match self.rest.next() {
                Some('"') => return,
                Some('\\') => match self.rest.next_if(|c| "$`\"\\\n".contains(*c)) {
                    Some('\n') => {}
                    Some(character) => self.word().text.push(character),
                    None => self.word().text.push('\\'),
                },
                Some('$') if self.rest.peek() != Some(&'\'') => self.dollar(),
                Some('`') => self.backticks(),
                Some(character) => self.word().text.push(character),
                None => return self.script.unclear = true,
            }
        }
    }

    /// What follows a `$`; a variable's name is left to the caller as ordinary text.
    fn dollar(&mut self) {
        match self.rest.peek() {
            Some('(') => {
                self.rest.next();
                self.script.control = true;
                self.word().plain = false;
                self.nest();
            }
            Some('\'') => {
                self.rest.next();
                self.word().plain = false;
                self.ansi_quotes();
            }
            _ => self.expanding('$'),
        }
    }

    /// `$'…'`: its escapes are not worked out, but `\'` does not end it.
    fn ansi_quotes(&mut self) {
        loop {
            match self.rest.next() {
                Some('\'') => return,
                Some('\\') => {
                    let escaped = self.rest.next();
                    self.word().text.extend(escaped);
                }
                Some(character) => self.word().text.push(character),
                None => return self.script.unclear = true,
            }
        }
    }

    fn backticks(&mut self) {
        self.script.control = true;
        self.word().plain = false;
        let mut inner = String::new();
        loop {
            match self.rest.next() {
                Some('`') => break,
                Some('\\') => match self.rest.next_if(|c| "`\\$".contains(*c)) {
                    Some(character) => inner.push(character),
                    None => inner.push('\\'),
                },
                Some(character) => inner.push(character),
                None => {
                    self.script.unclear = true;
                    break;
                }
            }
        }
        if self.depth >= DEPTH_MAX {
            self.script.unclear = true;
            return;
        }
        let parser = Parser::new(inner.chars().peekable(), self.depth + 1);
        let (script, _) = parser.parse(ScriptEnd::Line);
        self.script.unclear |= script.unclear;
        self.command.nested.push(script);
    }

    /// Reads a substitution up to its closing parenthesis.
    fn nest(&mut self) {
        if self.depth >= DEPTH_MAX {
            self.script.unclear = true;
            return;
        }
        let inner = Parser::new(self.rest.clone(), self.depth + 1);
        let (script, rest) = inner.parse(ScriptEnd::Parenthesis);
        self.script.unclear |= script.unclear;
        self.command.nested.push(script);
        self.rest = rest;
    }
}
