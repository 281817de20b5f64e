//! The names that somebody may have meant who wrote one that nobody has.

/// The most names that are suggested.
const NAMES_MAX: usize = 3;
/// How alike two names must be, from 0 to 1.
const LIKENESS_MIN: f64 = 0.8;

/// Those of `known` that are most like `name`, the nearest first; none that is nothing like it.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let name = name.to_lowercase();
    let mut near: Vec<(f64, &str)> = known
        .map(|each| {
            let other = each.to_lowercase();
            // Names of models differ at their ends, so a common beginning counts for more.
            let likeness = strsim::jaro_winkler(&name, &other);
            let part = other.contains(&name) || name.contains(&other);
            (likeness.max(if part { LIKENESS_MIN } else { 0.0 }), each)
        })
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .collect();
    near.sort_by(|one, other| other.0.total_cmp(&one.0));
    let names = near.into_iter().map(|(_, each)| each);
    names.take(NAMES_MAX).collect()
}

/// `; did you mean a, b or c?`; nothing where nothing is near.
pub fn did_you_mean(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        [rest @ .., last] => format!("; did you mean {} or {last}?", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_and_half_a_name_find_what_was_meant() {
        let known = [
            "gpt-6.1-sol",
            "gpt-6.1-terra",
            "gpt-5.5",
            "qwen3:8b",
            "other",
        ];
        let near = |name: &str| nearest(name, known.into_iter());
        assert_eq!(near("gpt-6.1-slo")[0], "gpt-6.1-sol");
        assert_eq!(near("qwen3"), ["qwen3:8b"]);
        assert_eq!(near("qwen3:14b"), ["qwen3:8b"]);
        assert_eq!(near("GPT-5.5")[0], "gpt-5.5");
        assert!(near("completely-different-name").is_empty());
    }

    #[test]
    fn suggestions_are_a_question() {
        assert_eq!(did_you_mean(&[]), "");
        assert_eq!(did_you_mean(&["a"]), "; did you mean a?");
        assert_eq!(did_you_mean(&["a", "b", "c"]), "; did you mean a, b or c?");
    }
}
