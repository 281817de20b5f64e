//! Calls of a server's tools: progress, cancelling, and questions that come up meanwhile.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, JsonObject, ProgressNotificationParam,
    ProgressToken, RequestId, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use tokio::sync::watch;
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tools::{Host, ToolCx};
use vocabulary::TimeLimit;

use super::McpConnection;
use crate::limits::{CALL_SILENCE_MAX, PROGRESS_CHARS_MAX, PROGRESS_PAUSE};

/// How long telling a server that a call is cancelled may take.
const CANCEL_MAX: Duration = Duration::from_secs(1);

/// How a call ended without a result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CallFailure {
    Cancelled,
    /// In words for the model.
    Failed(String),
}

/// A call that waits for its result.
pub(super) struct InFlightCall {
    /// Who is asked what the server wants to know.
    pub host: Arc<dyn Host>,
    /// Cancelled with the turn, and when the call is over.
    pub over: CancellationToken,
    /// The last that was said of how far it is.
    progress: watch::Sender<String>,
    /// Questions that are before a person.
    pub questions: AtomicUsize,
    /// Known when it has been sent.
    sent: Mutex<Option<(RequestId, ProgressToken)>>,
}

/// All of a connection.
#[derive(Default)]
pub(super) struct InFlightCalls {
    calls: Mutex<HashMap<u64, Arc<InFlightCall>>>,
    count: AtomicU64,
}

impl InFlightCalls {
    pub fn is_empty(&self) -> bool {
        self.calls.lock().is_empty()
    }

    fn begin(self: &Arc<Self>, cx: &ToolCx) -> RunningCall {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let call = Arc::new(InFlightCall {
            host: Arc::clone(&cx.host),
            over: cx.cancel.child_token(),
            progress: watch::Sender::new(String::new()),
            questions: AtomicUsize::new(0),
            sent: Mutex::new(None),
        });
        self.calls.lock().insert(number, Arc::clone(&call));
        RunningCall {
            calls: Arc::clone(self),
            number,
            call,
        }
    }

    /// The server says how far a call is.
    pub fn progressed(&self, said: &ProgressNotificationParam) {
        let calls = self.calls.lock();
        let is_meant = |call: &&Arc<InFlightCall>| {
            let sent = call.sent.lock();
            sent.as_ref()
                .is_some_and(|(_, token)| *token == said.progress_token)
        };
        if let Some(call) = calls.values().find(is_meant) {
            call.progress.send_replace(progress_text(said));
        }
    }

    /// The call that a question of the server belongs to: the one it names, or the only one.
    pub fn asked_for(&self, named: Option<&RequestId>) -> Option<Arc<InFlightCall>> {
        let calls = self.calls.lock();
        match named {
            Some(id) => {
                let is_named = |call: &&Arc<InFlightCall>| {
                    call.sent
                        .lock()
                        .as_ref()
                        .is_some_and(|(sent, _)| sent == id)
                };
                calls.values().find(is_named).cloned()
            }
            None if calls.len() == 1 => calls.values().next().cloned(),
            None => None,
        }
    }
}

/// Forgotten when it is dropped.
struct RunningCall {
    calls: Arc<InFlightCalls>,
    number: u64,
    call: Arc<InFlightCall>,
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.call.over.cancel();
        self.calls.calls.lock().remove(&self.number);
    }
}

fn progress_text(said: &ProgressNotificationParam) -> String {
    let count = match said.total {
        Some(total) => format!("{} of {total}", said.progress),
        None => said.progress.to_string(),
    };
    let message = said.message.as_deref().map(str::trim);
    let text = match message.filter(|message| !message.is_empty()) {
        Some(message) if said.total.is_some() => format!("{message} ({count})"),
        Some(message) => message.to_owned(),
        None => count,
    };
    crate::transport::without_secrets(&text, &[], PROGRESS_CHARS_MAX)
}

impl McpConnection {
    /// Calls a tool.
    pub async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
        cx: &ToolCx,
    ) -> Result<ServerResult, CallFailure> {
        self.touch();
        let running = self.calls.begin(cx);
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::no_options();
        let sending = self.peer.send_cancellable_request(request, options);
        let handle = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Err(CallFailure::Cancelled),
            sent = sending => sent.map_err(|error| CallFailure::Failed(self.say(error)))?,
        };
        *running.call.sent.lock() = Some((handle.id.clone(), handle.progress_token.clone()));
        let outcome = self.follow(handle, &running.call, cx).await;
        self.touch();
        outcome
    }

    async fn follow(
        &self,
        mut handle: RequestHandle<RoleClient>,
        call: &InFlightCall,
        cx: &ToolCx,
    ) -> Result<ServerResult, CallFailure> {
        let mut progress = call.progress.subscribe();
        let mut deadline = Instant::now() + CALL_SILENCE_MAX;
        let mut told = Instant::now() - PROGRESS_PAUSE;
        loop {
            let said = async {
                tokio::time::sleep_until(told + PROGRESS_PAUSE).await;
                // The other end is in the call.
                let _ = progress.changed().await;
            };
            tokio::select! {
                biased;
                () = cx.cancel.cancelled() => {
                    cancel(handle, "the user cancelled").await;
                    return Err(CallFailure::Cancelled);
                }
                answer = &mut handle.rx => {
                    let answer = answer.unwrap_or(Err(ServiceError::TransportClosed));
                    return answer.map_err(|error| CallFailure::Failed(self.say(error)));
                }
                () = self.ended.cancelled() => {
                    return Err(CallFailure::Failed(self.end_message()));
                }
                () = said => {}
                () = tokio::time::sleep_until(deadline) => {
                    // A person may take longer.
                    if call.questions.load(Ordering::Relaxed) == 0 {
                        cancel(handle, "no sign of progress").await;
                        let limit = CALL_SILENCE_MAX;
                        cx.host.timed_out(limit, TimeLimit::Silence).await;
                        let minutes = CALL_SILENCE_MAX.as_secs() / 60;
                        let why = format!("no answer and no progress for {minutes} minutes");
                        return Err(CallFailure::Failed(why));
                    }
                    deadline = Instant::now() + CALL_SILENCE_MAX;
                    continue;
                }
            }
            (told, deadline) = (Instant::now(), Instant::now() + CALL_SILENCE_MAX);
            let text = progress.borrow_and_update().clone();
            cx.host.progress(text).await;
        }
    }
}

async fn cancel(handle: RequestHandle<RoleClient>, why: &str) {
    // A server that cannot be told is not waited for.
    let _ = tokio::time::timeout(CANCEL_MAX, handle.cancel(Some(why.to_owned()))).await;
}
