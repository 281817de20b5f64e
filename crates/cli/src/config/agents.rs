//! External agents in the settings file: `[agents.NAME]` with `command`, `args` and `env`.

use std::collections::BTreeMap;

use engine::AgentSettings;
use toml::Spanned;
use toml::de::DeValue;

use super::file::absolute;

pub const KEY: &str = "agents";

/// What is wrong, and where in the text.
pub struct AgentsError {
    pub at: usize,
    pub message: String,
}

/// All agents that the table names.
pub fn read(table: &Spanned<DeValue<'_>>) -> Result<BTreeMap<String, AgentSettings>, AgentsError> {
    let mut agents = BTreeMap::new();
    let expected = "expected a table like [agents.claude-code]";
    for (name, value) in fields(table, KEY, expected)? {
        let place = format!("{KEY}.{name}");
        if !is_name(&name) {
            let message = format!("`{place}`: give it a name of letters, digits and -");
            return Err(wrong(value, message));
        }
        let agent = agent(value, &place)?;
        agents.insert(name, agent);
    }
    Ok(agents)
}

fn agent(table: &Spanned<DeValue<'_>>, place: &str) -> Result<AgentSettings, AgentsError> {
    let mut agent = AgentSettings::default();
    for (key, value) in fields(table, place, "expected a table")? {
        let place = format!("{place}.{key}");
        match key.as_str() {
            "command" => agent.command = Some(command(value, &place)?),
            "args" => agent.args = Some(list(value, &place)?),
            "env" => {
                for (name, value) in fields(value, &place, "expected a table of texts")? {
                    let text = text(value, &format!("{place}.{name}"))?;
                    agent.env.insert(name, text);
                }
            }
            _ => {
                let message = format!("unknown setting `{place}`; known are command, args, env");
                return Err(wrong(value, message));
            }
        }
    }
    Ok(agent)
}

/// A name is looked for in PATH; a path means the same wherever the server is started.
fn command(value: &Spanned<DeValue<'_>>, place: &str) -> Result<String, AgentsError> {
    let given = text(value, place)?;
    if given.trim().is_empty() {
        return Err(wrong(value, format!("`{place}`: it must not be empty")));
    }
    if !given.contains('/') {
        return Ok(given);
    }
    let path = absolute(&given).map_err(|error| wrong(value, format!("`{place}`: {error}")))?;
    Ok(path.to_string_lossy().into_owned())
}

fn is_name(name: &str) -> bool {
    const CHARS_MAX: usize = 64;
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= CHARS_MAX && name.chars().all(fits)
}

fn fields<'a, 'i>(
    value: &'a Spanned<DeValue<'i>>,
    place: &str,
    expected: &str,
) -> Result<Vec<(String, &'a Spanned<DeValue<'i>>)>, AgentsError> {
    match value.get_ref() {
        DeValue::Table(table) => Ok(table
            .iter()
            .map(|(key, value)| (key.get_ref().to_string(), value))
            .collect()),
        _ => Err(wrong(value, format!("`{place}`: {expected}"))),
    }
}

fn list(value: &Spanned<DeValue<'_>>, place: &str) -> Result<Vec<String>, AgentsError> {
    match value.get_ref() {
        DeValue::Array(entries) => entries.iter().map(|entry| text(entry, place)).collect(),
        _ => Err(wrong(value, format!("`{place}`: expected a list of texts"))),
    }
}

/// What it is instead is not repeated: it may be a key.
fn text(value: &Spanned<DeValue<'_>>, place: &str) -> Result<String, AgentsError> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text.to_string()),
        _ => Err(wrong(value, format!("`{place}`: expected a text"))),
    }
}

fn wrong(value: &Spanned<DeValue<'_>>, message: String) -> AgentsError {
    AgentsError {
        at: value.span().start,
        message,
    }
}

#[cfg(test)]
mod tests {
    use toml::de::DeTable;

    use super::*;

    fn parsed(text: &str) -> Result<BTreeMap<String, AgentSettings>, String> {
        let table = DeTable::parse(text).expect("a table");
        let value = table.get_ref().get(KEY).expect("agents");
        read(value).map_err(|error| error.message)
    }

    #[test]
    fn agents_are_read_with_all_that_is_said_of_them() {
        let text = "[agents.codex-acp]\ncommand = \"/opt/codex-acp\"\nenv = { KEY = \"value\" }\n\n\
                    [agents.opencode]\nargs = [\"acp\"]\n";
        let agents = parsed(text).expect("good");
        let codex = &agents["codex-acp"];
        assert_eq!(codex.command.as_deref(), Some("/opt/codex-acp"));
        assert_eq!(codex.env["KEY"], "value");
        assert_eq!(agents["opencode"].args, Some(vec!["acp".to_owned()]));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, expected) in [
            (
                "agents = 1",
                "`agents`: expected a table like [agents.claude-code]",
            ),
            (
                "[agents.x]\ncmd = \"a\"",
                "unknown setting `agents.x.cmd`; known are command, args, env",
            ),
            (
                "[agents.x]\nargs = \"a\"",
                "`agents.x.args`: expected a list of texts",
            ),
            (
                "[agents.x]\ncommand = \"\"",
                "`agents.x.command`: it must not be empty",
            ),
            (
                "[agents.x.env]\nKEY = 1",
                "`agents.x.env.KEY`: expected a text",
            ),
            (
                "[agents.\"a b\"]\n",
                "`agents.a b`: give it a name of letters, digits and -",
            ),
        ] {
            assert_eq!(parsed(text).expect_err(text), expected);
        }
        let relative = parsed("[agents.x]\ncommand = \"bin/x\"").expect_err("relative");
        assert!(
            relative.starts_with("`agents.x.command`: `bin/x` depends on where"),
            "{relative}"
        );
    }
}
