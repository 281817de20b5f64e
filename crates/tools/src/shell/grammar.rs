//! The first reading of a command line: by the grammar of bash that editors use (tree-sitter).
//!
//! The grammar recovers from errors and finds something in any text; so whatever it had to skip,
//! guess, or name in a way not known here makes the reading unclear.

mod words;

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::{Script, SimpleCommand, Word};

/// Deeper trees are not followed; a list of commands is as deep as it is long.
const DEPTH_MAX: usize = 200;
/// How often the grammar may report that it is still at work, each time after a hundred steps. An
/// ordinary line of full length takes a hundred reports, one that is hard to follow several times that.
const REPORTS_MAX: usize = 150;

/// Takes a command line apart.
pub(super) fn read(line: &str) -> Script {
    let Some(tree) = tree(line) else {
        return Script::not_understood();
    };
    let root = tree.root_node();
    let mut reader = ScriptReader::new(line, 0);
    reader.block(root);
    let mut script = reader.script;
    if root.has_error() {
        script.unclear = true;
        // Its operators are guesses now; the other reading has those of the text.
        script.control = false;
    }
    script
}

fn tree(line: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .ok()?;
    let mut reports = 0;
    let mut progress = |_: &ParseState| {
        reports += 1;
        match reports > REPORTS_MAX {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let bytes = line.as_bytes();
    let mut rest_at = |at: usize, _| bytes.get(at..).unwrap_or_default();
    parser.parse_with_options(&mut rest_at, None, Some(options))
}

struct ScriptReader<'a> {
    line: &'a str,
    depth: usize,
    script: Script,
    /// The commands read now get the output of an earlier one.
    piped: bool,
}

impl<'a> ScriptReader<'a> {
    fn new(line: &'a str, depth: usize) -> ScriptReader<'a> {
        ScriptReader {
            line,
            depth,
            script: Script::default(),
            piped: false,
        }
    }

    fn text(&self, node: Node<'_>) -> &'a str {
        self.line.get(node.byte_range()).unwrap_or_default()
    }

    /// Statements one after another, and what stands between them.
    fn block(&mut self, node: Node<'_>) {
        let children = children(node);
        let statements = children.iter().filter(|child| is_statement(**child));
        self.script.control |= statements.count() > 1;
        for child in children {
            if child.is_named() {
                self.statement(child);
            } else {
                // An operator or a keyword.
                self.script.control = true;
            }
        }
    }

    fn statement(&mut self, node: Node<'_>) {
        if self.depth >= DEPTH_MAX {
            self.script.unclear = true;
            return;
        }
        self.depth += 1;
        match node.kind() {
            "comment" => {}
            "command" => self.command(node),
            "pipeline" => self.pipeline(node),
            "redirected_statement" => self.redirected(node),
            "list" | "subshell" | "compound_statement" | "if_statement" | "elif_clause"
            | "else_clause" | "while_statement" | "do_group" => {
                self.script.control = true;
                self.block(node);
            }
            "for_statement"
            | "c_style_for_statement"
            | "case_statement"
            | "case_item"
            | "function_definition" => self.compound(node),
            "negated_command"
            | "test_command"
            | "declaration_command"
            | "unset_command"
            | "variable_assignment"
            | "variable_assignments" => self.other_command(node),
            _ => {
                self.script.unclear = true;
                self.block(node);
            }
        }
        self.depth -= 1;
    }

    fn pipeline(&mut self, node: Node<'_>) {
        self.script.control = true;
        let before = self.piped;
        for child in children(node) {
            if child.is_named() {
                self.statement(child);
                self.piped = true;
            }
        }
        self.piped = before;
    }

    /// A loop, a choice or a function: words to expand, and statements.
    fn compound(&mut self, node: Node<'_>) {
        self.script.control = true;
        let mut words = SimpleCommand::default();
        for child in children(node).into_iter().filter(Node::is_named) {
            match is_word(child) {
                true => self.word_of(&mut words, child),
                false => self.statement(child),
            }
        }
        self.push(words);
    }

    fn redirected(&mut self, node: Node<'_>) {
        self.script.control = true;
        let mut targets = SimpleCommand::default();
        for child in children(node) {
            match is_redirect(child) {
                true => self.redirect(&mut targets, child),
                false => self.statement(child),
            }
        }
        // They belong to the last command of the statement, or stand alone: `> file`.
        match self.script.commands.last_mut() {
            Some(last) => {
                last.words.extend(targets.words);
                last.nested.extend(targets.nested);
            }
            None => self.push(targets),
        }
    }

    fn redirect(&mut self, command: &mut SimpleCommand, node: Node<'_>) {
        self.script.control = true;
        self.script.redirects = true;
        for child in children(node).into_iter().filter(Node::is_named) {
            match child.kind() {
                "file_descriptor" | "heredoc_start" | "heredoc_end" | "heredoc_content" => {}
                "heredoc_body" => self.expansions_of(command, child),
                kind if is_redirect(child) && kind != node.kind() => self.redirect(command, child),
                _ if is_word(child) => self.word_of(command, child),
                // The rest of the line behind `<<EOF` hangs here.
                _ => {
                    let before = std::mem::replace(&mut self.piped, true);
                    self.statement(child);
                    self.piped = before;
                }
            }
        }
    }

    fn command(&mut self, node: Node<'_>) {
        let mut command = SimpleCommand::default();
        let mut end = node.start_byte();
        for child in children(node) {
            let gap = self.line.get(end..child.start_byte()).unwrap_or("?");
            // A letter that belongs to no word was not understood.
            self.script.unclear |= !gap
                .replace("\\\n", " ")
                .trim_matches([' ', '\t'])
                .is_empty();
            end = child.end_byte();
            match child.kind() {
                "comment" => {}
                "command_name" => match child.child(0) {
                    Some(name) if child.child_count() == 1 => self.word_of(&mut command, name),
                    _ => self.word_of(&mut command, child),
                },
                _ if is_redirect(child) => self.redirect(&mut command, child),
                _ => self.word_of(&mut command, child),
            }
        }
        self.push(command);
    }

    /// What is no simple command: its words are never plain, so it is never taken for one.
    fn other_command(&mut self, node: Node<'_>) {
        let mut command = SimpleCommand::default();
        for child in children(node) {
            match child.kind() {
                "command"
                | "pipeline"
                | "redirected_statement"
                | "subshell"
                | "compound_statement"
                | "test_command" => self.statement(child),
                _ => self.word_of(&mut command, child),
            }
        }
        for word in &mut command.words {
            word.plain = false;
        }
        self.push(command);
    }

    fn push(&mut self, mut command: SimpleCommand) {
        command.piped = self.piped;
        if !command.words.is_empty() || !command.nested.is_empty() {
            self.script.commands.push(command);
        }
    }

    fn word_of(&mut self, command: &mut SimpleCommand, node: Node<'_>) {
        let mut word = Word::empty();
        self.piece(command, &mut word, node);
        command.words.push(word);
    }

    /// A substitution: its commands are judged as a script of their own.
    fn nest(&mut self, command: &mut SimpleCommand, node: Node<'_>) {
        self.script.control = true;
        self.script.redirects |= node.kind() == "process_substitution";
        let mut inner = ScriptReader::new(self.line, self.depth + 1);
        if inner.depth >= DEPTH_MAX {
            self.script.unclear = true;
            return;
        }
        for child in children(node).into_iter().filter(Node::is_named) {
            match is_redirect(child) {
                // `$(< file)`
                true => {
                    let mut targets = SimpleCommand::default();
                    inner.redirect(&mut targets, child);
                    inner.push(targets);
                }
                false => inner.statement(child),
            }
        }
        self.script.unclear |= inner.script.unclear;
        command.nested.push(inner.script);
    }
}

fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).collect()
}

fn is_statement(node: Node<'_>) -> bool {
    node.is_named() && node.kind() != "comment"
}

fn is_redirect(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "file_redirect" | "heredoc_redirect" | "herestring_redirect"
    )
}

fn is_word(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "word"
            | "number"
            | "string"
            | "raw_string"
            | "ansi_c_string"
            | "translated_string"
            | "concatenation"
            | "simple_expansion"
            | "expansion"
            | "command_substitution"
            | "process_substitution"
            | "arithmetic_expansion"
            | "brace_expression"
            | "extglob_pattern"
            | "regex"
            | "variable_name"
            | "special_variable_name"
            | "array"
            | "subscript"
            | "binary_expression"
            | "unary_expression"
            | "postfix_expression"
            | "ternary_expression"
            | "parenthesized_expression"
    )
}
