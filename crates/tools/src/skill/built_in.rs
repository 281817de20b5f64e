//! The skills that come with the server.

/// A skill of ours, with its front matter.
pub(super) struct BuiltInSkill {
    pub name: &'static str,
    pub text: &'static str,
}

pub(super) const BUILT_IN: [BuiltInSkill; 4] = [
    BuiltInSkill {
        name: "commit",
        text: include_str!("built_in/commit.md"),
    },
    BuiltInSkill {
        name: "explain",
        text: include_str!("built_in/explain.md"),
    },
    BuiltInSkill {
        name: "review",
        text: include_str!("built_in/review.md"),
    },
    BuiltInSkill {
        name: "test",
        text: include_str!("built_in/test.md"),
    },
];

pub(super) fn find(name: &str) -> Option<&'static BuiltInSkill> {
    BUILT_IN.iter().find(|skill| skill.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skill::front;

    /// About 1,500 tokens.
    const TEXT_BYTES_MAX: usize = 6_000;
    /// Every thread pays for it.
    const DESCRIPTION_BYTES_MAX: usize = 80;

    #[test]
    fn each_is_valid_and_short() {
        for BuiltInSkill { name, text } in &BUILT_IN {
            assert!(text.len() < TEXT_BYTES_MAX, "{name}: {}", text.len());
            let (description, _) = front::parts(text, name).expect("a skill");
            assert!(description.len() <= DESCRIPTION_BYTES_MAX, "{name}");
        }
    }
}
