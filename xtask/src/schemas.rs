//! `cargo xtask schemas`: compares or rewrites the checked-in JSON Schemas of the dialects.

use crate::run::{cargo, succeed};

pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    let mode = match arguments {
        [] => "check",
        [flag] if flag == "--update" => "update",
        _ => anyhow::bail!("`schemas` knows --update and nothing else"),
    };
    let mut command = cargo(&["test", "--package", "cli", "--test", "it", "--"]);
    command.arg("schemas::");
    succeed(command.env("DRAGOMAN_SCHEMAS", mode))
}
