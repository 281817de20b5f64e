//! `dragoman mcp conformance`: the client that the protocol's conformance suite is run on.

use anyhow::bail;

/// The suite says with these which scenario it is, and what the client is to know for it.
const SCENARIO: &str = "MCP_CONFORMANCE_SCENARIO";
const CONTEXT: &str = "MCP_CONFORMANCE_CONTEXT";

pub async fn run(url: &str) -> anyhow::Result<()> {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let (scenario, context) = (variable(SCENARIO), variable(CONTEXT));
    match mcp::conformance::play(url, &scenario, &context).await {
        Ok(()) => Ok(()),
        Err(words) => bail!(words),
    }
}
