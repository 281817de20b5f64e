//! An accepted connection, which ends so that its last words arrive.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;

use crate::limits::{LINGER_BYTES_MAX, LINGER_MAX};
use crate::seats::Seat;

/// A connection and its seat, through upgrades to the end.
///
/// Closing a socket that still has something to read resets the connection, and a reset overtakes
/// what was said before: a client that is still sending a message too long would never learn why
/// it was closed. So when this is dropped, the rest is read and thrown away for a while.
pub struct Socket {
    /// None only while it is dropped.
    stream: Option<TcpStream>,
    seat: Arc<Seat>,
}

impl Socket {
    pub fn new(stream: TcpStream, seat: Arc<Seat>) -> Self {
        Self {
            stream: Some(stream),
            seat,
        }
    }

    fn stream(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        let stream = self.stream.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        Ok(Pin::new(stream))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let Some(stream) = self.stream.take() else {
            return;
        };
        match stream.try_read(&mut [0]) {
            // It has no more to say, or cannot hear.
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
        let seat = Arc::clone(&self.seat);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                tokio::select! {
                    biased;
                    // Nobody waits for a place that a stranger has no more use for.
                    () = seat.evicted() => {}
                    _ = tokio::time::timeout(LINGER_MAX, hear_out(stream)) => {}
                }
            });
        }
    }
}

async fn hear_out(mut stream: TcpStream) -> io::Result<()> {
    stream.shutdown().await?;
    let mut rest = [0; 4096];
    let mut left = LINGER_BYTES_MAX;
    loop {
        let read = stream.read(&mut rest).await?;
        left = left.saturating_sub(read);
        if read == 0 || left == 0 {
            return Ok(());
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream()?.poll_read(cx, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stream()?.poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream()?.poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use tokio::net::TcpListener;

    use super::*;
    use crate::limits::SOCKETS_UNIDENTIFIED_MAX;
    use crate::peer::Peer;
    use crate::seats::Seats;

    /// A client, our end of it, and its place.
    async fn connected(seats: &Seats) -> (TcpStream, Socket) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
        let address = listener.local_addr().expect("an address");
        let client = TcpStream::connect(address).await.expect("a connection");
        let (accepted, _) = listener.accept().await.expect("the other end");
        let seat = seats.take(&stranger()).expect("a seat");
        (client, Socket::new(accepted, Arc::new(seat)))
    }

    fn stranger() -> Peer {
        Peer {
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            user: None,
        }
    }

    async fn until_open(seats: &Seats, expected: usize) {
        let waiting = async {
            while seats.open() != expected {
                tokio::task::yield_now().await;
            }
        };
        let waited = tokio::time::timeout(LINGER_MAX / 2, waiting).await;
        waited.expect("the place was not given back");
    }

    #[tokio::test]
    async fn last_words_arrive_though_the_client_is_still_talking() {
        let seats = Seats::new(10);
        let (mut client, mut socket) = connected(&seats).await;
        client.write_all(&[b'x'; 100_000]).await.expect("room");
        socket.write_all(b"that is enough").await.expect("room");
        drop(socket);
        assert_eq!(seats.open(), 1);
        client.write_all(&[b'x'; 1_000_000]).await.expect("heard");
        let mut heard = String::new();
        client.read_to_string(&mut heard).await.expect("no reset");
        assert_eq!(heard, "that is enough");
        drop(client);
        until_open(&seats, 0).await;
    }

    #[tokio::test]
    async fn a_stranger_that_does_not_go_gives_up_its_place_all_the_same() {
        let seats = Seats::new(10_000);
        let (_client, socket) = connected(&seats).await;
        drop(socket);
        let next: Vec<_> = (0..SOCKETS_UNIDENTIFIED_MAX)
            .map(|_| seats.take(&stranger()))
            .collect();
        until_open(&seats, next.len()).await;
    }
}
