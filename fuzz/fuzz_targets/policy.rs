//! Policies as people write them, and what they decide.
//!
//! The input is a policy; comments that begin with `#!` are command lines it decides about.
#![no_main]

use tools::policy::{Decision, Policy, PolicyCall};
use tools::{Judgement, Risk};

/// Behind any policy: nothing passes any more.
const NOTHING: &str = "\n[[rule]]\neffect = \"refuse\"\ntool = \"*\"\n";

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    let policy = match toml::from_str::<Policy>(&text) {
        Ok(policy) => policy,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let closed = toml::from_str::<Policy>(&format!("{text}{NOTHING}")).ok();
    for command in text.lines().filter_map(|line| line.strip_prefix("#!")) {
        for judgement in [Judgement::Allow, ask(command, Risk::DangerousPattern)] {
            decide(&policy, closed.as_ref(), command, &judgement);
        }
    }
});

fn ask(command: &str, risk: Risk) -> Judgement {
    Judgement::Ask {
        command: command.to_owned(),
        dangerous: risk == Risk::DangerousPattern,
        risk,
        why: risk.in_words().to_owned(),
    }
}

fn decide(policy: &Policy, closed: Option<&Policy>, command: &str, judgement: &Judgement) {
    let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    let calls = [
        ("bash", Some(command), &[][..], &[][..]),
        ("edit", None, &words[..], &[][..]),
        ("webFetch", None, &[][..], &words[..]),
    ];
    for (tool, command, paths, hosts) in calls {
        let call = PolicyCall {
            tool,
            summary: tool,
            command,
            paths,
            hosts,
            judgement,
        };
        match policy.decide(&call) {
            Decision::Allow => {}
            Decision::Ask { command, .. } => {
                let shown = match judgement {
                    Judgement::Ask { command, .. } => command,
                    Judgement::Allow => call.command.unwrap_or(call.summary),
                };
                assert_eq!(command, shown, "what is asked for is what was judged");
            }
            Decision::Refuse { why } => assert!(!why.is_empty()),
        }
        if let Some(closed) = closed {
            let decision = closed.decide(&call);
            assert!(matches!(decision, Decision::Refuse { .. }), "{decision:?}");
        }
    }
}
