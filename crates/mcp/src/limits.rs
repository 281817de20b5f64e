//! How much a server may send, and how long it may take.

use std::time::Duration;

/// One message of a server. A longer one ends the connection.
pub(crate) const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Messages to a server that it has not read yet. With more of them the connection ends.
pub(crate) const UNREAD_MAX: usize = 1024;
/// How long a server may take to read a message.
pub(crate) const WRITE_MAX: Duration = Duration::from_secs(10);

/// How long a server may take to start and to say what it has.
pub(crate) const START_MAX: Duration = Duration::from_secs(30);
/// The same for a check, for which somebody waits.
pub(crate) const CHECK_MAX: Duration = Duration::from_secs(15);
/// How long a turn waits for a server that it is not to begin without.
pub(crate) const REQUIRED_WAIT: Duration = Duration::from_secs(10);
/// How long a call waits for its server to come up.
pub(crate) const CALL_CONNECT_MAX: Duration = Duration::from_secs(30);
/// How long a call may take without a sign of progress.
pub(crate) const CALL_SILENCE_MAX: Duration = Duration::from_secs(10 * 60);
/// How long lists, prompts and resources may take.
pub(crate) const REQUEST_MAX: Duration = Duration::from_secs(30);
/// How long ending a connection may take.
pub(crate) const CLOSE_MAX: Duration = Duration::from_secs(20);
/// How long a server may take to say that it is there.
pub(crate) const PING_MAX: Duration = Duration::from_secs(5);
/// How long the first call waits for the stream that a server speaks on by itself.
pub(crate) const STREAM_WAIT_MAX: Duration = Duration::from_secs(2);
/// A connection that was silent for so long is asked whether it is there before it is used.
pub(crate) const SILENT_AFTER: Duration = Duration::from_secs(60);
/// A connection that nobody used for so long is let go.
pub(crate) const IDLE_MAX: Duration = Duration::from_secs(10 * 60);
/// How often a start is tried when nothing else is configured.
pub(crate) const RETRIES: u32 = 3;
pub(crate) const RETRIES_MAX: u32 = 20;
/// Between two starts; doubled with each that fails.
pub(crate) const BACK_OFF: Duration = Duration::from_secs(1);
pub(crate) const BACK_OFF_MAX: Duration = Duration::from_secs(60);
/// A server that lived for so long did start: what comes next is not counted as a failed start.
pub(crate) const LIVED: Duration = Duration::from_secs(60);
/// Between two readings of a list that a server says has changed.
pub(crate) const RELIST_PAUSE: Duration = Duration::from_secs(1);
/// Between two signs of progress that are told.
pub(crate) const PROGRESS_PAUSE: Duration = Duration::from_millis(50);

/// Pages of a list.
pub(crate) const PAGES_MAX: usize = 100;
/// Entries of a list that are kept; all of them are counted.
pub(crate) const LISTED_MAX: usize = 1_000;
pub(crate) const NAME_BYTES_MAX: usize = 256;
pub(crate) const DESCRIPTION_BYTES_MAX: usize = 2 * 1024;
/// The definition of a longer schema is left out: the tool takes any object.
pub(crate) const SCHEMA_BYTES_MAX: usize = 16 * 1024;
/// Tools of all servers together that a model is told of.
pub(crate) const TOOLS_MAX: usize = 128;
/// Their definitions together.
pub(crate) const DEFINITIONS_BYTES_MAX: usize = 64 * 1024;
/// What models take as the name of a tool.
pub(crate) const TOOL_NAME_CHARS_MAX: usize = 64;

/// The text of one result; the rest is kept in a file.
pub(crate) const RESULT_CHARS_MAX: usize = 100_000;
/// Blocks of one result.
pub(crate) const BLOCKS_MAX: usize = 100;
/// Base64 of the pictures of one result.
pub(crate) const PICTURES_BYTES_MAX: usize = 12 * 1024 * 1024;
/// What is told of progress at once.
pub(crate) const PROGRESS_CHARS_MAX: usize = 500;
pub(crate) const FAILURE_CHARS_MAX: usize = 1_000;
/// The input of a call as a person is shown it.
pub(crate) const INPUT_SHOWN_CHARS_MAX: usize = 300;
/// Fields of a form that a server wants a person to fill in.
pub(crate) const FORM_FIELDS_MAX: usize = 20;

/// The list of tools of one server on disk.
pub(crate) const CACHE_FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Of more lists on disk the oldest are removed.
pub(crate) const CACHE_FILES_MAX: usize = 256;
