//! Judges a command line: may it run without asking, and if not, why.
//!
//! The rules and their order are those of the cowork protocol, section 8; the line is taken apart as
//! a shell would, not matched by patterns. It is a judgement of what is likely meant, not a fence:
//! everything it does not know asks.

use crate::path::Inside;
use crate::shell::{self, Command, Script, Word};
use crate::{Judgement, Risk, Scope};

const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "fish"];
/// What runs a text or a file as a script, besides a shell.
const EVALUATORS: &[&str] = &["eval", "source", "."];
const ALWAYS_DANGEROUS: &[&str] = &["chmod", "chown", "sudo"];
const FETCHERS: &[&str] = &["curl", "wget"];
/// Dangerous to a database, in whatever program's argument they stand.
const SQL: &[&str] = &["drop table", "delete from"];
const FILE_READERS: &[&str] = &["cat", "head", "tail", "man"];
/// Ways to only list branches.
const BRANCH_LISTING: &[&str] = &[
    "-a",
    "-r",
    "-v",
    "-vv",
    "-av",
    "-avv",
    "-rv",
    "-l",
    "--all",
    "--remotes",
    "--verbose",
    "--list",
    "--show-current",
    "--no-color",
    "--merged",
    "--no-merged",
];
/// Beginnings of options by which git's reading commands write a file or run a program.
const GIT_EFFECTS: &[&str] = &["--ou", "--ext"];
/// Shells within shells beyond this are dangerous without a further look.
const SHELLS_DEEP_MAX: usize = 4;

/// Whether the command may run in this scope without asking.
pub fn judge_command(scope: &Scope, command: &str) -> Judgement {
    let ask = |risk| Judgement::Ask {
        command: command.to_owned(),
        dangerous: risk == Risk::DangerousPattern,
        risk,
    };
    let script = shell::parse(command.trim());
    if mentions_sql(command) || is_dangerous(&script, 0) {
        return ask(Risk::DangerousPattern);
    }
    if script.control {
        return ask(Risk::ShellControlOperator);
    }
    let words = script
        .commands
        .first()
        .map_or(&[][..], |first| &first.words);
    if leaves_scope(scope, words) {
        return ask(Risk::OutsideScope);
    }
    if words
        .first()
        .is_some_and(|word| FILE_READERS.contains(&word.text.as_str()))
    {
        return ask(Risk::FileRead);
    }
    if is_safe(&script, words) {
        return Judgement::Allow;
    }
    ask(Risk::ManualReview)
}

fn mentions_sql(command: &str) -> bool {
    let words: Vec<String> = command.split_whitespace().map(str::to_lowercase).collect();
    let text = words.join(" ");
    SQL.iter().any(|sql| text.contains(sql))
}

/// Looks at every word, not only at the first: `env`, `xargs`, `find -exec` and others run what
/// stands in their arguments.
fn is_dangerous(script: &Script, shells_deep: usize) -> bool {
    if shells_deep > SHELLS_DEEP_MAX {
        return true;
    }
    let mut fetched = false;
    for command in &script.commands {
        fetched &= command.piped;
        if fetched && after(command, SHELLS).is_some() {
            return true;
        }
        fetched |= fetches(command);
        if runs_something_dangerous(command, shells_deep) {
            return true;
        }
    }
    false
}

fn runs_something_dangerous(command: &Command, shells_deep: usize) -> bool {
    after(command, ALWAYS_DANGEROUS).is_some()
        || after(command, &["rm"]).is_some_and(removes_by_force)
        || after(command, &["git"]).is_some_and(forces_git)
        || runs_dangerous_script(command, shells_deep)
        || command
            .nested
            .iter()
            .any(|script| is_dangerous(script, shells_deep))
}

/// The words behind the first one that names one of these programs.
fn after<'a>(command: &'a Command, programs: &[&str]) -> Option<&'a [Word]> {
    let at = command.words.iter().position(|word| {
        let name = word.text.rsplit('/').next().unwrap_or_default();
        programs.contains(&name)
    })?;
    Some(&command.words[at + 1..])
}

fn fetches(command: &Command) -> bool {
    let nested = command.nested.iter().flat_map(|script| &script.commands);
    after(command, FETCHERS).is_some() || nested.into_iter().any(fetches)
}

/// `bash -c "rm -rf x"`, `eval …`, and a shell that is given what was fetched.
fn runs_dangerous_script(command: &Command, shells_deep: usize) -> bool {
    let Some(words) = after(command, SHELLS).or_else(|| after(command, EVALUATORS)) else {
        return false;
    };
    let nested = command.nested.iter().flat_map(|script| &script.commands);
    nested.into_iter().any(fetches)
        || words
            .iter()
            .any(|word| is_dangerous(&shell::parse(&word.text), shells_deep + 1))
}

fn removes_by_force(words: &[Word]) -> bool {
    let has = |letters: &[char], name: &str| {
        words.iter().any(|word| {
            let text = word.text.as_str();
            // Long options may be shortened.
            match text.strip_prefix("--") {
                Some(long) => !long.is_empty() && name.starts_with(long),
                None => text.starts_with('-') && text.contains(letters),
            }
        })
    };
    has(&['r', 'R'], "recursive") && has(&['f'], "force")
}

fn forces_git(words: &[Word]) -> bool {
    let has = |test: &dyn Fn(&str) -> bool| words.iter().any(|word| test(&word.text));
    // At least four letters, or it would be ambiguous to git too.
    let shortened = |word: &str, option: &str| word.len() >= 4 && option.starts_with(word);
    let force = |word: &str| {
        let short = word.starts_with('-') && !word.starts_with("--") && word.contains('f');
        short || word.starts_with('+') || word.starts_with("--force") || shortened(word, "--force")
    };
    let hard = |word: &str| shortened(word, "--hard");
    has(&|word| word == "push") && has(&force) || has(&|word| word == "reset") && has(&hard)
}

fn leaves_scope(scope: &Scope, words: &[Word]) -> bool {
    let inside = Inside::of(scope);
    words.iter().enumerate().any(|(index, word)| {
        // The program itself is looked up elsewhere, unless it is named by a path.
        let is_program = index == 0 && !word.text.contains('/');
        word.tilde
            || !is_program
                && paths_in(&word.text).any(|path| path.starts_with('~') || !inside.has(path))
    })
}

/// What may be a path in a word: itself, the value of `--opt=value`, and of `-Xvalue` and `@value`.
fn paths_in(word: &str) -> impl Iterator<Item = &str> {
    let whole = (!word.starts_with('-')).then_some(word.strip_prefix('@').unwrap_or(word));
    let value = word.split_once('=').map(|(_, value)| value);
    let attached = word
        .strip_prefix('-')
        .and_then(|rest| rest.find(['/', '~', '.']).map(|at| &rest[at..]))
        .filter(|_| !word.starts_with("--"));
    // A word that only looks like home is not expanded, so it is an ordinary name.
    let whole = whole.filter(|path| !path.starts_with('~'));
    [whole, value, attached]
        .into_iter()
        .flatten()
        .filter(|path| !path.is_empty())
}

/// The list of what runs without asking. Every word must be what the program will get.
fn is_safe(script: &Script, words: &[Word]) -> bool {
    if script.unclear || script.commands.len() != 1 || !words.iter().all(|word| word.plain) {
        return false;
    }
    let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    match words.as_slice() {
        ["ls" | "echo" | "which" | "type", ..] => true,
        ["pwd"] | ["node" | "bun", "--version"] => true,
        ["git", "status", ..] => true,
        ["git", "log" | "diff", options @ ..] => !options
            .iter()
            .any(|option| GIT_EFFECTS.iter().any(|effect| option.starts_with(effect))),
        ["git", "branch", options @ ..] => {
            options.iter().all(|option| BRANCH_LISTING.contains(option))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
