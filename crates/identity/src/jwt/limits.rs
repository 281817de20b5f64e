//! Every limit of JWTs, in one place.

use std::time::Duration;

/// The longest token that is looked at.
pub const TOKEN_BYTES_MAX: usize = 8 << 10;
/// By how much the clock of an issuer may differ from ours.
pub const CLOCK_SKEW_S: i64 = 60;
/// The longest name of a user, and the longest address.
pub const SUBJECT_BYTES_MAX: usize = 200;
pub const EMAIL_BYTES_MAX: usize = 254;

/// Tokens that were found good, and for how long that is believed.
pub const CACHED_TOKENS_MAX: usize = 10_000;
pub const CACHED_TOKEN_LIFE_MS: i64 = 5 * 60 * 1_000;

/// How long keys are taken for the newest where the issuer does not say, and the bounds of what it
/// may say.
pub const KEYS_FRESH: Duration = Duration::from_secs(5 * 60);
pub const KEYS_FRESH_MIN: Duration = Duration::from_secs(60);
pub const KEYS_FRESH_MAX: Duration = Duration::from_secs(15 * 60);
/// How long they are used beyond that while newer ones cannot be had.
pub const KEYS_STALE_MAX: Duration = Duration::from_secs(60 * 60);
/// How often a token with an unknown key makes us ask for the keys again.
pub const UNKNOWN_KEY_EVERY: Duration = Duration::from_secs(30);
/// How long an issuer that gave no keys is left alone.
pub const FAILED_FETCH_REST: Duration = Duration::from_secs(5);

/// How long all requests for keys may take together. A client has ten seconds to say who it is.
pub const FETCH_TIME_MAX: Duration = Duration::from_secs(8);
pub const CONNECT_TIME_MAX: Duration = Duration::from_secs(4);
pub const REDIRECTS_MAX: usize = 3;
/// The longest answer, and the most keys in it.
pub const ANSWER_BYTES_MAX: usize = 256 << 10;
pub const KEYS_MAX: usize = 64;
