//! What runs after edits, as `dragoman config` shows it: the user's rules, those of the directory's
//! project, and what is found there.

use engine::{CheckChoice, Config};
use serde_json::{Value, json};
use tools::checks::{self, CheckRule, RuleOrigin};

/// For the example of a file.
pub const EXAMPLE: &str = "\
\n# What runs after the agent has edited such files, and tells it what is wrong (docs/checks.md)
# check = [{ files = \"**/*.rs\", run = \"cargo check -q --message-format short\", timeout = 60 }]
\n# What runs before that, and may change them; {files} stands for their names
# format = [{ files = [\"*.ts\", \"*.tsx\"], run = \"npx prettier --write {files}\" }]
";

/// The rules that are for this directory, whether or not it is trusted.
pub fn rules(config: &Config) -> anyhow::Result<Vec<CheckRule>> {
    let mut rules = config.checks.rules.clone();
    match config.checks.choice {
        CheckChoice::Off => return Ok(Vec::new()),
        CheckChoice::Configured => return Ok(rules),
        CheckChoice::Auto => {}
    }
    let file = config.directory.join(checks::workspace_file());
    if let Ok(text) = std::fs::read_to_string(&file) {
        let own = checks::in_workspace(&text).map_err(|(line, what)| {
            let file = file.display();
            anyhow::anyhow!("{file}, line {line}: {what}")
        });
        rules.extend(own?);
    }
    let path = std::env::var_os("PATH");
    rules.extend(checks::find(&config.directory, path.as_deref()));
    Ok(rules)
}

pub fn row(rule: &CheckRule) -> Vec<String> {
    let what = format!("{}: {}", rule.files.join(", "), rule.run);
    let from = match rule.origin {
        RuleOrigin::User(line) => format!("config.toml, line {line}"),
        RuleOrigin::Workspace(line) => {
            let file = checks::workspace_file();
            format!("{}, line {line}, if trusted", file.display())
        }
        RuleOrigin::Found => "found, if trusted".to_owned(),
    };
    vec![rule.kind.key().to_owned(), what, from]
}

pub fn to_json(rule: &CheckRule) -> Value {
    let (source, line) = match rule.origin {
        RuleOrigin::User(line) => ("file", Some(line)),
        RuleOrigin::Workspace(line) => ("workspace", Some(line)),
        RuleOrigin::Found => ("found", None),
    };
    let mut entry = json!({
        "kind": rule.kind.key(),
        "files": rule.files,
        "run": rule.run,
        "timeoutSeconds": rule.timeout.as_secs(),
        "source": source,
    });
    if let Some(line) = line {
        entry["line"] = json!(line);
    }
    entry
}
