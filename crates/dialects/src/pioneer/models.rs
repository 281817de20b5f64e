//! Models as clients name them: a provider and a model, or only one of the two.

use vocabulary::{Catalog, ModelRef};

/// What a client named.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    provider: Option<&'a str>,
    model: Option<&'a str>,
}

impl<'a> Named<'a> {
    pub fn new(provider: &'a Option<String>, model: &'a Option<String>) -> Self {
        let given = |text: &'a Option<String>| {
            let text = text.as_deref().map(str::trim);
            text.filter(|text| !text.is_empty())
        };
        Self {
            provider: given(provider),
            model: given(model),
        }
    }

    /// Whether the catalog has to say which model is meant.
    pub fn is_half(self) -> bool {
        self.provider.is_some() != self.model.is_some()
    }

    /// The model that is meant, where it is another than the one in use; or the provider that
    /// there is not.
    pub fn choose(
        self,
        catalog: Option<&Catalog>,
        known: Option<&ModelRef>,
    ) -> Result<Option<ModelRef>, String> {
        let chosen = match (self.provider, self.model) {
            (None, None) => return Ok(None),
            (Some(provider), Some(model)) => reference(provider, model),
            (Some(provider), None) if known.is_some_and(|known| known.provider == provider) => {
                return Ok(None);
            }
            (Some(provider), None) => {
                let providers = catalog.map(|catalog| catalog.providers.as_slice());
                let mut providers = providers.unwrap_or_default().iter();
                let found = providers.find(|each| each.id == provider);
                let found = found.ok_or_else(|| not_found(provider))?;
                reference(provider, &found.default_model)
            }
            (None, Some(model)) => match owner(model, catalog, known) {
                Some(provider) => reference(provider, model),
                None => return Ok(None),
            },
        };
        Ok(Some(chosen).filter(|chosen| Some(chosen) != known))
    }
}

pub fn not_found(provider: &str) -> String {
    format!("provider `{provider}` was not found")
}

fn reference(provider: &str, model: &str) -> ModelRef {
    ModelRef {
        provider: provider.to_owned(),
        model: model.to_owned(),
    }
}

/// Whose model it is: the thread's own provider's if that has it, else that of another which can be
/// used; nobody knows every model, so the thread's own may still be meant.
fn owner<'a>(
    model: &str,
    catalog: Option<&'a Catalog>,
    known: Option<&'a ModelRef>,
) -> Option<&'a str> {
    let default = catalog.map(|catalog| catalog.default.provider.as_str());
    let own = known.map(|known| known.provider.as_str()).or(default);
    let providers = catalog.map(|catalog| catalog.providers.as_slice());
    let mut having: Vec<_> = providers
        .unwrap_or_default()
        .iter()
        .filter(|provider| provider.models.iter().any(|each| each.id == model))
        .collect();
    having.sort_by_key(|provider| (Some(provider.id.as_str()) != own, !provider.connected));
    having.first().map(|provider| provider.id.as_str()).or(own)
}
