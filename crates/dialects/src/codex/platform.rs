//! What this server runs on, in the words clients know; fixed when it is built.

pub const OS: &str = if cfg!(target_os = "macos") {
    "macos"
} else if cfg!(target_os = "windows") {
    "windows"
} else {
    "linux"
};

pub const FAMILY: &str = if cfg!(windows) { "windows" } else { "unix" };
