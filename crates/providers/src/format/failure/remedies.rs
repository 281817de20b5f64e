//! Which refusals name a part of the conversation that can be left out.

use super::READ_BYTES_MAX;
use crate::ErrorKind;

/// What to leave out of the next request, so that the service takes the conversation again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Signed, encrypted or otherwise native parts of the history.
    Natives,
    Pictures,
    /// The wish to see a summary of the thoughts.
    Summaries,
}

/// By which words a refusal names what it does not take; each group as in `FailureRule::words`.
const REMEDIES: &[(Remedy, &[&[&str]])] = &[
    (
        Remedy::Summaries,
        &[&["reasoning.summary"], &["generate reasoning summaries"]],
    ),
    (
        Remedy::Natives,
        &[
            &["encrypted_content"],
            &["encrypted content"],
            &["signature"],
            &["thinking block"],
            &["redacted_thinking"],
            &["reasoning_content"],
            &["reasoning details"],
            &["bound to a different conversation"],
            &["of type 'reasoning'"],
            &["items are not persisted"],
            &["tool_call_id"],
            &["tool call id"],
            &["call_id"],
        ],
    ),
    (
        Remedy::Pictures,
        &[
            &["image"],
            &["multimodal"],
            // Documents go the same way, and leave their text.
            &["pdf"],
            &["input_file"],
            &["file_data"],
            &["document has no pages"],
        ],
    ),
];

/// What a refusal names as its reason, if that can be left out.
pub(super) fn remedy(kind: ErrorKind, text: &str) -> Option<Remedy> {
    match kind {
        ErrorKind::BadRequest | ErrorKind::Other => {}
        ErrorKind::Auth
        | ErrorKind::RateLimited
        | ErrorKind::Quota
        | ErrorKind::Overloaded
        | ErrorKind::Unreachable
        | ErrorKind::ContextTooLong
        | ErrorKind::CutOff
        | ErrorKind::Stalled
        | ErrorKind::UnknownModel
        | ErrorKind::Malformed
        | ErrorKind::Refused => return None,
    }
    let text = text[..text.floor_char_boundary(READ_BYTES_MAX)].to_lowercase();
    let names = |groups: &[&[&str]]| {
        let mut groups = groups.iter();
        groups.any(|group| group.iter().all(|each| text.contains(each)))
    };
    let found = REMEDIES.iter().find(|(_, groups)| names(groups));
    found.map(|(remedy, _)| *remedy)
}
