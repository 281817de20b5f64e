//! `dragoman config`, and a server that is started with a file.

use anyhow::ensure;
use serde_json::{Value, json};
use testkit::process::Launch;
use testkit::{Process, Scratch};

use super::start::on_terminal;
use super::{LIMIT, dragoman, err, out};
use crate::{DRAGOMAN, tell};

const TOKEN: &str = "planted-token-0123456789";

/// A scratch home whose file has this text.
fn configured(text: &str) -> anyhow::Result<Scratch> {
    let scratch = Scratch::new()?;
    std::fs::create_dir_all(scratch.home().join("config"))?;
    std::fs::write(scratch.home().join("config/config.toml"), text)?;
    Ok(scratch)
}

#[test]
fn every_value_is_shown_with_where_it_came_from_but_no_secret() {
    tell(LIMIT, async {
        let scratch = configured("port = 7000\nturn-cost = 0.50\nmodel = \"a/b\"\n")?;
        let words = ["config", "--port", "0"];
        let variables = [("DRAGOMAN_MODEL", "c/d"), ("DRAGOMAN_TOKEN", TOKEN)];
        let output = dragoman(&scratch, &words).envs(variables).output().await?;
        let shown = out(&output);
        let row = |name: &str| {
            let line = shown.lines().find(|line| line.starts_with(name));
            let words = line.unwrap_or_default().split_whitespace();
            words.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(row("port "), "port 0 --port", "{shown}");
        assert_eq!(row("model "), "model c/d DRAGOMAN_MODEL");
        assert_eq!(row("turn-cost "), "turn-cost 0.50 config.toml, line 2");
        assert_eq!(row("sandbox "), "sandbox auto default");
        assert_eq!(row("token "), "token (set, not shown) DRAGOMAN_TOKEN");
        assert!(row("home ").ends_with("DRAGOMAN_HOME"));
        ensure!(!shown.contains(TOKEN) && !shown.contains('\x1b'), "{shown}");

        let words = ["config", "--json", "--yolo"];
        let output = dragoman(&scratch, &words).envs(variables).output().await?;
        let told: Value = serde_json::from_slice(&output.stdout)?;
        let settings = told["settings"].as_array().cloned().unwrap_or_default();
        let of = |name: &str| {
            let found = settings.iter().find(|entry| entry["name"] == name);
            found.cloned().unwrap_or_default()
        };
        assert_eq!(
            of("port"),
            json!({"name": "port", "variable": "DRAGOMAN_PORT", "source": "file", "value": "7000", "line": 1})
        );
        assert_eq!(of("yolo")["value"], json!(true));
        assert_eq!(of("listen")["value"], json!([]));
        assert_eq!(of("token")["set"], json!(true));
        ensure!(!out(&output).contains(TOKEN));
        Ok(())
    });
}

#[test]
fn what_runs_after_edits_is_shown_with_where_it_came_from() {
    tell(LIMIT, async {
        let rule = |run: &str| format!("[[check]]\nfiles = \"*.txt\"\nrun = \"{run}\"\n");
        let scratch = configured(&format!("port = 0\n{}", rule("mine")))?;
        let project = scratch.workspace();
        std::fs::create_dir_all(project.join(".cowork/config"))?;
        std::fs::write(project.join(".cowork/config/config.toml"), rule("its-own"))?;
        std::fs::create_dir_all(project.join("node_modules/.bin"))?;
        std::fs::write(project.join("node_modules/.bin/tsc"), "")?;
        std::fs::write(project.join("tsconfig.json"), "{}")?;
        let dir = project.display().to_string();
        let words = ["config", "--dir", &dir];
        let shown = out(&dragoman(&scratch, &words).output().await?);
        let rows = shown.lines().filter(|line| line.starts_with("check "));
        let words = |row: &str| row.split_whitespace().collect::<Vec<_>>().join(" ");
        let rows: Vec<String> = rows.map(words).collect();
        assert_eq!(
            rows,
            [
                "check *.txt: mine config.toml, line 2",
                "check *.txt: its-own .cowork/config/config.toml, line 1, if trusted",
                "check *.ts, *.tsx, *.mts, *.cts: node_modules/.bin/tsc --noEmit --pretty false \
                 found, if trusted",
            ],
            "{shown}"
        );
        let words = ["config", "--json", "--checks", "configured", "--dir", &dir];
        let told = dragoman(&scratch, &words).output().await?;
        let told: Value = serde_json::from_slice(&told.stdout)?;
        assert_eq!(
            told["checks"],
            json!([{
                "kind": "check",
                "files": ["*.txt"],
                "run": "mine",
                "timeoutSeconds": 60,
                "source": "file",
                "line": 2,
            }])
        );
        Ok(())
    });
}

#[test]
fn what_was_set_is_in_colour_on_a_terminal() {
    tell(LIMIT, async {
        let scratch = configured("port = 7000\n")?;
        let (_, shown) = on_terminal(dragoman(&scratch, &["config"]), "The file is").await?;
        let line = |name: &str| shown.lines().find(|line| line.contains(name));
        ensure!(
            line("port ").is_some_and(|line| line.starts_with("\x1b[36m")),
            "{shown:?}"
        );
        ensure!(
            line("sandbox ").is_some_and(|line| !line.contains('\x1b')),
            "{shown:?}"
        );
        Ok(())
    });
}

#[test]
fn the_example_is_a_good_file_and_says_nothing_until_it_is_uncommented() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let example = out(&dragoman(&scratch, &["config", "example"]).output().await?);
        let path = out(&dragoman(&scratch, &["config", "path"]).output().await?);
        let path = std::path::Path::new(path.trim_end());
        assert_eq!(path, scratch.home().join("config/config.toml"));
        std::fs::create_dir_all(scratch.home().join("config"))?;
        let setting = |line: &&str| line.starts_with("# ") && line.contains(" = ");
        let lines = example.lines().filter(setting);
        let lines: Vec<&str> = lines.filter_map(|line| line.strip_prefix("# ")).collect();
        for (text, from_file) in [(example.clone(), 0), (lines.join("\n"), lines.len())] {
            std::fs::write(path, text)?;
            let output = dragoman(&scratch, &["config"]).output().await?;
            ensure!(output.status.success(), "{}", err(&output));
            let shown = out(&output);
            assert_eq!(
                shown.matches("config.toml, line").count(),
                from_file,
                "{shown}"
            );
        }
        Ok(())
    });
}

#[test]
fn a_server_goes_by_its_file_and_a_mistake_in_it_stops_the_start() {
    tell(LIMIT, async {
        let scratch = configured("listen = [\"codex=0\"]\nyolo = true\n")?;
        let launch = Launch::new(DRAGOMAN, &scratch).variable("DRAGOMAN_MODLE", "a/b");
        let mut server = Process::start(&launch).await?;
        assert_eq!(server.listeners().len(), 1);
        assert_eq!(server.terminate().await?.code(), Some(0));
        let log = server.whole_log();
        ensure!(log.contains("--yolo: EVERY COMMAND RUNS"), "{log}");
        ensure!(
            log.contains("DRAGOMAN_MODLE means nothing; did you mean DRAGOMAN_MODEL?"),
            "{log}"
        );

        let scratch = configured("port = 0\naprovals = \"ask\"\n")?;
        for words in [&[][..], &["config"]] {
            let output = dragoman(&scratch, words).output().await?;
            assert_eq!(output.status.code(), Some(1));
            let expected = format!(
                "dragoman: {}, line 2: unknown setting `aprovals`; did you mean `approvals`?\n",
                scratch.home().join("config/config.toml").display()
            );
            assert_eq!(err(&output), expected);
        }
        // Other commands do their work, and the file can still be found.
        for words in [&["grants"][..], &["config", "path"]] {
            let output = dragoman(&scratch, words).output().await?;
            ensure!(output.status.success(), "{}", err(&output));
        }
        Ok(())
    });
}

#[test]
fn a_variable_that_cannot_be_used_stops_the_start() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let mut command = dragoman(&scratch, &["--port", "0"]);
        let output = command
            .env("DRAGOMAN_LOG", "engine=loudly")
            .output()
            .await?;
        let said = err(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        ensure!(
            said.contains("DRAGOMAN_LOG cannot be used: `engine=loudly`"),
            "{said}"
        );
        Ok(())
    });
}
