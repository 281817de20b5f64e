//! The diminuendo dialect.
#![no_main]

use dialects::diminuendo::Diminuendo;

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::converse(Diminuendo::default(), input));
