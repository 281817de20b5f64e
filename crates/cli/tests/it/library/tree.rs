//! Random creates, moves and deletes from several connections of two processes: the tree stays a tree,
//! nothing is lost, and who only listens has the same one in the end.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::process::Launch;
use testkit::{Process, Scratch};

use super::{Asker, LIMIT};
use crate::{DRAGOMAN, tell};

/// How many seeds; the normal run has two.
const SEEDS_VARIABLE: &str = "DRAGOMAN_TREE_SEEDS";
const ROUNDS: usize = 25;

/// Numbers that are the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides.max(1) as u64) as usize
    }

    fn one_of(&mut self, list: &[String]) -> Value {
        match self.roll(list.len() + 1) {
            0 => Value::Null,
            place => json!(list[place - 1]),
        }
    }
}

/// What was made so far; folders may be gone again.
#[derive(Default)]
struct Known {
    folders: Vec<String>,
    threads: Vec<String>,
}

fn request(dice: &mut Dice, known: &Known, workspace: &str, name: String) -> (String, Value) {
    let (folder, parent) = (dice.one_of(&known.folders), dice.one_of(&known.folders));
    let mut params = json!({ "workspace_id": workspace });
    let method = match dice.roll(10) {
        0..=2 => {
            params["parent_folder_id"] = parent;
            params["name"] = json!(name);
            "thread/folder/create"
        }
        3..=4 if !folder.is_null() => {
            params["folder_id"] = folder;
            params["parent_folder_id"] = parent;
            "thread/folder/move"
        }
        5 if !folder.is_null() => {
            params["folder_id"] = folder;
            "thread/folder/delete"
        }
        6..=8 if !known.threads.is_empty() => {
            let place = dice.roll(known.threads.len());
            params["thread_id"] = json!(known.threads[place]);
            params["folder_id"] = folder;
            "thread/move"
        }
        _ => {
            params["thread_id"] = json!(name);
            "thread/start"
        }
    };
    (method.to_owned(), params)
}

/// What a list shows: threads, folders with their parents, and where threads are.
type Shown = (
    BTreeSet<String>,
    BTreeMap<String, Option<String>>,
    BTreeMap<String, Option<String>>,
);

fn shown(tree: &Value) -> Shown {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let list = |name: &str| tree[name].as_array().cloned().unwrap_or_default();
    let threads = list("threads")
        .iter()
        .filter_map(|each| text(&each["id"]))
        .collect();
    let folders = list("folders");
    let folders = folders
        .iter()
        .filter_map(|each| Some((text(&each["id"])?, text(&each["parent_folder_id"]))));
    let placements = list("placements");
    let placements = placements
        .iter()
        .filter_map(|each| Some((text(&each["thread_id"])?, text(&each["folder_id"]))));
    (threads, folders.collect(), placements.collect())
}

fn check((threads, folders, placements): &Shown, known: &Known) -> anyhow::Result<()> {
    let expected: BTreeSet<String> = known.threads.iter().cloned().collect();
    ensure!(
        *threads == expected,
        "threads {threads:?}, made {expected:?}"
    );
    for (folder, parent) in folders {
        let mut above = parent.as_ref();
        let mut steps = 0;
        while let Some(id) = above {
            let next = folders.get(id);
            above = next
                .with_context(|| format!("{folder} lies in {id}, which is gone"))?
                .as_ref();
            steps += 1;
            ensure!(steps <= folders.len(), "{folder} lies in a circle");
        }
    }
    for (thread, folder) in placements {
        ensure!(
            threads.contains(thread),
            "{thread} is placed, and not there"
        );
        let there = folder
            .as_ref()
            .is_none_or(|folder| folders.contains_key(folder));
        ensure!(there, "{thread} is in {folder:?}, which is gone");
    }
    Ok(())
}

/// A connection as a client has it that reads the tree only when it is told to.
async fn converges(asker: &mut Asker, workspace: &str, truth: &Shown) -> anyhow::Result<()> {
    let params = json!({ "workspace_id": workspace });
    // What it was told of while it worked.
    let mut is_told = asker
        .told
        .drain(..)
        .any(|frame| frame["method"] == "thread/tree/changed");
    let mut kept = None;
    loop {
        if is_told {
            let tree = asker.ask("thread/tree", params.clone()).await?;
            kept = Some(shown(&tree));
        }
        if kept.as_ref() == Some(truth) {
            return Ok(());
        }
        let told = asker.told("thread/tree/changed").await;
        let behind = format!("{kept:?} is not {truth:?}");
        is_told = told.context(behind)?["params"]["workspace_id"] == workspace;
    }
}

async fn grow(askers: &mut [Asker], seed: u64) -> anyhow::Result<()> {
    let (mut dice, mut known) = (Dice(0x9e37_79b9_7f4a_7c15 ^ (seed + 1)), Known::default());
    let workspace = format!("tree-{seed}");
    askers[0]
        .ask("workspace/create", json!({ "workspace_id": workspace }))
        .await?;
    for asker in askers.iter_mut() {
        asker
            .ask("workspace/select", json!({ "workspace_id": workspace }))
            .await?;
        asker.told.clear();
    }
    for round in 0..ROUNDS {
        // All at once: none knows what the others do.
        let mut under_way = Vec::new();
        for (number, asker) in askers.iter_mut().enumerate() {
            let name = format!("n-{seed}-{round}-{number}");
            let (method, params) = request(&mut dice, &known, &workspace, name);
            under_way.push((asker.send(&method, &params).await?, method, params));
        }
        for (asker, (id, method, params)) in askers.iter_mut().zip(under_way) {
            let answer = asker.answer(&id).await?;
            if let Some(error) = answer.get("error") {
                // A folder that is gone, or would lie in itself.
                ensure!(error["code"] == -32600, "{method} {params}: {answer}");
                continue;
            }
            match method.as_str() {
                "thread/folder/create" => {
                    let id = answer["result"]["folder"]["id"]
                        .as_str()
                        .context("no folder")?;
                    known.folders.push(id.to_owned());
                }
                "thread/start" => {
                    let id = params["thread_id"].as_str().context("no thread")?;
                    known.threads.push(id.to_owned());
                }
                _ => {}
            }
        }
    }
    let tree = askers[0]
        .ask("thread/tree", json!({ "workspace_id": workspace }))
        .await?;
    let truth = shown(&tree);
    check(&truth, &known)?;
    for asker in askers {
        converges(asker, &workspace, &truth).await?;
    }
    Ok(())
}

#[test]
fn the_tree_stays_one_whoever_changes_it() {
    let seeds = std::env::var(SEEDS_VARIABLE).ok();
    let seeds: u64 = seeds.and_then(|seeds| seeds.parse().ok()).unwrap_or(2);
    tell(LIMIT * (1 + seeds as u32 / 20), async {
        let scratch = Scratch::new()?;
        let launch = Launch::new(DRAGOMAN, &scratch);
        let left = Process::start(&launch).await?;
        let right = Process::start(&launch).await?;
        let mut askers = Vec::new();
        for server in [&left, &right, &left, &right] {
            askers.push(Asker::connect(server, "pioneer").await?);
        }
        for seed in 0..seeds {
            grow(&mut askers, seed)
                .await
                .with_context(|| format!("seed {seed}"))?;
        }
        Ok(())
    });
}
