//! Starting other programs from the top of the tree.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

/// The top of the source tree, wherever the command was typed.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The cargo that runs us, so that a toolchain override stays in force.
pub fn cargo(arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    // What cargo told us of our own package is not for another cargo: some build scripts take it for
    // a change and build again.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs it with our own input and output; anything but success is an error that names it.
pub fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let words = spelled(command);
    let status = command
        .status()
        .with_context(|| format!("cannot start `{words}`"))?;
    if !status.success() {
        bail!("`{words}` ended with {status}");
    }
    Ok(())
}

/// Whether it runs and succeeds, in silence.
pub fn works(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

fn spelled(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    std::iter::once(name)
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
