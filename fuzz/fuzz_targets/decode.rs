//! A model's stream, in every wire format.
#![no_main]

use providers::Part;
use providers::format::{RequestTarget, SseEvent, Wire};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    for wire in Wire::ALL {
        stream(wire, &text);
        let failure = wire.failure(400, input);
        assert!(!failure.message.is_empty());
        let _ = wire.read_models(input);
    }
});

/// What is told last is `Finish`, or the stream was an error.
fn stream(wire: Wire, text: &str) {
    let mut decoder = wire.decoder(&RequestTarget::unknown("model"), "seed");
    let mut parts = Vec::new();
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    for data in data {
        if decoder
            .push(SseEvent { event: None, data }, &mut parts)
            .is_err()
        {
            return;
        }
    }
    let whole = decoder.end(&mut parts).is_ok();
    assert_eq!(whole, matches!(parts.last(), Some(Part::Finish { .. })));
}
