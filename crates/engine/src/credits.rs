//! Credits: a tenant's turns reserve what their next step can cost, and stop where its balance does not
//! cover that. What a step did cost is charged by the append that records it, so that the log and the
//! balance never differ. A tenant without a balance pays one look at what is known of it.

use std::collections::HashMap;

use parking_lot::Mutex;
use providers::{ModelRequest, ModelUsage, catalog};
use store::{CreditHolder, ReservationChange, ReservationOutcome};
use vocabulary::{
    Fact, ModelRef, Refusal, StepFact, TenantId, TurnError, TurnErrorKind, TurnFact, Why,
};

use crate::Shared;
use crate::agents::model::compaction;
use crate::limits::CREDIT_OUTPUT_TOKENS_MAX;
use crate::session::storage;
use crate::turn::meter::dollars;
use crate::turn::{SessionGone, Turn};

/// Which tenants have a balance, as far as was asked. Others may change it: then it is asked again.
#[derive(Default)]
pub struct KnownBalances(Mutex<KnownTenants>);

#[derive(Default)]
struct KnownTenants {
    limited: HashMap<TenantId, bool>,
    /// How often something was forgotten: what was asked before that is not kept.
    forgotten: u64,
}

impl KnownBalances {
    /// Whether it is known that there is none.
    pub fn has_none(&self, tenant: &TenantId) -> bool {
        self.0.lock().limited.get(tenant) == Some(&false)
    }

    pub fn forget(&self, tenant: &TenantId) {
        let mut known = self.0.lock();
        known.limited.remove(tenant);
        known.forgotten += 1;
    }

    pub fn forget_all(&self) {
        let mut known = self.0.lock();
        known.limited.clear();
        known.forgotten += 1;
    }
}

impl Shared {
    /// Whether what a tenant spends is limited by a balance.
    pub(crate) async fn has_balance(&self, tenant: &TenantId) -> Result<bool, Refusal> {
        let (known, forgotten) = {
            let known = self.balances.0.lock();
            (known.limited.get(tenant).copied(), known.forgotten)
        };
        if let Some(limited) = known {
            return Ok(limited);
        }
        let limited = self.store.credit(tenant).await.map_err(storage)?.is_some();
        let mut known = self.balances.0.lock();
        if known.forgotten == forgotten {
            known.limited.insert(tenant.clone(), limited);
        }
        Ok(limited)
    }

    /// Reserves for a turn's first step, before it starts. `tokens`: about what the model will read.
    pub(crate) async fn reserve_first_step(
        &self,
        holder: &CreditHolder,
        model: Option<&ModelRef>,
        tokens: u64,
    ) -> Result<(), Refusal> {
        if !self.has_balance(&holder.tenant).await? {
            return Ok(());
        }
        let cost = match model {
            Some(model) => self.step_cost(&holder.tenant, model, tokens, None),
            // What others ask models for is not known before; but something must be left.
            None => Ok(1),
        };
        let cost = cost.map_err(refused)?;
        let change = ReservationChange::To(cost);
        let outcome = self.store.reserve_credit(holder, change).await;
        match outcome.map_err(storage)? {
            ReservationOutcome::Unlimited | ReservationOutcome::Reserved => Ok(()),
            ReservationOutcome::Short { .. } => Err(refused(too_little(cost))),
        }
    }

    /// Frees what was reserved for a turn that did not start.
    pub(crate) async fn free_reservation(&self, holder: &CreditHolder) {
        if self.balances.has_none(&holder.tenant) {
            return;
        }
        let change = ReservationChange::Back(u64::MAX);
        if let Err(error) = self.store.reserve_credit(holder, change).await {
            tracing::warn!(thread = %holder.thread, %error, "credit stays reserved until the thread sleeps");
        }
    }

    /// Whether a tenant can pay for a small request beside its turns. Nothing is reserved for it.
    pub(crate) async fn can_pay_beside(
        &self,
        tenant: &TenantId,
        model: &ModelRef,
        output_tokens: u64,
    ) -> bool {
        match self.has_balance(tenant).await {
            Ok(false) => return true,
            Ok(true) => {}
            Err(_) => return false,
        }
        let Ok(cost) = self.step_cost(tenant, model, output_tokens, Some(output_tokens)) else {
            return false;
        };
        let credit = self.store.credit(tenant).await;
        let credit = credit.ok().flatten().unwrap_or_default();
        i64::try_from(cost).is_ok_and(|cost| cost <= credit.available())
    }

    /// What a request that reads so many tokens can cost, or why that cannot be said.
    fn step_cost(
        &self,
        tenant: &TenantId,
        model: &ModelRef,
        input_tokens: u64,
        output_tokens: Option<u64>,
    ) -> Result<u64, String> {
        let own = self.own(tenant);
        let known = own.models.model(&model.provider, &model.model);
        let (output, price) = known.map_or((None, None), |known| (known.output, known.price));
        let Some(price) = price else {
            return Err(format!(
                "there is a balance, but the price of {}/{} is not known, so it cannot be counted; \
                 choose another model, or have its price added to the catalog",
                model.provider, model.model
            ));
        };
        let output_tokens = output_tokens.or(output).unwrap_or(u64::MAX);
        Ok(dearest(
            &price,
            input_tokens,
            output_tokens.min(CREDIT_OUTPUT_TOKENS_MAX),
        ))
    }
}

/// With what is read written to a cache, where that costs more.
fn dearest(price: &catalog::Price, input_tokens: u64, output_tokens: u64) -> u64 {
    let plain = ModelUsage {
        input_tokens,
        output_tokens,
        ..ModelUsage::default()
    };
    let cached = ModelUsage {
        cache_write_tokens: input_tokens,
        ..plain
    };
    price.of(plain).max(price.of(cached))
}

fn too_little(cost: u64) -> String {
    format!(
        "not enough credit: the next step may cost up to ${}, and less than that is free of the \
         balance; have credit added, or wait until other turns have ended",
        dollars(cost)
    )
}

fn refused(message: String) -> Refusal {
    Refusal::new(Why::InsufficientCredits, message)
}

/// What one speaker of a turn has reserved for its next step.
pub enum StepCredit {
    /// The turn's own agent: when it takes a step, nobody else of the turn does.
    Agent,
    /// A sub-agent, beside its turn and other sub-agents, and what it has of what they reserved.
    SubAgent(u64),
}

impl StepCredit {
    /// Sees to it that the balance covers this request; gives the turn's end where it does not.
    pub async fn cover(
        &mut self,
        turn: &Turn,
        model: &ModelRef,
        request: &ModelRequest,
    ) -> Result<Option<TurnError>, SessionGone> {
        match turn.shared.has_balance(&turn.card.tenant).await {
            Ok(false) => return Ok(None),
            Ok(true) => {}
            Err(refusal) => return Ok(Some(internal(refusal.message))),
        }
        let tokens = compaction::estimate(request);
        let cost =
            match turn
                .shared
                .step_cost(&turn.card.tenant, model, tokens, request.max_output_tokens)
            {
                Ok(cost) => cost,
                Err(message) => return Ok(Some(insufficient(message))),
            };
        // What was spent before is charged by then: the reservation stands for this step alone.
        turn.sync().await?;
        let change = match self {
            StepCredit::Agent => ReservationChange::To(cost),
            StepCredit::SubAgent(held) => ReservationChange::By(difference(cost, *held)),
        };
        let outcome = turn
            .shared
            .store
            .reserve_credit(&holder(turn), change)
            .await;
        Ok(match outcome {
            Ok(ReservationOutcome::Unlimited) => None,
            Ok(ReservationOutcome::Reserved) => {
                if let StepCredit::SubAgent(held) = self {
                    *held = cost;
                }
                None
            }
            Ok(ReservationOutcome::Short { .. }) => Some(insufficient(too_little(cost))),
            Err(error) => Some(internal(error.to_string())),
        })
    }

    /// A sub-agent is done.
    pub async fn give_back(self, turn: &Turn) {
        let StepCredit::SubAgent(held @ 1..) = self else {
            return;
        };
        let change = ReservationChange::Back(held);
        // Where this fails it is free when the turn takes its next step, or ends.
        if let Err(error) = turn
            .shared
            .store
            .reserve_credit(&holder(turn), change)
            .await
        {
            tracing::debug!(%error, "a sub-agent's credit stays reserved");
        }
    }
}

fn holder(turn: &Turn) -> CreditHolder {
    CreditHolder {
        tenant: turn.card.tenant.clone(),
        thread: turn.card.id,
        turn: turn.id.clone(),
    }
}

fn difference(to: u64, from: u64) -> i64 {
    let signed = |amount: u64| i64::try_from(amount).unwrap_or(i64::MAX);
    signed(to).saturating_sub(signed(from))
}

fn insufficient(message: String) -> TurnError {
    let kind = TurnErrorKind::InsufficientCredits;
    TurnError { kind, message }
}

fn internal(message: String) -> TurnError {
    let kind = TurnErrorKind::Internal;
    TurnError { kind, message }
}

/// What a fact says was spent. A price that is not known counts as nothing here: with a balance, a model
/// without one is not asked.
pub fn spent(fact: &Fact) -> u64 {
    let usage = match fact {
        Fact::Step {
            what: StepFact::Finished { usage, .. },
            ..
        } => usage,
        Fact::Turn(TurnFact::UsageAdded { usage, .. }) => usage,
        Fact::Step { .. }
        | Fact::Turn(_)
        | Fact::Thread(_)
        | Fact::Item { .. }
        | Fact::Tool(_)
        | Fact::Ask { .. }
        | Fact::Files(_)
        | Fact::Note(_) => return 0,
    };
    usage.cost_micro_dollars.unwrap_or_default()
}
