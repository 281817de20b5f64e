//! Push messages: which browsers hear that a person is asked for, and sending it to them.
//!
//! A subscription is one setting of its tenant, by member and endpoint, so that every process on the home
//! has the same. A message tells what kind of ask waits in which thread, and nothing else.

use std::io;
use std::sync::Arc;

use ::push::{BrowserKeys, SenderKey, seal};
use serde::{Deserialize, Serialize};
use tokio::sync::{OnceCell, Semaphore};
use tools::web::WebPost;
use vocabulary::{
    Ask, AskKind, Caller, LONE_MEMBER, PushCall, PushMatter, PushNews, PushSubscription, Refusal,
    Reply, TenantId, ThreadCard, Timestamp, Why,
};

use crate::Shared;
use crate::limits::{
    PUSH_BROWSERS_MAX, PUSH_KEPT_SECONDS, PUSH_SUBSCRIPTIONS_MAX, PUSH_TIME_MAX, PUSHES_RUNNING_MAX,
};
use crate::session::storage;

/// Under which names the settings are kept.
const PREFIX: &str = "push/";
/// Where the key lies in the data directory.
const KEY_FILE: &str = "push.key";
/// The status codes by which a service says that nobody takes messages there any more.
const GONE: [u16; 2] = [404, 410];

pub struct PushState {
    key: OnceCell<Arc<SenderKey>>,
    /// How many asks may be told at once.
    running: Arc<Semaphore>,
}

impl Default for PushState {
    fn default() -> Self {
        Self {
            key: OnceCell::new(),
            running: Arc::new(Semaphore::new(PUSHES_RUNNING_MAX)),
        }
    }
}

impl PushState {
    /// The key of the data directory; made where there is none.
    pub async fn key(&self, shared: &Shared) -> Result<Arc<SenderKey>, Refusal> {
        let file = shared.config.home.join(KEY_FILE);
        let find = || async move {
            let found = tokio::task::spawn_blocking(move || ::push::find_key(&file)).await;
            found.unwrap_or_else(|_| Err(io::Error::other("cut off")))
        };
        let key = self
            .key
            .get_or_try_init(|| async { find().await.map(Arc::new) });
        key.await.cloned().map_err(|error| {
            tracing::warn!(%error, "the key of push messages cannot be used");
            Refusal::new(Why::Storage, "the key of push messages cannot be used")
        })
    }
}

/// A subscription as it is kept.
#[derive(Serialize, Deserialize)]
struct KeptSubscription {
    member: String,
    at: Timestamp,
    #[serde(flatten)]
    browser: PushSubscription,
}

pub async fn answer(
    shared: &Arc<Shared>,
    caller: &Caller,
    call: PushCall,
) -> Result<Reply, Refusal> {
    match call {
        PushCall::Subscribe(browser) => subscribe(shared, caller, browser).await?,
        PushCall::Unsubscribe { endpoint } => {
            let name = name_of(&caller.member, &endpoint);
            forget(shared, &caller.tenant, &name).await?;
        }
        PushCall::Test => {
            let own = kept(shared, &caller.tenant).await?;
            let is_own = |kept: &KeptSubscription| kept.member == caller.member;
            let own: Vec<_> = own.into_iter().filter(|(_, kept)| is_own(kept)).collect();
            if own.is_empty() {
                let message = "no browser of yours has subscribed to push messages";
                return Err(Refusal::new(Why::Conflict, message));
            }
            send_soon(shared, caller.tenant.clone(), own, PushNews::Test)?;
        }
    }
    Ok(Reply::Done)
}

async fn subscribe(
    shared: &Arc<Shared>,
    caller: &Caller,
    browser: PushSubscription,
) -> Result<(), Refusal> {
    let keys = BrowserKeys::parse(&browser.p256dh, &browser.auth);
    keys.map_err(|error| Refusal::invalid("keys", error.to_string()))?;
    let own = shared.own(&caller.tenant);
    let checked = own.web.check_post(&browser.endpoint);
    checked.map_err(|why| Refusal::invalid("endpoint", format!("endpoint: {why}")))?;
    // Who subscribes has the key, so it is there when the first message is to go.
    shared.push.key(shared).await?;
    let name = name_of(&caller.member, &browser.endpoint);
    let all = kept(shared, &caller.tenant).await?;
    let is_own = |kept: &KeptSubscription| kept.member == caller.member;
    let mut others: Vec<_> = all
        .into_iter()
        .filter(|(known, kept)| is_own(kept) && *known != name)
        .collect();
    others.sort_by_key(|(_, kept)| kept.at);
    let too_many = (others.len() + 1).saturating_sub(PUSH_SUBSCRIPTIONS_MAX);
    for (oldest, _) in others.iter().take(too_many) {
        forget(shared, &caller.tenant, oldest).await?;
    }
    let subscription = KeptSubscription {
        member: caller.member.clone(),
        at: shared.now(),
        browser,
    };
    let value = serde_json::to_string(&subscription);
    let value = value.map_err(|error| Refusal::new(Why::Internal, error.to_string()))?;
    let set = shared.store.set_setting(&caller.tenant, &name, &value);
    set.await.map_err(storage)
}

/// Both parts are whatever a client says: neither stands in the name as it is.
fn name_of(member: &str, endpoint: &str) -> String {
    let short = |text: &str| blake3::hash(text.as_bytes()).to_hex()[..32].to_owned();
    format!("{PREFIX}{}/{}", short(member), short(endpoint))
}

async fn kept(
    shared: &Shared,
    tenant: &TenantId,
) -> Result<Vec<(String, KeptSubscription)>, Refusal> {
    let found = shared.store.settings_of(tenant, PREFIX).await;
    let found = found.map_err(storage)?.into_iter();
    // What a newer version wrote is left to it.
    let read = |(name, value): (String, String)| Some((name, serde_json::from_str(&value).ok()?));
    Ok(found.filter_map(read).collect())
}

async fn forget(shared: &Shared, tenant: &TenantId, name: &str) -> Result<(), Refusal> {
    let removed = shared.store.remove_setting(tenant, name).await;
    removed.map_err(storage)
}

/// What a person is asked for, as far as a message says it.
pub fn matter(ask: &Ask) -> PushMatter {
    match &ask.kind {
        AskKind::Questions(_) => PushMatter::Question,
        AskKind::Approval(_) if ask.call.changes_files() => PushMatter::FileChange,
        AskKind::Approval(_) if ask.call.is_command() => PushMatter::Command,
        AskKind::Approval(_) => PushMatter::OtherTool,
    }
}

/// Tells the browsers of the thread's tenant that somebody is asked for. Whoever opened the ask does not
/// wait for it.
pub fn tell(shared: &Arc<Shared>, card: &ThreadCard, matter: PushMatter) {
    let (shared, tenant, thread) = (Arc::clone(shared), card.tenant.clone(), card.id);
    tokio::spawn(async move {
        let told = async {
            let mut browsers = kept(&shared, &tenant).await?;
            if browsers.is_empty() {
                return Ok(());
            }
            let people = shared.identity.people().await;
            let people = people.map_err(|error| Refusal::new(Why::Storage, error.to_string()))?;
            // Every role may read every thread of its tenant; who is no member any more reads none.
            let is_member = |member: &str| {
                let mut members = people.members(&tenant);
                tenant.is_local() && member == LONE_MEMBER || members.any(|it| it.id == member)
            };
            browsers.retain(|(_, kept)| is_member(&kept.member));
            browsers.truncate(PUSH_BROWSERS_MAX);
            let news = PushNews::Asked { thread, matter };
            send_soon(&shared, tenant.clone(), browsers, news)
        };
        if let Err(refusal) = told.await {
            tracing::warn!(%thread, error = %refusal, "an ask was not told by push");
        }
    });
}

/// Sends a message to these browsers, one after the other; refused when too much is on its way.
fn send_soon(
    shared: &Arc<Shared>,
    tenant: TenantId,
    browsers: Vec<(String, KeptSubscription)>,
    news: PushNews,
) -> Result<(), Refusal> {
    let running = Arc::clone(&shared.push.running).try_acquire_owned();
    let running = running.map_err(|_| {
        let message = "too many push messages are on their way; try again in a moment";
        Refusal::new(Why::Conflict, message)
    })?;
    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        for (name, kept) in browsers {
            match send(&shared, &tenant, &kept.browser, news).await {
                Ok(status) if GONE.contains(&status) => {
                    tracing::info!("a browser takes no push messages any more");
                    let _ = forget(&shared, &tenant, &name).await;
                }
                Ok(status) if !(200..300).contains(&status) => {
                    tracing::warn!(status, "a push service refused a message");
                }
                Ok(_) => {}
                Err(why) => tracing::warn!(why, "a push message was not sent"),
            }
        }
        drop(running);
    });
    Ok(())
}

async fn send(
    shared: &Shared,
    tenant: &TenantId,
    browser: &PushSubscription,
    news: PushNews,
) -> Result<u16, String> {
    let message = (shared.config.push_message)(&news);
    let failed = |error: ::push::PushError| error.to_string();
    let keys = BrowserKeys::parse(&browser.p256dh, &browser.auth).map_err(failed)?;
    let body = seal(&keys, message.as_bytes()).map_err(failed)?;
    let key = shared.push.key(shared).await;
    let key = key.map_err(|refusal| refusal.message)?;
    let web = &shared.own(tenant).web;
    let origin = web.check_post(&browser.endpoint)?;
    let contact = shared.config.push_contact.as_deref();
    let authorization = key.authorization(&origin, contact, shared.now().seconds());
    let headers = vec![
        ("authorization", authorization.map_err(failed)?),
        ("content-type", "application/octet-stream".to_owned()),
        ("content-encoding", "aes128gcm".to_owned()),
        ("ttl", PUSH_KEPT_SECONDS.to_string()),
        ("urgency", "high".to_owned()),
    ];
    web.post(WebPost {
        url: &browser.endpoint,
        headers,
        body,
        time_limit: PUSH_TIME_MAX,
    })
    .await
}
