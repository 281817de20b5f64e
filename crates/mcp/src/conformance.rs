//! What the conformance suite of the protocol asks of a client: it starts a server for each of its
//! scenarios, runs a client on it, and looks at what the client did.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use reqwest::header::LOCATION;
use reqwest::{Client, Url, redirect};
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationCapability, ErrorData, Implementation, ProtocolVersion, Tool,
};
use rmcp::service::{RequestContext, RunningService};
use rmcp::{ClientHandler, RoleClient, ServiceExt};
use serde_json::{Map, Value, json};
use tools::web::SystemLookup;
use vocabulary::{McpLayer, McpServer, McpTransport, TenantId};

use crate::oauth::RefusedRequest;
use crate::oauth::kept_sign_in::{KeptSignIn, OAuthIdentity, TokenStore};
use crate::oauth::server_sign_in::{ServerSignIn, SignInTarget};
use crate::transport::EndReason;
use crate::transport::http::{self, HttpAccess};
use crate::{ConfiguredServer, HttpAuthorizer, HttpCredential, HttpRefused, McpPlace};

/// A person would not try it more often either.
const SIGN_INS_MAX: u32 = 3;
const SCENARIO_LIMIT: Duration = Duration::from_secs(25);
/// Where the suite pretends that we publish who we are.
const CLIENT_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// Plays a scenario with the server at `url`; `context` is what the suite says beside.
pub async fn play(url: &str, scenario: &str, context: &str) -> Result<(), String> {
    let url = Url::parse(url).map_err(|error| format!("{url} is not a URL: {error}"))?;
    let context: Value = serde_json::from_str(context).unwrap_or_default();
    let client = context["client_id"].as_str().map(|id| OAuthIdentity {
        client_id: id.to_owned(),
        client_secret: context["client_secret"].as_str().map(Into::into),
    });
    let target = SignInTarget {
        name: "conformance".to_owned(),
        url: url.clone(),
        scopes: Vec::new(),
        resource: None,
        client,
        asks_for_code: false,
        client_document: Some(CLIENT_DOCUMENT.to_owned()),
        without_person: scenario.starts_with("auth/client-credentials"),
    };
    let sign_in = ServerSignIn::new(target, Arc::<Memory>::default(), Arc::new(SystemLookup));
    let server = McpServer {
        name: "conformance".to_owned(),
        transport: McpTransport::Http {
            url: url.to_string(),
            headers: BTreeMap::new(),
        },
        required: None,
        retries: None,
        auth: None,
    };
    let player = Player {
        place: McpPlace {
            tenant: TenantId::new("conformance"),
            directory: PathBuf::new(),
        },
        server: ConfiguredServer {
            server,
            layer: McpLayer::User,
        },
        url,
        sign_in,
        sign_ins: 0,
    };
    tokio::time::timeout(SCENARIO_LIMIT, player.play())
        .await
        .unwrap_or_else(|_| Err("it took too long".to_owned()))
}

struct Player {
    place: McpPlace,
    server: ConfiguredServer,
    url: Url,
    sign_in: Arc<ServerSignIn>,
    sign_ins: u32,
}

impl Player {
    /// Connects and calls every tool once, signing in where that is asked.
    async fn play(mut self) -> Result<(), String> {
        let service = loop {
            match self.connect().await {
                Ok(service) => break service,
                Err(words) => self.sign_in_after(words).await?,
            }
        };
        let tools = loop {
            match service.list_all_tools().await {
                Ok(tools) => break tools,
                Err(error) => self.sign_in_after(error.to_string()).await?,
            }
        };
        for tool in tools {
            loop {
                let call = CallToolRequestParams::new(tool.name.clone());
                let call = call.with_arguments(arguments(&tool));
                match service.call_tool(call).await {
                    Ok(_) => break,
                    Err(error) => self.sign_in_after(error.to_string()).await?,
                }
            }
        }
        service.cancel().await.map_err(|error| error.to_string())?;
        Ok(())
    }

    async fn connect(&self) -> Result<RunningService<RoleClient, PlayerHandler>, String> {
        let access = HttpAccess {
            client: http::client(&self.url)?,
            place: self.place.clone(),
            server: self.server.clone(),
            authorizer: Arc::new(PlayerAuthorizer(Arc::clone(&self.sign_in))),
            refused: EndReason::default(),
            stream_answered: Arc::default(),
        };
        let transport = http::transport(access, &self.url, HashMap::new());
        let served = PlayerHandler.serve(transport).await;
        served.map_err(|error| error.to_string())
    }

    /// Signs in where that is what a failure was about.
    async fn sign_in_after(&mut self, failure: String) -> Result<(), String> {
        self.sign_ins += 1;
        if !self.sign_in.is_wanted() || self.sign_ins > SIGN_INS_MAX {
            return Err(failure);
        }
        let challenge = self.sign_in.begin().await?;
        let page = challenge.url.unwrap_or_default();
        self.sign_in.finish(Some(visit(&page).await?)).await
    }
}

/// Shows what the one sign-in gives.
struct PlayerAuthorizer(Arc<ServerSignIn>);

#[async_trait]
impl HttpAuthorizer for PlayerAuthorizer {
    async fn credential(&self, _: &McpPlace, _: &ConfiguredServer) -> Option<HttpCredential> {
        let token = self.0.bearer().await.ok().flatten();
        token.map(HttpCredential::Bearer)
    }

    async fn refused(
        &self,
        _: &McpPlace,
        _: &ConfiguredServer,
        refused: HttpRefused<'_>,
    ) -> Result<HttpCredential, String> {
        let sent = match refused.sent {
            Some(HttpCredential::Bearer(token)) => Some(token),
            Some(HttpCredential::Header { .. }) | None => None,
        };
        let request = RefusedRequest {
            status: refused.status,
            challenge: refused.challenge,
            sent,
        };
        let another = self.0.refused(request).await;
        another
            .map(HttpCredential::Bearer)
            .map_err(|failure| failure.to_string())
    }
}

/// Goes where a browser would be sent to, as a person who allows everything.
async fn visit(page: &str) -> Result<String, String> {
    let browser = Client::builder()
        .redirect(redirect::Policy::none())
        .no_proxy()
        .build()
        .map_err(|error| error.to_string())?;
    let response = browser.get(page).send().await;
    let response = response.map_err(|error| error.to_string())?;
    let location = response.headers().get(LOCATION);
    let location = location.and_then(|value| value.to_str().ok());
    Ok(location.ok_or("the page leads nowhere")?.to_owned())
}

/// Something for all that a tool requires.
fn arguments(tool: &Tool) -> Map<String, Value> {
    let properties = tool.input_schema.get("properties");
    let properties = properties.and_then(Value::as_object);
    let example = |schema: &Value| match schema["type"].as_str() {
        Some("number" | "integer") => json!(2),
        Some("boolean") => json!(true),
        Some(_) | None => json!("text"),
    };
    let properties = properties.into_iter().flatten();
    properties
        .map(|(name, schema)| (name.clone(), example(schema)))
        .collect()
}

struct PlayerHandler;

impl ClientHandler for PlayerHandler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(ElicitationCapability::default());
        let us = Implementation::new("dragoman", env!("CARGO_PKG_VERSION"));
        let mut config = ClientConfig::new(capabilities, us);
        config.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        config
    }

    /// A person who leaves everything as it is.
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let written = serde_json::to_value(&request).unwrap_or_default();
        let properties = written["requestedSchema"]["properties"].as_object();
        let defaults: BTreeMap<&String, &Value> = properties
            .into_iter()
            .flatten()
            .filter_map(|(name, schema)| Some((name, schema.get("default")?)))
            .collect();
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!(defaults)))
    }
}

/// Forgets all with the scenario.
#[derive(Default)]
struct Memory(Mutex<Option<KeptSignIn>>);

#[async_trait]
impl TokenStore for Memory {
    async fn load(&self) -> Result<Option<KeptSignIn>, String> {
        Ok(self.0.lock().clone())
    }

    async fn save(&self, kept: Option<KeptSignIn>) -> Result<(), String> {
        *self.0.lock() = kept;
        Ok(())
    }
}
