//! Takes in sockets and reads their requests, within limits.
//!
//! An own loop rather than axum's: only here can a socket that never says what it wants be timed
//! out, and a place be counted from the first byte to the last of a WebSocket.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tower_service::Service;

use crate::limits::{ACCEPT_REST, HTTP_SOCKET_MAX, REQUEST_HEAD_BYTES_MAX, REQUEST_HEAD_MAX};
use crate::peer::{Peer, PeerLookup};
use crate::seats::{Seat, Seats};

/// How a request reached us.
#[derive(Clone)]
pub struct Arrival {
    /// The address of ours that the client connected to.
    pub came_in_by: IpAddr,
    pub peer: Peer,
    /// Held as long as anything of the socket lives.
    _seat: Arc<Seat>,
}

/// Serves a listener until the task is dropped.
pub async fn run(listener: TcpListener, router: Router, seats: Seats, peers: Arc<PeerLookup>) {
    loop {
        let (stream, client) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot take in a connection");
                // No more file descriptors, most likely: asking again at once would only spin.
                tokio::time::sleep(ACCEPT_REST).await;
                continue;
            }
        };
        match (seats.take(client.ip()), stream.local_addr()) {
            (Some(seat), Ok(local)) => {
                let arrival = Arrival {
                    came_in_by: local.ip().to_canonical(),
                    peer: peers.find(client, local),
                    _seat: Arc::new(seat),
                };
                tokio::spawn(serve(stream, router.clone(), arrival));
            }
            (None, _) => turn_away(&stream),
            (_, Err(_)) => {}
        }
    }
}

async fn serve(stream: TcpStream, router: Router, arrival: Arrival) {
    // Small frames should leave at once; a socket that cannot do that still works.
    let _ = stream.set_nodelay(true);
    let answer = hyper::service::service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(arrival.clone());
        router.clone().call(request)
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_HEAD_MAX)
        .max_header_size(REQUEST_HEAD_BYTES_MAX)
        .max_buf_size(REQUEST_HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), answer)
        .with_upgrades();
    // Ends with the upgrade: a WebSocket goes on in a task of its own.
    match tokio::time::timeout(HTTP_SOCKET_MAX, serving).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a socket ended early"),
        Err(_) => tracing::debug!("a socket was open for too long"),
    }
}

/// Says why in one write, if the socket takes it, and lets go.
fn turn_away(stream: &TcpStream) {
    const ANSWER: &str = "HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\n\
                          content-length: 21\r\nconnection: close\r\n\r\ntoo many connections\n";
    let _ = stream.try_write(ANSWER.as_bytes());
    tracing::warn!("turned a connection away: there are too many");
}
