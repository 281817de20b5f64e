//! `dragoman sandbox check`.

use serde_json::{Value, json};
use tools::Sandbox;

use super::{LIMIT, dragoman, err, out};
use crate::{DRAGOMAN, tell};
use testkit::Scratch;

/// What a server runs commands in is what its check tries: the mode, and what root is in it.
#[test]
fn the_sandbox_in_use_is_the_best_that_was_found() {
    tell(LIMIT, async {
        let scratch = Scratch::new()?;
        let ended = dragoman(&scratch, &["sandbox", "check", "--json"])
            .output()
            .await?;
        let report: Value = serde_json::from_str(&out(&ended))
            .map_err(|error| anyhow::anyhow!("{error}: {}", err(&ended)))?;
        let best = tokio::task::spawn_blocking(|| Sandbox::best(DRAGOMAN.as_ref())).await?;
        assert_eq!(
            json!({ "mode": report["mode"], "notices": report["notices"], "holds": report["holds"] }),
            json!({ "mode": best.mode(), "notices": best.notices(), "holds": ended.status.success() }),
        );
        Ok(())
    });
}
