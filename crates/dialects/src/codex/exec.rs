//! Commands of a client's own, which belong to no thread: `command/exec`.

use std::path::{Path, PathBuf};

use serde_json::Value;
use vocabulary::{Call, ExecCommand, ExecOutput, SandboxMode};

use super::calls::CodexPurpose;
use super::refuse::CodexError;
use super::wire::exec::{CommandExecParams, CommandExecResponse};
use super::{Codex, respond, send};
use crate::Action;
use crate::jsonrpc::Id;

impl Codex {
    pub(super) fn exec(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        params: CommandExecParams,
    ) -> Result<(), CodexError> {
        let command = command(params)?;
        let call = Call::Exec(Box::new(command));
        self.calls.make(out, CodexPurpose::Exec(id), call);
        Ok(())
    }

    pub(super) fn executed(&self, out: &mut Vec<Action>, id: &Id, output: &ExecOutput) {
        let answer = CommandExecResponse {
            exit_code: output.exit_code,
            stdout: &output.stdout,
            stderr: &output.stderr,
        };
        send(out, respond(id, &answer));
    }
}

/// What cannot be had is refused, so that no client waits for output that comes otherwise.
fn command(params: CommandExecParams) -> Result<ExecCommand, CodexError> {
    let streams = [
        ("tty", params.tty),
        ("streamStdin", params.stream_stdin),
        ("streamStdoutStderr", params.stream_stdout_stderr),
    ];
    if let Some((field, _)) = streams.iter().find(|(_, wanted)| *wanted) {
        return Err(wrong(
            field,
            "is not there: the output comes with the answer, and nothing is written to the command",
        ));
    }
    if params.disable_timeout {
        return Err(wrong(
            "disableTimeout",
            "every command here ends; give timeoutMs, at most 3600000",
        ));
    }
    if params.permission_profile.is_some() {
        return Err(wrong("permissionProfile", "say it as sandboxPolicy"));
    }
    if let Some(cwd) = &params.cwd
        && !Path::new(cwd).is_absolute()
    {
        return Err(wrong("cwd", "expected an absolute path"));
    }
    let timeout = params.timeout_ms.map(u64::try_from).transpose();
    let timeout_ms =
        timeout.map_err(|_| wrong("timeoutMs", "expected a number that is not negative"))?;
    Ok(ExecCommand {
        words: params.command,
        directory: params.cwd.map(PathBuf::from),
        sandbox: params.sandbox_policy.as_ref().map(sandbox).transpose()?,
        environment: params.env.unwrap_or_default().into_iter().collect(),
        timeout_ms,
        // What is kept at most is a limit of the server's own, whatever a client lifts.
        output_bytes_max: params.output_bytes_cap,
    })
}

fn sandbox(policy: &Value) -> Result<SandboxMode, CodexError> {
    let mode = match policy["type"].as_str() {
        Some("readOnly") => SandboxMode::ReadOnly,
        Some("workspaceWrite") => SandboxMode::WorkspaceWrite,
        Some("dangerFullAccess") => SandboxMode::FullAccess,
        Some(_) | None => {
            return Err(wrong(
                "sandboxPolicy.type",
                "expected readOnly, workspaceWrite or dangerFullAccess",
            ));
        }
    };
    let wants = |field: &str| match &policy[field] {
        Value::Bool(wanted) => *wanted,
        Value::Array(roots) => !roots.is_empty(),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Object(_) => false,
    };
    for field in ["networkAccess", "writableRoots"] {
        if mode != SandboxMode::FullAccess && wants(field) {
            return Err(wrong(
                &format!("sandboxPolicy.{field}"),
                "is not there for a command of its own; leave it away",
            ));
        }
    }
    Ok(mode)
}

fn wrong(field: &str, words: &str) -> CodexError {
    CodexError::params(format!("command/exec: {field}: {words}"))
}
