//! How hard models think and how much they say: what a thread wishes, else what the server's owner
//! does, and what comes of it.

use providers::ModelRequest;
use providers::catalog::EFFORTS;
use vocabulary::{Changes, ModelRef, Refusal, TenantId, ThreadSettings};

use crate::Shared;
use crate::library::offer;
use crate::tenants::TenantOwn;

impl Shared {
    /// A request that says how the model is to answer, and nothing else yet. What the model cannot do
    /// is settled where the request is written.
    pub(crate) fn answer_wishes(&self, settings: &ThreadSettings) -> ModelRequest {
        ModelRequest {
            effort: self.wished_effort(settings).map(str::to_owned),
            verbosity: settings.verbosity.or(self.config.verbosity),
            summary: settings.summary,
            ..ModelRequest::default()
        }
    }

    /// How hard a thread's model is really asked to think; none where it has no efforts.
    pub(crate) fn effort_in_force(
        &self,
        tenant: &TenantId,
        settings: &ThreadSettings,
    ) -> Option<String> {
        let ModelRef { provider, model } = &settings.model;
        let model = self.own(tenant).models.model(provider, model)?;
        model.effort_for(self.wished_effort(settings))
    }

    fn wished_effort<'a>(&'a self, settings: &'a ThreadSettings) -> Option<&'a str> {
        let own = self.config.effort.as_deref();
        settings.effort.as_deref().or(own)
    }
}

/// An effort that is not one of the usual words, and so at most a word of one model.
pub fn unusual(changes: &Changes) -> Option<&str> {
    let effort = changes.effort.as_deref()?;
    (!effort.is_empty() && !EFFORTS.contains(&effort)).then_some(effort)
}

/// Refuses an effort that nobody knows. One that only this model lacks is fine: the next lower counts.
pub async fn check(
    shared: &Shared,
    own: &TenantOwn,
    changes: &Changes,
    in_use: Option<&ModelRef>,
) -> Result<(), Refusal> {
    let Some(effort) = unusual(changes) else {
        return Ok(());
    };
    let model = match changes.model.as_ref().or(in_use) {
        Some(model) => model.clone(),
        None => offer::default_model(shared, own).await,
    };
    let known = own.models.model(&model.provider, &model.model);
    let own = known.map(|known| known.efforts).unwrap_or_default();
    if own.iter().any(|each| each == effort) {
        return Ok(());
    }
    let listed = match own.is_empty() {
        true => EFFORTS.join(", "),
        false => own.join(", "),
    };
    let message = format!("`{effort}` is not how hard a model can think; write one of {listed}");
    Err(Refusal::invalid("effort", message))
}
