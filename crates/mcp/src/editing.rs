//! Changes of the files: saving, deleting and taking over servers, with the credentials that go along.
//!
//! What stands in a file besides is kept, and a malformed one is refused rather than replaced.

use vocabulary::{McpReply, McpScope, McpServer, Refusal, Why};

use self::file::EditedFile;
use crate::config::{source_name, spelling};
use crate::credentials::SavedCredentials;
use crate::{McpPlace, Servers};

mod entries;
mod file;
mod keys;
mod migration;

pub use keys::set_key;

/// Writes a server into the file of this scope, in the place of `previous`.
pub async fn save(
    servers: &Servers,
    place: &McpPlace,
    scope: McpScope,
    server: McpServer,
    previous: Option<&str>,
) -> Result<(), Refusal> {
    // Written and read again: what is saved here is what will be read.
    let spelled = serde_json::Value::Object(spelling::spell(&server));
    let server = spelling::parse_server(&spelled, "servers.0").map_err(invalid)?;
    let previous = previous.map(str::trim).filter(|name| *name != server.name);
    let previous = previous.map(str::to_owned);
    let name = server.name.clone();
    if previous.is_some() {
        // Nothing is renamed where what belongs to it could not be.
        servers.credentials.read_all(place, scope).await?;
    }
    let file = EditedFile::of(&servers.options, place, scope);
    let replaced = previous.clone();
    blocking(move || file.change(|list| entries::put(list, &server, replaced.as_deref()))).await?;
    let Some(previous) = previous else {
        return Ok(());
    };
    change_credentials(servers, place, scope, move |saved| {
        saved.set(&name, saved.of(&previous));
        saved.set(&previous, Default::default());
    })
    .await
}

/// Takes a server out of the file of this scope, and what was saved for it.
pub async fn delete(
    servers: &Servers,
    place: &McpPlace,
    scope: McpScope,
    name: &str,
) -> Result<(), Refusal> {
    // Nothing is taken away where what belongs to it could not be.
    servers.credentials.read_all(place, scope).await?;
    let file = EditedFile::of(&servers.options, place, scope);
    let wanted = name.to_owned();
    let deleted = blocking(move || match file.exists()? {
        true => file.change(|list| entries::remove(list, &wanted)),
        false => Err(not_found(&wanted)),
    });
    match deleted.await {
        Ok(()) => forget(servers, place, scope, name.to_owned()).await,
        Err(refusal) => Err(elsewhere(servers, place, name).await.unwrap_or(refusal)),
    }
}

/// Takes what another agent's file has over into ours.
pub async fn migrate(
    servers: &Servers,
    place: &McpPlace,
    scope: McpScope,
) -> Result<McpReply, Refusal> {
    let target = EditedFile::of(&servers.options, place, scope);
    let source = migration::source(&servers.options, place, scope);
    let migrated = blocking(move || migration::migrate(source.as_deref(), &target)).await?;
    Ok(McpReply::Migrated {
        imported: migrated.imported,
        skipped: migrated.skipped,
        archived: migrated.archived,
        now: servers.snapshot(place).await,
    })
}

async fn forget(
    servers: &Servers,
    place: &McpPlace,
    scope: McpScope,
    name: String,
) -> Result<(), Refusal> {
    let forget = move |saved: &mut SavedCredentials| saved.set(&name, Default::default());
    change_credentials(servers, place, scope, forget).await
}

/// Where nothing was ever saved, no file is made.
async fn change_credentials(
    servers: &Servers,
    place: &McpPlace,
    scope: McpScope,
    change: impl FnOnce(&mut SavedCredentials) + Send + 'static,
) -> Result<(), Refusal> {
    let credentials = &servers.credentials;
    if credentials.read_all(place, scope).await?.is_empty() {
        return Ok(());
    }
    Ok(credentials.change_all(place, scope, change).await?)
}

/// Why a server that there is cannot be changed here.
async fn elsewhere(servers: &Servers, place: &McpPlace, name: &str) -> Option<Refusal> {
    let configuration = servers.configuration(place).await;
    let mut found = configuration.servers.iter();
    let server = found.find(|each| each.server.name == name)?;
    let path = servers.options.file(server.layer, &place.directory)?;
    let (source, path) = (source_name(server.layer), path.display());
    let message = format!(
        "MCP server \"{name}\" is configured in the {source} file {path}; it can only be changed there."
    );
    Some(Refusal::invalid("name", message))
}

pub(crate) fn not_found(name: &str) -> Refusal {
    Refusal::invalid("name", format!("MCP server \"{name}\" not found."))
}

fn invalid(message: String) -> Refusal {
    Refusal::invalid("server", message)
}

/// Does what blocks where it blocks nobody.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| {
        let message = "the file could not be written; try again";
        Err(Refusal::new(Why::Storage, message))
    })
}

#[cfg(test)]
mod tests;
