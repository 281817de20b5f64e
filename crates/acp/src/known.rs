//! The agents that everyone can choose, and what users say of them and of others.

use std::collections::BTreeMap;

use crate::AgentProgram;

/// The three, as they are started where a user says nothing else.
fn built_in() -> [AgentProgram; 3] {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    [
        AgentProgram {
            name: "claude-code".to_owned(),
            command: "claude-agent-acp".to_owned(),
            inherits: vec!["CLAUDE_CONFIG_DIR"],
            install: "install it with `npm install -g @agentclientprotocol/claude-agent-acp`"
                .to_owned(),
            sign_in: "run `claude` once and use its /login".to_owned(),
            ..AgentProgram::default()
        },
        AgentProgram {
            name: "codex-acp".to_owned(),
            command: "codex-acp".to_owned(),
            inherits: vec!["CODEX_HOME"],
            install: "install it with `npm install -g @zed-industries/codex-acp`".to_owned(),
            sign_in: "run `codex login`".to_owned(),
            ..AgentProgram::default()
        },
        AgentProgram {
            name: "gemini-cli".to_owned(),
            command: "gemini".to_owned(),
            args: words(&["--acp"]),
            older_args: Some(words(&["--experimental-acp"])),
            inherits: vec!["GEMINI_CLI_HOME", "GOOGLE_CLOUD_PROJECT"],
            install: "install it with `npm install -g @google/gemini-cli`".to_owned(),
            sign_in: "run `gemini` once and sign in there".to_owned(),
            ..AgentProgram::default()
        },
    ]
}

/// What a user says of an agent; what they leave out stays as it is.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct AgentSettings {
    pub command: Option<String>,
    pub args: Option<Vec<String>>,
    pub env: BTreeMap<String, String>,
}

/// What is set for a program may be a key.
impl std::fmt::Debug for AgentSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentSettings")
            .field("command", &self.command)
            .field("args", &self.args)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .finish()
    }
}

/// All agents, in the order of their names. None of them is looked for here.
pub fn known_programs(settings: &BTreeMap<String, AgentSettings>) -> Vec<AgentProgram> {
    let mut programs: BTreeMap<String, AgentProgram> = built_in()
        .into_iter()
        .map(|program| (program.name.clone(), program))
        .collect();
    for (name, own) in settings {
        let program = programs
            .entry(name.clone())
            .or_insert_with(|| AgentProgram {
                name: name.clone(),
                command: name.clone(),
                sign_in: "with its own program".to_owned(),
                ..AgentProgram::default()
            });
        if let Some(command) = &own.command {
            program.command.clone_from(command);
        }
        if let Some(args) = &own.args {
            program.args.clone_from(args);
            program.older_args = None;
        }
        program.env.extend(own.env.clone());
    }
    programs.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_change_what_is_known_and_add_what_is_not() {
        let env = BTreeMap::from([("KEY".to_owned(), "planted-secret".to_owned())]);
        let gemini = AgentSettings {
            command: Some("/opt/gemini".to_owned()),
            env,
            ..AgentSettings::default()
        };
        assert!(!format!("{gemini:?}").contains("planted"));
        let own = AgentSettings {
            args: Some(vec!["acp".to_owned()]),
            ..AgentSettings::default()
        };
        let settings = BTreeMap::from([
            ("gemini-cli".to_owned(), gemini),
            ("opencode".to_owned(), own),
        ]);
        let words = |program: &AgentProgram| {
            let args = program.args.join(" ");
            format!("{}: {} {args}", program.name, program.command)
        };
        let words: Vec<String> = known_programs(&settings).iter().map(words).collect();
        assert_eq!(
            words,
            [
                "claude-code: claude-agent-acp ",
                "codex-acp: codex-acp ",
                "gemini-cli: /opt/gemini --acp",
                "opencode: opencode acp",
            ]
        );
    }
}
