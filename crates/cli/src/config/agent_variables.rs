//! Variables of other agents, for who comes from them: `AGENT_MODEL` and its like. They are weaker than our
//! own variables and flags, and stronger than all files.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context;
use tools::ProjectDefaults;

use super::values;

/// The most requests that a setting of ours allows.
const ATTEMPTS_MAX: u64 = 30;

type Variable<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The variable of another agent that says what a setting of ours says, and what it says there.
pub fn of_setting(name: &str, variable: Variable<'_>) -> Option<(&'static str, OsString)> {
    let given = |name: &'static str| Some((name, given(name, variable)?));
    match name {
        "dir" => given("AGENT_WORKING_DIR"),
        "service-attempts" => {
            let (name, text) = given("AGENT_MODEL_MAX_RETRIES")?;
            // The first attempt is no retry. What is no number is told where it is used.
            let retries = text
                .to_str()
                .and_then(|text| text.trim().parse::<u64>().ok());
            let attempts = retries.map(|count| count.saturating_add(1).min(ATTEMPTS_MAX));
            Some((
                name,
                attempts.map_or(text, |count| count.to_string().into()),
            ))
        }
        _ => None,
    }
}

/// What new threads begin with.
pub fn defaults(variable: Variable<'_>) -> anyhow::Result<ProjectDefaults> {
    let text = |name: &str| given(name, variable)?.into_string().ok();
    let flag = |name: &str| {
        let value = text(name).map(|text| values::switch(text.trim()));
        value
            .transpose()
            .with_context(|| format!("{name} cannot be used"))
    };
    let folder = |name: &str| given(name, variable).map(PathBuf::from);
    Ok(ProjectDefaults {
        provider: text("AGENT_PROVIDER"),
        model: text("AGENT_MODEL"),
        mcp: flag("AGENT_ENABLE_MCP")?,
        observability: flag("AGENT_OBSERVABILITY_ENABLED")?,
        output: folder("AGENT_OUTPUT_DIR"),
        uploads: folder("AGENT_UPLOADS_DIR"),
        effort: None,
        sub_agent_model: None,
        raw_chunks: None,
    })
}

fn given(name: &str, variable: Variable<'_>) -> Option<OsString> {
    variable(name).filter(|value| !value.is_empty())
}
