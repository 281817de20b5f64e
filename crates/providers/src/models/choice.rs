//! Which model is used when nobody names one.

use super::ModelChoice;
use crate::accounts::CredentialSource;
use crate::rehearsal;

/// A provider that could be used without asking anyone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub provider: String,
    pub name: String,
    pub model: String,
    pub source: CredentialSource,
}

/// The key saved last; else the environment, in the catalog's order; else what the Codex CLI has.
/// `candidates`: in the catalog's order.
pub fn of_credentials(candidates: &[Candidate]) -> Option<ModelChoice> {
    let rank = |candidate: &&Candidate| match candidate.source {
        CredentialSource::Saved { at } => (0, -at),
        CredentialSource::Environment { .. } | CredentialSource::SharedByOperator => (1, 0),
        CredentialSource::CodexHome => (2, 0),
    };
    // The first of equals: `min_by_key` keeps it.
    let best = candidates.iter().min_by_key(rank)?;
    let why = match &best.source {
        CredentialSource::Saved { .. } => format!("{} is connected", best.name),
        CredentialSource::Environment { variable } => format!("{variable} is set"),
        CredentialSource::CodexHome => "the Codex CLI is signed in".to_owned(),
        CredentialSource::SharedByOperator => format!("{} is shared by the operator", best.name),
    };
    Some(ModelChoice {
        provider: best.provider.clone(),
        model: best.model.clone(),
        why,
    })
}

/// A model server on this machine.
pub fn of_local(provider: &str, name: &str, model: &str) -> ModelChoice {
    ModelChoice {
        provider: provider.to_owned(),
        model: model.to_owned(),
        why: format!("{name} is running on this machine"),
    }
}

/// What is always there.
pub fn of_nothing() -> ModelChoice {
    ModelChoice {
        provider: rehearsal::ID.to_owned(),
        model: rehearsal::MODELS[0].to_owned(),
        why: rehearsal::HOW_TO_CONNECT.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(candidates: &[(&str, CredentialSource)], expected: Option<(&str, &str)>) {
        let candidates: Vec<_> = candidates
            .iter()
            .map(|(provider, source)| Candidate {
                provider: (*provider).to_owned(),
                name: provider.to_uppercase(),
                model: format!("{provider}-1"),
                source: source.clone(),
            })
            .collect();
        let choice = of_credentials(&candidates);
        let found = choice
            .as_ref()
            .map(|choice| (choice.provider.as_str(), choice.why.as_str()));
        assert_eq!(found, expected, "{candidates:?}");
        if let Some(choice) = choice {
            assert_eq!(choice.model, format!("{}-1", choice.provider));
        }
    }

    fn set(variable: &str) -> CredentialSource {
        CredentialSource::Environment {
            variable: variable.to_owned(),
        }
    }

    #[test]
    fn saved_then_environment_then_the_codex_cli() {
        check(&[], None);
        check(
            &[("codex-cli", CredentialSource::CodexHome)],
            Some(("codex-cli", "the Codex CLI is signed in")),
        );
        check(
            &[
                ("google", set("G")),
                ("openai", set("O")),
                ("codex-cli", CredentialSource::CodexHome),
            ],
            Some(("google", "G is set")),
        );
        check(
            &[
                ("openai", set("O")),
                ("anthropic", CredentialSource::Saved { at: 0 }),
            ],
            Some(("anthropic", "ANTHROPIC is connected")),
        );
        check(
            &[
                ("google", CredentialSource::Saved { at: 5 }),
                ("openai", CredentialSource::Saved { at: 9 }),
                ("anthropic", CredentialSource::Saved { at: 7 }),
            ],
            Some(("openai", "OPENAI is connected")),
        );
        check(
            &[
                ("google", CredentialSource::Saved { at: 5 }),
                ("openai", CredentialSource::Saved { at: 5 }),
            ],
            Some(("google", "GOOGLE is connected")),
        );
    }
}
