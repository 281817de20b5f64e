//! Balances of tenants and what running turns have reserved of them.

use rusqlite::{Connection, OptionalExtension, params};
use vocabulary::{TenantId, ThreadId};

use super::changes::{has_readers, note};
use super::leases::Owner;
use super::{queries, signed};
use crate::credits::{balance_after, reserved_after};
use crate::{
    Credit, CreditChange, CreditCharge, CreditHolder, ListChange, ListEntry, ReservationChange,
    ReservationOutcome, Result,
};

pub(super) fn read(db: &Connection, owner: &Owner, tenant: &TenantId) -> Result<Option<Credit>> {
    let mut read = db.prepare_cached("SELECT balance, spent FROM credits WHERE tenant = ?1")?;
    let found = read.query_row([tenant.as_str()], |row| {
        Ok(Credit {
            balance: row.get(0)?,
            reserved: 0,
            spent: queries::unsigned(row, 1)?,
        })
    });
    let Some(mut credit) = found.optional()? else {
        return Ok(None);
    };
    for (id, amount) in reserved(db, tenant)? {
        if owner.is_alive(&id) {
            credit.reserved += amount;
        }
    }
    Ok(Some(credit))
}

/// What is reserved, by the processes that run the turns.
fn reserved(db: &Connection, tenant: &TenantId) -> Result<Vec<(String, u64)>> {
    let mut read = db.prepare_cached(
        "SELECT owner, sum(amount) FROM credit_reservations WHERE tenant = ?1 GROUP BY owner",
    )?;
    let rows = read.query_map([tenant.as_str()], |row| {
        Ok((row.get(0)?, queries::unsigned(row, 1)?))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn change(
    db: &Connection,
    owner: &Owner,
    tenant: &TenantId,
    change: CreditChange,
) -> Result<Option<Credit>> {
    let before = read(db, owner, tenant)?;
    match balance_after(before.map(|credit| credit.balance), change)? {
        Some(balance) => {
            db.prepare_cached(
                "INSERT INTO credits (tenant, balance, spent) VALUES (?1, ?2, 0)
                 ON CONFLICT (tenant) DO UPDATE SET balance = excluded.balance",
            )?
            .execute(params![tenant.as_str(), balance])?;
        }
        None => {
            for table in ["credits", "credit_reservations"] {
                db.execute(
                    &format!("DELETE FROM {table} WHERE tenant = ?1"),
                    [tenant.as_str()],
                )?;
            }
        }
    }
    if has_readers(db, owner)? {
        let change = ListChange {
            tenant: tenant.clone(),
            what: ListEntry::Credit,
            is_new: before.is_none(),
        };
        note(db, owner, &change)?;
    }
    read(db, owner, tenant)
}

pub(super) fn reserve(
    db: &Connection,
    owner: &Owner,
    holder: &CreditHolder,
    change: ReservationChange,
) -> Result<ReservationOutcome> {
    let Some(credit) = read(db, owner, &holder.tenant)? else {
        return Ok(ReservationOutcome::Unlimited);
    };
    let (tenant, thread) = (holder.tenant.as_str(), holder.thread.to_string());
    let mut known = db.prepare_cached(
        "SELECT turn, owner, amount FROM credit_reservations WHERE tenant = ?1 AND thread = ?2",
    )?;
    let known = known.query_row([tenant, &thread], |row| {
        let (turn, owner): (String, String) = (row.get(0)?, row.get(1)?);
        Ok((turn, owner, queries::unsigned(row, 2)?))
    });
    let known = known.optional()?;
    // What the thread has in the sum, and what of that is this turn's.
    let counted = known.as_ref().filter(|(_, id, _)| owner.is_alive(id));
    let counted = counted.map_or(0, |(_, _, amount)| *amount);
    let own = known.filter(|(turn, id, _)| turn == holder.turn.as_str() && id == owner.id());
    let own = own.map(|(_, _, amount)| amount);
    if own.is_none() && matches!(change, ReservationChange::Back(_)) {
        return Ok(ReservationOutcome::Reserved);
    }
    let others = credit.reserved.saturating_sub(counted);
    let own = own.unwrap_or_default();
    let Some(amount) = reserved_after(change, own, credit.balance, others)? else {
        let available = credit.balance.saturating_sub(signed(others)?);
        return Ok(ReservationOutcome::Short { available });
    };
    db.prepare_cached(
        "INSERT INTO credit_reservations (tenant, thread, turn, owner, amount)
         VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (tenant, thread) DO UPDATE SET turn = excluded.turn,
             owner = excluded.owner, amount = excluded.amount",
    )?
    .execute(params![
        tenant,
        thread,
        holder.turn.as_str(),
        owner.id(),
        signed(amount)?
    ])?;
    Ok(ReservationOutcome::Reserved)
}

/// In the transaction of the append that has the events which say what was spent.
pub(super) fn charge(db: &Connection, thread: ThreadId, charge: &CreditCharge) -> Result<()> {
    if charge.micro_dollars > 0 {
        db.prepare_cached(
            "UPDATE credits SET balance = balance - ?2, spent = spent + ?2 WHERE tenant = ?1",
        )?
        .execute(params![
            charge.tenant.as_str(),
            signed(charge.micro_dollars)?
        ])?;
    }
    if charge.turn_over {
        forget(db, thread)?;
    }
    Ok(())
}

/// Nothing is reserved for the thread any more.
pub(super) fn forget(db: &Connection, thread: ThreadId) -> Result<()> {
    db.prepare_cached("DELETE FROM credit_reservations WHERE thread = ?1")?
        .execute([thread.to_string()])?;
    Ok(())
}
