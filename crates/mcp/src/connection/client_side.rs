//! What a server can want of us: the workspace's place, and answers of a person.

#![expect(
    deprecated,
    reason = "servers of today still ask for the workspace as a root"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorData, FormElicitationCapability, Implementation, ListRootsResult,
    ProgressNotificationParam, ProtocolVersion, RequestId, Root, RootsCapabilities,
    UrlElicitationCapability,
};
use rmcp::service::{InboundStreamOrigin, NotificationContext, RequestContext, RoleClient};
use tokio::sync::Notify;

use super::calls::InFlightCalls;
use super::elicitation;

pub(super) struct ClientSide {
    server: String,
    workspace: PathBuf,
    calls: Arc<InFlightCalls>,
    /// A list has changed.
    changed: Arc<Notify>,
}

impl ClientSide {
    pub fn new(server: String, workspace: &Path, calls: Arc<InFlightCalls>) -> Self {
        Self {
            server,
            workspace: workspace.to_owned(),
            calls,
            changed: Arc::default(),
        }
    }

    pub fn changed(&self) -> Arc<Notify> {
        Arc::clone(&self.changed)
    }

    async fn elicit(&self, request: ElicitRequestParams, named: Option<RequestId>) -> ElicitResult {
        // A question that belongs to no call would be put before the wrong people.
        let Some(call) = self.calls.asked_for(named.as_ref()) else {
            return ElicitResult::new(ElicitationAction::Decline);
        };
        if call.questions.fetch_add(1, Ordering::Relaxed) > 0 {
            // One at a time.
            call.questions.fetch_sub(1, Ordering::Relaxed);
            return ElicitResult::new(ElicitationAction::Decline);
        }
        let answer = tokio::select! {
            biased;
            () = call.cancel.cancelled() => ElicitResult::new(ElicitationAction::Cancel),
            answer = elicitation::ask(&self.server, request, call.host.as_ref()) => answer,
        };
        call.questions.fetch_sub(1, Ordering::Relaxed);
        answer
    }
}

impl ClientHandler for ClientSide {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        let elicitation = ElicitationCapability::new()
            .with_form(FormElicitationCapability::new())
            .with_url(UrlElicitationCapability::new());
        capabilities.elicitation = Some(elicitation);
        let about = Implementation::new("dragoman", env!("CARGO_PKG_VERSION"));
        let mut config = ClientConfig::new(capabilities, about);
        config.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        config
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        let url = reqwest::Url::from_directory_path(&self.workspace);
        let root = url.ok().map(|url| Root::new(url.as_str()));
        Ok(ListRootsResult::new(root.into_iter().collect()))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let named = match context.extensions.get::<InboundStreamOrigin>() {
            Some(InboundStreamOrigin::OutboundRequest(id)) => Some(id.clone()),
            // It came on no call's own stream.
            Some(_) | None => None,
        };
        Ok(self.elicit(request, named).await)
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.calls.progressed(&params);
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}
