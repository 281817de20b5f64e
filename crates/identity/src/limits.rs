//! Limits.

use std::time::Duration;

/// How often a change is made again from fresh records, when others were quicker.
pub const CHANGE_TRIES_MAX: usize = 32;
/// How often it is read again, when somebody writes all the time.
pub const LOAD_TRIES_MAX: usize = 32;
pub const TENANT_ID_CHARS_MAX: usize = 64;
pub const NAME_CHARS_MAX: usize = 200;
pub const MEMBER_ID_BYTES_MAX: usize = 200;
pub const EMAIL_BYTES_MAX: usize = 254;
pub const MEMBERS_MAX: usize = 10_000;
pub const TOKENS_MAX: usize = 10_000;
/// That a token was used is written at most this often.
pub const USE_WRITTEN_EVERY: Duration = Duration::from_secs(60);
