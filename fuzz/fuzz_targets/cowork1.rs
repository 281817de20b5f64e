//! The cowork dialect, protocol 1.
#![no_main]

use dialects::cowork::v1::Cowork1;

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::converse(Cowork1::default(), input));
