//! Directories of the machine, worktrees, and files by a few letters: what whoever looks for a place to
//! work in wants to see, as far as their tenant may.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tools::Scope;
use tools::directories::SeenDirectories;
use tools::find_files::{self, FIND_QUERY_CHARS_MAX, FIND_ROOTS_MAX};
use tools::git::worktrees::{self, GitRefusal};
use vocabulary::{
    Caller, DirectoryCall, DirectoryReply, FindFiles, NewWorktree, Refusal, Reply, Timestamp, Why,
};

use super::{owned, skills};
use crate::Shared;
use crate::limits::FIND_TIME_MAX;
use crate::tenants::TenantOwn;

/// Where worktrees lie that nobody named a place for, from the user's home on.
const WORKTREES: &str = ".local/share/dragoman/worktrees";

pub async fn answer(
    shared: &Arc<Shared>,
    caller: &Caller,
    call: DirectoryCall,
) -> Result<Reply, Refusal> {
    let own = shared.own(&caller.tenant);
    let seen = Arc::new(SeenDirectories::new(
        own.outside(),
        shared.config.private.clone(),
    ));
    let reply = match call {
        DirectoryCall::List { path } => {
            let path = match path {
                Some(path) => path,
                None => beginning(shared, &own),
            };
            let listed = skills::blocking(move || seen.list(&path)).await?;
            DirectoryReply::List(listed.map_err(nowhere)?)
        }
        DirectoryCall::Inspect { path } => {
            let found = skills::blocking(move || seen.repository(&path)).await?;
            DirectoryReply::Repository(found.map_err(nowhere)?)
        }
        DirectoryCall::ListWorktrees { repository } => {
            let repository = git_place(&own, &seen, repository).await?;
            let list = to_its_end(async move { worktrees::list(&repository).await });
            DirectoryReply::Worktrees(list.await?)
        }
        DirectoryCall::CreateWorktree(new) => {
            let repository = git_place(&own, &seen, new.repository.clone()).await?;
            let new = NewWorktree { repository, ..new };
            create(shared, seen, new).await?
        }
        DirectoryCall::RemoveWorktree {
            repository,
            path,
            force,
        } => {
            let repository = git_place(&own, &seen, repository).await?;
            if !path.is_absolute() {
                return Err(Refusal::invalid("path", "path: expected an absolute path"));
            }
            let removing = async move { worktrees::remove(&repository, &path, force).await };
            to_its_end(removing).await?;
            DirectoryReply::Removed
        }
        DirectoryCall::PruneWorktrees { repository } => {
            let repository = git_place(&own, &seen, repository).await?;
            let pruning = to_its_end(async move { worktrees::prune(&repository).await });
            DirectoryReply::Pruned(pruning.await?)
        }
    };
    Ok(Reply::Directories(Box::new(reply)))
}

async fn create(
    shared: &Arc<Shared>,
    seen: Arc<SeenDirectories>,
    new: NewWorktree,
) -> Result<DirectoryReply, Refusal> {
    let branch = match &new.branch {
        Some(branch) => branch.clone(),
        None => made_up_branch(shared.now(), &shared.new_id()),
    };
    let path = match &new.path {
        Some(path) => path.clone(),
        None => usual_place(&new.repository, &branch)?,
    };
    let place = path.clone();
    if !skills::blocking(move || seen.may_make(&place)).await? {
        let message = "path: expected an absolute path of a place that is open to you";
        return Err(Refusal::invalid("path", message));
    }
    let making = async move { worktrees::create(&new, &branch, &path).await };
    Ok(DirectoryReply::Created(to_its_end(making).await?))
}

/// Whoever asked may go meanwhile; what git began is done all the same.
async fn to_its_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, GitRefusal>> + Send + 'static,
) -> Result<T, Refusal> {
    match tokio::spawn(work).await {
        Ok(done) => done.map_err(|GitRefusal(words)| Refusal::new(Why::Conflict, words)),
        Err(_) => Err(Refusal::new(Why::Internal, "git was cut off")),
    }
}

/// Where somebody begins to look who names nothing.
fn beginning(shared: &Shared, own: &TenantOwn) -> PathBuf {
    match own.places() {
        Some(places) => places.into_iter().next().unwrap_or_default(),
        None => std::env::home_dir().unwrap_or_else(|| shared.config.directory.clone()),
    }
}

/// A repository that git may be run in. Git runs as the server's user and in no sandbox, so a tenant that
/// is held in one has none: it could change the settings between our look at them and git's.
async fn git_place(
    own: &TenantOwn,
    seen: &Arc<SeenDirectories>,
    path: PathBuf,
) -> Result<PathBuf, Refusal> {
    if !own.may_leave_sandbox() {
        let message = "worktrees need git outside of the sandbox, which your tenant may not use; \
                       the agent can make one for you in your directory";
        return Err(Refusal::new(Why::Forbidden, message));
    }
    let seen = Arc::clone(seen);
    let found = skills::blocking(move || seen.find(&path)).await?;
    found.map_err(nowhere)
}

fn nowhere(_: std::io::Error) -> Refusal {
    let message = "there is no such directory, or it is not open to you";
    Refusal::new(Why::UnknownFile, message)
}

/// As `wt-260131-1504-0a1b2c`: the time, and something of its own.
fn made_up_branch(now: Timestamp, id: &uuid::Uuid) -> String {
    let digits: String = now.iso().chars().filter(char::is_ascii_digit).collect();
    let (day, time) = (
        digits.get(2..8).unwrap_or_default(),
        digits.get(8..12).unwrap_or_default(),
    );
    let id = id.simple().to_string();
    let own = id.get(id.len() - 6..).unwrap_or_default();
    format!("wt-{day}-{time}-{own}")
}

fn usual_place(repository: &Path, branch: &str) -> Result<PathBuf, Refusal> {
    let name = repository.file_name();
    let home = std::env::home_dir();
    let (Some(name), Some(home)) = (name, home) else {
        let message = "path: expected one, because the server has no home directory for it";
        return Err(Refusal::invalid("path", message));
    };
    // A branch may have slashes in its name; a directory of them is one directory.
    let branch = branch.replace('/', "-");
    Ok(home.join(WORKTREES).join(name).join(branch))
}

/// Searches below the named roots and the directories of the named threads.
pub async fn find_files(
    shared: &Arc<Shared>,
    caller: &Caller,
    find: FindFiles,
) -> Result<Reply, Refusal> {
    if find.query.chars().count() > FIND_QUERY_CHARS_MAX {
        let message = format!("query: expected at most {FIND_QUERY_CHARS_MAX} characters");
        return Err(Refusal::invalid("query", message));
    }
    let named = find.roots;
    let mut roots = named.clone();
    for thread in find.threads {
        roots.push(owned(shared, caller, thread).await?.directory);
    }
    roots.sort();
    roots.dedup();
    if roots.len() > FIND_ROOTS_MAX {
        let message = format!("roots: expected at most {FIND_ROOTS_MAX}");
        return Err(Refusal::invalid("roots", message));
    }
    let own = shared.own(&caller.tenant);
    let seen = SeenDirectories::new(own.outside(), shared.config.private.clone());
    let scopes: Vec<Scope> = roots
        .iter()
        .map(|root| Scope {
            outside: own.outside(),
            ..skills::scope_of(shared, &own, root, Vec::new())
        })
        .collect();
    let cancel = CancellationToken::new();
    // When whoever waits for it is gone, or has waited long enough.
    let _gone = cancel.clone().drop_guard();
    let (query, limit, stop) = (find.query, find.limit as usize, cancel.clone());
    let searching = skills::blocking(move || {
        let closed = |path: &Path| seen.find(path).is_err();
        if let Some(closed) = named.iter().find(|root| closed(root)) {
            let shown = closed.display();
            let message = format!("roots: {shown} is no directory that is open to you");
            return Err(Refusal::invalid("roots", message));
        }
        // A thread's directory may be gone by now.
        let mut scopes = scopes;
        scopes.retain(|scope| !closed(&scope.directory));
        Ok(find_files::find(&scopes, &query, limit, &stop))
    });
    tokio::pin!(searching);
    let found = tokio::select! {
        found = &mut searching => found,
        () = tokio::time::sleep(FIND_TIME_MAX) => {
            cancel.cancel();
            searching.await
        }
    };
    Ok(Reply::Found(found??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_that_nobody_named_has_the_time_and_something_of_its_own() {
        let id = uuid::Uuid::from_u128(0xabcdef);
        let at = Timestamp(1_769_871_840_000);
        assert_eq!(made_up_branch(at, &id), "wt-260131-1504-abcdef");
    }

    #[test]
    fn worktrees_lie_together_by_repository_and_branch() {
        let place = usual_place(Path::new("/home/user/thing"), "feature/one").expect("a place");
        assert!(place.ends_with(".local/share/dragoman/worktrees/thing/feature-one"));
    }
}
