//! `mcp_*` messages as calls, and how they are answered.

use vocabulary::{
    Call, Challenge, McpCall, McpCheck, McpReply, Refusal, Reply, Secret, SignedIn, Why,
};

use super::{auth_mode, server, servers_frame, unexpected};
use crate::cowork::calls::{CoworkCalls, CoworkPurpose};
use crate::cowork::connect::GreetingSlot;
use crate::cowork::hear::repeated;
use crate::cowork::refuse::{error_frame, refusal_frame};
use crate::cowork::session::{CoworkSession, send};
use crate::cowork::sign_in::{BUSY, FLOW_RUNNING};
use crate::cowork::wire::ServerEvent;
use crate::cowork::wire::client::{
    McpServerAuthAuthorize, McpServerAuthCallback, McpServerAuthSetApiKey, McpServerDelete,
    McpServerUpsert, McpServerValidate, McpServersMigrateLegacy,
};
use crate::cowork::wire::conversation::AssistantMessage;
use crate::cowork::wire::mcp as wire;
use crate::cowork::wire::providers::OauthMode;
use crate::{Action, Frame};

/// What an answer about MCP servers is for.
#[derive(Debug)]
pub enum McpPurpose {
    Save {
        name: String,
    },
    Delete,
    Migrate {
        scope: vocabulary::McpScope,
    },
    Check {
        name: String,
        /// Whether the client wants to know; otherwise it is told only what comes of it.
        asked: bool,
    },
    Challenge {
        name: String,
    },
    SignIn {
        name: String,
        /// For a person, and so for minutes.
        waits: bool,
    },
}

/// A name as it can be looked for: a longer one is nobody's, and need not be repeated whole.
fn named(name: &str) -> String {
    repeated(name.trim()).to_owned()
}

impl CoworkSession {
    pub fn mcp_upsert(
        &self,
        out: &mut Vec<Action>,
        calls: &mut CoworkCalls,
        said: McpServerUpsert,
    ) {
        let server = server(said.server);
        let name = server.name.clone();
        let call = McpCall::Save {
            server: Box::new(server),
            previous_name: said.previous_name.as_deref().map(named),
        };
        self.mcp(out, calls, McpPurpose::Save { name }, call);
    }

    pub fn mcp_delete(
        &self,
        out: &mut Vec<Action>,
        calls: &mut CoworkCalls,
        said: &McpServerDelete,
    ) {
        let name = named(&said.name);
        self.mcp(out, calls, McpPurpose::Delete, McpCall::Delete { name });
    }

    pub fn mcp_validate(
        &self,
        out: &mut Vec<Action>,
        calls: &mut CoworkCalls,
        said: &McpServerValidate,
    ) {
        self.mcp_check(out, calls, named(&said.name), true);
    }

    fn mcp_check(&self, out: &mut Vec<Action>, calls: &mut CoworkCalls, name: String, asked: bool) {
        let call = McpCall::Check { name: name.clone() };
        self.mcp(out, calls, McpPurpose::Check { name, asked }, call);
    }

    pub fn mcp_authorize(
        &self,
        out: &mut Vec<Action>,
        calls: &mut CoworkCalls,
        said: &McpServerAuthAuthorize,
    ) {
        let name = named(&said.name);
        let call = McpCall::Authorize { name: name.clone() };
        self.mcp(out, calls, McpPurpose::Challenge { name }, call);
    }

    pub fn mcp_callback(
        &mut self,
        out: &mut Vec<Action>,
        calls: &mut CoworkCalls,
        said: McpServerAuthCallback,
    ) {
        let name = named(&said.name);
        let code = said.code.map(|code| code.0.trim().to_owned());
        let code = code.filter(|code| !code.is_empty()).map(Secret::new);
        let waits = code.is_none();
        if waits && self.signing_in {
            return send(out, error_frame(&self.id, FLOW_RUNNING, BUSY));
        }
        self.signing_in |= waits;
        let call = McpCall::FinishSignIn {
            name: name.clone(),
            code,
        };
        self.mcp(out, calls, McpPurpose::SignIn { name, waits }, call);
    }

    pub fn mcp_set_api_key(
        &self,
        out: &mut Vec<Action>,
        calls: &mut CoworkCalls,
        said: McpServerAuthSetApiKey,
    ) {
        let name = named(&said.name);
        let call = McpCall::SetKey {
            name: name.clone(),
            key: Secret::new(said.api_key.0.trim()),
        };
        let waits = false;
        self.mcp(out, calls, McpPurpose::SignIn { name, waits }, call);
    }

    pub fn mcp_migrate(
        &self,
        out: &mut Vec<Action>,
        calls: &mut CoworkCalls,
        said: &McpServersMigrateLegacy,
    ) {
        let scope = match said.scope {
            wire::McpScope::Workspace => vocabulary::McpScope::Workspace,
            wire::McpScope::User => vocabulary::McpScope::User,
        };
        let call = McpCall::Migrate { scope };
        self.mcp(out, calls, McpPurpose::Migrate { scope }, call);
    }

    fn mcp(
        &self,
        out: &mut Vec<Action>,
        calls: &mut CoworkCalls,
        purpose: McpPurpose,
        call: McpCall,
    ) {
        let thread = self.thread();
        let call = Call::Mcp { thread, call };
        calls.make(out, CoworkPurpose::Mcp(purpose), call);
    }

    pub fn mcp_answered(
        &self,
        out: &mut Vec<Action>,
        calls: &mut CoworkCalls,
        purpose: &McpPurpose,
        reply: Reply,
    ) -> Result<(), Refusal> {
        let reply = *reply.mcp()?;
        match (purpose, reply) {
            (McpPurpose::Save { name }, reply) => {
                send(out, servers_frame(&self.id, reply)?);
                self.mcp_check(out, calls, name.clone(), false);
            }
            (McpPurpose::Migrate { scope }, reply) => {
                let frame = migrated_frame(&self.id, *scope, &reply)?;
                send(out, frame);
                send(out, servers_frame(&self.id, reply)?);
            }
            (McpPurpose::Delete, reply) => send(out, servers_frame(&self.id, reply)?),
            (McpPurpose::Check { name, .. }, McpReply::Checked(check)) => {
                send(out, validation_frame(&self.id, name, &check));
            }
            (McpPurpose::Challenge { name }, McpReply::Challenge(challenge)) => {
                send(out, challenge_frame(&self.id, name, &challenge));
            }
            (McpPurpose::SignIn { name, .. }, McpReply::SignedIn { result, mode }) => {
                send(out, result_frame(&self.id, name, &result, mode));
                if result.ok {
                    self.mcp_signed_in(out, calls, name);
                }
            }
            (
                McpPurpose::Check { .. } | McpPurpose::Challenge { .. } | McpPurpose::SignIn { .. },
                McpReply::Servers(_)
                | McpReply::Migrated { .. }
                | McpReply::Installed { .. }
                | McpReply::Checked(_)
                | McpReply::Challenge(_)
                | McpReply::SignedIn { .. },
            ) => return Err(unexpected()),
        }
        Ok(())
    }

    /// A success is followed by what it changed, and by whether it helped.
    fn mcp_signed_in(&self, out: &mut Vec<Action>, calls: &mut CoworkCalls, name: &str) {
        let get = Call::Mcp {
            thread: self.thread(),
            call: McpCall::Get,
        };
        let shown = CoworkPurpose::Asked(GreetingSlot::McpServers);
        calls.make(out, shown, get);
        self.mcp_check(out, calls, name.to_owned(), false);
    }

    pub fn mcp_refused(&self, out: &mut Vec<Action>, purpose: &McpPurpose, refusal: &Refusal) {
        let error = refusal_frame(&self.id, refusal);
        match purpose {
            // Nobody asked whether it works.
            McpPurpose::Check { asked: false, .. } => {}
            McpPurpose::Check { name, asked: true } => {
                send(out, error);
                // Who asks of a server that is not there waits for a result all the same.
                if let Why::Invalid { .. } = refusal.why {
                    let check = McpCheck {
                        ok: false,
                        mode: vocabulary::McpAuthMode::Error,
                        message: refusal.message.clone(),
                        tool_count: None,
                        latency_ms: None,
                    };
                    send(out, validation_frame(&self.id, name, &check));
                }
            }
            McpPurpose::Save { .. }
            | McpPurpose::Delete
            | McpPurpose::Migrate { .. }
            | McpPurpose::Challenge { .. }
            | McpPurpose::SignIn { .. } => send(out, error),
        }
    }
}

fn validation_frame(session: &str, name: &str, check: &McpCheck) -> Frame {
    ServerEvent::McpServerValidation(wire::McpServerValidation {
        session_id: session,
        name,
        ok: check.ok,
        mode: auth_mode(check.mode),
        message: &check.message,
        tool_count: check.tool_count,
        latency_ms: check.latency_ms,
    })
    .frame()
}

fn challenge_frame(session: &str, name: &str, challenge: &Challenge) -> Frame {
    ServerEvent::McpServerAuthChallenge(wire::McpServerAuthChallenge {
        session_id: session,
        name,
        challenge: wire::McpChallenge {
            method: match challenge.needs_code {
                true => OauthMode::Code,
                false => OauthMode::Auto,
            },
            instructions: &challenge.instructions,
            url: challenge.url.as_deref(),
            expires_at: challenge.expires_at.map(|at| at.iso()),
        },
    })
    .frame()
}

fn result_frame(
    session: &str,
    name: &str,
    result: &SignedIn,
    mode: vocabulary::McpAuthMode,
) -> Frame {
    ServerEvent::McpServerAuthResult(wire::McpServerAuthResult {
        session_id: session,
        name,
        ok: result.ok,
        mode: Some(auth_mode(mode)),
        message: &result.message,
    })
    .frame()
}

/// What was taken over, in words: the protocol has no event of its own for it.
fn migrated_frame(
    session: &str,
    scope: vocabulary::McpScope,
    reply: &McpReply,
) -> Result<Frame, Refusal> {
    let McpReply::Migrated {
        imported,
        skipped,
        archived,
        ..
    } = reply
    else {
        return Err(unexpected());
    };
    let whose = match scope {
        vocabulary::McpScope::Workspace => "workspace",
        vocabulary::McpScope::User => "user",
    };
    let text = match archived {
        None => format!("There is no legacy MCP configuration to migrate ({whose})."),
        Some(archived) => format!(
            "Migrated the legacy MCP configuration ({whose}): {imported} imported, {skipped} already \
             there. The old file is kept as {}.",
            archived.display()
        ),
    };
    let event = ServerEvent::AssistantMessage(AssistantMessage {
        session_id: session,
        text: &text,
    });
    Ok(event.frame())
}
