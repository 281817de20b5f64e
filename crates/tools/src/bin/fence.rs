//! The launcher alone, for tests of this crate. What ships is `dragoman`, which carries the same.

fn main() {
    std::process::exit(tools::sandbox::launcher::run_if_asked().unwrap_or(2));
}
