//! How hard a model can be asked to think.

use super::Model;

/// The usual words for it, from the least to the most. A model may have others.
pub const EFFORTS: [&str; 8] = [
    "off", "none", "minimal", "low", "medium", "high", "xhigh", "max",
];

impl Model {
    /// What comes of a wish: the effort itself where the model has it, else the next lower one that
    /// it has, else its least. Its own default where there is no wish, or one that nobody
    /// understands. A model that lists no efforts takes none.
    pub fn effort_for(&self, wished: Option<&str>) -> Option<String> {
        let Some(wished) = wished else {
            return self.default_effort.clone();
        };
        if self.efforts.iter().any(|each| each == wished) {
            return Some(wished.to_owned());
        }
        let rank = |effort: &str| EFFORTS.iter().position(|each| *each == effort);
        let Some(limit) = rank(wished) else {
            return self.default_effort.clone();
        };
        let lower = self
            .efforts
            .iter()
            .filter(|each| rank(each).is_some_and(|rank| rank < limit))
            .max_by_key(|each| rank(each));
        lower.or(self.efforts.first()).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(efforts: &[&str]) -> Model {
        Model {
            efforts: efforts.iter().map(|each| (*each).to_owned()).collect(),
            default_effort: efforts.last().map(|each| (*each).to_owned()),
            ..Model::default()
        }
    }

    #[test]
    fn an_effort_is_one_that_the_model_has() {
        let three = model(&["low", "medium", "high"]);
        for (wished, expected) in [
            (None, Some("high")),
            (Some("medium"), Some("medium")),
            (Some("xhigh"), Some("high")),
            (Some("minimal"), Some("low")),
            (Some("none"), Some("low")),
            // A word of another model, which this thread used before.
            (Some("sideways"), Some("high")),
        ] {
            assert_eq!(three.effort_for(wished).as_deref(), expected, "{wished:?}");
        }
        for wished in [None, Some("high")] {
            assert_eq!(model(&[]).effort_for(wished), None);
        }
        let odd = model(&["none", "high"]);
        assert_eq!(odd.effort_for(Some("low")).as_deref(), Some("none"));
    }
}
