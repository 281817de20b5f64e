//! Slash commands: which there are, and what they stand for.

use mcp::PromptInfo;
use tools::commands::{self, FoundCommand, template};
use tools::folders::GUARDED;
use vocabulary::{
    CommandOrigin, Refusal, RunCommand, SlashCommand, Thread, ThreadCard, ThreadSettings, Why,
};

use super::skills::{blocking, scope};
use crate::Shared;
use crate::limits::INPUT_BYTES_MAX;
use crate::servers::place;
use crate::trust::{self, Trust};

/// All of them, by name.
pub async fn list(shared: &Shared, thread: &Thread) -> Result<Vec<SlashCommand>, Refusal> {
    let found = found(shared, &thread.card, &thread.settings).await?;
    let mut commands: Vec<SlashCommand> = found.into_iter().map(|each| each.command).collect();
    let prompts = prompts(shared, thread);
    commands.extend(prompts.iter().map(|prompt| {
        SlashCommand {
            name: command_name(prompt),
            description: prompt.description.clone(),
            origin: CommandOrigin::Mcp,
            hints: (1..=prompt.arguments.len())
                .map(|number| format!("${number}"))
                .collect(),
        }
    }));
    Ok(commands)
}

/// The text that a command stands for.
pub async fn expand(shared: &Shared, thread: &Thread, run: &RunCommand) -> Result<String, Refusal> {
    let found = found(shared, &thread.card, &thread.settings).await?;
    let mut found = found.into_iter();
    let command = found.find(|each| is_same(&each.command.name, &run.name));
    let text = match command {
        Some(command) if command.is_untrusted => return Err(untrusted(&thread.card, &run.name)),
        Some(command) => command.expand(&run.arguments, INPUT_BYTES_MAX),
        None => Some(prompt_text(shared, thread, run).await?),
    };
    let text = text.ok_or_else(|| {
        let message = format!(
            "Command \"{}\" becomes too long with these arguments: at most {INPUT_BYTES_MAX} bytes",
            run.name
        );
        Refusal::invalid("arguments", message)
    })?;
    match text.trim().is_empty() {
        true => {
            let message = format!("Command \"{}\" expanded to empty prompt", run.name);
            Err(Refusal::invalid("name", message))
        }
        false => Ok(text),
    }
}

/// The commands that lie in files. Whoever lets a thread do everything trusts what lies there.
async fn found(
    shared: &Shared,
    card: &ThreadCard,
    settings: &ThreadSettings,
) -> Result<Vec<FoundCommand>, Refusal> {
    let trusted = match trust::look(shared, card).await? {
        Trust::Nothing => tools::Trusted::default(),
        Trust::Trusted(content) => content.as_trusted(),
        Trust::Untrusted(content) if settings.auto_approve => content.as_trusted(),
        Trust::Untrusted(_) | Trust::Unreadable => tools::Trusted::nothing("not trusted"),
    };
    let mut scope = scope(shared, card);
    scope.trusted = trusted.is_some();
    blocking(move || commands::commands(&scope, &trusted).commands).await
}

/// The prompts of MCP servers that run and that the thread may use.
fn prompts(shared: &Shared, thread: &Thread) -> Vec<PromptInfo> {
    match thread.settings.mcp {
        true => shared
            .own(&thread.card.tenant)
            .mcp
            .prompts(&place(&thread.card)),
        false => Vec::new(),
    }
}

/// Given to the server with its arguments in the order it named them; the last takes all that are left.
async fn prompt_text(
    shared: &Shared,
    thread: &Thread,
    run: &RunCommand,
) -> Result<String, Refusal> {
    let mut prompts = prompts(shared, thread).into_iter();
    let prompt = prompts.find(|prompt| is_same(&command_name(prompt), &run.name));
    let prompt =
        prompt.ok_or_else(|| Refusal::invalid("name", format!("Unknown command: {}", run.name)))?;
    let arguments = matched(&prompt.arguments, &run.arguments);
    let place = place(&thread.card);
    let own = shared.own(&thread.card.tenant);
    own.mcp.prompt(&place, &prompt, arguments).await
}

fn matched(names: &[String], arguments: &str) -> Vec<(String, String)> {
    let words = template::split(arguments);
    let value = |index: usize| match index + 1 == names.len() {
        true => words.get(index..).unwrap_or_default().join(" "),
        false => words.get(index).copied().unwrap_or_default().to_owned(),
    };
    let pairs = names.iter().enumerate();
    let pairs = pairs.map(|(index, name)| (name.clone(), value(index)));
    // An argument that was not given is not there, rather than empty.
    pairs.filter(|(_, value)| !value.is_empty()).collect()
}

fn command_name(prompt: &PromptInfo) -> String {
    format!("{}:{}", prompt.server, prompt.name)
}

fn is_same(name: &str, given: &str) -> bool {
    name.to_lowercase() == given.trim().to_lowercase()
}

fn untrusted(card: &ThreadCard, name: &str) -> Refusal {
    let (folders, place) = (GUARDED.join(" and "), card.directory.display());
    let message = format!(
        "The command \"{name}\" came with this workspace, and nobody has trusted that yet. Look at \
         what lies in {folders}, then run: dragoman trust add {place}"
    );
    Refusal::new(Why::Forbidden, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_a_prompt_go_by_their_order() {
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        let given = |all: &[&str], arguments: &str| {
            let pairs = matched(&names(all), arguments).into_iter();
            let pairs = pairs.map(|(name, value)| format!("{name}={value}"));
            pairs.collect::<Vec<_>>()
        };
        assert_eq!(
            given(&["a", "b"], "1 'two words' 3"),
            ["a=1", "b=two words 3"]
        );
        assert_eq!(given(&["a", "b"], "1"), ["a=1"]);
        assert_eq!(given(&[], "1").len(), 0);
    }
}
