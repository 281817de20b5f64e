//! How hard a model thinks, what it shows of that and how much it says, as the app-server spells it.

use vocabulary::{SummaryDetail, Verbosity};

use super::refuse::CodexError;

/// What is shown of the thoughts; nothing where nothing was said.
pub fn summary(field: &str, word: Option<&str>) -> Result<Option<SummaryDetail>, CodexError> {
    let known = SummaryDetail::ALL.map(SummaryDetail::word);
    named(field, word, SummaryDetail::named, &known)
}

/// How much the model says.
pub fn verbosity(field: &str, word: Option<&str>) -> Result<Option<Verbosity>, CodexError> {
    let known = Verbosity::ALL.map(Verbosity::word);
    named(field, word, Verbosity::named, &known)
}

fn named<T>(
    field: &str,
    word: Option<&str>,
    meaning: fn(&str) -> Option<T>,
    known: &[&str],
) -> Result<Option<T>, CodexError> {
    match word {
        None | Some("") => Ok(None),
        Some(word) => meaning(word).map(Some).ok_or_else(|| {
            CodexError::params(format!("{field}: expected one of {}", known.join(", ")))
        }),
    }
}
