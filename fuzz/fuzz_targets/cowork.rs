//! The cowork dialect, protocol 7.
#![no_main]

use dialects::cowork::Cowork;

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::converse(Cowork::new(), input));
