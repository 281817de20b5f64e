//! Balances and reservations in memory.

use std::collections::HashMap;

use vocabulary::{TenantId, ThreadId, TurnId};

use super::world::World;
use crate::credits::{balance_after, reserved_after};
use crate::{
    Credit, CreditChange, CreditCharge, CreditHolder, ListChange, ListEntry, ReservationChange,
    ReservationOutcome, Result, StoreError,
};

#[derive(Default)]
pub(super) struct CreditRows {
    /// What is left and what was spent.
    balances: HashMap<TenantId, (i64, u64)>,
    reserved: HashMap<ThreadId, ReservedRow>,
}

#[derive(Clone)]
struct ReservedRow {
    tenant: TenantId,
    turn: TurnId,
    owner: usize,
    amount: u64,
}

impl CreditRows {
    pub(super) fn read(
        &self,
        tenant: &TenantId,
        is_alive: impl Fn(usize) -> bool,
    ) -> Option<Credit> {
        let (balance, spent) = *self.balances.get(tenant)?;
        let rows = self.reserved.values();
        let rows = rows.filter(|row| row.tenant == *tenant && is_alive(row.owner));
        Some(Credit {
            balance,
            reserved: rows.map(|row| row.amount).sum(),
            spent,
        })
    }

    pub(super) fn charge(&mut self, thread: ThreadId, charge: &CreditCharge) -> Result<()> {
        let out_of_range = |_| StoreError::Failed("out of range".to_owned());
        let amount = i64::try_from(charge.micro_dollars).map_err(out_of_range)?;
        if let Some((balance, spent)) = self.balances.get_mut(&charge.tenant) {
            *balance -= amount;
            *spent += charge.micro_dollars;
        }
        if charge.turn_over {
            self.forget(thread);
        }
        Ok(())
    }

    pub(super) fn forget(&mut self, thread: ThreadId) {
        self.reserved.remove(&thread);
    }
}

impl World {
    fn credit(&self, tenant: &TenantId) -> Option<Credit> {
        self.credits.read(tenant, |owner| self.is_alive(owner))
    }

    pub(super) fn change_credit(
        &mut self,
        owner: usize,
        tenant: &TenantId,
        change: CreditChange,
    ) -> Result<Option<Credit>> {
        let before = self.credit(tenant);
        match balance_after(before.map(|credit| credit.balance), change)? {
            Some(balance) => {
                self.credits.balances.entry(tenant.clone()).or_default().0 = balance;
            }
            None => {
                self.credits.balances.remove(tenant);
                self.credits.reserved.retain(|_, row| row.tenant != *tenant);
            }
        }
        let change = ListChange {
            tenant: tenant.clone(),
            what: ListEntry::Credit,
            is_new: before.is_none(),
        };
        self.changes.push((owner, change));
        Ok(self.credit(tenant))
    }

    pub(super) fn reserve_credit(
        &mut self,
        owner: usize,
        holder: &CreditHolder,
        change: ReservationChange,
    ) -> Result<ReservationOutcome> {
        let Some(credit) = self.credit(&holder.tenant) else {
            return Ok(ReservationOutcome::Unlimited);
        };
        let known = self.credits.reserved.get(&holder.thread);
        let counted = known.filter(|row| self.is_alive(row.owner));
        let others = credit.reserved - counted.map_or(0, |row| row.amount);
        let own = known.filter(|row| row.turn == holder.turn && row.owner == owner);
        let own = own.map(|row| row.amount);
        if own.is_none() && matches!(change, ReservationChange::Back(_)) {
            return Ok(ReservationOutcome::Reserved);
        }
        let own = own.unwrap_or_default();
        let Some(amount) = reserved_after(change, own, credit.balance, others)? else {
            let available = credit.balance.saturating_sub_unsigned(others);
            return Ok(ReservationOutcome::Short { available });
        };
        let row = ReservedRow {
            tenant: holder.tenant.clone(),
            turn: holder.turn.clone(),
            owner,
            amount,
        };
        self.credits.reserved.insert(holder.thread, row);
        Ok(ReservationOutcome::Reserved)
    }
}
