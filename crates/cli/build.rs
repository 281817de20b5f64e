//! Packs the relocations of the binary where the C library of this machine can read them so: they are all
//! read at every start, and stay in memory.

use std::process::Command;

/// The first version of the GNU C library that knows packed relocations.
const SINCE: (u32, u32) = (2, 36);

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    let is_linux = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    // Linkers of other processors learned it later.
    let is_known = is_linux && is("CARGO_CFG_TARGET_ARCH", "x86_64");
    let is_here = std::env::var("HOST").ok() == std::env::var("TARGET").ok();
    if is_known && is_here && library_version().is_some_and(|version| version >= SINCE) {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// As in `glibc 2.36`.
fn library_version() -> Option<(u32, u32)> {
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let said = String::from_utf8(said.ok()?.stdout).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
