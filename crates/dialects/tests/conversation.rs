//! What the fuzz targets drive a dialect with, so that it is built and tried with everything else:
//! the targets themselves need a sanitizer, and are built by `cargo xtask fuzz` only.

#[path = "../../../fuzz/src/lib.rs"]
mod conversation;
