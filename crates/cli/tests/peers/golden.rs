//! The golden requests of the providers whose SDKs are here: each is one by the types of its SDK.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;
use testkit::peer::{SentBody, check_against_sdks};

const LIMIT: Duration = Duration::from_secs(100);
/// A provider, and whose SDK has the types of its requests.
const CHECKED: [(&str, &str); 9] = [
    ("openai", "openai"),
    ("codex-cli", "openai"),
    ("anthropic", "anthropic"),
    ("google", "google"),
    ("openrouter", "openrouter"),
    ("mistral", "mistral"),
    ("deepseek", "deepseek"),
    ("moonshot", "moonshot"),
    ("llamacpp", "llamacpp"),
];

#[test]
fn golden_requests_are_as_the_sdks_have_them() {
    crate::tell(LIMIT, async {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../providers/golden/requests");
        let mut bodies = Vec::new();
        for entry in std::fs::read_dir(&folder).context("no golden requests")? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let provider = name.split('.').next().unwrap_or_default();
            let Some((_, service)) = CHECKED.iter().find(|(id, _)| *id == provider) else {
                continue;
            };
            // Real signatures are bytes in base64.
            let text = std::fs::read_to_string(&path)?.replace("SIGNATURE", "U0lHTkFUVVJF");
            let mut request: Value = serde_json::from_str(&text)?;
            bodies.push(SentBody {
                service,
                body: request["body"].take(),
            });
        }
        ensure!(bodies.len() >= CHECKED.len(), "only {}", bodies.len());
        check_against_sdks(&bodies).await
    });
}
