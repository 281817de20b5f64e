//! Skills: requests as calls, reports as responses, changes as notifications.

mod showing;

use vocabulary::{Refusal, ReplacedSkill, Reply, SkillArchive, SkillCall};

use super::admin::Begun;
use super::hear::PioneerError;
use super::steps::{RequestStep, RunningRequest};
use super::uploads::{self, Upload};
use super::wire::skills::{
    LifecycleAuditSummary, SkillHealthTarget, SkillLifecycleSource, SkillSourceKind,
    SkillWorkspacePolicy, SkillsHealthParams, SkillsInstallParams, SkillsListParams,
    SkillsPolicyListParams, SkillsPolicyListResponse, SkillsPolicySetParams,
    SkillsPolicySetResponse, SkillsUninstallParams, SkillsUninstallResponse, SkillsUpdateParams,
};
use super::wire::upload::{
    SkillsUploadAbortResponse, SkillsUploadFinishResponse, SkillsUploadParams,
    SkillsUploadStartParams, SkillsUploadStartResponse,
};
use super::{Pioneer, respond};
use crate::Action;
use crate::jsonrpc::Id;
pub use showing::changed;
use showing::{health, installed, list, policy};

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
