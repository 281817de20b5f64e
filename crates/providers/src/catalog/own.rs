//! What a person's own catalog file says: it lies over the built-in catalog and over what providers
//! list themselves.

use super::Model;
use super::file::{ModelEntry, ProviderEntry};
use super::layers::replace;

/// What of a provider a person's own file says.
#[derive(Default)]
pub struct OwnPart {
    pub models: Vec<ModelEntry>,
    /// It is reached somewhere else than the built-in catalog has it.
    pub address: bool,
    pub lists_all: Option<bool>,
    pub custom_tools: Option<bool>,
}

impl OwnPart {
    pub fn of(written: &ProviderEntry) -> (String, OwnPart) {
        let part = OwnPart {
            models: written.model.clone(),
            address: written.base_url.is_some(),
            lists_all: written.lists_all,
            custom_tools: written.quirks.custom_tools,
        };
        (written.id.clone(), part)
    }
}

impl ModelEntry {
    /// Writes what it says into a model of which others have said something.
    pub fn write_over(&self, model: &mut Model) {
        let own = self.clone();
        model.name = own.name.unwrap_or(std::mem::take(&mut model.name));
        replace(&mut model.context, own.context);
        replace(&mut model.input, own.input);
        replace(&mut model.output, own.output);
        replace(&mut model.price, own.price);
        if let Some(efforts) = own.efforts {
            model.efforts = efforts;
        }
        replace(&mut model.default_effort, own.default_effort);
        replace(&mut model.vision, own.vision);
        replace(&mut model.tools, own.tools);
        replace(&mut model.retires, own.retires);
        replace(&mut model.successor, own.successor);
    }
}
