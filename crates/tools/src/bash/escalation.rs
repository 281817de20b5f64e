//! What a command may ask for beyond the sandbox, with a reason that a person reads.

use crate::input::Fields;
use crate::{Failure, Judgement, Risk};

const REASON_CHARS_MAX: usize = 500;

/// What the sandbox is to give for this one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escalation {
    /// The network, still within the sandbox.
    Network,
    /// The workspace to write in, where the thread may only read.
    Write,
    /// To run without it.
    Outside,
}

impl Escalation {
    pub const NAMES: [&str; 3] = ["network", "write", "outside"];

    pub fn of(fields: &Fields<'_>) -> Result<Option<Escalation>, Failure> {
        match fields.optional_text("escalate", REASON_CHARS_MAX)? {
            None => Ok(None),
            Some("network") => Ok(Some(Escalation::Network)),
            Some("write") => Ok(Some(Escalation::Write)),
            Some("outside") => Ok(Some(Escalation::Outside)),
            Some(_) => Err(fields.refuse("escalate", "one of network, write, outside")),
        }
    }

    /// For the person who is asked.
    fn in_words(self) -> &'static str {
        match self {
            Escalation::Network => "wants the network, which the sandbox closes",
            Escalation::Write => "wants to change files, in a thread that may only read",
            Escalation::Outside => "wants to run outside the sandbox",
        }
    }

    /// What is put before a person.
    pub fn judgement(self, command: &str, reason: Option<&str>) -> Judgement {
        let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
        let reason = reason.unwrap_or("no reason was given");
        // One line: a reason must not look like what it stands above.
        let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
        Judgement::Ask {
            command: command.to_owned(),
            dangerous: true,
            risk: Risk::BeyondSandbox,
            why: format!("{}: {reason}", self.in_words()),
        }
    }
}

/// The reason that was given for it.
pub(super) fn reason<'a>(fields: &Fields<'a>) -> Result<Option<&'a str>, Failure> {
    fields.optional_text("reason", REASON_CHARS_MAX)
}
