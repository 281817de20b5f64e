//! What a model's name says of it, where a format is written differently for different models and
//! nothing else tells them apart.

use vocabulary::Verbosity;

use crate::ModelRequest;

/// The version in a name like `claude-opus-4-7`, `anthropic/claude-3.7-sonnet`, `gemini-2.5-pro`;
/// of the family only.
pub(super) fn version(model: &str, family: &str) -> Option<(u32, u32)> {
    let name = model.to_ascii_lowercase();
    let (_, rest) = name.split_once(family)?;
    let mut words = rest
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .skip_while(|word| number(word).is_none());
    let major = number(words.next()?)?;
    let minor = words.next().and_then(number).unwrap_or(0);
    Some((major, minor))
}

/// The same, where names of the family without a version (`gemini-flash-latest`) mean its newest;
/// nothing for models of other families.
pub(super) fn version_or_newest(model: &str, family: &str) -> Option<(u32, u32)> {
    let of_family = model.to_ascii_lowercase().contains(family);
    of_family.then(|| version(model, family).unwrap_or((u32::MAX, 0)))
}

/// Not a date: `claude-opus-4-20250514` is 4.0.
fn number(word: &str) -> Option<u32> {
    word.parse().ok().filter(|_| word.len() <= 2)
}

/// Whether it is one of OpenAI's models that think before they answer, which take other fields
/// than those that do not.
pub(super) fn openai_reasons(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let numbered_o = name
        .strip_prefix('o')
        .is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()));
    let modern = version(name, "gpt-").is_some_and(|version| version >= (5, 0))
        && name.starts_with("gpt-")
        && !name.contains("-chat");
    numbered_o || modern || name.starts_with("codex-")
}

/// How much to say, for those models of OpenAI that can be told; the others refuse the field, or
/// every value but one. `usual` is what they are told without a wish.
pub(super) fn openai_verbosity(
    request: &ModelRequest,
    usual: Option<Verbosity>,
) -> Option<&'static str> {
    let verbosity = request.verbosity.or(usual)?;
    let name = request.model.rsplit('/').next().unwrap_or_default();
    let takes = name.starts_with("gpt-") && openai_reasons(name) && !name.contains("codex");
    takes.then(|| verbosity.word())
}

/// Whether a chat server refuses what the model said when it comes back without the thought before
/// it ("The `reasoning_content` in the thinking mode must be passed back to the API").
pub(super) fn wants_thoughts(model: &str) -> bool {
    names_one_of(model, &["deepseek", "kimi", "mimo"])
}

/// Whether it is one of Mistral's, whose prompts are made as Mistral makes them wherever they run.
pub(super) fn is_mistral(model: &str) -> bool {
    const NAMES: [&str; 7] = [
        "mistral",
        "ministral",
        "magistral",
        "devstral",
        "codestral",
        "pixtral",
        "mixtral",
    ];
    names_one_of(model, &NAMES)
}

/// Whether its prompt ends with `<think>`, so that an answer begins with a thought that nothing
/// announces.
pub(super) fn opens_thought(model: &str) -> bool {
    names_one_of(model, &["qwq", "deepseek-r1"])
        || (names_one_of(model, &["qwen"]) && names_one_of(model, &["thinking"]))
}

fn names_one_of(model: &str, names: &[&str]) -> bool {
    let model = model.to_ascii_lowercase();
    names.iter().any(|name| model.contains(name))
}
