//! Every limit of the server, in one place.

use std::time::Duration;

/// The longest message a client may send: an upload of 10 MiB and its wrapping fit.
pub const FRAME_BYTES_MAX: usize = 16 << 20;
/// Per socket; the defaults of the WebSocket layer cost twenty times the memory.
pub const READ_BUFFER_BYTES: usize = 4 << 10;
pub const WRITE_BUFFER_BYTES: usize = 16 << 10;
/// Events written before a flush.
pub const EVENTS_PER_FLUSH: usize = 64;
/// Calls of one connection that wait behind each other; a client that sends more waits.
pub const CALLS_WAITING_MAX: usize = 256;
/// A client that takes nothing for this long is closed.
pub const WRITE_STALL_MAX: Duration = Duration::from_secs(10);
/// How long a closed client may take to read why.
pub const CLOSE_LINGER: Duration = Duration::from_secs(20);
/// A silent client is pinged after this, and closed after three times as long.
pub const PING_EVERY: Duration = Duration::from_secs(40);
/// How long running turns may go on when the server is told to stop. Desktop shells kill a
/// sidecar three seconds after asking, so all of stopping must fit into that.
pub const STOP_GRACE: Duration = Duration::from_millis(1_500);
/// How long sockets may take to say goodbye after that.
pub const GOODBYE_MAX: Duration = Duration::from_millis(700);
