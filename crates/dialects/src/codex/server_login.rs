//! Signing in at an MCP server, in a browser.

use serde_json::Value;
use vocabulary::{Call, McpCall, McpReply, Refusal, Reply, ThreadId, Why};

use super::act::parse;
use super::calls::CodexPurpose;
use super::hear::read;
use super::refuse::CodexError;
use super::tell::notify;
use super::wire::mcp::{
    McpServerOauthLoginCompleted, McpServerOauthLoginParams, McpServerOauthLoginResponse,
};
use super::{Codex, respond, send};
use crate::Action;
use crate::jsonrpc::Id;

/// What an answer of the engine is for.
#[derive(Clone, Debug)]
pub enum ServerLoginPurpose {
    Begin {
        id: Id,
        thread: ThreadId,
        name: String,
    },
    /// The browser has to come back; nobody's request waits for it.
    Finish { thread: ThreadId, name: String },
}

pub fn request(
    method: &str,
    params: &Value,
) -> Option<Result<McpServerOauthLoginParams, CodexError>> {
    (method == "mcpServer/oauth/login").then(|| read(method, params.clone()))
}

impl Codex {
    /// Servers are a workspace's, so a thread says whose is meant.
    pub(super) fn server_login(
        &mut self,
        out: &mut Vec<Action>,
        id: Id,
        params: McpServerOauthLoginParams,
    ) -> Result<(), CodexError> {
        let named = params.thread_id.as_deref().map(parse).transpose()?;
        let Some(thread) = named.or_else(|| self.listening.newest()) else {
            let message = "mcpServer/oauth/login: threadId: open a thread of the directory first";
            return Err(CodexError::request(message));
        };
        let name = params.name;
        let call = McpCall::Authorize { name: name.clone() };
        let purpose = ServerLoginPurpose::Begin { id, thread, name };
        let purpose = CodexPurpose::ServerLogin(Box::new(purpose));
        self.calls.make(out, purpose, Call::Mcp { thread, call });
        Ok(())
    }

    pub(super) fn server_login_answered(
        &mut self,
        out: &mut Vec<Action>,
        purpose: &ServerLoginPurpose,
        reply: Reply,
    ) -> Result<(), Refusal> {
        match (purpose, *reply.mcp()?) {
            (ServerLoginPurpose::Begin { id, thread, name }, McpReply::Challenge(challenge)) => {
                let Some(authorization_url) = challenge.url.filter(|_| !challenge.needs_code)
                else {
                    let message = "this server's sign-in needs a code: use `dragoman mcp login`";
                    return Err(Refusal::new(Why::NotAvailable, message));
                };
                let answer = McpServerOauthLoginResponse { authorization_url };
                send(out, respond(id, &answer));
                let (thread, name) = (*thread, name.clone());
                let call = McpCall::FinishSignIn {
                    name: name.clone(),
                    code: None,
                };
                let purpose = ServerLoginPurpose::Finish { thread, name };
                let purpose = CodexPurpose::ServerLogin(Box::new(purpose));
                self.calls.make(out, purpose, Call::Mcp { thread, call });
            }
            (ServerLoginPurpose::Finish { thread, name }, McpReply::SignedIn { result, .. }) => {
                let error = (!result.ok).then_some(result.message.as_str());
                completed(out, *thread, name, error);
            }
            (
                ServerLoginPurpose::Begin { .. } | ServerLoginPurpose::Finish { .. },
                McpReply::Servers(_)
                | McpReply::Migrated { .. }
                | McpReply::Installed { .. }
                | McpReply::Checked(_)
                | McpReply::Challenge(_)
                | McpReply::SignedIn { .. },
            ) => {
                let message = "this answer is for another question";
                return Err(Refusal::new(Why::Internal, message));
            }
        }
        Ok(())
    }

    pub(super) fn server_login_refused(
        &mut self,
        out: &mut Vec<Action>,
        purpose: &ServerLoginPurpose,
        refusal: &Refusal,
    ) {
        match purpose {
            ServerLoginPurpose::Begin { id, .. } => {
                send(out, CodexError::from(refusal).frame(Some(id)));
            }
            ServerLoginPurpose::Finish { thread, name } => {
                completed(out, *thread, name, Some(&refusal.message));
            }
        }
    }
}

fn completed(out: &mut Vec<Action>, thread: ThreadId, name: &str, error: Option<&str>) {
    let params = McpServerOauthLoginCompleted {
        name,
        thread_id: thread.to_string(),
        success: error.is_none(),
        error,
    };
    send(out, notify("mcpServer/oauthLogin/completed", &params));
}
