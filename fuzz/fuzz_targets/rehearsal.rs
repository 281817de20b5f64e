//! The rehearsal model's scripts.
#![no_main]

use providers::rehearsal::RehearsalScript;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    // What is not a script is an error that says where.
    if let Err(error) = RehearsalScript::parse(&String::from_utf8_lossy(input)) {
        assert!(error.line > 0 && !error.to_string().is_empty());
    }
});
