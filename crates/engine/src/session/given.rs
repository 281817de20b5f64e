//! What callers give a session: checked, and told from what they gave before.

use store::Receipt;
use vocabulary::{
    Assignment, Cause, Changes, Idempotency, Image, Refusal, StartTurn, ThreadSettings, Title,
    TitleSource, TurnId,
};

use crate::limits::{
    ASSIGNMENT_BYTES_MAX, CLIENT_ID_CHARS_MAX, IMAGE_BYTES_MAX, IMAGES_MAX, INPUT_BYTES_MAX,
    STEPS_MAX, TITLE_CHARS_MAX,
};

pub(super) fn check_input(text: &str, images: &[Image]) -> Result<(), Refusal> {
    if text.len() > INPUT_BYTES_MAX {
        let message = format!("a message may have at most {INPUT_BYTES_MAX} bytes");
        return Err(Refusal::invalid("text", message));
    }
    let bytes: usize = images
        .iter()
        .map(|image| match image {
            Image::Data { base64, .. } => base64.len(),
            Image::Url(url) => url.len(),
            Image::Path(path) => path.as_os_str().len(),
        })
        .sum();
    if images.len() > IMAGES_MAX || bytes > IMAGE_BYTES_MAX {
        let message = format!(
            "a message may have at most {IMAGES_MAX} pictures of together {IMAGE_BYTES_MAX} bytes"
        );
        return Err(Refusal::invalid("images", message));
    }
    match images.iter().all(is_picture) {
        true => Ok(()),
        false => Err(Refusal::invalid(
            "images",
            "a picture must be of an image type and in base64",
        )),
    }
}

/// What no provider takes would fail every later turn of its thread, too.
fn is_picture(image: &Image) -> bool {
    let of_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    match image {
        Image::Data { media_type, base64 } => {
            media_type.starts_with("image/") && !base64.is_empty() && base64.bytes().all(of_base64)
        }
        Image::Url(url) => !url.is_empty(),
        // Read before it comes here.
        Image::Path(_) => false,
    }
}

pub(super) fn check_ids(ids: &[(&'static str, &Option<String>)]) -> Result<(), Refusal> {
    for &(field, id) in ids {
        if id
            .as_ref()
            .is_some_and(|id| id.chars().count() > CLIENT_ID_CHARS_MAX)
        {
            let message = format!("{field} may have at most {CLIENT_ID_CHARS_MAX} characters");
            return Err(Refusal::invalid(field, message));
        }
    }
    Ok(())
}

/// What proves that this turn was started, for each id the client gave.
pub(super) fn receipts(start: &StartTurn, turn: &TurnId) -> Vec<Receipt> {
    let given = given_words(start.cause, &start.text, start.display.as_deref());
    let hash = hash_of(given, &start.images);
    let message = match start.idempotency {
        Idempotency::Lasting => Some(("message", &start.client_message_id)),
        Idempotency::Reconnect { .. } => None,
    };
    message
        .into_iter()
        .chain([(TURN, &start.client_turn_id)])
        .filter_map(|(kind, id)| {
            let (client_id, answer) = (id.clone()?, turn.to_string());
            Some(Receipt {
                kind: kind.into(),
                client_id,
                hash,
                answer,
            })
        })
        .collect()
}

/// What the client gave: a command that comes again may stand for another text by now.
pub(super) fn given_words<'a>(cause: Cause, text: &'a str, display: Option<&'a str>) -> &'a str {
    match (cause, display) {
        (Cause::SlashCommand, Some(line)) => line,
        (
            Cause::SlashCommand
            | Cause::UserMessage
            | Cause::Compaction
            | Cause::Review
            | Cause::Shell,
            _,
        ) => text,
    }
}

/// Keeps the id that a turn was given here from being taken by a client for another one. It is the
/// receipt of no message, so it answers none.
pub(super) fn own_name(turn: &TurnId) -> Receipt {
    Receipt {
        kind: TURN.into(),
        client_id: turn.to_string(),
        hash: [0; 32],
        answer: turn.to_string(),
    }
}

/// The kind of receipt for a turn's id.
const TURN: &str = "turn";

/// Tells one message from another: its text and its pictures, in their order.
pub(super) fn hash_of(text: &str, images: &[Image]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(text.as_bytes());
    for image in images {
        let parts = match image {
            Image::Data { media_type, base64 } => ["data", media_type, base64],
            Image::Url(url) => ["url", "", url],
            Image::Path(path) => ["path", "", &path.to_string_lossy()],
        };
        for part in parts {
            // With its length before it, so that no two lists read the same.
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
    }
    *hasher.finalize().as_bytes()
}

pub(super) fn title_of(text: &str) -> Result<Title, Refusal> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Refusal::invalid("title", "a title must not be empty"));
    }
    let text = tools::shown::title(text);
    let text = text.chars().take(TITLE_CHARS_MAX).collect();
    Ok(Title {
        text,
        source: TitleSource::Manual,
        model: None,
    })
}

/// It stands in the state row, which is written with every append, and in the model's context.
fn check_assignment(assignment: &Assignment) -> Result<(), Refusal> {
    if assignment.bytes() > ASSIGNMENT_BYTES_MAX {
        let message = format!("a context may have at most {ASSIGNMENT_BYTES_MAX} bytes of text");
        return Err(Refusal::invalid("context", message));
    }
    match assignment.run.is_empty() || assignment.objective.is_empty() {
        true => Err(Refusal::invalid(
            "context",
            "a context must have a runId and an objective",
        )),
        false => Ok(()),
    }
}

/// The settings after a change; `None` when it names none of them.
pub(crate) fn changed_settings(
    settings: &ThreadSettings,
    changes: &Changes,
) -> Result<Option<ThreadSettings>, Refusal> {
    if changes.settings_named().is_empty() {
        return Ok(None);
    }
    if changes
        .max_steps
        .is_some_and(|steps| !(1..=STEPS_MAX).contains(&steps))
    {
        let message = format!("maxSteps must be from 1 to {STEPS_MAX}");
        return Err(Refusal::invalid("maxSteps", message));
    }
    if let Some(assignment) = &changes.assignment {
        check_assignment(assignment)?;
    }
    let was = settings.clone();
    Ok(Some(ThreadSettings {
        model: changes.model.clone().unwrap_or(was.model),
        auto_approve: changes.auto_approve.unwrap_or(was.auto_approve),
        approvals: changes.approvals.unwrap_or(was.approvals),
        sandbox: changes.sandbox.unwrap_or(was.sandbox),
        network: changes.network.unwrap_or(was.network),
        mode: changes.mode.unwrap_or(was.mode),
        agent: match &changes.agent {
            Some(name) => Some(name.clone()).filter(|name| !name.is_empty()),
            None => was.agent,
        },
        max_steps: changes.max_steps.unwrap_or(was.max_steps),
        sub_agent_model: changes
            .sub_agent_model
            .clone()
            .unwrap_or(was.sub_agent_model),
        observability: changes.observability.unwrap_or(was.observability),
        mcp: changes.mcp.unwrap_or(was.mcp),
        effort: match &changes.effort {
            Some(effort) => Some(effort.clone()).filter(|effort| !effort.is_empty()),
            None => was.effort,
        },
        verbosity: changes.verbosity.or(was.verbosity),
        summary: changes.summary.or(was.summary),
        budgets: changes.budgets.clone().unwrap_or(was.budgets),
        instructions: match &changes.instructions {
            Some(text) => Some(text.as_str().into()),
            None => was.instructions,
        },
        assignment: changes.assignment.clone().or(was.assignment),
        git: match &changes.git {
            Some(change) => {
                let git = was.git.map(|git| *git).unwrap_or_default();
                Some(Box::new(git.changed(change))).filter(|git| !git.is_empty())
            }
            None => was.git,
        },
    }))
}
