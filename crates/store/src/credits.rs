//! Credits: what a tenant may spend, in micro-dollars, and what its running turns have reserved of it.
//!
//! What was spent is written by the append that has the events which say so. What is reserved counts
//! only among turns that run: it ends with its turn, with the lease of its thread, and with its process.

use vocabulary::{TenantId, ThreadId, TurnId};

use crate::{Result, StoreError};

/// The credit of a tenant that has a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Credit {
    /// What is left; below zero where a request cost more than was reserved.
    pub balance: i64,
    /// Of that: what running turns may spend.
    pub reserved: u64,
    /// All that was spent since there is a limit.
    pub spent: u64,
}

impl Credit {
    /// What can still be reserved.
    pub fn available(&self) -> i64 {
        let reserved = i64::try_from(self.reserved).unwrap_or(i64::MAX);
        self.balance.saturating_sub(reserved)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreditChange {
    /// The balance shall be this.
    Set(i64),
    /// So much more, or less.
    Add(i64),
    /// No limit any more.
    Remove,
}

/// A turn that spends. A thread has one at a time: what another turn of it had reserved is void.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreditHolder {
    pub tenant: TenantId,
    pub thread: ThreadId,
    pub turn: TurnId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReservationChange {
    /// The turn shall have reserved this much.
    To(u64),
    /// So much more than now, or less; also the latter is refused where the balance is overdrawn.
    By(i64),
    /// So much is not needed any more; never refused.
    Back(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReservationOutcome {
    /// The tenant has no limit: nothing was written.
    Unlimited,
    Reserved,
    /// There is not enough: nothing was changed.
    Short {
        /// What there is, without what this turn had reserved.
        available: i64,
    },
}

/// What a batch says was spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreditCharge {
    pub tenant: TenantId,
    pub micro_dollars: u64,
    /// The thread's turn has ended: what it had reserved is free.
    pub turn_over: bool,
}

/// What a turn has reserved after a change; `None` where there is not enough.
pub(crate) fn reserved_after(
    change: ReservationChange,
    own: u64,
    balance: i64,
    others: u64,
) -> Result<Option<u64>> {
    let amount = match change {
        ReservationChange::To(amount) => amount,
        ReservationChange::By(by) => own.saturating_add_signed(by),
        ReservationChange::Back(amount) => return Ok(Some(own.saturating_sub(amount))),
    };
    let needed = small(amount)?.checked_add(small(others)?);
    let needed = needed.ok_or_else(out_of_range)?;
    Ok((needed <= balance).then_some(amount))
}

/// The balance after a change.
pub(crate) fn balance_after(balance: Option<i64>, change: CreditChange) -> Result<Option<i64>> {
    match change {
        CreditChange::Set(amount) => Ok(Some(amount)),
        CreditChange::Add(amount) => {
            let sum = balance.unwrap_or_default().checked_add(amount);
            sum.map(Some).ok_or_else(out_of_range)
        }
        CreditChange::Remove => Ok(None),
    }
}

fn small(amount: u64) -> Result<i64> {
    i64::try_from(amount).map_err(|_| out_of_range())
}

fn out_of_range() -> StoreError {
    StoreError::Failed("an amount of credit is out of range".to_owned())
}
