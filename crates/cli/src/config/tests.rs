//! Each layer over the one below it, and one vocabulary for all of them.

use std::collections::HashMap;
use std::path::Path;

use engine::SandboxSetting;
use tools::sandbox::Mode;
use vocabulary::Verbosity;

use super::*;
use crate::arguments::command_line;

/// What the layers come to: flags, variables, and the text of a file.
fn resolved(
    flags: &[&str],
    variables: &[(&str, &str)],
    text: &str,
) -> anyhow::Result<(Configuration, Vec<Given>)> {
    let home = tempfile::tempdir()?;
    std::fs::create_dir(home.path().join("config"))?;
    if !text.is_empty() {
        std::fs::write(file::path(home.path()), text)?;
    }
    let words = ["dragoman"].iter().chain(flags);
    let flags = command_line().try_get_matches_from(words)?;
    let variables: HashMap<&str, &str> = variables.iter().copied().collect();
    let variable = |name: &str| variables.get(name).map(OsString::from);
    Layers::read(home.path(), &flags, &variable)?.resolve(home.path())
}

fn place(said: &[Given], name: &str) -> String {
    let given = said.iter().find(|given| given.setting.name == name);
    given.expect("a setting").place()
}

#[track_caller]
fn check_port(flags: &[&str], variables: &[(&str, &str)], text: &str, port: u16, from: &str) {
    let (all, said) = resolved(flags, variables, text).expect("resolved");
    assert_eq!(all.settings.port, port);
    assert_eq!(place(&said, "port"), from);
}

#[test]
fn a_flag_counts_before_a_variable_before_the_file_before_the_default() {
    let (flag, variable) = (&["--port", "1"][..], &[("DRAGOMAN_PORT", "2")][..]);
    let text = "# a comment\nport = 3\n";
    check_port(flag, variable, text, 1, "--port");
    check_port(&[], variable, text, 2, "DRAGOMAN_PORT");
    check_port(
        &[],
        &[("DRAGOMAN_PORT", "")],
        text,
        3,
        "config.toml, line 2",
    );
    check_port(&[], &[], "", 7337, "default");
}

#[test]
fn every_setting_is_set_by_every_layer_it_belongs_to() {
    for setting in SETTINGS.iter().filter(|setting| !setting.is_secret()) {
        let line = setting.example();
        let (_, said) = resolved(&[], &[], &line).expect(&line);
        assert_eq!(place(&said, setting.name), "config.toml, line 1");
        let given = said.iter().find(|given| given.setting.name == setting.name);
        let values = given.expect("a setting").values.clone();
        let value = values[0].to_str().expect("text");
        let flag = format!("--{}={value}", setting.name);
        let (_, said) = resolved(&[&flag], &[], "").expect(&flag);
        assert_eq!(place(&said, setting.name), format!("--{}", setting.name));
        let variable = setting.variable();
        let (_, said) = resolved(&[], &[(&variable, value)], "").expect(&variable);
        assert_eq!(place(&said, setting.name), variable);
    }
}

#[test]
fn every_flag_is_a_setting() {
    // Which data directory the file lies in, and how this one start is told, are no settings.
    let others = ["home", "json", "help", "version"];
    for flag in command_line().get_arguments() {
        let name = flag.get_long().expect("a long name");
        let known = SETTINGS.iter().any(|setting| setting.name == name);
        assert!(known || others.contains(&name), "--{name}");
    }
}

#[test]
fn every_setting_is_documented_with_all_its_names_and_its_default() {
    let page = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/configuration.md"
    ));
    let page = std::fs::read_to_string(page).expect("the page");
    for setting in SETTINGS.iter().filter(|setting| !setting.is_hidden()) {
        let default = match setting.fallback {
            Fallback::Value(value) => format!("`{value}`"),
            Fallback::Nothing(words) => words.to_owned(),
        };
        let name = match setting.is_secret() {
            true => format!("| (only `{}`) |", setting.variable()),
            false => format!("| `{}` |", setting.name),
        };
        let row = page.lines().find(|line| line.starts_with(&name));
        let row = row.unwrap_or_else(|| panic!("no row `{name}` in docs/configuration.md"));
        assert!(
            row.contains(&format!("| {default} |")),
            "`{default}` in {row}"
        );
    }
}

#[test]
fn a_wrong_value_says_who_said_it() {
    let error = |variable: &str, value: &str| {
        let outcome = resolved(&[], &[(variable, value)], "");
        format!("{:#}", outcome.expect_err("an error"))
    };
    assert_eq!(
        error("DRAGOMAN_PORT", "many"),
        "DRAGOMAN_PORT cannot be used: `many` is not a port; write a number up to 65535, or 0 for \
         any free one"
    );
    let token = error("DRAGOMAN_TOKEN", "hunter2");
    assert!(token.starts_with("DRAGOMAN_TOKEN cannot be used: the token is too short"));
    assert!(!token.contains("hunter2"), "{token}");
    let file = resolved(&["--port", "1"], &[], "prot = 2");
    let file = format!("{:#}", file.expect_err("an error"));
    assert!(
        file.contains("config/config.toml, line 1: unknown setting `prot`"),
        "{file}"
    );
}

#[test]
fn a_stronger_layer_replaces_a_list_and_takes_back_a_switch() {
    let text = "allow-private = [\"a:1\", \"b:2\"]\nyolo = true\n";
    let (all, _) = resolved(&[], &[], text).expect("resolved");
    assert_eq!(all.settings.engine.web.allow_private, ["a:1", "b:2"]);
    assert!(all.settings.engine.auto_approve);
    let variables = [("DRAGOMAN_ALLOW_PRIVATE", "c:3, d:4")];
    let (all, _) = resolved(&["--yolo=no"], &variables, text).expect("resolved");
    assert_eq!(all.settings.engine.web.allow_private, ["c:3", "d:4"]);
    assert!(!all.settings.engine.auto_approve);
}

#[test]
fn the_network_is_of_the_sandbox_that_was_chosen() {
    let fence = |text: &str| {
        resolved(&["--network"], &[], text).map(|(all, _)| all.settings.engine.sandbox)
    };
    assert_eq!(fence("").ok(), Some(SandboxSetting::Best { network: true }));
    let only = SandboxSetting::Only {
        mode: Mode::Landlock,
        network: true,
    };
    assert_eq!(fence("sandbox = \"landlock\"").ok(), Some(only));
    assert_eq!(
        fence("sandbox = \"off\"").ok(),
        Some(SandboxSetting::Nothing)
    );
}

#[test]
fn how_hard_models_think_is_one_of_the_levels_there_are() {
    let levels = providers::catalog::EFFORTS.iter().skip(1);
    for level in levels {
        let flag = format!("--effort={level}");
        let (all, _) = resolved(&[&flag], &[], "effort = \"low\"").expect(&flag);
        assert_eq!(all.settings.engine.effort.as_deref(), Some(*level));
    }
    let (all, _) = resolved(&[], &[("DRAGOMAN_VERBOSITY", "low")], "").expect("resolved");
    assert_eq!(all.settings.engine.verbosity, Some(Verbosity::Low));
    assert_eq!(all.settings.engine.effort, None);
    let wrong = resolved(&[], &[("DRAGOMAN_EFFORT", "sideways")], "").expect_err("no level");
    assert_eq!(
        format!("{wrong:#}"),
        "DRAGOMAN_EFFORT cannot be used: `sideways` is none of none, minimal, low, medium, high, \
         xhigh or max"
    );
}

#[test]
fn the_token_is_that_of_the_stronger_place() {
    use std::os::unix::fs::PermissionsExt as _;
    let (of_file, of_variable) = ("the-token-of-the-file", "the-token-of-the-variable");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("token");
    std::fs::write(&path, of_file).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("closed");
    let (path, variables) = (
        path.display().to_string(),
        [("DRAGOMAN_TOKEN", of_variable)],
    );
    let token = |flags: &[&str], text: &str| {
        let (all, said) = resolved(flags, &variables, text).expect("resolved");
        complete(all, &said)
            .expect("complete")
            .settings
            .token
            .expect("a token")
    };
    assert!(token(&["--token-file", &path], "").is(of_file));
    let in_file = format!("token-file = {path:?}");
    assert!(token(&[], &in_file).is(of_variable));
    assert!(token(&[], "").is(of_variable));
}

#[test]
fn traces_are_configured_and_their_secret_key_is_read_from_a_private_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("key");
    std::fs::write(&path, "sk-planted\n").expect("written");
    let text = format!(
        "langfuse-url = 'https://langfuse.example'\nlangfuse-public-key = 'pk'\n\
         langfuse-secret-key-file = {path:?}\notlp-endpoint = 'http://collector:4318'\n"
    );
    let completed = |mode| {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("a mode");
        let (all, said) = resolved(&[], &[], &text).expect("resolved");
        complete(all, &said)
    };
    let refused = format!("{:#}", completed(0o644).expect_err("anybody may read it"));
    assert!(
        refused.contains("key file") && refused.contains("chmod 600"),
        "{refused}"
    );
    let settings = completed(0o600).expect("complete").settings;
    let tracing = &settings.engine.tracing;
    let target = tracing.langfuse.target();
    assert!(target.is_configured());
    assert_eq!(target.base_url, "https://langfuse.example");
    let otlp = tracing.otlp.as_ref().expect("an endpoint");
    assert_eq!(otlp.traces_url, "http://collector:4318/v1/traces");
    assert!(!format!("{settings:?}").contains("planted"));
}

#[test]
fn variables_of_other_agents_are_weaker_than_ours_and_stronger_than_files() {
    let agent = [
        ("AGENT_WORKING_DIR", "/a"),
        ("AGENT_MODEL_MAX_RETRIES", "2"),
        ("AGENT_PROVIDER", "google"),
        ("AGENT_ENABLE_MCP", "false"),
        ("AGENT_OUTPUT_DIR", "out"),
    ];
    let text = "dir = \"/b\"\nservice-attempts = 7\nmodel = \"openai/gpt-5.2\"\n";
    let (all, said) = resolved(&[], &agent, text).expect("resolved");
    assert_eq!(all.settings.engine.directory, Path::new("/a"));
    assert_eq!(place(&said, "dir"), "AGENT_WORKING_DIR");
    assert_eq!(all.settings.limits.attempts, Some(3));
    let engine = &all.settings.engine;
    let defaults = &engine.defaults;
    assert_eq!(defaults.provider.as_deref(), Some("google"));
    assert_eq!((defaults.mcp, defaults.observability), (Some(false), None));
    assert_eq!(defaults.output.as_deref(), Some(Path::new("out")));
    // A project's own model is stronger than the user's file, a flag than both.
    assert_eq!(
        (&engine.default_model, engine.fallback_model.is_some()),
        (&None, true)
    );
    let flags = ["--dir", "/c", "--model", "openai/gpt-5.1"];
    let (all, said) = resolved(&flags, &agent, text).expect("resolved");
    assert_eq!(place(&said, "dir"), "--dir");
    assert!(all.settings.engine.default_model.is_some());
    for (name, wrong) in [
        ("AGENT_ENABLE_MCP", "maybe"),
        ("AGENT_MODEL_MAX_RETRIES", "x"),
    ] {
        let error = resolved(&[], &[(name, wrong)], "").expect_err("wrong");
        assert!(format!("{error:#}").contains(name), "{error:#}");
    }
}
