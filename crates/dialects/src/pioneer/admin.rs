//! Requests about skills, uploads and MCP servers: read, and sent on their way.

use serde_json::Value;
use vocabulary::{Call, McpCall, SkillCall, WorkspaceCall, WorkspaceId};

use super::hear::{PioneerError, parse, parse_secret};
use super::steps::{RequestStep, RunningRequest};
use super::wire::servers::{
    McpInstallParams, McpListParams, McpPolicySetParams, McpServerDetailsParams, McpServerParams,
};
use super::wire::skills::{
    SkillsHealthParams, SkillsInstallParams, SkillsListParams, SkillsPolicyListParams,
    SkillsPolicySetParams, SkillsUninstallParams, SkillsUpdateParams,
};
use super::wire::upload::{SkillsUploadParams, SkillsUploadStartParams};
use super::{Pioneer, send_error};
use crate::Action;

/// A request is on its way, or wrong.
pub(super) type Begun = Result<(), PioneerError>;

#[derive(Debug)]
pub enum AdminRequest {
    SkillsList(SkillsListParams),
    SkillsHealth(SkillsHealthParams),
    SkillsPolicyList(SkillsPolicyListParams),
    SkillsPolicySet(SkillsPolicySetParams),
    SkillsInstall(SkillsInstallParams),
    SkillsUpdate(SkillsUpdateParams),
    SkillsUninstall(SkillsUninstallParams),
    UploadStart(SkillsUploadStartParams),
    UploadFinish(SkillsUploadParams),
    UploadAbort(SkillsUploadParams),
    McpList(McpListParams),
    McpInstall(McpInstallParams),
    McpPolicySet(McpPolicySetParams),
    McpRestart(McpServerParams),
    McpUninstall(McpServerParams),
    McpDetails(McpServerDetailsParams),
}

/// Every method of this part.
pub const METHODS: &[&str] = &[
    "skills/list",
    "skills/health",
    "skills/policy/list",
    "skills/policy/set",
    "skills/install",
    "skills/update",
    "skills/uninstall",
    "skills/upload/start",
    "skills/upload/finish",
    "skills/upload/abort",
    "mcp/list",
    "mcp/install",
    "mcp/policy/set",
    "mcp/server/restart",
    "mcp/uninstall",
    "mcp/server/details",
];

/// `None` for methods that are not of this part.
pub fn request(method: &str, params: Value) -> Option<Result<AdminRequest, PioneerError>> {
    Some(match method {
        "skills/list" => parse(method, params).map(AdminRequest::SkillsList),
        "skills/health" => parse(method, params).map(AdminRequest::SkillsHealth),
        "skills/policy/list" => parse(method, params).map(AdminRequest::SkillsPolicyList),
        "skills/policy/set" => parse(method, params).map(AdminRequest::SkillsPolicySet),
        "skills/install" => parse(method, params).map(AdminRequest::SkillsInstall),
        "skills/update" => parse(method, params).map(AdminRequest::SkillsUpdate),
        "skills/uninstall" => parse(method, params).map(AdminRequest::SkillsUninstall),
        "skills/upload/start" => parse(method, params).map(AdminRequest::UploadStart),
        "skills/upload/finish" => parse(method, params).map(AdminRequest::UploadFinish),
        "skills/upload/abort" => parse(method, params).map(AdminRequest::UploadAbort),
        "mcp/list" => parse(method, params).map(AdminRequest::McpList),
        "mcp/install" => {
            let expected = "`workspace_id` and `config_json` are required, both strings";
            parse_secret(method, params, expected).map(AdminRequest::McpInstall)
        }
        "mcp/policy/set" => parse(method, params).map(AdminRequest::McpPolicySet),
        "mcp/server/restart" => parse(method, params).map(AdminRequest::McpRestart),
        "mcp/uninstall" => parse(method, params).map(AdminRequest::McpUninstall),
        "mcp/server/details" => parse(method, params).map(AdminRequest::McpDetails),
        _ => return None,
    })
}

impl Pioneer {
    pub(super) fn administer(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        request: AdminRequest,
    ) {
        self.uploads.forget_old(self.now);
        let done = match request {
            AdminRequest::SkillsList(params) => self.skills_list(out, running, params),
            AdminRequest::SkillsHealth(params) => self.skills_health(out, running, params),
            AdminRequest::SkillsPolicyList(params) => self.skill_policies(out, running, params),
            AdminRequest::SkillsPolicySet(params) => self.set_skill_policy(out, running, params),
            AdminRequest::SkillsInstall(params) => self.install_skill(out, running, params),
            AdminRequest::SkillsUpdate(params) => self.update_skill(out, running, params),
            AdminRequest::SkillsUninstall(params) => self.uninstall_skill(out, running, params),
            AdminRequest::UploadStart(params) => self.start_upload(out, running, params),
            AdminRequest::UploadFinish(params) => self.finish_upload(out, running, &params),
            AdminRequest::UploadAbort(params) => self.abort_upload(out, running, &params),
            AdminRequest::McpList(params) => self.mcp_list(out, running, params),
            AdminRequest::McpInstall(params) => self.install_servers(out, running, params),
            AdminRequest::McpPolicySet(params) => self.set_server_policy(out, running, params),
            AdminRequest::McpRestart(params) => self.restart_server(out, running, params),
            AdminRequest::McpUninstall(params) => self.uninstall_server(out, running, params),
            AdminRequest::McpDetails(params) => self.server_details(out, running, params),
        };
        if let Err(wrong) = done {
            send_error(out, Some(&running.id), &wrong);
        }
    }

    pub(super) fn skill_call(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        (step, workspace): (RequestStep, &str),
        call: SkillCall,
    ) {
        let call = WorkspaceCall::Skills(call);
        self.call(out, running, step, in_workspace(workspace, call));
    }

    pub(super) fn mcp_call(
        &mut self,
        out: &mut Vec<Action>,
        running: &RunningRequest,
        (step, workspace): (RequestStep, &str),
        call: McpCall,
    ) {
        let call = WorkspaceCall::Mcp(call);
        self.call(out, running, step, in_workspace(workspace, call));
    }
}

fn in_workspace(workspace: &str, call: WorkspaceCall) -> Call {
    Call::Workspace {
        workspace: WorkspaceId::new(workspace.trim()),
        call: Box::new(call),
    }
}
