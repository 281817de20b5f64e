//! The files that a fork begins with: those of the moment at which its past ends, in a directory of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tools::directories::SeenDirectories;
use vocabulary::{
    Caller, CheckpointCall, CheckpointId, ForkPlace, ForkThread, IndexedTurn, Refusal, Standing,
    ThreadCard, TurnId, TurnSelection, Why,
};

use super::pasts::{first_effect, kept, still_running, unknown_turn};
use super::{checkpoints, skills};
use crate::Shared;
use crate::session::storage;

/// Where they lie that nobody named a place for, from the user's home on.
const FORKS: &str = ".local/share/dragoman/forks";

/// Writes them; gives where. The other thread's own files are not touched.
pub async fn copy(
    shared: &Arc<Shared>,
    caller: &Caller,
    card: &ThreadCard,
    fork: &ForkThread,
) -> Result<PathBuf, Refusal> {
    let place = place(shared, caller, card, fork).await?;
    let of = checkpoint(shared, card, fork).await?;
    checkpoints::copy(shared, card, of, place.clone()).await?;
    Ok(place)
}

/// Lets go of them again: there is no thread that has them.
pub async fn discard(directory: PathBuf) {
    let removing = tokio::fs::remove_dir_all(&directory).await;
    if let Err(error) = removing {
        tracing::warn!(%error, "the files of a fork that failed could not be removed");
    }
}

/// A directory that is not there yet, or empty, where the caller may make one.
async fn place(
    shared: &Arc<Shared>,
    caller: &Caller,
    card: &ThreadCard,
    fork: &ForkThread,
) -> Result<PathBuf, Refusal> {
    let own = shared.usable_own(&caller.tenant)?;
    let place = match (&fork.directory, own.places()) {
        (Some(named), _) => named.clone(),
        (None, None) => usual_place(&card.directory, &shared.new_id())?,
        (None, Some(_)) => {
            let message = "a directory of your tenant's is expected for the files of the fork";
            return Err(Refusal::invalid("directory", message));
        }
    };
    let seen = SeenDirectories::new(own.outside(), shared.config.private.clone());
    let (wanted, workspace) = (place.clone(), card.directory.clone());
    let is_open = skills::blocking(move || {
        let is_free = std::fs::read_dir(&wanted).map_or_else(
            |error| error.kind() == std::io::ErrorKind::NotFound,
            |mut entries| entries.next().is_none(),
        );
        // In the workspace it would be a part of the other thread's files.
        is_free && seen.may_make(&wanted) && !wanted.starts_with(&workspace)
    });
    match is_open.await? {
        true => Ok(place),
        false => {
            let message = "the files of a fork go to an absolute path outside of the workspace, to a \
                           place that is open to you and where nothing lies yet";
            Err(Refusal::invalid("directory", message))
        }
    }
}

fn usual_place(workspace: &Path, id: &uuid::Uuid) -> Result<PathBuf, Refusal> {
    let (Some(name), Some(home)) = (workspace.file_name(), std::env::home_dir()) else {
        let message =
            "a directory is expected, because the server has no home for the files of the fork";
        return Err(Refusal::invalid("directory", message));
    };
    Ok(home.join(FORKS).join(name).join(id.to_string()))
}

/// What was kept when the last turn that goes along ended; the original where none goes along.
async fn checkpoint(
    shared: &Arc<Shared>,
    card: &ThreadCard,
    fork: &ForkThread,
) -> Result<Option<CheckpointId>, Refusal> {
    let (last, next) = around(shared, card, fork).await?;
    let before = match &next {
        Some(next) => Some(first_effect(shared, card.id, next).await?),
        None => None,
    };
    let Some(ended) = last.and_then(|last| last.ended) else {
        let inherited = card.forked_from.as_ref().map(|from| from.upto);
        // A fork's own files are kept from its own beginning on.
        let is_older = next.is_some_and(|next| Some(next.first_seq) <= inherited);
        return if is_older { Err(not_kept()) } else { Ok(None) };
    };
    let found = checkpoints::read(shared, card, CheckpointCall::Get).await?;
    let found = found.checkpoints()?.state()?;
    if let Standing::Failed { why } = found.standing {
        return Err(Refusal::new(Why::NotAvailable, why));
    }
    // What was kept when another turn ended, or when the next had begun, is another state.
    let own = found.list.iter().find(|kept| kept.at >= ended.at);
    let own = own.filter(|kept| before.is_none_or(|before| kept.at <= before));
    own.map(|kept| Some(kept.id)).ok_or_else(not_kept)
}

fn not_kept() -> Refusal {
    let message = "nothing is kept of the files as they were at that moment; fork without them, \
                   or at another turn";
    Refusal::new(Why::NotAvailable, message)
}

/// The last turn that goes along, and the one after it.
async fn around(
    shared: &Arc<Shared>,
    card: &ThreadCard,
    fork: &ForkThread,
) -> Result<(Option<IndexedTurn>, Option<IndexedTurn>), Refusal> {
    let Some((_, state)) = kept(shared, card.id).await? else {
        return Ok((None, None));
    };
    let turns = async |selection: TurnSelection, most: u32| {
        let found = shared
            .store
            .turns(card.id, state.history_from, &selection, most);
        Ok::<_, Refusal>(found.await.map_err(storage)?.into_iter())
    };
    let one = async |turn: &TurnId| {
        let found = turns(TurnSelection::One(turn.clone()), 1).await?.next();
        found.ok_or_else(|| unknown_turn(turn))
    };
    Ok(match &fork.upto {
        ForkPlace::Rest => {
            let mut newest = turns(TurnSelection::Newest, 2).await?;
            match newest.next() {
                Some(running) if running.ended.is_none() => (newest.next(), Some(running)),
                last => (last, None),
            }
        }
        ForkPlace::After(turn) => {
            let last = one(turn).await?;
            if last.ended.is_none() {
                return Err(still_running(turn));
            }
            let next = turns(TurnSelection::After(last.number), 1).await?.next();
            (Some(last), next)
        }
        ForkPlace::Before(turn) => {
            let next = one(turn).await?;
            let last = turns(TurnSelection::Before(next.number), 1).await?.next();
            (last, Some(next))
        }
    })
}
