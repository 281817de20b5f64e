//! Models as clients name them: a provider and a model, or only one of the two.

use vocabulary::{Changes, ModelRef, NamedModel};

/// The change to the model that is named, where it is another than the one in use.
pub fn change(
    provider: Option<&String>,
    model: Option<&String>,
    in_use: Option<&ModelRef>,
) -> Changes {
    let given = |text: Option<&String>| {
        let text = text.map(|text| text.trim().to_owned());
        text.filter(|text| !text.is_empty())
    };
    let (model, named_model) = match (given(provider), given(model)) {
        (None, None) => (None, None),
        (Some(provider), Some(model)) => (Some(ModelRef { provider, model }), None),
        (Some(provider), None) => (None, Some(NamedModel::DefaultOf(provider))),
        (None, Some(model)) => (None, Some(NamedModel::Id(model))),
    };
    Changes {
        model: model.filter(|model| Some(model) != in_use),
        named_model,
        ..Changes::default()
    }
}

pub fn not_found(provider: &str) -> String {
    format!("provider `{provider}` was not found")
}
