//! Every limit of the server, in one place.

use std::time::Duration;

/// The longest message a client may send: an upload of 10 MiB and its wrapping fit.
pub const FRAME_BYTES_MAX: usize = 16 << 20;
/// The longest message on a socket whose client did not say who it is when it came.
pub const FRAME_BYTES_UNIDENTIFIED_MAX: usize = 2 << 20;
/// How long such a client may take to say it.
pub const AUTHENTICATE_MAX: Duration = Duration::from_secs(10);
/// Per socket; the defaults of the WebSocket layer cost twenty times the memory.
pub const READ_BUFFER_BYTES: usize = 2 << 10;
pub const WRITE_BUFFER_BYTES: usize = 16 << 10;
/// The longest message that goes out in one frame, and how long the frames are that a longer one is divided into.
/// There are simple clients that join no frames; what they ask for is rarely as long.
pub const UNFRAGMENTED_BYTES_MAX: usize = 4 << 20;
pub const FRAGMENT_BYTES: usize = 64 << 10;
/// Events written before a flush.
pub const EVENTS_PER_FLUSH: usize = 64;
/// Messages of a client that are taken in before their answers are sent off.
pub const MESSAGES_PER_FLUSH: usize = 64;
/// Calls of one connection that are not answered yet; a client that sends more waits.
pub const CALLS_OPEN_MAX: usize = 256;
/// Of those, how many run at once where a dialect does not keep them in order.
pub const CALLS_RUNNING_MAX: usize = 64;
/// Calls of one connection that may wait for someone outside while others go on; one more waits in
/// line, and holds up what is behind it.
pub const CALLS_BESIDE_MAX: usize = 4;
/// Threads that one connection listens to.
pub const LISTENERS_MAX: usize = 2_048;
/// Messages that one connection may send at once, and per second after that. A client that sends
/// more is read more slowly: nothing is lost, and others get their turn.
pub const MESSAGES_BURST: u32 = 20_000;
pub const MESSAGES_PER_SECOND: u32 = 20_000;

/// Sockets at once, of any kind; fewer where the system gives fewer descriptors.
pub const SOCKETS_MAX: usize = 16_384;
/// Of those, how many may belong to nobody we know: another user's, or one whose token was not
/// shown yet. One more, and the oldest of them makes room.
pub const SOCKETS_UNIDENTIFIED_MAX: usize = 256;
/// Descriptors that no socket gets: the store, tools and commands need them.
pub const DESCRIPTORS_RESERVED: usize = 512;
/// Sockets at once from one address; this machine's own are not counted.
pub const SOCKETS_PER_PEER_MAX: usize = 512;
/// How long a client may take to say what it wants, and how long an idle one is kept.
pub const REQUEST_HEAD_MAX: Duration = Duration::from_secs(10);
/// How long one socket may serve plain requests; a WebSocket is not bound by this.
pub const HTTP_SOCKET_MAX: Duration = Duration::from_secs(300);
/// The longest request line and headers.
pub const REQUEST_HEAD_BYTES_MAX: usize = 64 << 10;
/// The longest query of a URL.
pub const QUERY_BYTES_MAX: usize = 8 << 10;
/// How long, and for how much, a client is heard that is still talking when we have said our last.
pub const LINGER_MAX: Duration = Duration::from_secs(5);
pub const LINGER_BYTES_MAX: usize = 64 << 20;
/// How often strangers may cause a line of one kind in the log.
pub const LOG_EVERY: Duration = Duration::from_secs(10);
/// How long the listener rests when the system gives it no more sockets.
pub const ACCEPT_REST: Duration = Duration::from_millis(50);

/// The shortest token that is taken.
pub const TOKEN_BYTES_MIN: usize = 16;
/// Wrong tokens that one peer may try at once, and how long each one more takes.
pub const GUESSES_BURST: u32 = 10;
pub const GUESS_EVERY: Duration = Duration::from_secs(1);
/// How many peers are remembered for it.
pub const GUESSERS_MAX: usize = 1_024;
/// How long a ticket is good, and how many may be out.
pub const TICKET_LIFE: Duration = Duration::from_secs(30);
pub const TICKETS_MAX: usize = 1_024;

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
/// What stopping the engine may take beyond the grace, should a session not hear of it.
pub const STOP_SLACK: Duration = Duration::from_millis(300);
/// What is still running after that is left behind.
pub const LAST_WORK_MAX: Duration = Duration::from_millis(200);
