//! What fuzzing starts from: what clients, model servers and people really write.

use std::fs;
use std::path::Path;

use anyhow::Context;

use crate::run::root;

const RULES: [&str; 6] = [
    "effect = \"allow\"\ncommand = \"git log\"\nany = true",
    "effect = \"allow\"\ncommand = \"rm -rf build\"",
    "effect = \"refuse\"\ncommand = \"curl\"",
    "effect = \"ask\"\ntool = \"mcp*\"",
    "effect = \"allow\"\npath = \"src/**/*.{rs,toml}\"",
    "effect = \"refuse\"\ntool = \"webFetch\"\nhost = \"[::1]\"",
];

const FRONTS: [&str; 6] = [
    "---\nname: a\ndescription: b\n---\nBody\n",
    "\u{feff}---\r\nname: 'a'\r\ndescription: \"b \\\"c\\\"\"\r\n---\r\nBody\r\n",
    "---\nname: a # why\ndescription: >-\n  one\n  two\nother: x\n---\n",
    "---\nmetadata:\n  name: b\nname: a\ndescription: |\n\tone\n\n\ttwo\n---\n---\n",
    "---\nname: a\n",
    "---\ndescription: 'it''s'\nname : a\n---",
];

const ORIGINS: [&str; 14] = [
    "http://localhost:5173",
    "https://127.0.0.1",
    "http://[::1]:80",
    "http://tauri.localhost",
    "vscode-webview://id",
    "file://",
    "null",
    "localhost:7337",
    "[::1]:7337",
    "127.0.0.1:7337",
    "http://localhost:80@evil.example",
    "localhost:evil.example",
    "[::1]evil.example",
    "https://team.example/",
];

/// One pixel each: PNG, GIF, WebP.
const PICTURES: [&[u8]; 3] = [
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\r\
      IDATx\xdacd\xf8\xcfP\x0f\0\x03\x86\x01\x80Z4}k\0\0\0\0IEND\xaeB`\x82",
    b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x01D\0;",
    b"RIFF\x1a\0\0\0WEBPVP8L\r\0\0\0/\0\0\0\x10\x07\x10\x11\x11\x88\x88\xfe\x07\0",
];

/// A server of every kind.
const MCP_FILES: [&str; 3] = [
    r#"{"servers":[{"name":"a","transport":{"type":"stdio","command":"x","args":["y"],"env":{"A":"b"},"cwd":"c"},"required":true,"retries":2,"auth":{"type":"none"}}]}"#,
    r#"{"servers":[{"name":"b","transport":{"type":"http","url":"https://a.example/x","headers":{"X-A":"b"}},"auth":{"type":"api_key","headerName":"X-K","prefix":"T","keyId":"k"}}]}"#,
    r#"{"servers":[{"name":"c","transport":{"type":"sse","url":"http://[::1]:9"},"auth":{"type":"oauth","scope":"s","resource":"https://a.example","oauthMode":"code"}}]}"#,
];

/// Starts from what clients really say: the transcripts, and the scenarios' scripts.
pub fn plant(target: &str) -> anyhow::Result<()> {
    let corpus = root().join("fuzz/corpus").join(target);
    fs::create_dir_all(&corpus).with_context(|| format!("cannot make {}", corpus.display()))?;
    match target {
        "decode" => plant_captures(&corpus),
        "shell" => plant_texts(&corpus, &command_lines()?),
        "policy" => plant_texts(&corpus, &policies()?),
        "front" => plant_texts(&corpus, &FRONTS.map(str::to_owned)),
        "origin" => plant_texts(&corpus, &ORIGINS.map(str::to_owned)),
        "pictures" => plant_texts(&corpus, &PICTURES),
        "mcp_config" => plant_texts(&corpus, &MCP_FILES),
        "rehearsal" => plant_scenarios(&corpus, target, "scenario.toml"),
        dialect => plant_scenarios(&corpus, target, &format!("{dialect}.transcript")),
    }
}

fn plant_texts(corpus: &Path, texts: &[impl AsRef<[u8]>]) -> anyhow::Result<()> {
    for (number, text) in texts.iter().enumerate() {
        fs::write(corpus.join(format!("seed-{number}")), text)?;
    }
    Ok(())
}

/// The lines that show how commands are judged.
fn command_lines() -> anyhow::Result<Vec<String>> {
    let path = root().join("crates/tools/src/risk/commands.txt");
    let text = fs::read_to_string(&path).context("cannot read the judged command lines")?;
    Ok(text.lines().filter_map(command_line).collect())
}

/// The command in a line of that file, with what is spelled out in it as it is meant.
fn command_line(line: &str) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let (_, command) = line.split_once(char::is_whitespace)?;
    let mut parts = command.trim_start().split('<');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part
            .split_once('>')
            .and_then(|(name, rest)| Some((spelled(name)?, rest)))
        {
            Some((character, rest)) => {
                text.push(character);
                text.push_str(rest);
            }
            None => {
                text.push('<');
                text.push_str(part);
            }
        }
    }
    Some(text)
}

fn spelled(name: &str) -> Option<char> {
    match name.strip_prefix("U+") {
        Some(number) => char::from_u32(u32::from_str_radix(number, 16).ok()?),
        None => (name == "LF").then_some('\n'),
    }
}

/// The policy that the documentation shows, and each kind of rule, with lines to decide about.
fn policies() -> anyhow::Result<Vec<String>> {
    let page = fs::read_to_string(root().join("docs/security.md"))?;
    let shown = page.split("```toml\n").skip(1);
    let shown = shown.filter_map(|rest| Some(rest.split_once("```")?.0.to_owned()));
    let lines = command_lines()?;
    let calls = |chunk: &[String]| -> String {
        let one_line = chunk.iter().filter(|line| !line.contains('\n'));
        one_line.map(|line| format!("#!{line}\n")).collect()
    };
    let mut all: Vec<String> = shown.collect();
    all.extend(RULES.map(|rule| format!("[[rule]]\n{rule}\n")));
    let chunks = lines.chunks(8).map(calls);
    let policies = all.clone();
    all.extend(
        chunks
            .zip(policies.iter().cycle())
            .map(|(calls, policy)| calls + policy),
    );
    Ok(all)
}

fn plant_scenarios(corpus: &Path, target: &str, name: &str) -> anyhow::Result<()> {
    let scenarios = root().join("scenarios");
    for scenario in fs::read_dir(&scenarios).context("cannot list the scenarios")? {
        let scenario = scenario?.path();
        let seed = scenario.join(name);
        if seed.is_file() {
            let text = fs::read_to_string(&seed)?;
            fs::write(corpus.join(stem(&scenario)), sown(target, &text))?;
        }
    }
    Ok(())
}

/// Starts from what model servers really say.
fn plant_captures(corpus: &Path) -> anyhow::Result<()> {
    let captures = root().join("crates/providers/fixtures/sse");
    for folder in fs::read_dir(&captures).context("cannot list the captured streams")? {
        let folder = folder?.path();
        for capture in fs::read_dir(&folder)? {
            let capture = capture?.path();
            if capture.extension().is_some_and(|ending| ending == "http") {
                let name = format!("{}-{}", stem(&folder), stem(&capture));
                fs::copy(&capture, corpus.join(name))?;
            }
        }
    }
    Ok(())
}

/// What of a file is worth trying: what clients say, or the script.
fn sown(target: &str, text: &str) -> String {
    if target == "rehearsal" {
        let script = text.split("\"\"\"").nth(1);
        return script.unwrap_or_default().to_owned();
    }
    let said = text.lines().filter(|line| line.starts_with("> "));
    said.map(|line| format!("{line}\n")).collect()
}

fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    format!("seed-{}", name.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_what_clients_said_or_the_script() {
        assert_eq!(sown("cowork", "# a\n> {}\n< {}\n"), "> {}\n");
        let scenario = "about = \"x\"\nscript = \"\"\"\nturn\n\"\"\"\n";
        assert_eq!(sown("rehearsal", scenario), "\nturn\n");
    }

    #[test]
    fn what_is_spelled_out_in_a_judged_line_is_meant() {
        let line = |line| command_line(line);
        assert_eq!(line("# allow ls"), None);
        assert_eq!(line("allow      ls -la src").as_deref(), Some("ls -la src"));
        assert_eq!(
            line("manual  a<LF>b<U+202E>c < d <e>").as_deref(),
            Some("a\nb\u{202e}c < d <e>")
        );
    }
}
