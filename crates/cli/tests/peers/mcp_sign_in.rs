//! The example server of the MCP SDK that one must sign in to: signed in to, and used.

use std::time::Duration;

use anyhow::{Context, ensure};
use mcp::{ConfiguredServer, McpOptions, McpPlace, Servers};
use testkit::http;
use testkit::peer::McpOAuthServer;
use vocabulary::{McpAuth, McpAuthMode, McpLayer, McpServer, McpTransport, TenantId};

const LIMIT: Duration = Duration::from_secs(110);
const OFFER_LIMIT: Duration = Duration::from_secs(20);

#[test]
fn a_person_signs_in_to_a_server_and_uses_it() {
    crate::tell(LIMIT, async {
        let peer = McpOAuthServer::start().await?;
        let scratch = testkit::Scratch::new()?;
        let servers = servers(&scratch);
        let place = McpPlace {
            tenant: TenantId::new("local"),
            directory: scratch.workspace().to_owned(),
        };
        let server = configured(&peer);
        let before = servers.check(&place, &server).await;
        ensure!(
            !before.ok && before.mode == McpAuthMode::Missing,
            "{before:?}"
        );

        let begun = servers.authorize(&place, &server).await?;
        let back = http::location(&begun.url.context("no page")?).await?;
        let visit = visit(&back);
        let finish = servers.finish_sign_in(&place, &server, None);
        let (page, finished) = tokio::join!(visit, finish);
        let page = page?;
        ensure!(page.contains("Signed in"), "{page}");
        let (signed_in, mode) = finished?;
        ensure!(signed_in.ok && mode == McpAuthMode::OAuth, "{signed_in:?}");

        // As after another start of the program.
        let servers = self::servers(&scratch);
        let offer = servers.offer(&place, std::slice::from_ref(&server), OFFER_LIMIT);
        let offer = offer.await;
        let mut names = offer.tools.iter().map(|tool| tool.name());
        ensure!(
            names.any(|name| name == "mcp__demo__greet"),
            "{:?}",
            offer.notes
        );
        let prompts = servers.prompts(&place);
        let prompt = prompts.first().context("no prompt")?;
        let name = ("name".to_owned(), "Ada".to_owned());
        let said = servers.prompt(&place, prompt, vec![name]).await?;
        ensure!(said.contains("Ada"), "{said}");
        servers.stop().await;
        Ok(())
    });
}

fn servers(scratch: &testkit::Scratch) -> Servers {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Servers::new(McpOptions {
        home: scratch.home().to_owned(),
        user: None,
        system: scratch.user().join("none.json"),
        fenced: true,
    })
}

fn configured(peer: &McpOAuthServer) -> ConfiguredServer {
    let transport = McpTransport::Http {
        url: peer.url(),
        headers: Default::default(),
    };
    let auth = McpAuth::OAuth {
        scope: None,
        resource: None,
        mode: None,
    };
    ConfiguredServer {
        server: McpServer {
            name: "demo".to_owned(),
            transport,
            required: None,
            retries: None,
            auth: Some(auth),
        },
        layer: McpLayer::User,
    }
}

/// What the browser shows where it was sent back to.
async fn visit(back: &str) -> anyhow::Result<String> {
    let (_, rest) = back.split_once("://127.0.0.1:").context("elsewhere")?;
    let (port, path) = rest.split_once('/').context("no path")?;
    let (_, page) = http::get(port.parse()?, &format!("/{path}")).await?;
    Ok(page)
}
