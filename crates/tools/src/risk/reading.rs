//! Which command lines only read, so that several may run at the same time.
//!
//! It decides about order, not about permission: a line that is taken for one that reads is judged,
//! asked for and fenced like any other.

use super::{BRANCH_LISTING, has_effect};
use crate::shell::{self, Script, SimpleCommand};

/// What reads with whatever arguments.
const READERS: &[&str] = &[
    "basename",
    "cat",
    "cmp",
    "comm",
    "cut",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "fgrep",
    "file",
    "grep",
    "head",
    "jq",
    "ls",
    "md5sum",
    "nl",
    "od",
    "printf",
    "pwd",
    "readlink",
    "realpath",
    "sha256sum",
    "stat",
    "strings",
    "tail",
    "test",
    "tr",
    "true",
    "type",
    "wc",
    "which",
];
/// Of git, what reads unless an option gives it an effect.
const GIT_READERS: &[&str] = &[
    "blame",
    "describe",
    "diff",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "rev-parse",
    "shortlog",
    "show",
    "status",
];
/// Beginnings of what makes `find` run a program, delete, or write a file.
const FIND_EFFECTS: &[&str] = &["-exec", "-ok", "-delete", "-fprint", "-fls"];

/// Whether every command of the line is known to change nothing, in both readings of it.
pub fn only_reads(line: &str) -> bool {
    shell::read(line).iter().all(|script: &Script| {
        let commands = &script.commands;
        !script.unclear
            && !script.has_side_ways()
            && !commands.is_empty()
            && commands.iter().all(reads)
    })
}

fn reads(command: &SimpleCommand) -> bool {
    let plain = command.words.iter().all(|word| word.plain);
    let words = command.texts();
    let Some((program, rest)) = words.split_first() else {
        return false;
    };
    // Patterns of file names are fine where no argument has an effect.
    if READERS.contains(program) {
        return command.words.first().is_some_and(|word| word.plain);
    }
    let none = |effects: &[&str]| {
        let has = |word: &&str| effects.iter().any(|effect| word.starts_with(effect));
        !rest.iter().any(has)
    };
    plain
        && match *program {
            "find" => none(FIND_EFFECTS),
            "rg" => none(&["--pre"]),
            "sort" => none(&["-o", "--o"]) && rest.iter().all(|word| !has_letter(word, 'o')),
            "uniq" => rest.iter().filter(|word| !word.starts_with('-')).count() < 2,
            "sed" => prints_lines(rest),
            "git" => git_reads(rest),
            _ => false,
        }
}

/// Whether a group of short options has this one.
fn has_letter(word: &str, letter: char) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
}

/// `sed -n 10,20p file`: nothing but the numbers of lines.
fn prints_lines(rest: &[&str]) -> bool {
    let ["-n", script, files @ ..] = rest else {
        return false;
    };
    let lines = script.strip_suffix('p').unwrap_or("-");
    let number = |character: char| character.is_ascii_digit() || ",$".contains(character);
    lines.chars().all(number) && files.iter().all(|file| !file.starts_with('-'))
}

fn git_reads(rest: &[&str]) -> bool {
    match rest {
        ["branch", options @ ..] => options.iter().all(|option| BRANCH_LISTING.contains(option)),
        [reader, options @ ..] if GIT_READERS.contains(reader) => {
            // `git grep -O` opens a pager.
            !options
                .iter()
                .any(|option| has_effect(option) || option.starts_with("-O"))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::only_reads;

    #[test]
    fn only_lines_that_are_known_to_read_do() {
        for line in [
            "ls -la src/*.rs",
            "cat a.txt",
            "cat a b | grep -n x | head -5",
            "grep -rn 'a > b' . && wc -l a.txt; pwd",
            "rg --files | sort | uniq -c",
            "find . -name '*.rs' -not -path './target/*'",
            "sed -n '10,20p' src/main.rs",
            "sed -n 3p a",
            "git status && git log --oneline -5",
            "git branch -a",
            "git show HEAD:a.txt",
        ] {
            assert!(only_reads(line), "{line}");
        }
        for line in [
            "",
            "touch a",
            "cat a > b",
            "cat a | tee b",
            "ls $(touch a)",
            "cat <(touch a)",
            "FOO=1 ls",
            "$X a",
            "find . -delete",
            "find . -exec rm {} +",
            "find . $X",
            "rg --pre ./run x",
            "sort -o a a",
            "sort -uo a a",
            "sort --output=a a",
            "uniq a b",
            "sed -i s/a/b/ c",
            "sed -n 'w b' a",
            "sed -n 1p a -i",
            "git checkout .",
            "git branch new",
            "git log --output=x",
            "git -C .. status",
            "git grep -Ovi x",
            "cargo test",
            "ls & touch a",
            "ls\ntouch a",
        ] {
            assert!(!only_reads(line), "{line}");
        }
    }
}
