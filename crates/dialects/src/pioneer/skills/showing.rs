//! What clients are shown of skills, and hear of their changes.

use vocabulary::{
    InspectedSkill, Notice, Refusal, SkillChange, SkillChangeKind, SkillReport, SkillTier,
    Timestamp, Why, WorkspaceId,
};

use crate::Frame;
use crate::pioneer::tell::notification;
use crate::pioneer::wire::skills::{
    LifecycleAuditSummary, SkillChangeReason, SkillChangeType, SkillChangedItem, SkillHealthItem,
    SkillHealthStatus, SkillHealthSummary, SkillHealthTarget, SkillInstallState,
    SkillLifecycleResultSkill, SkillListItem, SkillListResponse, SkillPolicyState,
    SkillSecurityFinding, SkillSourceKind, SkillStatus, SkillTrustGateStatus, SkillTrustLevel,
    SkillValidationDiagnostic, SkillWorkspacePolicy, SkillsChangedNotification,
    SkillsHealthResponse, SkillsInstallResponse,
};

const UNTRUSTED: &str = "it came with this workspace, and nobody has trusted it";

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

pub fn list(report: &SkillReport) -> SkillListResponse<'_> {
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

pub fn policy<'a>(workspace: &'a str, inspected: &'a InspectedSkill) -> SkillWorkspacePolicy<'a> {
    SkillWorkspacePolicy {
        workspace_id: workspace,
        skill_slug: &inspected.skill.name,
        source_kind: source_kind(inspected.skill.tier),
        enabled: inspected.skill.enabled,
        allow_implicit_invocation: true,
    }
}

pub fn health<'a>(
    report: &'a SkillReport,
    wanted: &[SkillHealthTarget],
) -> SkillsHealthResponse<'a> {
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

pub fn installed(report: &SkillReport) -> Result<SkillsInstallResponse<'_>, Refusal> {
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
