//! `cargo xtask eval`: gives small real tasks to a model behind the real server.

use crate::run::{cargo, root, succeed};

const HELP: &str = "\
cargo xtask eval --model PROVIDER/MODEL    all tasks of eval/tasks; the key is taken from the environment
cargo xtask eval --model scripted          without a model: each task is solved by its own script
    --task NAME      only this one; may be said again
    --runs N         each so many times
    --at-once N      so many at the same time (4)
    --approve        say yes to what the server asks a person for; otherwise no is said
    --json FILE      the results for programs
";

pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    let asks_help = |word: &String| word == "--help" || word == "-h";
    if arguments.is_empty() || arguments.iter().any(asks_help) {
        print!("{HELP}");
        return Ok(());
    }
    for words in [
        ["--package", "cli", "--bin", "dragoman"],
        ["--package", "testkit", "--example", "eval"],
    ] {
        succeed(cargo(&["build", "--quiet"]).args(words))?;
    }
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let target = target.map_or_else(|| root().join("target"), Into::into);
    let built = target.join("debug");
    let mut command = std::process::Command::new(built.join("examples/eval"));
    command
        .arg(built.join("dragoman"))
        .arg(root().join("eval/tasks"));
    succeed(command.args(arguments))
}
