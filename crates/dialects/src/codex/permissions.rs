//! Approval policies, sandboxes and profiles of both, as the app-server spells them: what a client wants,
//! and what is in force. What cannot be kept is refused, never taken for something else.

use std::path::Path;

use serde_json::Value;
use vocabulary::{
    AgentMode, Approvals, Changes, PermissionOffer, SandboxInForce, SandboxMode, ThreadCard,
    ThreadSettings,
};

use super::Endpoint;
use super::refuse::CodexError;
use super::wire::results::SandboxPolicy;
use super::wire::settings::{ActivePermissionProfile, PermissionProfileSummary};

/// Who is asked for approval. Models judge each other elsewhere; here people do.
pub const REVIEWER: &str = "user";

/// What a request sets, read but for what depends on its thread.
#[derive(Clone, Debug, Default)]
pub struct RequestedPermissions {
    approval_policy: Option<ApprovalPolicy>,
    sandbox: Option<SandboxMode>,
    network: Option<bool>,
    writable_roots: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ApprovalPolicy {
    Untrusted,
    OnFailure,
    OnRequest,
    Never,
}

impl ApprovalPolicy {
    /// The app-server of today has no word for asking when something failed; what it has for asking when
    /// something is wanted comes nearest.
    fn word(self, endpoint: Endpoint) -> &'static str {
        match (self, endpoint) {
            (ApprovalPolicy::Untrusted, _) => "untrusted",
            (ApprovalPolicy::OnFailure, Endpoint::Zane) => "on-failure",
            (ApprovalPolicy::OnFailure, Endpoint::Codex) | (ApprovalPolicy::OnRequest, _) => {
                "on-request"
            }
            (ApprovalPolicy::Never, _) => "never",
        }
    }

    fn in_force(settings: &ThreadSettings) -> Self {
        match (settings.auto_approve, settings.approvals) {
            (true, _) | (_, Approvals::Never) => ApprovalPolicy::Never,
            (false, Approvals::Auto) => ApprovalPolicy::OnRequest,
            (false, Approvals::OnFailure) => ApprovalPolicy::OnFailure,
            (false, Approvals::Ask | Approvals::AskUnlessRead) => ApprovalPolicy::Untrusted,
        }
    }

    /// Whether a client that was told `told` says the same again with this.
    fn repeats(self, told: Self, endpoint: Endpoint) -> bool {
        self == told
            || self != ApprovalPolicy::OnFailure && self.word(endpoint) == told.word(endpoint)
    }
}

/// The fields of a request that are about permissions.
#[derive(Clone, Copy, Default)]
pub struct PermissionFields<'a> {
    pub method: &'static str,
    pub approval_policy: Option<&'a Value>,
    /// thread/start: a word.
    pub sandbox: Option<&'a Value>,
    /// turn/start and thread/settings/update: an object, by its `type`.
    pub sandbox_policy: Option<&'a Value>,
    /// The id of a profile, in place of a sandbox.
    pub profile: Option<&'a str>,
}

impl PermissionFields<'_> {
    pub fn read(self) -> Result<RequestedPermissions, CodexError> {
        let wrong = |message: &str| wrong(self.method, message);
        let given = |field: Option<&Value>| field.is_some_and(|field| !field.is_null());
        if self.profile.is_some() && (given(self.sandbox) || given(self.sandbox_policy)) {
            return Err(wrong(
                "permissions: cannot be combined with a sandbox; give one of them",
            ));
        }
        let mut wanted = RequestedPermissions {
            approval_policy: self.approval_policy()?,
            ..RequestedPermissions::default()
        };
        if let Some(id) = self.profile {
            let profile = PROFILES.iter().find(|(known, ..)| *known == id);
            let (_, sandbox, _) = profile.ok_or_else(|| {
                let known: Vec<&str> = PROFILES.iter().map(|(id, ..)| *id).collect();
                wrong(&format!(
                    "permissions: expected one of {}",
                    known.join(", ")
                ))
            })?;
            wanted.sandbox = Some(*sandbox);
            wanted.network = Some(false);
        }
        if let Some(word) = self.sandbox.filter(|word| !word.is_null()) {
            wanted.sandbox = Some(match word.as_str() {
                Some("read-only") => SandboxMode::ReadOnly,
                Some("workspace-write") => SandboxMode::WorkspaceWrite,
                Some("danger-full-access") => SandboxMode::FullAccess,
                Some(_) | None => {
                    let message =
                        "sandbox: expected read-only, workspace-write or danger-full-access";
                    return Err(wrong(message));
                }
            });
        }
        if let Some(policy) = self.sandbox_policy.filter(|policy| !policy.is_null()) {
            self.policy(policy, &mut wanted)?;
        }
        Ok(wanted)
    }

    fn policy(self, policy: &Value, wanted: &mut RequestedPermissions) -> Result<(), CodexError> {
        let wrong = |message: &str| wrong(self.method, message);
        wanted.sandbox = Some(match policy.get("type").and_then(Value::as_str) {
            Some("readOnly") => SandboxMode::ReadOnly,
            Some("workspaceWrite") => SandboxMode::WorkspaceWrite,
            Some("dangerFullAccess") => SandboxMode::FullAccess,
            Some(_) | None => {
                return Err(wrong(
                    "sandboxPolicy.type: expected readOnly, workspaceWrite or dangerFullAccess",
                ));
            }
        });
        wanted.network = match policy.get("networkAccess") {
            // Zane's client never says it, whatever it was told.
            None | Some(Value::Null) => None,
            Some(Value::Bool(network)) => Some(*network),
            Some(_) => {
                return Err(wrong("sandboxPolicy.networkAccess: expected a boolean"));
            }
        };
        wanted.writable_roots = match policy.get("writableRoots") {
            None | Some(Value::Null) => Vec::new(),
            Some(roots) => serde_json::from_value(roots.clone())
                .map_err(|_| wrong("sandboxPolicy.writableRoots: expected a list of paths"))?,
        };
        Ok(())
    }

    fn approval_policy(self) -> Result<Option<ApprovalPolicy>, CodexError> {
        match self.approval_policy {
            None | Some(Value::Null) => Ok(None),
            Some(word) => match word.as_str() {
                Some("untrusted") => Ok(Some(ApprovalPolicy::Untrusted)),
                Some("on-failure") => Ok(Some(ApprovalPolicy::OnFailure)),
                Some("on-request") => Ok(Some(ApprovalPolicy::OnRequest)),
                Some("never") => Ok(Some(ApprovalPolicy::Never)),
                Some(_) | None => Err(wrong(
                    self.method,
                    "approvalPolicy: expected untrusted, on-failure, on-request or never; finer rules \
                     are not kept here",
                )),
            },
        }
    }
}

fn wrong(method: &str, message: &str) -> CodexError {
    CodexError::params(format!("{method}: {message}"))
}

impl RequestedPermissions {
    /// What it changes of a new thread's settings.
    pub fn of_new(&self) -> Changes {
        let (approvals, auto_approve) = self.approval_policy.map_or((None, None), settings_of);
        Changes {
            approvals,
            auto_approve,
            sandbox: self.sandbox,
            network: self.network.filter(|network| *network),
            ..Changes::default()
        }
    }

    /// What it changes of settings that a thread has. Clients repeat what they were told with every
    /// turn: that changes nothing.
    pub fn of_known(
        &self,
        endpoint: Endpoint,
        now: &ThreadSettings,
        in_force: SandboxInForce,
    ) -> Changes {
        let told = ApprovalPolicy::in_force(now);
        let policy = self
            .approval_policy
            .filter(|policy| !policy.repeats(told, endpoint));
        let (approvals, auto_approve) = policy.map_or((None, None), settings_of);
        let same = |wanted: &SandboxMode| {
            now.sandbox == *wanted || *wanted == SandboxMode::FullAccess && !in_force.holds
        };
        let network_told = network_told(now, in_force);
        Changes {
            approvals,
            auto_approve,
            sandbox: self.sandbox.filter(|wanted| !same(wanted)),
            network: self
                .network
                .filter(|network| *network != network_told && *network != now.network),
            ..Changes::default()
        }
    }

    /// Refuses what no thread here can be given.
    pub fn check(&self, method: &str, card: &ThreadCard) -> Result<(), CodexError> {
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
        ApprovalPolicy::OnFailure => (Some(Approvals::OnFailure), None),
        ApprovalPolicy::OnRequest => (Some(Approvals::Auto), None),
        ApprovalPolicy::Never => (Some(Approvals::Never), None),
    }
}

pub fn approval_policy_in_force(endpoint: Endpoint, settings: &ThreadSettings) -> &'static str {
    ApprovalPolicy::in_force(settings).word(endpoint)
}

/// What a thread's commands may do when it does not plan: its mode says that it does, and clients say
/// this again when they go on to carry the plan out.
pub fn sandbox_in_force(settings: &ThreadSettings, in_force: SandboxInForce) -> SandboxPolicy {
    let network_access = network_told(settings, in_force);
    let plans = settings.mode == AgentMode::Plan;
    match (in_force.holds, settings.sandbox) {
        (false, _) => SandboxPolicy::DangerFullAccess,
        (true, SandboxMode::FullAccess) if plans => SandboxPolicy::DangerFullAccess,
        (true, SandboxMode::ReadOnly) => SandboxPolicy::ReadOnly { network_access },
        // The server's owner allows no full access any more.
        (true, SandboxMode::WorkspaceWrite | SandboxMode::FullAccess) => {
            SandboxPolicy::WorkspaceWrite {
                writable_roots: [],
                network_access,
                exclude_tmpdir_env_var: false,
                // A command's own temporary directory is not everyone's.
                exclude_slash_tmp: true,
            }
        }
    }
}

fn network_told(settings: &ThreadSettings, in_force: SandboxInForce) -> bool {
    in_force.network || settings.network && settings.mode == AgentMode::Plan
}

/// The profiles that every app-server has, with their sandbox and what they are for.
const PROFILES: [(&str, SandboxMode, &str); 3] = [
    (
        ":read-only",
        SandboxMode::ReadOnly,
        "Commands can write nothing; file changes are asked for.",
    ),
    (
        ":workspace",
        SandboxMode::WorkspaceWrite,
        "Commands and file tools write in the workspace and nowhere else.",
    ),
    (
        ":danger-full-access",
        SandboxMode::FullAccess,
        "No sandbox: commands and file tools reach all that the server's user can.",
    ),
];

/// permissionProfile/list: those that this server would keep, and whether it does.
pub fn profiles(offer: PermissionOffer) -> impl Iterator<Item = PermissionProfileSummary> {
    PROFILES
        .iter()
        .map(move |(id, sandbox, description)| PermissionProfileSummary {
            id,
            description,
            allowed: match sandbox {
                SandboxMode::ReadOnly => offer.read_only,
                SandboxMode::WorkspaceWrite => offer.workspace_write,
                SandboxMode::FullAccess => offer.full_access,
            },
        })
}

/// The profile that says just what is in force.
pub fn active_profile(
    settings: &ThreadSettings,
    in_force: SandboxInForce,
) -> Option<ActivePermissionProfile> {
    let id = match sandbox_in_force(settings, in_force) {
        SandboxPolicy::DangerFullAccess => ":danger-full-access",
        SandboxPolicy::ReadOnly {
            network_access: false,
        } => ":read-only",
        SandboxPolicy::WorkspaceWrite {
            network_access: false,
            ..
        } => ":workspace",
        SandboxPolicy::ReadOnly { .. } | SandboxPolicy::WorkspaceWrite { .. } => return None,
    };
    Some(ActivePermissionProfile { id, extends: None })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_cannot_be_kept_is_refused_by_name() {
        let refused = |value: Value| {
            let fields = PermissionFields {
                method: "turn/start",
                approval_policy: value.get("approvalPolicy"),
                sandbox: value.get("sandbox"),
                sandbox_policy: value.get("sandboxPolicy"),
                profile: value.get("permissions").and_then(Value::as_str),
            };
            fields.read().err().map(|wrong| wrong.message)
        };
        let table = [
            (json!({"permissions": ":mine"}), "permissions"),
            (
                json!({"permissions": ":workspace", "sandbox": "read-only"}),
                "permissions",
            ),
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
            json!({"approvalPolicy": "on-failure", "permissions": ":read-only"}),
            // Whether that can be had is for the engine to say.
            json!({"sandbox": "danger-full-access"}),
            json!({"sandboxPolicy": {"type": "readOnly"}}),
        ] {
            assert_eq!(refused(value.clone()), None, "{value}");
        }
    }
}
