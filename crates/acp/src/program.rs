//! The program of an agent: where it is, what it knows of us, and its pipes.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tools::Sandbox;
use tools::sandbox::spoken::{ErrorTail, environment};
use tools::sandbox::{PipedProgram, ProgramInput};

use crate::{AcpError, AcpErrorKind};

/// How an agent is started.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct AgentProgram {
    /// What people call it.
    pub name: String,
    /// A name is looked for in PATH.
    pub command: String,
    pub args: Vec<String>,
    /// Further arguments to try where these are not understood, for older versions.
    pub older_args: Option<Vec<String>>,
    /// Set for it, beside what every program gets.
    pub env: BTreeMap<String, String>,
    /// Variables of ours that it gets where they are set: where it keeps its things, no keys.
    pub inherits: Vec<&'static str>,
    /// What to do where it is missing, for people.
    pub install: String,
    /// What to do where nobody is signed in, for people.
    pub sign_in: String,
}

/// What is set for a program may be a key.
impl fmt::Debug for AgentProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentProgram")
            .field("name", &self.name)
            .field("command", &self.command)
            .field("args", &self.args)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl AgentProgram {
    /// The file that is run, if it is there.
    pub fn find(&self) -> Option<PathBuf> {
        if self.command.contains('/') {
            let path = PathBuf::from(&self.command);
            return is_program(&path).then_some(path);
        }
        let own = self.env.get("PATH").map(OsString::from);
        let path = own.or_else(|| std::env::var_os("PATH"))?;
        std::env::split_paths(&path)
            .map(|folder| folder.join(&self.command))
            .find(|program| is_program(program))
    }

    pub fn missing(&self) -> AcpError {
        let (name, command) = (&self.name, &self.command);
        let install = match self.install.is_empty() {
            true => "correct its `command` in config.toml",
            false => &self.install,
        };
        AcpError::new(
            AcpErrorKind::NotInstalled,
            format!("{name} is not installed: there is no program `{command}`; {install}"),
        )
    }

    /// A text of the program's, without what was set for it: that may be a key.
    pub(crate) fn without_values(&self, text: &str) -> String {
        const SECRET_CHARS_MIN: usize = 6;
        let values = self.env.values().map(|value| value.trim());
        values
            .filter(|value| value.len() >= SECRET_CHARS_MIN)
            .fold(text.to_owned(), |text, value| text.replace(value, "***"))
    }

    /// Starts it, in the open: it has a login and a sandbox of its own. It ends with this process.
    pub(crate) async fn start(
        &self,
        args: &[String],
        directory: &Path,
        sandbox: &Sandbox,
    ) -> Result<AgentStreams, AcpError> {
        let program = self.find().ok_or_else(|| self.missing())?;
        let words: Vec<&OsStr> = std::iter::once(program.as_os_str())
            .chain(args.iter().map(OsStr::new))
            .collect();
        let failed = |why: String| AcpError::lost(format!("{} does not start: {why}", self.name));
        let open = sandbox.clone().with_input(true).open(&words);
        let fenced = open.map_err(failed)?;
        let environment = environment(&self.inherits, &self.env);
        let (program, pipes) = PipedProgram::spawn(fenced, directory, &environment)
            .map_err(|error| failed(error.to_string()))?;
        let errors = ErrorTail::default();
        let reading_errors = errors.follow(pipes.errors);
        let mut output = pipes.output;
        if !program.stands(&mut output).await {
            return Err(failed(format!("its launcher failed. {}", errors.text())));
        }
        Ok(AgentStreams {
            output: Box::new(output),
            input: AgentInput::Program(pipes.input),
            process: Some(AgentProcess {
                program,
                errors,
                reading_errors: Some(reading_errors),
            }),
        })
    }
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let found = std::fs::metadata(path);
    found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// How one speaks with an agent.
pub struct AgentStreams {
    pub(crate) output: Box<dyn AsyncRead + Send + Unpin>,
    pub(crate) input: AgentInput,
    pub(crate) process: Option<AgentProcess>,
}

impl AgentStreams {
    /// An agent that is no process of ours; for tests of what uses agents.
    pub fn between(
        output: impl AsyncRead + Send + Unpin + 'static,
        input: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self {
            output: Box::new(output),
            input: AgentInput::Stream(Box::new(input)),
            process: None,
        }
    }
}

/// Where an agent reads.
pub(crate) enum AgentInput {
    Program(ProgramInput),
    Stream(Box<dyn AsyncWrite + Send + Unpin>),
}

impl AgentInput {
    pub async fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        use tokio::io::AsyncWriteExt as _;
        match self {
            AgentInput::Program(input) => input.write(bytes).await,
            AgentInput::Stream(stream) => {
                stream.write_all(bytes).await?;
                stream.flush().await
            }
        }
    }
}

pub(crate) struct AgentProcess {
    pub program: PipedProgram,
    pub errors: ErrorTail,
    pub reading_errors: Option<JoinHandle<()>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_told_with_what_to_do_and_no_key() {
        let program = AgentProgram {
            name: "gemini-cli".to_owned(),
            command: "no-such-program-anywhere".to_owned(),
            env: BTreeMap::from([("KEY".to_owned(), "planted-secret".to_owned())]),
            install: "install it with npm".to_owned(),
            ..AgentProgram::default()
        };
        assert_eq!(program.find(), None);
        let error = program.missing();
        assert_eq!(
            error.to_string(),
            "gemini-cli is not installed: there is no program `no-such-program-anywhere`; install \
             it with npm"
        );
        assert!(!format!("{program:?}").contains("planted"));
        let shell = AgentProgram {
            command: "sh".to_owned(),
            ..program
        };
        assert!(shell.find().is_some());
    }
}
