//! What a client wants of a new thread: `thread/start`, and `thread/fork`, which has the same fields.

use std::path::{Path, PathBuf};

use vocabulary::{Changes, NamedModel};

use super::act::instructions;
use super::permissions::PermissionFields;
use super::refuse::CodexError;
use super::thinking;
use super::wire::params::ThreadStartParams;

/// The wishes, read.
pub struct WantedThread {
    pub directory: Option<PathBuf>,
    pub changes: Changes,
    pub instructions: Option<Box<str>>,
    pub ephemeral: bool,
}

impl WantedThread {
    pub fn read(method: &'static str, params: ThreadStartParams) -> Result<Self, CodexError> {
        if let Some(cwd) = &params.cwd
            && !Path::new(cwd).is_absolute()
        {
            let message = format!("{method}: cwd: expected an absolute path");
            return Err(CodexError::params(message));
        }
        let instructions = instructions(method, params.developer_instructions.as_deref())?;
        let permissions = PermissionFields {
            method,
            approval_policy: params.approval_policy.as_ref(),
            sandbox: params.sandbox.as_ref(),
            profile: params.permissions.as_deref(),
            ..PermissionFields::default()
        };
        let permissions = permissions.read()?;
        let config = params.config.unwrap_or_default();
        let field = |name: &str| format!("{method}: config.{name}");
        let summary = config.model_reasoning_summary.as_deref();
        let summary = thinking::summary(&field("model_reasoning_summary"), summary)?;
        let verbosity = config.model_verbosity.as_deref();
        let verbosity = thinking::verbosity(&field("model_verbosity"), verbosity)?;
        Ok(Self {
            directory: params.cwd.map(PathBuf::from),
            changes: Changes {
                named_model: params.model.map(NamedModel::Listed),
                effort: config.model_reasoning_effort,
                summary,
                verbosity,
                ..permissions.of_new()
            },
            instructions: instructions.map(Into::into),
            ephemeral: params.ephemeral == Some(true),
        })
    }
}
