//! The pioneer dialect.
#![no_main]

use dialects::pioneer::Pioneer;

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::converse(Pioneer::default(), input));
