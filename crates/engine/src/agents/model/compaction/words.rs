//! What a model is asked for a summary with.

/// Asks for it at the end of the conversation itself: everything before stays as it was, so that the
/// service finds it in its cache.
pub const IN_CONVERSATION: &str = "\
    This conversation has grown too long and is about to be replaced by a summary that you write now. \
    You will go on from it, so write what you need to go on as if you remembered everything. Answer \
    in words; make no calls.\n\n";

/// Says what a record is, where the conversation itself is not taken any more.
pub const OF_A_RECORD: &str = "\
    You are given the record of a conversation between a user and a coding agent that has grown too \
    long to go on with. Write a summary of it that the agent goes on from as if it remembered \
    everything.\n\n";

/// What is wanted, whoever is asked.
pub const FORM: &str = "\
    Write these parts, each under its name, and leave out one that would be empty:\n\
    - Goal: what the user wants, in their words where these matter.\n\
    - Rules: what the user asked to do or not to do on the way.\n\
    - Decisions: what was decided, and why; what was tried and did not work.\n\
    - Changes: which files were changed, and what was changed in them.\n\
    - Commands: those that matter, and what came of them.\n\
    - Open problem: what is under way, what fails, with the words of the error.\n\
    - Next step: what comes next, as exactly as possible.\n\
    Name files, lines, functions and values exactly. Where there is an earlier summary, bring it up \
    to date: keep of it what still holds, change what is no longer so. The user's own messages and \
    the plan are kept beside the summary. Write nothing but the summary.";
