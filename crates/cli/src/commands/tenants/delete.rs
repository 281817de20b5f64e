//! `dragoman tenants delete`: shuts a tenant, and erases what it leaves where that is wanted.

use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use identity::{Directory, IdentityError};
use serde_json::json;

use super::{explained, open_store};
use crate::commands::checkpoints::words;

pub async fn run(id: &str, data: bool, json: bool, home: &Path) -> anyhow::Result<()> {
    let store = open_store(home, "tenants").await?;
    let directory = Directory::new(Arc::clone(&store));
    let shut = match directory.delete_tenant(id).await {
        Ok(shut) => shut,
        // What it left may still be there.
        Err(IdentityError::UnknownTenant(_)) if data => {
            let shut = directory.shut_tenant(id).await.map_err(explained)?;
            shut.ok_or_else(|| explained(IdentityError::UnknownTenant(id.to_owned())))?
        }
        Err(error) => return Err(explained(error)),
    };
    if !data {
        return match json {
            true => words::say_json(&json!({ "deleted": id })),
            false => words::say(format!(
                "tenant {id} is shut: nobody comes in any more. Its threads and files are still there; erase \
                 them with `dragoman tenants delete {id} --data`\n"
            )),
        };
    }
    let erased = engine::erase_tenant(&store, home, &shut).await?;
    if erased.held > 0 {
        bail!(
            "{} of tenant {id} could not be erased: a server still has them. Its files stay until then; \
             do it again when that server has ended them",
            words::count(erased.held as u64, "thread", "threads")
        );
    }
    match json {
        true => words::say_json(&json!({ "deleted": id, "threadsErased": erased.threads })),
        false => words::say(format!(
            "tenant {id} is shut, and all it had is erased: {}, its keys and files\n",
            words::count(erased.threads as u64, "thread", "threads")
        )),
    }
}
