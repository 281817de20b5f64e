//! The codex dialect as Zane speaks it.
#![no_main]

use dialects::codex::{Codex, Endpoint};

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::converse(Codex::new(Endpoint::Zane), input));
