//! Credits as operators and clients meet them: set on the command line while the server runs, and equal
//! to the log whenever the server is killed.

use std::time::Duration;

use anyhow::{Context, ensure};
use rusqlite::Connection;
use serde_json::{Value, json};
use testkit::chance::Chance;
use testkit::process::Launch;
use testkit::{Process, Scratch};
use vocabulary::{Fact, StepFact, TurnFact};

use crate::{DRAGOMAN, Visitor, tell};

const LIMIT: Duration = Duration::from_secs(90);
const KILLS: u64 = 4;
const CLIENTS: usize = 4;
const SEED: u64 = 17;
const GRANTED: i64 = 1_000_000;
/// Frames that are heard before a kill, at most: about as many as two of the turns make.
const FRAMES_MAX: usize = 160;

/// Two steps, each with a cost of its own, and slow enough to be killed in.
fn script() -> String {
    let slow = " say word\n pause 10ms\n".repeat(10);
    let call = " call glob {\"pattern\":\"*.none\"}\n usage 3 4 1001\n";
    format!("turn *\n{slow}{call}next\n{slow} usage 5 6 370\n")
}

async fn credit(server: &Process, words: &[&str]) -> anyhow::Result<Value> {
    let words = [&["tenants", "credit", "--json"], words].concat();
    Ok(serde_json::from_str(&server.operate(&words).await?)?)
}

/// What all logs of the home say was spent.
fn logged(scratch: &Scratch) -> anyhow::Result<u64> {
    let db = Connection::open(scratch.home().join("sessions.db"))?;
    let mut read = db.prepare("SELECT payload FROM events")?;
    let payloads = read.query_map((), |row| row.get::<_, Vec<u8>>(0))?;
    let mut sum = 0;
    for payload in payloads {
        let mut event: Value = serde_json::from_slice(&payload?)?;
        let usage = match serde_json::from_value(event["fact"].take())? {
            Fact::Step {
                what: StepFact::Finished { usage, .. },
                ..
            }
            | Fact::Turn(TurnFact::UsageAdded { usage, .. }) => usage,
            // tidy: wildcard, because only these say what was spent.
            _ => continue,
        };
        sum += usage.cost_micro_dollars.context("a price")?;
    }
    Ok(sum)
}

/// The balance and the logs say the same, to the micro-dollar.
async fn agree(server: &Process, scratch: &Scratch) -> anyhow::Result<u64> {
    let shown = credit(server, &["local"]).await?;
    let spent = shown["spentMicroDollars"].as_u64().context("a balance")?;
    ensure!(spent == logged(scratch)?, "{shown:?}, {}", logged(scratch)?);
    let left = shown["balanceMicroDollars"].as_i64();
    let left = left.context("a balance")?;
    ensure!(left + spent.cast_signed() == GRANTED, "{shown:?}");
    Ok(spent)
}

#[test]
fn a_kill_neither_loses_nor_doubles_what_was_spent() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let script = scratch.user().join("script.txt");
        std::fs::write(&script, self::script())?;
        let launch = Launch::new(DRAGOMAN, &scratch).rehearsal(&script);
        let mut server = Process::start(&launch).await?;
        credit(&server, &["local", "--set", "1"]).await?;
        let mut chance = Chance::new(SEED);
        for kill in 1..=KILLS {
            let mut visitors = Vec::new();
            for _ in 0..CLIENTS {
                visitors.push(Visitor::arrive(&server).await?);
            }
            for visitor in &mut visitors {
                visitor.say("go").await?;
            }
            // Some are at their first step by then, some at their second, some are done.
            for _ in 0..chance.below(FRAMES_MAX) {
                let whose = chance.below(CLIENTS);
                visitors[whose].client.recv().await?;
            }
            server.kill9().await?;
            drop(visitors);
            agree(&server, &scratch)
                .await
                .with_context(|| format!("kill {kill}"))?;
            server.restart().await?;
        }
        let before = agree(&server, &scratch).await?;
        let mut visitor = Visitor::arrive(&server).await?;
        visitor.say("go").await?;
        visitor.rest().await?;
        ensure!(agree(&server, &scratch).await? == before + 1_371);
        let shown = credit(&server, &["local"]).await?;
        ensure!(shown["reservedMicroDollars"] == 0, "{shown:?}");
        Ok(())
    });
}

#[test]
fn a_balance_is_set_shown_and_taken_away_while_the_server_runs() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let server = Process::start(&Launch::new(DRAGOMAN, &scratch)).await?;
        let no_limit = json!({ "tenant": "acme", "balanceMicroDollars": null,
                               "reservedMicroDollars": null, "spentMicroDollars": null });
        ensure!(credit(&server, &["acme"]).await? == no_limit);
        let unknown = credit(&server, &["acme", "--set", "2.50"]).await;
        ensure!(unknown.is_err_and(|why| why.to_string().contains("lists them")));
        let create = ["tenants", "create", "acme", "--owner", "alice"];
        server.operate(&create).await?;
        credit(&server, &["acme", "--set", "2.50"]).await?;
        let shown = credit(&server, &["acme", "--add", "-0.25"]).await?;
        ensure!(shown["balanceMicroDollars"] == 2_250_000, "{shown:?}");
        let words = server.operate(&["tenants", "credit", "acme"]).await?;
        ensure!(
            words == "acme: $2.25 left, $0.00 of it reserved by running turns; $0.00 spent\n",
            "{words}"
        );
        ensure!(credit(&server, &["acme", "--none"]).await? == no_limit);
        for wrong in [
            ["Acme", "--set", "1"],
            ["acme", "--set", "1.2.3"],
            ["acme", "--add", "a lot"],
        ] {
            let refused = credit(&server, &wrong).await;
            ensure!(refused.is_err(), "{wrong:?}");
        }
        let both = credit(&server, &["acme", "--set", "1", "--none"]).await;
        ensure!(both.is_err());
        ensure!(
            credit(&server, &["acme"]).await? == no_limit,
            "nothing changed"
        );
        Ok(())
    });
}
