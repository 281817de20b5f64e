//! From a request to a WebSocket.

use axum::body::Body;
use axum::http::{HeaderValue, Request, header, request};
use axum::response::Response;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tungstenite::handshake::server;
use tungstenite::protocol::{Role, WebSocketConfig};

use crate::limits::{READ_BUFFER_BYTES, WRITE_BUFFER_BYTES};

/// A client's end of it, as frames.
pub type WebSocket = WebSocketStream<TokioIo<Upgraded>>;

/// A request that may become a WebSocket.
pub struct Upgrade {
    switching: Response,
    upgraded: OnUpgrade,
}

impl Upgrade {
    /// None where a request is not what RFC 6455 (4.2.1) asks for.
    pub fn of(parts: request::Parts) -> Option<Self> {
        let mut request = Request::from_parts(parts, ());
        let switching = server::create_response(&request).ok()?;
        let upgraded = request.extensions_mut().remove::<OnUpgrade>()?;
        Some(Self {
            switching: switching.map(|()| Body::empty()),
            upgraded,
        })
    }

    /// Which of the protocols that the client offered is spoken.
    pub fn select_protocol(&mut self, protocol: HeaderValue) {
        let headers = self.switching.headers_mut();
        headers.insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
    }

    /// Answers the request, and serves what it becomes in a task of its own.
    pub fn serve<F>(
        self,
        message_bytes_max: usize,
        serve: impl FnOnce(WebSocket) -> F + Send + 'static,
    ) -> Response
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let config = WebSocketConfig::default()
            .max_message_size(Some(message_bytes_max))
            .max_frame_size(Some(message_bytes_max))
            .read_buffer_size(READ_BUFFER_BYTES)
            .write_buffer_size(WRITE_BUFFER_BYTES);
        let upgraded = self.upgraded;
        tokio::spawn(async move {
            // Who has gone meanwhile needs no word.
            if let Ok(upgraded) = upgraded.await {
                let stream = TokioIo::new(upgraded);
                let socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config));
                serve(socket.await).await;
            }
        });
        self.switching
    }
}
