//! `dragoman tenants credit`: what a tenant may still spend.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use clap::Args;
use identity::Directory;
use serde_json::{Value, json};
use server::database;
use store::{Credit, CreditChange, SharedStore};
use vocabulary::TenantId;

use super::check_known;
use crate::commands::checkpoints::words;

const EXAMPLES: &str = "\
Examples:
  dragoman tenants credit acme              what is left, what running turns have reserved, what was spent
  dragoman tenants credit acme --set 25     25 dollars are left from now on
  dragoman tenants credit acme --add 10.50  so much more; with a minus sign, so much less
  dragoman tenants credit acme --none       no limit any more; what was spent is forgotten

Amounts are US dollars with up to six places. A tenant without a balance has no limit. Servers on the
same data directory may run meanwhile: it counts from the next step of a turn on (docs/tenants.md).";

const MICRO_PER_DOLLAR: u64 = 1_000_000;
/// As many as a micro-dollar has.
const PLACES_MAX: usize = 6;
const TENANT_CHARS_MAX: usize = 64;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CreditArguments {
    /// The tenant; `local` is the one of whoever uses the server without signing in
    #[arg(value_name = "TENANT", default_value = "local")]
    pub tenant: String,
    /// What is left from now on, in US dollars
    #[arg(long, value_name = "USD", group = "change", allow_hyphen_values = true)]
    pub set: Option<String>,
    /// So much more, in US dollars
    #[arg(long, value_name = "USD", group = "change", allow_hyphen_values = true)]
    pub add: Option<String>,
    /// No limit any more
    #[arg(long, group = "change")]
    pub none: bool,
}

pub async fn run(arguments: CreditArguments, json: bool, home: &Path) -> anyhow::Result<()> {
    let change = change(&arguments)?;
    let tenant = tenant(&arguments.tenant)?;
    let credit = match (open(home, change.is_some()).await?, change) {
        (None, _) => None,
        (Some(store), None) => store.credit(&tenant).await?,
        (Some(store), Some(change)) => {
            if !tenant.is_local() {
                check_known(&Directory::new(Arc::clone(&store)), &tenant).await?;
            }
            store.change_credit(&tenant, change).await?
        }
    };
    match json {
        true => words::say_json(&for_programs(&tenant, credit)),
        false => words::say(for_people(&tenant, credit)),
    }
}

fn change(arguments: &CreditArguments) -> anyhow::Result<Option<CreditChange>> {
    let CreditArguments { set, add, none, .. } = arguments;
    if let Some(set) = set {
        return Ok(Some(CreditChange::Set(micro_dollars("--set", set)?)));
    }
    if let Some(add) = add {
        return Ok(Some(CreditChange::Add(micro_dollars("--add", add)?)));
    }
    Ok(none.then_some(CreditChange::Remove))
}

fn tenant(name: &str) -> anyhow::Result<TenantId> {
    let is_inner = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
    let begins = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    ensure!(
        begins && name.len() <= TENANT_CHARS_MAX && name.bytes().all(is_inner),
        "a tenant's id has 1 to {TENANT_CHARS_MAX} of a-z, 0-9, _ and -, and begins with a letter or a digit"
    );
    Ok(TenantId::new(name))
}

/// A look makes nothing: `None` where nothing was ever kept.
async fn open(home: &Path, is_change: bool) -> anyhow::Result<Option<SharedStore>> {
    let home = home.to_owned();
    let opening = tokio::task::spawn_blocking(move || {
        let label = format!("process {}, dragoman tenants", std::process::id());
        match is_change || database::existing(&home).is_some() {
            true => database::open(&home, &label).map(Some),
            false => Ok(None),
        }
    });
    opening.await.context("the look was cut off")?
}

fn micro_dollars(flag: &str, text: &str) -> anyhow::Result<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let are_digits =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let wrong = || format!("{flag} {text:?} is no amount of dollars; write it as 25 or 0.50");
    if !are_digits(whole) || !are_digits(part) || part.len() > PLACES_MAX {
        bail!(wrong());
    }
    let micro = format!("{whole}{part:0<PLACES_MAX$}");
    let micro: i64 = micro.parse().with_context(wrong)?;
    Ok(sign * micro)
}

pub fn dollars(micro: i64) -> String {
    let sign = if micro < 0 { "-" } else { "" };
    let micro = micro.unsigned_abs();
    let (whole, part) = (micro / MICRO_PER_DOLLAR, micro % MICRO_PER_DOLLAR);
    let part = format!("{part:06}");
    // Cents are always there, what is smaller only where it is something.
    let (cents, rest) = part.split_at(2);
    format!("{sign}${whole}.{cents}{}", rest.trim_end_matches('0'))
}

fn for_people(tenant: &TenantId, credit: Option<Credit>) -> String {
    let Some(credit) = credit else {
        return format!("{tenant}: no limit\n");
    };
    let (reserved, spent) = (credit.reserved.cast_signed(), credit.spent.cast_signed());
    format!(
        "{tenant}: {} left, {} of it reserved by running turns; {} spent\n",
        dollars(credit.balance),
        dollars(reserved),
        dollars(spent)
    )
}

fn for_programs(tenant: &TenantId, credit: Option<Credit>) -> Value {
    json!({
        "tenant": tenant.as_str(),
        "balanceMicroDollars": credit.map(|credit| credit.balance),
        "reservedMicroDollars": credit.map(|credit| credit.reserved),
        "spentMicroDollars": credit.map(|credit| credit.spent),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_and_written_exactly() {
        for (text, micro, shown) in [
            ("25", 25_000_000, "$25.00"),
            ("0.5", 500_000, "$0.50"),
            ("-3.000001", -3_000_001, "-$3.000001"),
            ("0.123400", 123_400, "$0.1234"),
        ] {
            assert_eq!(micro_dollars("--set", text).ok(), Some(micro), "{text}");
            assert_eq!(dollars(micro), shown);
        }
        for text in [
            "",
            "-",
            "1.",
            ".5",
            "1e3",
            "1,50",
            "0.0000001",
            "$5",
            "--5",
            "99999999999999",
        ] {
            let refused = micro_dollars("--add", text).expect_err(text).to_string();
            assert!(
                refused.contains("--add") && refused.contains("0.50"),
                "{refused}"
            );
        }
    }

    #[test]
    fn a_tenant_is_named_as_tenants_are() {
        for name in ["local", "a", "0-b_c"] {
            assert!(tenant(name).is_ok(), "{name}");
        }
        for name in ["", "-a", "_a", "A", "a b", "../x", &"a".repeat(65)] {
            assert!(tenant(name).is_err(), "{name}");
        }
    }
}
