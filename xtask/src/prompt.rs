//! `cargo xtask prompt`: the first request of a thread as each family of models gets it, with what
//! its parts cost in tokens.
//!
//! It is read from the golden requests, which a test holds against what really goes out.

mod request;

use std::fs;

use anyhow::{Context, bail};
use tiktoken_rs::CoreBPE;

use crate::run::{cargo, root, succeed};
use request::FirstRequest;

const HELP: &str = "\
cargo xtask prompt                  what every family of models is sent first, whole, and its tokens
cargo xtask prompt --family claude  only that family: gpt, claude, gemini, other or local
cargo xtask prompt --counts         only the tokens
cargo xtask prompt --update         rewrite crates/engine/golden/agent first; read the diff before you
                                    commit
";

/// A family, and the golden model that stands for it.
const FAMILIES: [(&str, &str); 5] = [
    ("gpt", "openai.gpt-6.1-sol"),
    ("claude", "anthropic.claude-opus-5-5"),
    ("gemini", "google.gemini-4-argon"),
    ("other", "deepseek.deepseek-v4-pro"),
    ("local", "llamacpp.a-model-of-its-own"),
];

/// What the system prompt and all tools together may cost: more of them cost money in every step
/// and do not make a model better.
const FIXED_TOKENS_MAX: usize = 4_800;

pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    let (mut families, mut whole, mut update) = (FAMILIES.to_vec(), true, false);
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "--family" => families = vec![family(words.next().unwrap_or_default())?],
            "--counts" => whole = false,
            "--update" => update = true,
            "--help" | "-h" => {
                print!("{HELP}");
                return Ok(());
            }
            other => bail!("`prompt` does not know `{other}`\n\n{HELP}"),
        }
    }
    if update {
        let mut command = cargo(&["test", "--package", "engine", "--test", "it", "--"]);
        command.args(["--exact", "requests::golden_requests"]);
        succeed(command.env("DRAGOMAN_REQUESTS", "update"))?;
    }
    let tokens = tiktoken_rs::o200k_base().context("no tokenizer")?;
    for (name, folder) in families {
        let request = first_request(folder)?;
        if whole {
            println!("{}", request.shown(name));
        }
        print!("{}", table(name, folder, &request, &tokens));
    }
    Ok(())
}

fn family(name: &str) -> anyhow::Result<(&'static str, &'static str)> {
    let found = FAMILIES.into_iter().find(|(family, _)| *family == name);
    found.with_context(|| {
        let names = FAMILIES.map(|(family, _)| family).join(", ");
        format!("there is no family `{name}`; there are {names}")
    })
}

fn first_request(folder: &str) -> anyhow::Result<FirstRequest> {
    let path = root().join(format!("crates/engine/golden/agent/{folder}/1-first.json"));
    let text = fs::read_to_string(&path).with_context(|| {
        format!(
            "cannot read {}; `cargo xtask prompt --update` makes it",
            path.display()
        )
    })?;
    FirstRequest::parse(&text).with_context(|| format!("in {}", path.display()))
}

fn count(tokens: &CoreBPE, text: &str) -> usize {
    tokens.encode_ordinary(text).len()
}

fn fixed(tokens: &CoreBPE, request: &FirstRequest) -> usize {
    let tools = request.tools.iter();
    let tools: usize = tools.map(|tool| count(tokens, &tool.whole)).sum();
    count(tokens, &request.system) + tools
}

fn table(name: &str, folder: &str, request: &FirstRequest, tokens: &CoreBPE) -> String {
    let row = |what: &str, tokens: usize| format!("  {what:<24} {tokens:>6}\n");
    let mut text = format!("{name} ({folder}), tokens of o200k\n");
    text += &row("system", count(tokens, &request.system));
    for tool in &request.tools {
        text += &row(&tool.name, count(tokens, &tool.whole));
    }
    let limit = format!("fixed prefix (max {FIXED_TOKENS_MAX})");
    text += &row(&limit, fixed(tokens, request));
    let context = request.context.iter();
    text += &row("context", context.map(|each| count(tokens, each)).sum());
    text += &row("the user's words", count(tokens, &request.input));
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixed_prefix_stays_small_for_every_model() {
        let tokens = tiktoken_rs::o200k_base().expect("a tokenizer");
        let folder = root().join("crates/engine/golden/agent");
        let models = fs::read_dir(folder).expect("golden requests");
        let mut seen = 0;
        for model in models {
            let model = model.expect("an entry").file_name();
            let model = model.to_string_lossy();
            let request = first_request(&model).expect("a request");
            let sum = fixed(&tokens, &request);
            assert!(!request.tools.is_empty() && sum > 1_000, "{model}: {sum}");
            assert!(
                sum <= FIXED_TOKENS_MAX,
                "{model}: {}",
                table("too much", &model, &request, &tokens)
            );
            seen += 1;
        }
        assert_eq!(seen, 9);
    }

    #[test]
    fn an_unknown_family_says_which_there_are() {
        let error = family("gtp").expect_err("no such family").to_string();
        assert!(
            error.contains("gpt, claude, gemini, other, local"),
            "{error}"
        );
    }
}
