//! A better title: while a thread's first turn runs, a small model is asked for one; where that fails, the
//! thread's own model, once. A title that a person gave always wins.

use std::sync::Arc;

use providers::{Message, ModelRequest, RequestPurpose};
use vocabulary::{Fact, ModelRef, Refusal, TenantId, Title, TitleSource, TurnFact, Usage};

use super::{Mail, Session};
use crate::agents::model::compaction;
use crate::limits::{TITLE_TOKENS_MAX, TITLE_WAIT_MAX};
use crate::turn::meter::{self, Meter};
use crate::{Shared, prompts, titles};

/// What a model made of it.
pub struct Titled {
    pub title: Option<String>,
    pub model: ModelRef,
    pub usage: Usage,
}

impl Session {
    /// Asks for a title in the background, once while the thread is awake.
    pub(super) fn think_of_title(&mut self) {
        let first = std::mem::replace(&mut self.title_asked, true);
        let title = &self.state.thread.title;
        if first || title.source != TitleSource::Heuristic || self.resting.stopping.is_some() {
            return;
        }
        let settings = &self.state.thread.settings;
        // An agent that uses no model of ours costs nothing, so its title does not, either.
        if settings.agent.is_some() {
            return;
        }
        let tenant = self.shared.own(&self.card.tenant);
        let budgets = meter::effective(&settings.budgets, &tenant.budgets);
        let spent = Meter::new(self.state.usage, Usage::default());
        if spent.exhausted(&budgets).is_some() {
            return;
        }
        let own = &settings.model;
        let Some(small) = tenant.models.small_model(&own.provider, &own.model) else {
            return;
        };
        let models = TitleModels {
            small: ModelRef {
                provider: own.provider.clone(),
                model: small,
            },
            own: own.clone(),
        };
        let said = self.state.thread.preview.clone();
        let (shared, mail) = (Arc::clone(&self.shared), self.own_mail.clone());
        let tenant = self.card.tenant.clone();
        tokio::spawn(async move {
            let asked = ask(&shared, &tenant, models, said);
            // Too late, or a session that sleeps by now: the heuristic title stays.
            if let Ok(Some(titled)) = tokio::time::timeout(TITLE_WAIT_MAX, asked).await
                && let Some(mail) = mail.upgrade()
            {
                let _ = mail.send(Box::new(Mail::Titled(titled))).await;
            }
        });
    }

    /// Takes in what the model made of it.
    pub(super) fn titled(&mut self, titled: Titled) -> Result<(), Refusal> {
        if let Some(turn) = &self.turn {
            turn.meter.add_beside(titled.usage);
        }
        self.record(Fact::Turn(TurnFact::UsageAdded {
            turn: None,
            model: Arc::new(titled.model.clone()),
            purpose: vocabulary::Purpose::Title,
            usage: titled.usage,
        }))?;
        match titled.title {
            Some(text) if self.state.thread.title.source == TitleSource::Heuristic => self
                .set_title(Title {
                    text,
                    source: TitleSource::Model,
                    model: Some(titled.model.model),
                }),
            Some(_) | None => Ok(()),
        }
    }
}

/// Who is asked for a title, one after the other.
struct TitleModels {
    small: ModelRef,
    own: ModelRef,
}

async fn ask(
    shared: &Shared,
    tenant: &TenantId,
    models: TitleModels,
    said: String,
) -> Option<Titled> {
    let TitleModels { small, own } = models;
    let is_same = small == own;
    match ask_one(shared, tenant, small, &said).await {
        None if !is_same => ask_one(shared, tenant, own, &said).await,
        titled => titled,
    }
}

async fn ask_one(
    shared: &Shared,
    tenant: &TenantId,
    model: ModelRef,
    said: &str,
) -> Option<Titled> {
    let can_pay = shared.can_pay_beside(tenant, &model, TITLE_TOKENS_MAX);
    if !can_pay.await {
        return None;
    }
    let models = Arc::clone(&shared.own(tenant).models);
    let provider = models.provider(&model.provider)?;
    let request = ModelRequest {
        model: model.model.clone(),
        system: prompts::TITLE.to_owned(),
        messages: vec![Arc::new(Message::user(prompts::to_be_titled(said)))],
        purpose: RequestPurpose::Title,
        max_output_tokens: Some(TITLE_TOKENS_MAX),
        attempts_max: Some(1),
        ..ModelRequest::default()
    };
    match compaction::text_of(provider.as_ref(), request).await {
        Ok((text, usage)) => Some(Titled {
            title: titles::tidied(&text),
            usage: meter::priced(&models, &model, usage),
            model,
        }),
        Err(error) => {
            // Not its words: a service may repeat what it was sent.
            tracing::debug!(kind = ?error.kind, "no title from the model");
            None
        }
    }
}
