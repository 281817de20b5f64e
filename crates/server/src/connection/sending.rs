//! What goes out: messages, long ones in pieces, each within a time.

use bytes::Bytes;
use futures_util::{FutureExt, SinkExt};
use tungstenite::Message;
use tungstenite::protocol::frame::Frame;
use tungstenite::protocol::frame::coding::{Data, OpCode};

use super::ending::End;
use super::{Connection, Flow};
use crate::limits::{FRAGMENT_BYTES, UNFRAGMENTED_BYTES_MAX, WRITE_STALL_MAX};

impl Connection {
    pub(super) async fn feed(&mut self, message: Message) -> Flow {
        self.unflushed = true;
        match message {
            Message::Text(text) if text.len() > UNFRAGMENTED_BYTES_MAX => {
                Box::pin(self.feed_fragments(text.into())).await
            }
            message => in_time(self.sink.feed(message)).await,
        }
    }

    /// The socket's buffer has a copy of what goes out, and keeps the room for it. So what is long goes through it
    /// piece by piece, and a client has its time for each of them.
    async fn feed_fragments(&mut self, text: Bytes) -> Flow {
        for fragment in fragments(text) {
            in_time(self.sink.feed(Message::Frame(fragment))).await?;
        }
        Ok(())
    }

    pub(super) async fn flush(&mut self) -> Flow {
        if !std::mem::take(&mut self.unflushed) {
            return Ok(());
        }
        in_time(self.sink.flush()).await
    }
}

/// A text message as RFC 6455 (5.4) divides it. They share its bytes.
fn fragments(text: Bytes) -> impl Iterator<Item = Frame> {
    let mut rest = text;
    let mut kind = Some(Data::Text);
    std::iter::from_fn(move || {
        let kind = kind.replace(Data::Continue)?;
        if rest.is_empty() {
            return None;
        }
        let piece = rest.split_to(rest.len().min(FRAGMENT_BYTES));
        Some(Frame::message(piece, OpCode::Data(kind), rest.is_empty()))
    })
}

pub(super) async fn in_time<E>(write: impl Future<Output = Result<(), E>>) -> Flow {
    let mut write = std::pin::pin!(write);
    // Nearly every write is done at once, and then needs no timer.
    if let Some(done) = write.as_mut().now_or_never() {
        return done.map_err(|_| End::Gone);
    }
    match tokio::time::timeout(WRITE_STALL_MAX, write).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(End::Gone),
        Err(_) => Err(End::Stalled),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_divided_and_nothing_of_it_is_lost() {
        for bytes in [1, FRAGMENT_BYTES, FRAGMENT_BYTES + 1, 3 * FRAGMENT_BYTES] {
            let text = "é".repeat(bytes);
            let frames: Vec<Frame> = fragments(Bytes::from(text.clone())).collect();
            let joined: Vec<u8> = frames
                .iter()
                .flat_map(|frame| frame.payload())
                .copied()
                .collect();
            assert_eq!(joined, text.as_bytes());
            let kinds = frames.iter().map(|frame| frame.header().opcode);
            let first = std::iter::once(OpCode::Data(Data::Text));
            let more = std::iter::repeat(OpCode::Data(Data::Continue));
            assert!(kinds.eq(first.chain(more).take(frames.len())));
            let last = frames.iter().map(|frame| frame.header().is_final);
            assert!(last.eq((1..=frames.len()).map(|number| number == frames.len())));
        }
    }
}
