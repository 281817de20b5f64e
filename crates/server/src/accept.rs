//! Takes in sockets and reads their requests, within limits.
//!
//! An own loop rather than axum's: only here can a socket that never says what it wants be timed
//! out, and a place be counted from the first byte to the last of a WebSocket.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tower_service::Service;

use crate::limits::{ACCEPT_REST, HTTP_SOCKET_MAX, REQUEST_HEAD_BYTES_MAX, REQUEST_HEAD_MAX};
use crate::log_limiter::LogLimiter;
use crate::peer::{Peer, PeerLookup};
use crate::seats::{Seat, Seats};
use crate::socket::Socket;

/// How a request reached us.
#[derive(Clone)]
pub struct Arrival {
    /// The address of ours that the client connected to.
    pub came_in_by: IpAddr,
    pub peer: Peer,
    pub seat: Arc<Seat>,
}

/// What all listeners share.
pub struct Acceptor {
    seats: Seats,
    peers: PeerLookup,
    turned_away: LogLimiter,
    not_accepted: LogLimiter,
}

impl Acceptor {
    pub fn new(sockets_max: usize) -> Self {
        Self {
            seats: Seats::new(sockets_max),
            peers: PeerLookup::default(),
            turned_away: LogLimiter::default(),
            not_accepted: LogLimiter::default(),
        }
    }

    /// Serves a listener until the task is dropped.
    pub async fn run(self: Arc<Self>, listener: TcpListener, router: Router) {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => self.admit(stream, &router),
                Err(error) => {
                    if let Some(due) = self.not_accepted.due(Instant::now()) {
                        let left_out = due.left_out;
                        tracing::warn!(%error, left_out, "cannot take in a connection");
                    }
                    // No more file descriptors, most likely: asking again at once would only spin.
                    tokio::time::sleep(ACCEPT_REST).await;
                }
            }
        }
    }

    fn admit(&self, stream: TcpStream, router: &Router) {
        // Without addresses it is gone already.
        let (Ok(client), Ok(local)) = (stream.peer_addr(), stream.local_addr()) else {
            return;
        };
        let peer = self.peers.find(client, local);
        let Some(seat) = self.seats.take(&peer) else {
            turn_away(&stream);
            if let Some(due) = self.turned_away.due(Instant::now()) {
                let left_out = due.left_out;
                tracing::warn!(left_out, "turned a connection away: there are too many");
            }
            return;
        };
        let arrival = Arrival {
            came_in_by: local.ip().to_canonical(),
            peer,
            seat: Arc::new(seat),
        };
        tokio::spawn(serve(stream, router.clone(), arrival));
    }
}

async fn serve(stream: TcpStream, router: Router, arrival: Arrival) {
    // Small frames should leave at once; a socket that cannot do that still works.
    let _ = stream.set_nodelay(true);
    let seat = Arc::clone(&arrival.seat);
    let socket = Socket::new(stream, Arc::clone(&seat));
    let answer = hyper::service::service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(arrival.clone());
        router.clone().call(request)
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_HEAD_MAX)
        .max_header_size(REQUEST_HEAD_BYTES_MAX)
        .max_buf_size(REQUEST_HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(socket), answer)
        .with_upgrades();
    // Ends with the upgrade: a WebSocket goes on in a task of its own.
    tokio::select! {
        served = tokio::time::timeout(HTTP_SOCKET_MAX, serving) => match served {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "a socket ended early"),
            Err(_) => tracing::debug!("a socket was open for too long"),
        },
        () = seat.evicted() => tracing::debug!("a socket that showed no token made room"),
    }
}

/// Says why in one write, if the socket takes it, and lets go.
fn turn_away(stream: &TcpStream) {
    const ANSWER: &str = "HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\n\
                          content-type: text/plain; charset=utf-8\r\n\
                          x-content-type-options: nosniff\r\n\
                          content-length: 21\r\nconnection: close\r\n\r\ntoo many connections\n";
    let _ = stream.try_write(ANSWER.as_bytes());
}
