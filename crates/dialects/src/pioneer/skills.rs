//! Skills: requests as calls, reports as responses, changes as notifications.

use vocabulary::{
    InspectedSkill, Notice, Refusal, ReplacedSkill, Reply, SkillArchive, SkillCall, SkillChange,
    SkillChangeKind, SkillReport, SkillTier, Timestamp, Why, WorkspaceId,
};

use super::admin::Begun;
use super::hear::PioneerError;
use super::steps::{RequestStep, RunningRequest};
use super::tell::notification;
use super::uploads::{self, Upload};
use super::wire::skills::{
    LifecycleAuditSummary, SkillChangeReason, SkillChangeType, SkillChangedItem, SkillHealthItem,
    SkillHealthStatus, SkillHealthSummary, SkillHealthTarget, SkillInstallState,
    SkillLifecycleResultSkill, SkillLifecycleSource, SkillListItem, SkillListResponse,
    SkillPolicyState, SkillSecurityFinding, SkillSourceKind, SkillStatus, SkillTrustGateStatus,
    SkillTrustLevel, SkillValidationDiagnostic, SkillWorkspacePolicy, SkillsChangedNotification,
    SkillsHealthParams, SkillsHealthResponse, SkillsInstallParams, SkillsInstallResponse,
    SkillsListParams, SkillsPolicyListParams, SkillsPolicyListResponse, SkillsPolicySetParams,
    SkillsPolicySetResponse, SkillsUninstallParams, SkillsUninstallResponse, SkillsUpdateParams,
};
use super::wire::upload::{
    SkillsUploadAbortResponse, SkillsUploadFinishResponse, SkillsUploadParams,
    SkillsUploadStartParams, SkillsUploadStartResponse,
};
use super::{Pioneer, respond};
use crate::jsonrpc::Id;
use crate::{Action, Frame};

/// A request about skills, by what it wants to know of the answer.
pub enum SkillsQuery {
    List,
    Health(Vec<SkillHealthTarget>),
    Policies { workspace: String },
    SetPolicy { workspace: String, slug: String },
    Install { upload: String },
    Uninstall { slug: String },
    StartUpload(Box<SkillsUploadStartParams>),
}

const UNTRUSTED: &str = "it came with this workspace, and nobody has trusted it";

impl Pioneer {
    pub(super) fn skills_list(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        params: SkillsListParams,
    ) -> Begun {
        let step = RequestStep::Skills(SkillsQuery::List);
        self.skill_call(
            out,
            running,
            (step, &params.workspace_id),
            SkillCall::Inspect,
        );
        Ok(())
    }

    pub(super) fn skills_health(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        params: SkillsHealthParams,
    ) -> Begun {
        let wanted = params.skills.unwrap_or_default();
        let step = RequestStep::Skills(SkillsQuery::Health(wanted));
        self.skill_call(
            out,
            running,
            (step, &params.workspace_id),
            SkillCall::Inspect,
        );
        Ok(())
    }

    pub(super) fn skill_policies(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        params: SkillsPolicyListParams,
    ) -> Begun {
        let workspace = params.workspace_id.clone();
        let step = RequestStep::Skills(SkillsQuery::Policies { workspace });
        self.skill_call(
            out,
            running,
            (step, &params.workspace_id),
            SkillCall::Inspect,
        );
        Ok(())
    }

    pub(super) fn set_skill_policy(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        params: SkillsPolicySetParams,
    ) -> Begun {
        only_users(running, params.source_kind, "source_kind")?;
        if params.allow_implicit_invocation == Some(false) {
            let message = "allow_implicit_invocation: expected true; agents are told of every \
                           skill that is enabled";
            return Err(PioneerError::params(&running.method, message));
        }
        let call = match params.enabled {
            Some(enabled) => SkillCall::SetEnabled {
                name: params.skill_slug.clone(),
                enabled,
            },
            None => {
                let message = "enabled: expected true or false";
                return Err(PioneerError::params(&running.method, message));
            }
        };
        let step = RequestStep::Skills(SkillsQuery::SetPolicy {
            workspace: params.workspace_id.clone(),
            slug: params.skill_slug,
        });
        self.skill_call(out, running, (step, &params.workspace_id), call);
        Ok(())
    }

    pub(super) fn install_skill(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        params: SkillsInstallParams,
    ) -> Begun {
        only_users(running, params.target_source_kind, "target_source_kind")?;
        self.install(out, running, (&params.workspace_id, params.source), None)
    }

    pub(super) fn update_skill(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        params: SkillsUpdateParams,
    ) -> Begun {
        only_users(running, params.source_kind, "source_kind")?;
        let replaces = Some(ReplacedSkill {
            name: params.slug,
            fingerprint: params.expected_previous_fingerprint,
        });
        self.install(
            out,
            running,
            (&params.workspace_id, params.source),
            replaces,
        )
    }

    fn install(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        (workspace, source): (&str, SkillLifecycleSource),
        replaces: Option<ReplacedSkill>,
    ) -> Begun {
        let SkillLifecycleSource::UploadedArchive { upload_id } = source;
        let packed = self.uploads.packed(workspace, &upload_id);
        let packed = packed.map_err(PioneerError::request)?;
        let call = SkillCall::Install(SkillArchive { packed, replaces });
        let step = RequestStep::Skills(SkillsQuery::Install { upload: upload_id });
        self.skill_call(out, running, (step, workspace), call);
        Ok(())
    }

    pub(super) fn uninstall_skill(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        params: SkillsUninstallParams,
    ) -> Begun {
        only_users(running, params.source_kind, "source_kind")?;
        let name = params.slug.clone();
        let step = RequestStep::Skills(SkillsQuery::Uninstall { slug: params.slug });
        let call = SkillCall::Delete { name };
        self.skill_call(out, running, (step, &params.workspace_id), call);
        Ok(())
    }

    pub(super) fn start_upload(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        params: SkillsUploadStartParams,
    ) -> Begun {
        uploads::check_start(&params)
            .map_err(|wrong| PioneerError::params(&running.method, wrong))?;
        if self.uploads.is_full() {
            let message = "too many uploads at once; finish, install or abort one";
            return Err(PioneerError::request(message));
        }
        let workspace = params.workspace_id.clone();
        let step = RequestStep::Skills(SkillsQuery::StartUpload(Box::new(params)));
        self.skill_call(out, running, (step, &workspace), SkillCall::CheckInstall);
        Ok(())
    }

    pub(super) fn finish_upload(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        params: &SkillsUploadParams,
    ) -> Begun {
        let Upload {
            id, sha256, size, ..
        } = self.uploads.finish(params).map_err(PioneerError::request)?;
        let result = SkillsUploadFinishResponse {
            upload_id: id,
            status: "finalized",
            sha256,
            compressed_size_bytes: *size,
        };
        respond(out, &running.id, &result);
        Ok(())
    }

    pub(super) fn abort_upload(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        params: &SkillsUploadParams,
    ) -> Begun {
        let upload = self.uploads.abort(params).map_err(PioneerError::request)?;
        let (upload_id, status) = (upload.id.as_str(), "aborted");
        respond(
            out,
            &running.id,
            &SkillsUploadAbortResponse { upload_id, status },
        );
        Ok(())
    }

    pub(super) fn skills_answered(
        &mut self,
        out: &mut Vec<Action>,
        id: &Id,
        query: SkillsQuery,
        reply: Reply,
    ) -> Result<(), Refusal> {
        match query {
            SkillsQuery::List => respond(out, id, &list(&*reply.skill_report()?)),
            SkillsQuery::Health(wanted) => {
                respond(out, id, &health(&*reply.skill_report()?, &wanted));
            }
            SkillsQuery::Policies { workspace } => {
                let report = reply.skill_report()?;
                let policies = report.skills.iter().map(|each| policy(&workspace, each));
                let policies = policies.collect();
                respond(out, id, &SkillsPolicyListResponse { policies });
            }
            SkillsQuery::SetPolicy { workspace, slug } => {
                let skills = reply.skills()?;
                let enabled = skills.iter().any(|each| each.name == slug && each.enabled);
                let policy = SkillWorkspacePolicy {
                    workspace_id: &workspace,
                    skill_slug: &slug,
                    source_kind: SkillSourceKind::User,
                    enabled,
                    allow_implicit_invocation: true,
                };
                respond(out, id, &SkillsPolicySetResponse { policy });
            }
            SkillsQuery::Install { upload } => {
                let report = reply.skill_report()?;
                respond(out, id, &installed(&report)?);
                self.uploads.done(&upload);
            }
            SkillsQuery::Uninstall { slug } => {
                reply.skills()?;
                let result = SkillsUninstallResponse {
                    status: "uninstalled",
                    slug: &slug,
                    source_kind: SkillSourceKind::User,
                    audit: LifecycleAuditSummary::default(),
                };
                respond(out, id, &result);
            }
            SkillsQuery::StartUpload(params) => {
                reply.done()?;
                let upload = self.uploads.start(*params, self.now);
                out.push(Action::WakeAt(upload.expires_at));
                let result = SkillsUploadStartResponse {
                    upload_id: &upload.id,
                    recommended_chunk_size_bytes: uploads::CHUNK_BYTES_USUAL as u64,
                    max_chunk_size_bytes: uploads::CHUNK_BYTES_MAX as u64,
                    max_compressed_size_bytes: uploads::COMPRESSED_BYTES_MAX,
                    max_uncompressed_size_bytes: uploads::UNCOMPRESSED_BYTES_MAX,
                    expires_at_unix: upload.expires_at.seconds(),
                };
                respond(out, id, &result);
            }
        }
        Ok(())
    }
}

fn only_users(
    running: &RunningRequest,
    kind: Option<SkillSourceKind>,
    field: &str,
) -> Result<(), PioneerError> {
    match kind {
        None | Some(SkillSourceKind::User) => Ok(()),
        Some(SkillSourceKind::Workspace | SkillSourceKind::Agents | SkillSourceKind::BuiltIn) => {
            let message = format!("{field}: expected user; no other skills are changed here");
            Err(PioneerError::params(&running.method, message))
        }
    }
}

fn source_kind(tier: SkillTier) -> SkillSourceKind {
    match tier {
        SkillTier::Project => SkillSourceKind::Workspace,
        SkillTier::Global => SkillSourceKind::User,
        SkillTier::User => SkillSourceKind::Agents,
        SkillTier::BuiltIn => SkillSourceKind::BuiltIn,
    }
}

fn trust_level(skill: &InspectedSkill) -> SkillTrustLevel {
    match skill.skill.tier {
        SkillTier::Project if !skill.trusted => SkillTrustLevel::Untrusted,
        SkillTier::Project => SkillTrustLevel::Workspace,
        SkillTier::Global | SkillTier::User => SkillTrustLevel::User,
        SkillTier::BuiltIn => SkillTrustLevel::BuiltIn,
    }
}

fn findings(skill: &InspectedSkill) -> Vec<SkillSecurityFinding> {
    let untrusted = SkillSecurityFinding {
        rule_id: "untrusted",
        severity: "block",
        message: UNTRUSTED,
    };
    (!skill.trusted).then_some(untrusted).into_iter().collect()
}

fn list(report: &SkillReport) -> SkillListResponse<'_> {
    SkillListResponse {
        snapshot_version: report.version,
        generated_at: report.at.seconds(),
        skills: report.skills.iter().map(item).collect(),
    }
}

fn item(inspected: &InspectedSkill) -> SkillListItem<'_> {
    let skill = &inspected.skill;
    let look = skill.interface.as_ref();
    let display_name = look.and_then(|look| look.display_name.as_deref());
    let is_users = skill.tier == SkillTier::Global;
    let lies_somewhere = skill.tier != SkillTier::BuiltIn;
    let directory = skill.path.parent().filter(|_| lies_somewhere);
    let (status, status_reason) = match (skill.enabled, inspected.trusted) {
        (false, _) => (SkillStatus::Disabled, None),
        (true, false) => (SkillStatus::Blocked, Some(UNTRUSTED)),
        (true, true) => (SkillStatus::Available, None),
    };
    SkillListItem {
        slug: &skill.name,
        source_kind: source_kind(skill.tier),
        display_name: display_name.unwrap_or(&skill.name),
        description: &skill.description,
        fingerprint: &inspected.fingerprint,
        trust_level: trust_level(inspected),
        install: SkillInstallState {
            managed: is_users,
            installed: true,
            lifecycle_editable: is_users,
            install_path: directory.map(|path| path.to_string_lossy()),
            updated_at: inspected.changed_at.map(Timestamp::seconds),
        },
        policy: SkillPolicyState {
            enabled: skill.enabled,
            allow_implicit_invocation: true,
            allow_implicit_invocation_editable: false,
        },
        health: SkillHealthSummary {
            status: match inspected.trusted {
                true => SkillHealthStatus::Ready,
                false => SkillHealthStatus::Blocked,
            },
            dependency_failures: [],
            security_blocks: findings(inspected),
            validation_issues: Vec::new(),
        },
        status,
        status_reason,
    }
}

fn policy<'a>(workspace: &'a str, inspected: &'a InspectedSkill) -> SkillWorkspacePolicy<'a> {
    SkillWorkspacePolicy {
        workspace_id: workspace,
        skill_slug: &inspected.skill.name,
        source_kind: source_kind(inspected.skill.tier),
        enabled: inspected.skill.enabled,
        allow_implicit_invocation: true,
    }
}

fn health<'a>(report: &'a SkillReport, wanted: &[SkillHealthTarget]) -> SkillsHealthResponse<'a> {
    let is_wanted = |each: &&InspectedSkill| {
        let is_it = |target: &SkillHealthTarget| {
            let kind = source_kind(each.skill.tier);
            target.slug == each.skill.name && target.source_kind.is_none_or(|it| it == kind)
        };
        wanted.is_empty() || wanted.iter().any(is_it)
    };
    let skills = report
        .skills
        .iter()
        .filter(is_wanted)
        .map(|each| SkillHealthItem {
            slug: &each.skill.name,
            source_kind: source_kind(each.skill.tier),
            trust_level: trust_level(each),
            dependency_diagnostics: [],
            security_findings: findings(each),
            validation_issues: Vec::new(),
            trust_gate: vec![SkillTrustGateStatus {
                tool_kind: "skill",
                minimum_trust: SkillTrustLevel::Workspace,
                allowed: each.trusted,
            }],
            recent_audit: [],
        });
    let unusable = report.faults.iter().map(|fault| SkillValidationDiagnostic {
        code: "unusable",
        level: "error",
        message: &fault.problem,
        field_path: Some(fault.path.to_string_lossy()),
    });
    SkillsHealthResponse {
        snapshot_version: report.version,
        generated_at: report.at.seconds(),
        skills: skills.collect(),
        unusable: unusable.collect(),
    }
}

fn installed(report: &SkillReport) -> Result<SkillsInstallResponse<'_>, Refusal> {
    let change = report.change.as_ref();
    let found = change.and_then(|change| {
        let is_it = |each: &&InspectedSkill| {
            each.skill.name == change.name && each.skill.tier == change.tier
        };
        Some((change, report.skills.iter().find(is_it)?))
    });
    let (change, skill) = found.ok_or_else(|| {
        let message = "the skill was installed, and is gone again";
        Refusal::new(Why::Conflict, message)
    })?;
    let directory = skill.skill.path.parent().unwrap_or(&skill.skill.path);
    Ok(SkillsInstallResponse {
        status: match change.what {
            SkillChangeKind::Updated => "updated",
            SkillChangeKind::Installed
            | SkillChangeKind::Uninstalled
            | SkillChangeKind::Switched => "installed",
        },
        skill: SkillLifecycleResultSkill {
            slug: &change.name,
            source_kind: source_kind(change.tier),
            fingerprint: &skill.fingerprint,
            trust_level: trust_level(skill),
            install_path: directory.to_string_lossy(),
        },
        audit: LifecycleAuditSummary::default(),
    })
}

/// A change as a connection hears it that is bound to this workspace.
pub fn changed(bound: &WorkspaceId, notice: &Notice) -> Option<Frame> {
    let Notice::SkillsChanged {
        version,
        at,
        change,
    } = notice
    else {
        return None;
    };
    let (reason, change_type) = match change.what {
        SkillChangeKind::Installed => (SkillChangeReason::Install, SkillChangeType::Added),
        SkillChangeKind::Updated => (SkillChangeReason::Update, SkillChangeType::Updated),
        SkillChangeKind::Uninstalled => (SkillChangeReason::Uninstall, SkillChangeType::Removed),
        SkillChangeKind::Switched => (SkillChangeReason::Policy, SkillChangeType::Policy),
    };
    let SkillChange {
        name,
        tier,
        before,
        after,
        ..
    } = &**change;
    let params = SkillsChangedNotification {
        workspace_id: bound.as_str(),
        snapshot_version: *version,
        reason,
        changes: [SkillChangedItem {
            slug: name,
            source_kind: source_kind(*tier),
            change_type,
            fingerprint_before: before.as_deref(),
            fingerprint_after: after.as_deref(),
        }],
        created_at: at.seconds(),
    };
    Some(notification("skills/changed", &params))
}
