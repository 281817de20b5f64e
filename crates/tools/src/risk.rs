//! Judges a command line: may it run without asking, and if not, why.
//!
//! The rules and their order are those of the cowork protocol, section 8; the line is taken apart as
//! a shell would, not matched by patterns, and read in two ways of which the stricter counts. It is
//! a judgement of what is likely meant, not a fence: everything it does not know asks, and what a
//! command that is allowed can do is for the sandbox to bound. `risk/commands.txt` shows it.

mod reading;

use crate::path::Inside;
use crate::shell::{self, Script, SimpleCommand, Word};
use crate::{Judgement, Risk, Scope};

pub use reading::only_reads;

const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "fish"];
/// What runs a text or a file as a script, besides a shell.
const EVALUATORS: &[&str] = &["eval", "source", ".", "trap"];
/// What may run one of its words as a script.
const LAUNCHERS: &[&str] = &["env", "xargs", "parallel", "watch", "ssh", "su", "script"];
/// Other languages from which a command can be started.
const LANGUAGES: &[&str] = &[
    "perl", "python", "python3", "ruby", "node", "bun", "deno", "php", "lua",
];
/// Further programs that start commands from a text in a language of their own.
const COMMAND_STARTERS: &[&str] = &[
    "awk", "gawk", "mawk", "sed", "vi", "vim", "nvim", "ex", "ed", "emacs", "less", "man", "tar",
    "rsync", "rg", "find",
];
const ALWAYS_DANGEROUS: &[&str] = &["chmod", "chown", "sudo", "doas", "pkexec"];
const FETCHERS: &[&str] = &["curl", "wget"];
/// Dangerous to a database, in whatever program's argument they stand.
const SQL: &[&str] = &["drop table", "delete from"];
const FILE_READERS: &[&str] = &["cat", "head", "tail", "man"];
const PROGRAM_DIRECTORIES: &[&str] = &["/bin/", "/usr/bin/", "/usr/local/bin/"];
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
];
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
const GIT_EFFECTS: &[&str] = &["--ou", "--ext", "--textc"];
/// Shells within shells beyond this are dangerous without a further look.
pub(crate) const SHELLS_DEEP_MAX: usize = 4;

/// The rules, in their order: the first that fits counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RiskVerdict {
    Dangerous,
    Control,
    Outside,
    FileRead,
    Unknown,
    Safe,
}

/// Whether the command may run in this scope without asking.
///
/// The line is read in two ways, and the earlier rule that fits either of them counts.
pub fn judge_command(scope: &Scope, command: &str) -> Judgement {
    let readings = shell::read(command);
    let agree = readings[0].only_plain_words() == readings[1].only_plain_words();
    let verdict = readings
        .iter()
        .map(|script| verdict(scope, command, script))
        .min()
        .filter(|verdict| agree || *verdict != RiskVerdict::Safe);
    let risk = match verdict.unwrap_or(RiskVerdict::Unknown) {
        RiskVerdict::Dangerous => Risk::DangerousPattern,
        RiskVerdict::Control => Risk::ShellControlOperator,
        RiskVerdict::Outside => Risk::OutsideScope,
        RiskVerdict::FileRead => Risk::FileRead,
        RiskVerdict::Unknown => Risk::ManualReview,
        RiskVerdict::Safe => return Judgement::Allow,
    };
    Judgement::Ask {
        command: command.to_owned(),
        dangerous: risk == Risk::DangerousPattern,
        risk,
        why: risk.in_words().to_owned(),
    }
}

/// Whether any command of the line, wherever it stands, names something outside of the workspace.
///
/// For lines that the sandbox is to hold without a person's word: what it can read out there is not for
/// everyone either.
pub fn leaves_workspace(scope: &Scope, command: &str) -> bool {
    let readings = shell::read(command);
    let mut commands = readings.iter().flat_map(Script::all_commands);
    commands.any(|command| {
        let words = command.words.iter().filter(|word| !is_everyones(word));
        let words: Vec<&Word> = words.collect();
        leaves(scope, &words)
    })
}

/// What every program may use: the system's own programs and devices without content.
fn is_everyones(word: &Word) -> bool {
    let text = word.text.as_str();
    let program = PROGRAM_DIRECTORIES
        .iter()
        .filter_map(|directory| text.strip_prefix(directory))
        .any(|name| !name.is_empty() && !name.contains('/') && name != "..");
    program || DEVICES.contains(&text)
}

/// Whether a line is dangerous wherever it runs.
pub(crate) fn is_dangerous_line(command: &str) -> bool {
    let readings = shell::read(command);
    mentions_sql(command) || readings.iter().any(|script| is_dangerous(script, 0))
}

fn verdict(scope: &Scope, command: &str, script: &Script) -> RiskVerdict {
    if mentions_sql(command) || is_dangerous(script, 0) {
        return RiskVerdict::Dangerous;
    }
    if script.control {
        return RiskVerdict::Control;
    }
    let words = script
        .commands
        .first()
        .map_or(&[][..], |first| &first.words);
    if leaves_scope(scope, words) {
        return RiskVerdict::Outside;
    }
    let program = words.first().map(|word| word.text.as_str());
    if program.is_some_and(|program| FILE_READERS.contains(&program)) {
        return RiskVerdict::FileRead;
    }
    match script.only_plain_words() {
        Some(words) if is_safe(&words) => RiskVerdict::Safe,
        Some(_) | None => RiskVerdict::Unknown,
    }
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
        if fetched && command.piped && runs_its_input(command) {
            return true;
        }
        fetched |= fetches(command);
        if runs_something_dangerous(command, shells_deep) {
            return true;
        }
    }
    false
}

/// A shell; or another language without a script of its own.
fn runs_its_input(command: &SimpleCommand) -> bool {
    let bare = |words: &[Word]| words.iter().all(|word| word.text == "-");
    after(command, SHELLS).is_some() || after(command, LANGUAGES).is_some_and(bare)
}

fn runs_something_dangerous(command: &SimpleCommand, shells_deep: usize) -> bool {
    forces(command)
        || runs_dangerous_script(command, shells_deep)
        || [LANGUAGES, COMMAND_STARTERS].into_iter().any(|programs| {
            after(command, programs).is_some_and(|words| words.iter().any(hides_danger))
        })
        || command
            .nested
            .iter()
            .any(|script| is_dangerous(script, shells_deep))
}

fn forces(command: &SimpleCommand) -> bool {
    after(command, ALWAYS_DANGEROUS).is_some()
        || after(command, &["rm"]).is_some_and(removes_by_force)
        || after(command, &["git"]).is_some_and(forces_git)
}

/// The words behind the first one that names one of these programs.
fn after<'a>(command: &'a SimpleCommand, programs: &[&str]) -> Option<&'a [Word]> {
    let at = command.words.iter().position(|word| {
        let name = word.text.rsplit('/').next().unwrap_or_default();
        programs.contains(&name)
    })?;
    Some(&command.words[at + 1..])
}

fn fetches(command: &SimpleCommand) -> bool {
    let nested = command.nested.iter().flat_map(|script| &script.commands);
    after(command, FETCHERS).is_some() || nested.into_iter().any(fetches)
}

/// `bash -c "rm -rf x"`, `eval …`, and a shell that is given what was fetched.
fn runs_dangerous_script(command: &SimpleCommand, shells_deep: usize) -> bool {
    let of = |programs: &&[&str]| after(command, programs);
    let nested = command.nested.iter().flat_map(|script| &script.commands);
    let evaluates = [SHELLS, EVALUATORS].iter().find_map(of).is_some();
    evaluates && nested.into_iter().any(fetches)
        || run_as_scripts(command)
            .flatten()
            .flat_map(scripts_in)
            // One reading is enough: this only says how dangerous something is that asks anyway.
            .map(shell::split)
            .any(|script| is_dangerous(&script, shells_deep + 1))
}

/// The words of a command that its program may run as scripts.
pub(crate) fn run_as_scripts(command: &SimpleCommand) -> impl Iterator<Item = &[Word]> {
    let programs = [SHELLS, EVALUATORS, LAUNCHERS].into_iter();
    programs.filter_map(|programs| after(command, programs))
}

/// The scripts that a word may be: itself, or the value of an option.
pub(crate) fn scripts_in(word: &Word) -> impl Iterator<Item = &str> {
    let text = word.text.as_str();
    let value = text.split_once('=').map(|(_, value)| value);
    let scripts = [Some(text), text.strip_prefix("-S"), value].into_iter();
    // A word without a blank runs nothing that was not seen as a word already.
    let has_blank = |script: &&str| script.contains([' ', '\t', '\n', '$', '{']);
    scripts.flatten().filter(has_blank)
}

/// Looks for commands in a text of another language: `BEGIN { system("rm -rf x") }`.
fn hides_danger(text: &Word) -> bool {
    let in_name = |character: char| character.is_alphanumeric() || "_-./+".contains(character);
    let words = text.text.split(|character| !in_name(character));
    let words = words.filter(|word| !word.is_empty()).map(|word| Word {
        text: word.to_owned(),
        plain: true,
        tilde: false,
    });
    let command = SimpleCommand {
        words: words.collect(),
        ..SimpleCommand::default()
    };
    forces(&command)
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
    leaves(scope, &words.iter().collect::<Vec<_>>())
}

fn leaves(scope: &Scope, words: &[&Word]) -> bool {
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

/// The list of what runs without asking.
fn is_safe(words: &[&str]) -> bool {
    match words {
        ["ls" | "echo" | "which" | "type", ..] => true,
        ["pwd"] | ["node" | "bun", "--version"] => true,
        ["git", "status", ..] => true,
        ["git", "log" | "diff", options @ ..] => !options.iter().any(|option| has_effect(option)),
        ["git", "branch", options @ ..] => {
            options.iter().all(|option| BRANCH_LISTING.contains(option))
        }
        _ => false,
    }
}

/// Whether git may take this as one of the options with an effect; it lets them be shortened.
fn has_effect(option: &str) -> bool {
    let name = option.split('=').next().unwrap_or_default();
    GIT_EFFECTS.iter().any(|effect| {
        name.starts_with(effect) || name.len() > "--".len() && effect.starts_with(name)
    })
}

#[cfg(test)]
mod tests;
