//! Replay over the real server: random turns, random disconnects, random positions to come back from. What
//! is replayed and the gaps cover each number once, in order; every kept event is told to everyone; and what
//! a client made of it all is what somebody who joins now is shown.

mod follower;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::Client;
use testkit::chance::Chance;

use self::follower::{Follower, text};
use crate::{Site, Visitor, tell};

const LIMIT: Duration = Duration::from_secs(120);
const TURNS: usize = 14;
/// After this turn the conversation begins anew.
const RESET_AFTER: usize = 7;

/// Others were tried, too; one is enough for every run.
const SEED: u64 = 17;

struct Story {
    url: String,
    session: String,
    chance: Chance,
    driver: Follower,
    others: Vec<Follower>,
}

#[test]
fn whoever_comes_back_knows_what_happened() {
    tell(LIMIT, async move {
        let site = Site::open().await?;
        let told = story(&site, SEED).await;
        told.with_context(|| format!("seed {SEED}"))
    });
}

/// A client may send 1 MB at once, a server more: what has no pages comes whole.
#[test]
fn large_answers_come_whole() {
    const BYTES: usize = 8 << 20;
    tell(LIMIT, async {
        let site = Site::open().await?;
        let workspace = site.scratch.workspace();
        let content = "all of it \n".repeat(BYTES / 11);
        std::fs::write(workspace.join("large.txt"), &content)?;
        std::fs::write(workspace.join("binary"), vec![0xff; BYTES])?;
        std::fs::write(workspace.join("too-large"), vec![b'x'; BYTES + 1])?;
        let url = diminuendo(&site);
        let session = created(&url).await?;
        let mut follower = Follower::new(&url, &session);
        follower.join(None).await?.map_err(refused)?;
        follower
            .say("read_file", json!({"path": "large.txt"}))
            .await?;
        let read = follower.until_type("file_content").await?;
        ensure!(read["content"] == json!(content), "not what was written");
        follower.say("read_file", json!({"path": "binary"})).await?;
        let read = follower.until_type("file_content").await?;
        let base64 = read["content"].as_str().context("content")?;
        ensure!(base64.len() == BYTES.div_ceil(3) * 4, "{}", base64.len());
        follower
            .say("read_file", json!({"path": "too-large"}))
            .await?;
        let error = follower.until_type("error").await?;
        ensure!(error["code"] == "FileTooLarge", "{error}");
        Ok(())
    });
}

fn diminuendo(site: &Site) -> String {
    let base = site.server.url();
    format!("{}/diminuendo", base.strip_suffix("/ws").unwrap_or(base))
}

async fn story(site: &Site, seed: u64) -> anyhow::Result<()> {
    let url = diminuendo(site);
    let session = created(&url).await?;
    let mut story = Story {
        driver: Follower::new(&url, &session),
        others: (0..2).map(|_| Follower::new(&url, &session)).collect(),
        chance: Chance::new(seed),
        url,
        session,
    };
    story.driver.join(Some(0)).await?.map_err(refused)?;
    for number in 0..TURNS {
        story
            .turn(number)
            .await
            .with_context(|| format!("turn {number}"))?;
        story.probe().await?;
        if number == RESET_AFTER {
            story.reset(site).await?;
        }
    }
    story.compare_log().await
}

fn refused(frame: Value) -> anyhow::Error {
    anyhow::anyhow!("refused: {frame}")
}

async fn created(url: &str) -> anyhow::Result<String> {
    let mut client = Client::connect(url).await?;
    client.until_type("authenticated").await?;
    client
        .send(r#"{"type":"create_session","agentType":"coding-agent"}"#)
        .await?;
    let created = client.until_type("session_created").await?;
    Ok(text(&created["session"]["id"]))
}

impl Story {
    async fn turn(&mut self, number: usize) -> anyhow::Result<()> {
        let words = [
            format!("echo number {number}"),
            "show me reasoning".to_owned(),
            "stream 300".to_owned(),
            "show me an approval".to_owned(),
            "show me a question".to_owned(),
            "show me an error".to_owned(),
            "slow 12".to_owned(),
            "tool read {\"filePath\": \"none\"}".to_owned(),
        ];
        let words = self.chance.pick(&words);
        self.driver
            .say("run_turn", json!({ "text": words }))
            .await?;
        self.come_and_go().await?;
        if words.starts_with("slow") && self.chance.once_in(2) {
            self.driver.say("stop_turn", json!({})).await?;
        }
        loop {
            self.driver.until_rest().await?;
            self.compare_state().await?;
            if self.driver.folded.status != "waiting" {
                return Ok(());
            }
            self.answer().await?;
            self.come_and_go().await?;
        }
    }

    /// The others go in the middle of something, or come back from where they were.
    async fn come_and_go(&mut self) -> anyhow::Result<()> {
        for other in &mut self.others {
            if !other.is_there() {
                let after = other.last as i64;
                other.join(Some(after)).await?.map_err(refused)?;
            }
            if self.chance.once_in(2) {
                other.settle().await?;
            }
            if self.chance.once_in(2) {
                other.leave();
            }
        }
        Ok(())
    }

    async fn answer(&mut self) -> anyhow::Result<()> {
        let open = self.driver.folded.open.first().cloned();
        let request = open.context("an open request")?;
        let asked = self.driver.told.values().rev();
        let mut asked = asked.filter(|frame| frame["requestId"] == json!(request));
        let is_permission = asked.any(|frame| frame["type"] == "permission_requested");
        match (is_permission, self.chance.once_in(2)) {
            (true, approved) => {
                let fields = json!({"requestId": request, "approved": approved});
                self.driver.say("approve", fields).await
            }
            (false, _) => {
                let fields = json!({"requestId": request, "dismissed": true});
                self.driver.say("answer_question", fields).await
            }
        }
    }

    /// Everyone who is there shows what one is shown who comes now.
    async fn compare_state(&mut self) -> anyhow::Result<()> {
        let mut fresh = Follower::new(&self.url, &self.session);
        fresh.join(None).await?.map_err(refused)?;
        fresh.settle().await?;
        self.driver.settle().await?;
        let expected = &fresh.folded;
        ensure!(
            self.driver.folded == *expected,
            "{:#?} is {expected:#?}",
            self.driver.folded
        );
        for other in self.others.iter_mut().filter(|other| other.is_there()) {
            while other.last < fresh.last.min(self.driver.last) {
                other.next().await?;
            }
            other.settle().await?;
            ensure!(
                other.folded == *expected,
                "{:#?} is {expected:#?}",
                other.folded
            );
        }
        Ok(())
    }

    /// Positions that nobody was at: any between, before the start, past the end.
    async fn probe(&mut self) -> anyhow::Result<()> {
        let head = self.driver.last as i64;
        let mut probe = Follower::new(&self.url, &self.session);
        let after = self.chance.below(head as usize + 1) as i64;
        probe.join(Some(after)).await?.map_err(refused)?;
        for wrong in [-1, i64::MIN, head + 1_000, i64::MAX] {
            let refused = probe.join(Some(wrong)).await?;
            let error = refused
                .err()
                .with_context(|| format!("{wrong} was taken"))?;
            ensure!(error["code"] == "InvalidCursor", "{wrong}: {error}");
        }
        Ok(())
    }

    /// What was before is before retention from now on.
    async fn reset(&mut self, site: &Site) -> anyhow::Result<()> {
        let mut visitor = Visitor::resume(&site.server, &self.session).await?;
        visitor.send("reset", json!({})).await?;
        let shown = async |follower: &mut Follower| -> anyhow::Result<()> {
            while follower.next().await?["type"] != "state_snapshot" {}
            follower.settle().await
        };
        shown(&mut self.driver).await?;
        self.driver.told.clear();
        for other in &mut self.others {
            if other.is_there() {
                shown(other).await?;
            }
            other.told.clear();
        }
        let mut late = Follower::new(&self.url, &self.session);
        late.join(Some(0)).await?.map_err(refused)?;
        ensure!(late.told.is_empty(), "{:?}", late.told);
        Ok(())
    }

    /// Everyone was told every kept event once.
    async fn compare_log(&mut self) -> anyhow::Result<()> {
        self.driver.say("get_events", json!({})).await?;
        let log = self.driver.until_type("events").await?;
        ensure!(log["hasMore"].is_null(), "{}", log["hasMore"]);
        let events = log["events"].as_array().context("events")?;
        let numbered = events.iter().filter(|event| event["data"]["seq"].is_u64());
        let kept: BTreeMap<u64, String> = numbered
            .filter_map(|event| Some((event["seq"].as_u64()?, text(&event["type"]))))
            .collect();
        for follower in std::iter::once(&mut self.driver).chain(&mut self.others) {
            follower.leave();
            let after = follower.last as i64;
            follower.join(Some(after)).await?.map_err(refused)?;
            let told = follower.told.iter();
            let told: BTreeMap<_, _> = told
                .map(|(seq, frame)| (*seq, text(&frame["type"])))
                .collect();
            ensure!(told == kept, "told {told:?}\nkept {kept:?}");
        }
        Ok(())
    }
}
