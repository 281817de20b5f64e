//! Pictures that are scaled down: any bytes are read, and what comes out is small enough.
#![no_main]

use tools::pictures;

/// So little that all are unpacked, however small they are.
const ROOM: usize = 8;
const MORE_ROOM: usize = 20_000;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    for room in [ROOM, MORE_ROOM] {
        if let Ok(Some(scaled)) = pictures::scaled(input, room) {
            assert!(scaled.bytes.len() * 4 / 3 <= room);
            assert_eq!(pictures::media_type(&scaled.bytes), Some(scaled.media_type));
        }
    }
});
