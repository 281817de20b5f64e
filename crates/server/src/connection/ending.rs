//! How a connection ends, and what is still said and done then.

use dialects::{Action, Cx, Reason};
use futures_util::SinkExt;
use tungstenite::Message;
use tungstenite::error::ProtocolError;
use tungstenite::protocol::CloseFrame;

use super::sending::in_time;
use super::{Connection, now};
use crate::limits::CLOSE_LINGER;

/// Why a connection ends.
pub(super) enum End {
    /// The client went, or the socket broke.
    Gone,
    /// The client said that it goes.
    Closed,
    Close(Reason),
    /// The client takes nothing.
    Stalled,
}

impl End {
    /// For the log. A close frame's own text may repeat what a client said.
    pub(super) fn word(&self) -> &'static str {
        match self {
            End::Gone => "the socket broke",
            End::Closed => "the client left",
            End::Close(_) => "closed by the server",
            End::Stalled => "the client takes nothing",
        }
    }

    pub(super) fn code(&self) -> Option<u16> {
        match self {
            End::Close(reason) => Some(reason.code),
            End::Gone | End::Closed | End::Stalled => None,
        }
    }
}

impl Connection {
    /// Says why, lets the dialect make its last calls, and lets go.
    pub(super) async fn end(mut self: Box<Self>, end: End) {
        self.listeners.clear();
        let reason = match end {
            End::Gone => None,
            End::Closed => {
                // The answer is ready in the WebSocket layer; nobody but us sends it off.
                let _ = in_time(self.sink.flush()).await;
                None
            }
            End::Close(reason) => Some(reason),
            End::Stalled => Some(Reason::too_slow()),
        };
        if let Some(reason) = reason {
            let frame = CloseFrame {
                code: reason.code.into(),
                reason: reason.text.into(),
            };
            // Whoever reads again within this time learns why.
            let close = self.sink.send(Message::Close(Some(frame)));
            let _ = tokio::time::timeout(CLOSE_LINGER, close).await;
        }
        let mut out = Vec::new();
        let cx = Cx {
            now: now(),
            caller: self.door.caller.as_ref(),
        };
        self.dialect.gone(&cx, &mut out);
        for action in out {
            if let Action::Call { call, .. } = action {
                let Some(caller) = &self.door.caller else {
                    continue;
                };
                // The client is gone: nobody hears a refusal.
                let _ = self.engine.call(caller, call).await;
            }
        }
    }
}

/// A frame the socket could not take in, and what RFC 6455 (7.4.1) calls that.
pub(super) fn broken(error: tungstenite::Error) -> End {
    match error {
        tungstenite::Error::Capacity(_) => End::Close(Reason::new(1009, "message too big")),
        tungstenite::Error::Utf8(_) => End::Close(Reason::new(1007, "text that is not UTF-8")),
        // There is nobody left to tell.
        tungstenite::Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => End::Gone,
        tungstenite::Error::Protocol(error) => End::Close(Reason::new(1002, error.to_string())),
        _ => End::Gone,
    }
}
