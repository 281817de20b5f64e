//! Every limit of the engine, in one place.

use std::time::Duration;

/// Events a thread keeps in memory for its listeners.
pub const RING_EVENTS_MAX: usize = 65_536;
/// Bytes of event text a thread keeps in memory for its listeners.
pub const RING_BYTES_MAX: usize = 16 << 20;
/// Events of earlier turns kept for slow listeners when the next turn starts.
pub const RING_EVENTS_BETWEEN_TURNS: usize = 1_024;
pub const RING_BYTES_BETWEEN_TURNS: usize = 4 << 20;
/// Events kept for a thread at rest, and their bytes: for a listener that is nearly there. Who joins
/// needs none of them.
pub const RING_EVENTS_AT_REST: usize = 16;
pub const RING_BYTES_AT_REST: usize = 16 << 10;
/// Listeners have this long to hear what a thread without a turn tells, before it is let go.
pub const SHRINK_AFTER: Duration = Duration::from_secs(10);
/// How long an ask stays open where those who listen cannot answer it: for who can to come back.
pub const UNHEARD_ASK_WAIT: Duration = Duration::from_secs(300);
/// Calls waiting in a session's mailbox; further callers wait their turn.
pub const MAILBOX_CALLS_MAX: usize = 64;
/// Facts between a turn and its session; a faster model waits.
pub const TURN_FACTS_MAX: usize = 1_024;
/// Facts a session takes from its turn at once.
pub const TURN_FACTS_PER_ROUND: usize = 256;
/// How far ahead of the head numbers are reserved on disk.
pub const HIGH_WATER_AHEAD: u64 = 65_536;
/// When fewer reserved numbers than this are left, more are reserved.
pub const HIGH_WATER_RENEW: u64 = 16_384;
/// Durable events read back at once for a listener that lags or replays.
pub const REPLAY_PAGE: u32 = 256;
/// A file that a client uploads, as it comes, and how long the disk may take for it.
pub const UPLOAD_BASE64_BYTES_MAX: usize = 10 << 20;
pub const UPLOAD_WAIT: Duration = Duration::from_secs(30);
/// How long the disk may take for a project's defaults.
pub const DEFAULTS_WAIT: Duration = Duration::from_secs(5);
/// All texts of an assignment together.
pub const ASSIGNMENT_BYTES_MAX: usize = 32 << 10;
/// Files that come with one message.
pub const GIVEN_FILES_MAX: usize = 20;
/// The longest user message.
pub const INPUT_BYTES_MAX: usize = 1 << 20;
pub const TITLE_CHARS_MAX: usize = 200;
pub const PREVIEW_CHARS_MAX: usize = 200;
pub const CLIENT_ID_CHARS_MAX: usize = 200;
pub const WORKSPACES_MAX: usize = 1_000;
pub const FOLDERS_MAX: usize = 10_000;
/// How long a new thread waits to know of its repository.
pub const GIT_INFO_WAIT: Duration = Duration::from_millis(500);
pub const SECTIONS_MAX: usize = 200;
/// In one section.
pub const SECTION_THREADS_MAX: usize = 1_000;
/// In all sections of a tenant: they are read with every list.
pub const SECTIONED_THREADS_MAX: usize = 5_000;
/// Of each word by which clients say how a section is drawn.
pub const APPEARANCE_CHARS_MAX: usize = 200;
/// Names of workspaces, folders and sections.
pub const NAME_CHARS_MAX: usize = 200;
/// How often a library change is tried again when others change it at the same time.
pub const LIBRARY_TRIES_MAX: usize = 16;
/// What comes with a workspace and is trusted or not: more than this never is.
pub const TRUST_FILES_MAX: usize = 2_000;
pub const TRUST_BYTES_MAX: u64 = 16 << 20;
/// Grants kept for one thread, and for one workspace; then the oldest go.
pub const GRANTS_MAX: usize = 64;
/// Grants kept in all.
pub const GRANTS_ALL_MAX: usize = 4_096;
/// How much is kept of the words that a grant is listed with.
pub const GRANT_WORDS_MAX: usize = 2_000;
/// Output of a running command that a late joiner is shown.
pub const LIVE_OUTPUT_BYTES_MAX: usize = 32 << 10;
/// Turns that one call may take back, and places of a thread where some were.
pub const TURNS_PER_REVERT_MAX: u32 = 100_000;
pub const HIDDEN_SPANS_MAX: usize = 1_000;
/// Messages one read may ask for.
pub const MESSAGES_PER_READ_MAX: u64 = 10_000;
/// Entries read from the store at once; what needs more reads on.
pub const ENTRIES_PER_PAGE: u32 = 1_000;
/// Turns one read may ask for.
pub const TURNS_PER_READ_MAX: u32 = 1_000;
/// Durable events one read may ask for.
pub const EVENTS_PER_READ_MAX: u32 = 1_000;
/// A conversation of so many messages is summarised, whatever the model's context can hold.
pub const CONTEXT_MESSAGES_MAX: usize = 2_000;
/// Messages a model is shown of a conversation of which no summary could be made.
pub const CONTEXT_MESSAGES_READ_MAX: usize = 4_000;
/// Bytes of one tool result that enter the model's context: about 12,000 tokens.
pub const CONTEXT_RESULT_BYTES_MAX: usize = 48 << 10;
/// How full the model's context may be before the conversation is summarised; large contexts are
/// dear, and models find less in them.
pub const COMPACT_AT_PERCENT: u64 = 85;
pub const COMPACT_LARGE_AT_PERCENT: u64 = 50;
pub const LARGE_CONTEXT_TOKENS: u64 = 1_000_000;
/// When the conversation is summarised where nobody knows how much the model can read.
pub const COMPACT_UNKNOWN_AT: u64 = 100_000;
/// Tokens that a step is thought to write at most, where credit is reserved for it.
pub const CREDIT_OUTPUT_TOKENS_MAX: u64 = 8_192;
/// About what a model reads beside what was said: its system prompt, its tools and its surroundings.
pub const FIXED_TOKENS_ABOUT: u64 = 10_000;
/// What is kept free for an answer, where conversation and answer share one window, and beside it.
pub const ANSWER_TOKENS_RESERVED_MAX: u64 = 64_000;
pub const CONTEXT_TOKENS_SPARE: u64 = 8_000;
/// What a summary must free at least, and how often in a row it may free less.
pub const SUMMARY_FREES_PERCENT: u64 = 20;
pub const POOR_SUMMARIES_MAX: u32 = 2;
/// Bytes of a summary.
pub const SUMMARY_BYTES_MAX: usize = 64 << 10;
/// The newest results stay when old ones are cleared, in tokens, and less where the model reads little;
/// none are cleared for less than so much.
pub const RECENT_RESULTS_TOKENS: u64 = 40_000;
pub const RECENT_RESULTS_PERCENT: u64 = 40;
pub const PRUNED_TOKENS_MIN: u64 = 20_000;
pub const PRUNED_TOKENS_MIN_PERCENT: u64 = 20;
/// Tokens that a model may write for a summary.
pub const SUMMARY_TOKENS_MAX: u64 = 16_000;
/// What outlives a summary, in tokens, and of less where the model reads little: what the user said,
/// and the newest steps as they were.
pub const KEPT_SAID_TOKENS: u64 = 20_000;
pub const KEPT_SAID_PERCENT: u64 = 20;
pub const KEPT_STEPS_TOKENS: u64 = 12_000;
pub const KEPT_STEPS_PERCENT: u64 = 12;
/// Messages of the user, and names of changed files, that outlive a summary.
pub const KEPT_SAID_MAX: usize = 400;
pub const KEPT_FILES_MAX: usize = 200;
/// How long a summary may take in all.
pub const SUMMARY_WAIT_MAX: Duration = Duration::from_secs(30 * 60);
/// Characters of each tool result that a summary is made from.
pub const SUMMARY_RESULT_CHARS_MAX: usize = 2_000;
/// How often a request may be tried: at first as often as the provider would, then fewer times each
/// time its answer broke off, or a service in trouble would be stormed.
pub const ANSWER_ATTEMPTS: [Option<u32>; 3] = [None, Some(5), Some(3)];
/// How long it is waited before the first of these; each wait is twice as long as the one before.
pub const ANSWER_RESTART_AFTER: Duration = Duration::from_millis(500);
/// Bytes of one answer, reasoning and tool inputs included.
pub const ANSWER_BYTES_MAX: usize = 16 << 20;
/// Calls of one answer.
pub const ANSWER_CALLS_MAX: usize = 256;
/// How often a provider may say of one answer that it tries again.
pub const ANSWER_DELAYS_MAX: u32 = 64;
/// How long it is waited for a provider that tries again, whatever it says. As long as a person may
/// let a service ask for.
pub const ANSWER_DELAY_MAX: Duration = Duration::from_secs(25 * 3_600);
/// How often in a row a text that was cut is continued.
pub const CONTINUED_ANSWERS_MAX: u32 = 3;
/// Answers in a row whose call was cut, and answers in a row with nothing in them: then it is enough.
pub const CUT_CALLS_MAX: u32 = 2;
pub const EMPTY_ANSWERS_MAX: u32 = 3;
/// The same call with the same result, in a row: when the model is told, how often it is made at all,
/// and when the turn is wrapped up.
pub const REPEATED_CALLS_NOTED: usize = 3;
pub const REPEATED_CALLS_RUN_MAX: usize = 4;
pub const REPEATED_CALLS_MAX: usize = 8;
/// Calls of a group that counts as repeated like one call.
pub const REPETITION_CALLS_MAX: usize = 4;
/// Failed calls in a row when the model is told.
pub const FAILED_CALLS_NOTED: u32 = 5;
/// Calls that only read, made at the same time.
pub const PARALLEL_CALLS_MAX: usize = 8;
/// Sub-agents of one step at the same time; further ones wait.
pub const SUB_AGENTS_AT_ONCE_MAX: usize = 4;
/// Steps of a sub-agent: of a quick one, as usual, of a thorough one.
pub const SUB_AGENT_STEPS_QUICK: u32 = 15;
pub const SUB_AGENT_STEPS_MAX: u32 = 50;
pub const SUB_AGENT_STEPS_THOROUGH: u32 = 100;
/// Sub-agents of a thread whose conversations are kept so that they can go on; then the oldest go.
pub const SUB_AGENTS_KEPT_MAX: usize = 16;
/// Of a sub-agent that ended early: how much of its words and of its calls is told.
pub const PARTIAL_WORDS_CHARS_MAX: usize = 8_000;
pub const PARTIAL_CALLS_MAX: usize = 20;
pub const PARTIAL_CALL_CHARS_MAX: usize = 160;
/// How deep sub-agents start sub-agents.
pub const SUB_AGENT_DEPTH_MAX: u32 = 2;
/// What was said to a turn and waits for its next step.
pub const STEERS_MAX: usize = 64;
/// Pictures of one message, and their bytes as base64 in all.
pub const IMAGES_MAX: usize = 20;
pub const IMAGE_BYTES_MAX: usize = 12 << 20;
/// How long a model may take to think of a title.
pub const TITLE_WAIT_MAX: Duration = Duration::from_secs(30);
/// Tokens that a title may cost: its few words, and room for a model that cannot help thinking first.
pub const TITLE_TOKENS_MAX: u64 = 2_048;
pub const STEPS_DEFAULT: u32 = 100;
pub const STEPS_MAX: u32 = 1_000;
/// How long a turn waits for MCP servers that are not connected yet, while it looks around anyway; and for
/// those of calls that it is to make.
pub const MCP_WAIT: Duration = Duration::from_millis(25);
pub const MCP_WAIT_NEEDED: Duration = Duration::from_secs(10);
/// How long servers may take to end when the process stops.
pub const MCP_STOP_MAX: Duration = Duration::from_secs(5);
/// How long checkpoints of deleted threads may take to be forgotten then.
pub const FORGET_MAX: Duration = Duration::from_secs(5);
/// What a model is told of servers: new tools by name, and how they all stand.
pub const MCP_NAMED_MAX: usize = 20;
pub const MCP_LINE_CHARS_MAX: usize = 1_000;
/// Ask numbers taken from the store at once.
pub const ASK_NUMBERS_BLOCK: u64 = 16;
/// Missed notices after which a watcher must read its list again.
pub const NOTICES_MAX: usize = 1_024;
/// How long a store that failed is left alone before it is asked again what others changed.
pub const FOLLOW_AGAIN_AFTER: Duration = Duration::from_secs(5);

/// What one checkpoint takes in memory while all of a thread are told: as it is, and as it is spelled.
pub const CHECKPOINT_TOLD_BYTES: usize = 256;

/// How old partial text may be when the process dies.
pub const DRAFT_EVERY: Duration = Duration::from_millis(700);
/// A thread nobody listens to and that has nothing to do falls asleep after this.
pub const SLEEP_AFTER: Duration = Duration::from_secs(300);
/// How long a process waits for a thread that another one has awake.
pub const HAND_OVER_WAIT: Duration = Duration::from_secs(2);
/// How often it looks meanwhile.
pub const HAND_OVER_LOOK: Duration = Duration::from_millis(10);
/// How long a thread that was taken over stays with those who listen to it.
pub const HAND_OVER_REST: Duration = Duration::from_secs(30);
/// How long after it was said a message may be sent again by a client that lost its connection.
pub const RESENT_WITHIN: Duration = Duration::from_secs(600);
/// How long a command of the user's own may run, and how many at a time beside one turn.
pub const USER_COMMAND_TIME_MAX: Duration = Duration::from_secs(3_600);
pub const USER_COMMANDS_MAX: usize = 8;
/// How long such a line may be.
pub const USER_COMMAND_CHARS_MAX: usize = 100_000;
/// How long a command of a client's own runs where it does not say, and at most.
pub const EXEC_TIME: Duration = Duration::from_secs(60);
pub const EXEC_TIME_MAX: Duration = Duration::from_secs(3_600);
/// Its words, and how long they and its variables may be together.
pub const EXEC_WORDS_MAX: usize = 1_024;
pub const EXEC_BYTES_MAX: usize = 64 << 10;
/// What is kept of each of its streams.
pub const EXEC_OUTPUT_BYTES_MAX: u64 = 1 << 20;
/// A cancelled turn that has not wound up by then is ended by force.
pub const CANCEL_GRACE: Duration = Duration::from_secs(5);
/// A model that says nothing for this long has failed. Only the last resort: a provider times the
/// silence of its service itself, byte by byte, and only it knows that a thinking model lives.
pub const MODEL_SILENCE_MAX: Duration = Duration::from_secs(3 * 3_600);

/// An external agent that says nothing for this long while none of its calls run has failed.
pub const AGENT_SILENCE_MAX: Duration = Duration::from_secs(10 * 60);
/// The same while one of its calls runs.
pub const AGENT_CALL_SILENCE_MAX: Duration = Duration::from_secs(60 * 60);
/// How long it may take to stop when it is told to. Less than `CANCEL_GRACE`.
pub const AGENT_CANCEL_MAX: Duration = Duration::from_secs(3);
/// Calls of an external agent in one turn.
pub const AGENT_CALLS_MAX: usize = 4_096;
/// What an external agent may write in one turn.
pub const AGENT_TURN_BYTES_MAX: usize = 64 << 20;
/// What a call of an external agent was called with, as it is kept.
pub const AGENT_INPUT_BYTES_MAX: usize = 256 << 10;
/// What came of it, likewise.
pub const AGENT_OUTPUT_CHARS_MAX: usize = 100_000;
/// What an external agent is told of a conversation that it does not remember.
pub const AGENT_PREFACE_CHARS_MAX: usize = 24_000;

/// How long files are looked for by a few letters; then it is told what was found.
pub const FIND_TIME_MAX: Duration = Duration::from_secs(10);
/// Browsers that one member may have push messages sent to; one more, and the oldest is forgotten.
pub const PUSH_SUBSCRIPTIONS_MAX: usize = 16;
/// Browsers of one tenant that hear of one ask.
pub const PUSH_BROWSERS_MAX: usize = 512;
/// How long a push service may take for one message, and how long it may keep it for the browser.
pub const PUSH_TIME_MAX: Duration = Duration::from_secs(10);
pub const PUSH_KEPT_SECONDS: u32 = 24 * 60 * 60;
/// Asks whose messages are on their way at once; further ones are not told by push.
pub const PUSHES_RUNNING_MAX: usize = 32;
