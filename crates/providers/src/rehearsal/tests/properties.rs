//! What holds for any script and any message: no panic, and a well-formed stream.

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn any_text_parses_or_is_refused(text in "\\PC*(\n\\PC*){0,4}") {
        let _ = RehearsalScript::parse(&text);
    }

    #[test]
    fn nearly_right_lines_never_panic(
        verb in "turn|next|think|summary|say|call|repeat|raw|pause|hold|fail|usage",
        rest in "\\PC{0,20}",
    ) {
        let _ = RehearsalScript::parse(&format!("turn\n{verb} {rest}"));
    }

    #[test]
    fn every_scripted_stream_is_well_formed(
        lines in proptest::collection::vec(
            prop_oneof![
                "(say|think|summary) [a-zä{} \\\\]{1,30}x",
                Just("say {user} {result}".to_owned()),
                "call [a-z]{1,5} \\{\"k\": \"[ä€a-z ]{0,9}\"\\}",
                "repeat [1-9] x",
                Just("raw [1]".to_owned()),
                Just("pause 3ms".to_owned()),
                Just("fail 500 oh".to_owned()),
                Just("usage 1 2".to_owned()),
                Just("usage 1 2 3".to_owned()),
            ],
            0..8,
        ),
        said in "\\PC{0,40}",
    ) {
        let model = scripted(&format!("turn\n{}", lines.join("\n")));
        run(play(&model, vec![user(&said)]), |(parts, error)| {
            if !parts.is_empty() {
                assert_well_formed(&parts, error.as_ref());
            }
        });
    }

    #[test]
    fn every_interactive_stream_is_well_formed(
        said in prop_oneof!["\\PC{0,40}", "(echo|stream|slow|tool) [0-9a-z{}\": ]{0,12}"],
        step in 0usize..6,
    ) {
        prop_assume!(!said.split_once(' ').is_some_and(|(_, n)| n.trim().len() > 4 && n.trim().parse::<u64>().is_ok()));
        let mut messages = vec![user(&said)];
        for _ in 0..step {
            messages.extend([answered(), result("r", false)]);
        }
        run(play(&Rehearsal::new(None), messages), |(parts, error)| {
            assert_well_formed(&parts, error.as_ref());
        });
    }
}

/// Runs one answer with paused time, so that pauses cost nothing.
fn run<T>(answer: impl Future<Output = T>, check: impl FnOnce(T)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    check(runtime.block_on(answer));
}
