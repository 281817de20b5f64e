//! Approval policies and sandboxes, as the app-server spells them: what a client wants, and what is
//! in force. What cannot be kept is refused, never taken for something else.

use std::path::Path;

use serde_json::Value;
use vocabulary::{Approvals, Changes, SandboxInForce, SandboxMode, ThreadCard, ThreadSettings};

use super::refuse::Wrong;
use super::wire::params::CollaborationMode;
use super::wire::results::SandboxPolicy;

/// What a request sets, read but for what depends on its thread.
#[derive(Clone, Debug, Default)]
pub struct RequestedPermissions {
    approval_policy: Option<ApprovalPolicy>,
    sandbox: Option<SandboxMode>,
    network: bool,
    writable_roots: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ApprovalPolicy {
    Untrusted,
    OnRequest,
    Never,
}

impl ApprovalPolicy {
    fn word(self) -> &'static str {
        match self {
            ApprovalPolicy::Untrusted => "untrusted",
            ApprovalPolicy::OnRequest => "on-request",
            ApprovalPolicy::Never => "never",
        }
    }

    fn in_force(settings: &ThreadSettings) -> Self {
        match (settings.auto_approve, settings.approvals) {
            (true, _) | (_, Approvals::Never) => ApprovalPolicy::Never,
            (false, Approvals::Auto) => ApprovalPolicy::OnRequest,
            (false, Approvals::Ask | Approvals::AskUnlessRead) => ApprovalPolicy::Untrusted,
        }
    }
}

/// thread/start: `approvalPolicy`, and `sandbox` as a word.
pub fn of_thread(
    policy: Option<&Value>,
    sandbox: Option<&Value>,
) -> Result<RequestedPermissions, Wrong> {
    let method = "thread/start";
    let sandbox = match sandbox {
        None | Some(Value::Null) => None,
        Some(word) => Some(match word.as_str() {
            Some("read-only") => SandboxMode::ReadOnly,
            Some("workspace-write") => SandboxMode::WorkspaceWrite,
            Some("danger-full-access") => SandboxMode::FullAccess,
            Some(_) | None => {
                let message = "sandbox: expected read-only or workspace-write";
                return Err(wrong(method, message));
            }
        }),
    };
    Ok(RequestedPermissions {
        approval_policy: approval_policy(method, policy)?,
        sandbox,
        ..RequestedPermissions::default()
    })
}

/// turn/start: `approvalPolicy`, and `sandboxPolicy` as an object; for this turn and those after it.
pub fn of_turn(
    policy: Option<&Value>,
    sandbox: Option<&Value>,
) -> Result<RequestedPermissions, Wrong> {
    let method = "turn/start";
    let mut wanted = RequestedPermissions {
        approval_policy: approval_policy(method, policy)?,
        ..RequestedPermissions::default()
    };
    let Some(sandbox) = sandbox.filter(|sandbox| !sandbox.is_null()) else {
        return Ok(wanted);
    };
    wanted.sandbox = Some(match sandbox.get("type").and_then(Value::as_str) {
        Some("readOnly") => SandboxMode::ReadOnly,
        Some("workspaceWrite") => SandboxMode::WorkspaceWrite,
        Some("dangerFullAccess") => SandboxMode::FullAccess,
        Some(_) | None => {
            let message = "sandboxPolicy.type: expected readOnly or workspaceWrite";
            return Err(wrong(method, message));
        }
    });
    wanted.network = match sandbox.get("networkAccess") {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::Bool(true)) => true,
        Some(_) => {
            let message = "sandboxPolicy.networkAccess: expected a boolean";
            return Err(wrong(method, message));
        }
    };
    wanted.writable_roots = match sandbox.get("writableRoots") {
        None | Some(Value::Null) => Vec::new(),
        Some(roots) => serde_json::from_value(roots.clone()).map_err(|_| {
            let message = "sandboxPolicy.writableRoots: expected a list of paths";
            wrong(method, message)
        })?,
    };
    Ok(wanted)
}

fn approval_policy(method: &str, policy: Option<&Value>) -> Result<Option<ApprovalPolicy>, Wrong> {
    match policy {
        None | Some(Value::Null) => Ok(None),
        Some(word) => match word.as_str() {
            Some("untrusted") => Ok(Some(ApprovalPolicy::Untrusted)),
            Some("on-request") => Ok(Some(ApprovalPolicy::OnRequest)),
            Some("never") => Ok(Some(ApprovalPolicy::Never)),
            Some(_) | None => Err(wrong(
                method,
                "approvalPolicy: expected untrusted, on-request or never",
            )),
        },
    }
}

/// Refuses the mode in which nothing may change: nothing would keep the agent to it.
pub fn check_mode(mode: Option<&CollaborationMode>) -> Result<(), Wrong> {
    match mode.and_then(|mode| mode.mode.as_deref()) {
        Some("plan") => Err(wrong(
            "turn/start",
            "collaborationMode.mode: plan is not available here; take default",
        )),
        Some(_) | None => Ok(()),
    }
}

fn wrong(method: &str, message: &str) -> Wrong {
    Wrong::params(format!("{method}: {message}"))
}

impl RequestedPermissions {
    /// What it changes of a new thread's settings.
    pub fn of_new(&self) -> Changes {
        let (approvals, auto_approve) = self.approval_policy.map_or((None, None), settings_of);
        Changes {
            approvals,
            auto_approve,
            sandbox: self.sandbox,
            ..Changes::default()
        }
    }

    /// What it changes of settings that a thread has. Clients repeat what they were told with every
    /// turn: that changes nothing.
    pub fn of_known(&self, now: &ThreadSettings, in_force: SandboxInForce) -> Changes {
        let told = ApprovalPolicy::in_force(now);
        let policy = self.approval_policy.filter(|policy| told != *policy);
        let (approvals, auto_approve) = policy.map_or((None, None), settings_of);
        let same = |wanted: &SandboxMode| {
            now.sandbox == *wanted || *wanted == SandboxMode::FullAccess && !in_force.holds
        };
        Changes {
            approvals,
            auto_approve,
            sandbox: self.sandbox.filter(|wanted| !same(wanted)),
            ..Changes::default()
        }
    }

    /// Refuses what this thread's sandbox does not give.
    pub fn check(&self, card: &ThreadCard, in_force: SandboxInForce) -> Result<(), Wrong> {
        let method = "turn/start";
        if self.network && !in_force.network {
            return Err(wrong(
                method,
                "sandboxPolicy.networkAccess: the network is closed to commands on this server; \
                 its owner can open it with --network",
            ));
        }
        let outside = |root: &&String| !Path::new(root).starts_with(&card.directory);
        if self.writable_roots.iter().any(|root| outside(&root)) {
            return Err(wrong(
                method,
                "sandboxPolicy.writableRoots: only the thread's own directory can be written",
            ));
        }
        Ok(())
    }
}

/// A server that runs everything without asking still does so for a client that asks as clients do
/// by default; one that wants to be asked more is.
fn settings_of(policy: ApprovalPolicy) -> (Option<Approvals>, Option<bool>) {
    match policy {
        ApprovalPolicy::Untrusted => (Some(Approvals::Ask), Some(false)),
        ApprovalPolicy::OnRequest => (Some(Approvals::Auto), None),
        ApprovalPolicy::Never => (Some(Approvals::Never), None),
    }
}

pub fn approval_policy_in_force(settings: &ThreadSettings) -> &'static str {
    ApprovalPolicy::in_force(settings).word()
}

pub fn sandbox_in_force(settings: &ThreadSettings, in_force: SandboxInForce) -> SandboxPolicy {
    let network_access = in_force.network;
    match (in_force.holds, settings.sandbox) {
        (false, _) | (_, SandboxMode::FullAccess) => SandboxPolicy::DangerFullAccess,
        (true, SandboxMode::ReadOnly) => SandboxPolicy::ReadOnly { network_access },
        (true, SandboxMode::WorkspaceWrite) => SandboxPolicy::WorkspaceWrite {
            writable_roots: [],
            network_access,
            exclude_tmpdir_env_var: false,
            // A command's own temporary directory is not everyone's.
            exclude_slash_tmp: true,
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_cannot_be_kept_is_refused_by_name() {
        let refused = |value: Value| {
            let policy = value.get("approvalPolicy");
            let wrong = match value.get("sandboxPolicy") {
                Some(sandbox) => of_turn(policy, Some(sandbox)),
                None => of_thread(policy, value.get("sandbox")),
            };
            wrong.err().map(|wrong| wrong.message)
        };
        let table = [
            (json!({"approvalPolicy": "on-failure"}), "approvalPolicy"),
            (json!({"approvalPolicy": "Never"}), "approvalPolicy"),
            (
                json!({"approvalPolicy": {"granular": {}}}),
                "approvalPolicy",
            ),
            (json!({"sandbox": "readonly"}), "sandbox"),
            (json!({"sandbox": {"type": "readOnly"}}), "sandbox"),
            (
                json!({"sandboxPolicy": {"type": "externalSandbox"}}),
                "sandboxPolicy.type",
            ),
            (json!({"sandboxPolicy": "readOnly"}), "sandboxPolicy.type"),
            (
                json!({"sandboxPolicy": {"type": "readOnly", "networkAccess": "enabled"}}),
                "sandboxPolicy.networkAccess",
            ),
            (
                json!({"sandboxPolicy": {"type": "workspaceWrite", "writableRoots": 1}}),
                "sandboxPolicy.writableRoots",
            ),
        ];
        for (value, field) in table {
            let message = refused(value.clone()).unwrap_or_default();
            assert!(message.contains(field), "{value}: {message}");
        }
        for value in [
            json!({}),
            json!({"approvalPolicy": null, "sandbox": null}),
            json!({"approvalPolicy": "untrusted", "sandbox": "read-only"}),
            json!({"approvalPolicy": "never", "sandbox": "workspace-write"}),
            // Whether that can be had is for the engine to say.
            json!({"sandbox": "danger-full-access"}),
            json!({"sandboxPolicy": {"type": "readOnly"}}),
        ] {
            assert_eq!(refused(value.clone()), None, "{value}");
        }
    }
}
