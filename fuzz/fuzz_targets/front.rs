//! The front matter of skills.
#![no_main]

use tools::fuzzing;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let skill = String::from_utf8_lossy(input);
    match fuzzing::skill_body(&skill, "a") {
        Ok(body) => {
            let front = skill.strip_suffix(body).expect("the body is the end of it");
            let front = front.trim_start_matches('\u{feff}');
            assert!(front.starts_with("---") && front.trim_end().ends_with("---"));
        }
        Err(problem) => assert!(!problem.is_empty()),
    }
});
