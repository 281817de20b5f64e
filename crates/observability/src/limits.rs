//! Every limit of tracing and metrics.

use std::time::Duration;

/// The most bytes of one text of a span; more is cut, with a note.
pub const TEXT_BYTES_MAX: usize = 64 * 1024;
/// Spans that may wait for an endpoint.
pub const QUEUE_SPANS_MAX: usize = 4096;
/// The same in bytes, those on their way included.
pub const QUEUE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Spans of one request.
pub const BATCH_SPANS_MAX: usize = 512;
/// The same in bytes, before they are compressed.
pub const BATCH_BYTES_MAX: usize = 2 * 1024 * 1024;
/// How long the first span of a batch waits for more.
pub const BATCH_DELAY: Duration = Duration::from_secs(5);
/// The longest that may be configured instead.
pub const BATCH_DELAY_MAX: Duration = Duration::from_secs(60);
/// After the first failure; it doubles with each further one.
pub const RETRY_DELAY: Duration = Duration::from_secs(1);
pub const RETRY_DELAY_MAX: Duration = Duration::from_secs(30);
/// How long one delivery may take.
pub const DELIVERY_TIME_MAX: Duration = Duration::from_secs(10);
pub const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
/// How long the end of the server waits for what is left.
pub const FLUSH_TIME_MAX: Duration = Duration::from_secs(2);
/// The most of an endpoint's answer that is read.
pub const RESPONSE_BYTES_MAX: usize = 64 * 1024;
/// The most of an endpoint's words that is repeated to people.
pub const WORDS_CHARS_MAX: usize = 200;
/// Models, and providers, that are counted apart; all further ones are counted together.
pub const LABELS_MAX: usize = 64;
/// Secrets that are looked for in what is sent.
pub const KNOWN_SECRETS_MAX: usize = 1024;
