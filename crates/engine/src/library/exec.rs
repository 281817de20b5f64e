//! Commands of a client's own: held by the sandbox's fence, in a directory that the caller may use.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tools::exec::{self, ExecStreams};
use tools::policy::{Decision, PolicyCall};
use tools::sandbox::{HELD, Mode};
use tools::{Host, Judgement, Scope, ToolCx};
use vocabulary::{Caller, ExecCommand, ExecOutput, Refusal, SandboxMode, Why};

use crate::Shared;
use crate::limits::{
    EXEC_BYTES_MAX, EXEC_OUTPUT_BYTES_MAX, EXEC_TIME, EXEC_TIME_MAX, EXEC_WORDS_MAX,
};
use crate::tenants::TenantOwn;

/// Runs it to its end. Whoever stops waiting ends it.
pub async fn run(
    shared: &Arc<Shared>,
    caller: &Caller,
    command: ExecCommand,
) -> Result<ExecOutput, Refusal> {
    check(&command)?;
    let own = shared.own(&caller.tenant);
    let directory = directory(shared, &own, command.directory.clone())?;
    let sandbox = shared.sandbox().await;
    let is_open = sandbox.mode() == Mode::Nothing;
    let outside = own.outside();
    match (command.sandbox, is_open) {
        (_, true) if outside.held => return Err(Refusal::new(Why::Forbidden, HELD)),
        (None, _) | (Some(SandboxMode::FullAccess), true) => {}
        (Some(SandboxMode::ReadOnly | SandboxMode::WorkspaceWrite), false) => {}
        (Some(SandboxMode::ReadOnly | SandboxMode::WorkspaceWrite), true) => {
            let message = "sandboxPolicy: no sandbox is here that would hold the command";
            return Err(Refusal::invalid("sandboxPolicy", message));
        }
        (Some(SandboxMode::FullAccess), false) => {
            let message = "sandboxPolicy: this server keeps commands in its sandbox; take readOnly \
                           or workspaceWrite";
            return Err(Refusal::invalid("sandboxPolicy", message));
        }
    }
    forbidden(&own, &command)?;
    let bytes_max = command.output_bytes_max.unwrap_or(EXEC_OUTPUT_BYTES_MAX);
    let bytes_max = usize::try_from(bytes_max.min(EXEC_OUTPUT_BYTES_MAX)).unwrap_or(usize::MAX);
    let streams = ExecStreams::new(bytes_max);
    let cx = ToolCx {
        scope: Scope {
            directory,
            extra: Vec::new(),
            skills: Vec::new(),
            trusted: false,
            read_only: command.sandbox != Some(SandboxMode::WorkspaceWrite),
            private: shared.config.private.clone(),
            outside,
            spill: None,
        },
        trusted: tools::Trusted::nothing("nothing else uses it"),
        cancel: CancellationToken::new(),
        host: Arc::clone(&streams) as Arc<dyn Host>,
        sandbox,
        seen: Arc::default(),
        jobs: Arc::default(),
        web: Arc::clone(&own.web),
    };
    let time_max = command.timeout_ms.map_or(EXEC_TIME, Duration::from_millis);
    let ran = exec::run(
        &cx,
        &streams,
        &command.words,
        &command.environment,
        time_max,
    );
    ran.await
        .map_err(|error| Refusal::new(Why::Internal, error))
}

/// What the server's owner forbids is forbidden to clients, too.
fn forbidden(own: &TenantOwn, command: &ExecCommand) -> Result<(), Refusal> {
    let line = command.words.join(" ");
    let decision = own.policy.decide(&PolicyCall {
        tool: "bash",
        summary: &line,
        command: Some(&line),
        paths: &[],
        hosts: &[],
        judgement: &Judgement::Allow,
    });
    match decision {
        Decision::Refuse { why } => Err(Refusal::new(Why::Forbidden, why)),
        Decision::Allow | Decision::Ask { .. } => Ok(()),
    }
}

fn check(command: &ExecCommand) -> Result<(), Refusal> {
    let bytes: usize = command.words.iter().map(String::len).sum();
    let set = command.environment.iter();
    let bytes: usize = bytes
        + set
            .map(|(name, value)| name.len() + value.as_ref().map_or(0, String::len))
            .sum::<usize>();
    let has_nul = |text: &str| text.contains('\0');
    let values = command
        .environment
        .iter()
        .filter_map(|(_, value)| value.as_deref());
    if command.words.first().is_none_or(String::is_empty)
        || command.words.len() > EXEC_WORDS_MAX
        || bytes > EXEC_BYTES_MAX
        || command
            .words
            .iter()
            .map(String::as_str)
            .chain(values)
            .any(has_nul)
    {
        let message = format!(
            "command: expected a program and its arguments, at most {EXEC_WORDS_MAX} words of \
             together {EXEC_BYTES_MAX} bytes, without NUL"
        );
        return Err(Refusal::invalid("command", message));
    }
    if let Some((name, _)) = command
        .environment
        .iter()
        .find(|(name, _)| !exec::is_variable(name))
    {
        let message = format!(
            "env: {:?} is no name of a variable",
            tools::shown::line(name)
        );
        return Err(Refusal::invalid("env", message));
    }
    let too_long = |ms: u64| u128::from(ms) > EXEC_TIME_MAX.as_millis();
    match command.timeout_ms.is_some_and(too_long) {
        true => {
            let message = format!("timeoutMs: at most {}", EXEC_TIME_MAX.as_millis());
            Err(Refusal::invalid("timeoutMs", message))
        }
        false => Ok(()),
    }
}

fn directory(shared: &Shared, own: &TenantOwn, given: Option<PathBuf>) -> Result<PathBuf, Refusal> {
    let directory = match given {
        Some(directory) => own.admit(directory)?,
        None if own.may_leave_sandbox() => shared.config.directory.clone(),
        None => {
            let message = "cwd: name a directory of your tenant's";
            return Err(Refusal::invalid("cwd", message));
        }
    };
    match directory.is_dir() {
        true => Ok(directory),
        false => {
            let message = format!("cwd: there is no directory {}", directory.display());
            Err(Refusal::invalid("cwd", message))
        }
    }
}
