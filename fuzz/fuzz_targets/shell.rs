//! The judge of command lines, and both readers of shell behind it.
#![no_main]

use std::sync::LazyLock;

use tools::{Judgement, Scope, fuzzing, risk};

static SCOPE: LazyLock<Scope> = LazyLock::new(|| Scope {
    directory: "/workspace".into(),
    extra: Vec::new(),
    private: vec!["/workspace/private".into()],
    spill: None,
    skills: Vec::new(),
    trusted: false,
    read_only: false,
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let line = String::from_utf8_lossy(input);
    let words = fuzzing::plain_words(&line);
    match risk::judge_command(&SCOPE, &line) {
        Judgement::Allow => {
            let words = words.expect("what runs unasked is one command that both readers agree on");
            assert!(
                !line
                    .chars()
                    .any(|each| each.is_control() && !"\n\t".contains(each))
            );
            // Said once more with quotes around every word, it is the same command.
            let quoted = quoted(&words);
            assert_eq!(fuzzing::plain_words(&quoted), Some(words), "{quoted}");
            let again = risk::judge_command(&SCOPE, &quoted);
            assert_eq!(again, Judgement::Allow, "{quoted}");
        }
        Judgement::Ask { command, why, .. } => {
            assert_eq!(command, line);
            assert!(!why.is_empty());
        }
    }
});

fn quoted(words: &[String]) -> String {
    let quote = |word: &String| format!("'{}'", word.replace('\'', r"'\''"));
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}
