//! Where each call goes: to the library, to what is known of models and tools, or to its thread's session.

use std::sync::Arc;

use tokio::sync::oneshot;
use vocabulary::{
    Call, Caller, Cause, Changes, CheckpointCall, Idempotency, Image, Refusal, Reply, RunCommand,
    Seq, StartReview, StartTurn, ThreadId, Why,
};

use crate::Shared;
use crate::efforts;
use crate::library::{
    self, activity, checkpoints, commands, defaults, directories, exec, files, given_files,
    in_workspace, joining, keeping, mcp, offer, pasts, permissions, pictures, reading, reviews,
    sign_in, skills,
};
use crate::session::{Mail, Outcome, Replied};
use crate::{members, push};

/// Answers a call that the caller is allowed to make.
pub async fn dispatch(shared: &Arc<Shared>, caller: &Caller, call: Call) -> Outcome {
    let own = shared.own(&caller.tenant);
    let reply = match call {
        Call::ListThreads(query) => library::list(shared, caller, &query).await,
        Call::CreateThread(mut new) => {
            permissions::settle(shared, &own, &mut new.changes).await?;
            shared.agents.settle(&own, &mut new.changes)?;
            offer::settle_sub_agent_model(&own, &mut new.changes, "").await?;
            offer::settle_model(shared, &own, &mut new.changes, None).await?;
            efforts::check(shared, &own, &new.changes, None).await?;
            library::create(shared, caller, *new).await
        }
        Call::ForkThread(mut fork) => {
            settle_changes(shared, caller, fork.thread, &mut fork.changes).await?;
            pasts::fork(shared, caller, *fork).await
        }
        Call::RevertThread(revert) => return pasts::revert(shared, caller, revert).await,
        Call::FindThread { name } => keeping::find(shared, caller, &name).await,
        Call::Exec(command) => {
            let output = exec::run(shared, caller, *command).await;
            output.map(Box::new).map(Reply::Exec)
        }
        Call::GetThread { thread } => return library::get(shared, caller, thread).await,
        Call::DeleteThread { thread } => return library::delete(shared, caller, thread).await,
        Call::ReadMessages {
            thread,
            offset,
            limit,
        } => {
            library::owned(shared, caller, thread).await?;
            return reading::read_messages(shared, thread, offset, limit).await;
        }
        Call::ReadTurns {
            thread,
            selection,
            limit,
            entries,
        } => {
            library::owned(shared, caller, thread).await?;
            return reading::read_turns(shared, thread, &selection, limit, entries).await;
        }
        Call::ReadEvents {
            thread,
            after,
            limit,
        } => {
            let card = library::owned(shared, caller, thread).await?;
            return reading::read_events(shared, card, after, limit).await;
        }
        Call::ReadEventsBefore {
            thread,
            upto,
            limit,
        } => {
            let card = library::owned(shared, caller, thread).await?;
            return reading::read_events_before(shared, card, upto, limit).await;
        }
        Call::ReadThread { thread, recent } => {
            library::owned(shared, caller, thread).await?;
            let view = reading::look(shared, thread, recent).await?;
            return Ok(Replied::new(view.head, Reply::View(Box::new(view))));
        }
        Call::Library(call) => keeping::answer(shared, caller, call).await,
        Call::Workspace { workspace, call } => {
            in_workspace::answer(shared, caller, &workspace, *call).await
        }
        Call::Members(call) => members::answer(shared, caller, call).await,
        Call::GetCatalog => Ok(Reply::Catalog(Box::new(offer::catalog(shared, &own).await))),
        Call::GetProviderStatus { verify } => {
            let statuses = own.models.statuses(verify).await;
            Ok(Reply::ProviderStatus(statuses))
        }
        Call::SignIn(call) => sign_in::answer(shared, &own, call).await,
        Call::ListTools { thread } => {
            let card = library::owned(shared, caller, thread).await?;
            Ok(Reply::Tools(offer::tool_names(shared, &card)))
        }
        Call::Mcp { thread, call } => {
            let card = library::owned(shared, caller, thread).await?;
            refuse_while_busy(shared, caller, thread, call.only_reads()).await?;
            mcp::answer(shared, &card, call).await
        }
        Call::Skills { thread, call } => {
            let card = library::owned(shared, caller, thread).await?;
            refuse_while_busy(shared, caller, thread, call.only_reads()).await?;
            skills::answer(shared, &card, call).await
        }
        Call::ListCommands { thread } => {
            let thread = library::get(shared, caller, thread).await?.reply.thread()?;
            commands::list(shared, &thread).await.map(Reply::Commands)
        }
        Call::KeepDefaults { thread, settings } => {
            defaults::keep(shared, caller, thread, &settings).await
        }
        Call::RunCommand(run) => return run_command(shared, caller, run).await,
        Call::Checkpoints { thread, call } => {
            return checkpoint_call(shared, caller, thread, call).await;
        }
        Call::Files { thread, call } => {
            let card = library::owned(shared, caller, thread).await?;
            files::answer(shared, &card, call).await
        }
        Call::Directories(call) => directories::answer(shared, caller, call).await,
        Call::FindFiles(find) => directories::find_files(shared, caller, find).await,
        Call::Push(call) => push::answer(shared, caller, call).await,
        Call::StartTurn(mut start) => {
            settle_changes(shared, caller, start.thread, &mut start.changes).await?;
            if !start.files.is_empty() {
                let card = library::owned(shared, caller, start.thread).await?;
                start = given_files::read(shared, &card, start).await?;
            }
            start.images = seen(shared, caller, start.thread, start.images).await?;
            let thread = start.thread;
            activity::check_thread(shared, caller, thread).await?;
            let started = match start.listen {
                Some(audience) => joining::start_turn(shared, caller, start, audience).await,
                None => to_session(shared, caller, Call::StartTurn(start)).await,
            };
            members::check_started(shared, caller, thread).await;
            return started;
        }
        Call::SteerTurn(mut steer) => {
            steer.images = seen(shared, caller, steer.thread, steer.images).await?;
            return to_session(shared, caller, Call::SteerTurn(steer)).await;
        }
        Call::ListGrants { thread } => {
            let card = library::owned(shared, caller, thread).await?;
            shared.grants.of_thread(&card).await.map(Reply::Grants)
        }
        Call::RevokeGrant {
            thread,
            what,
            scope,
        } => {
            let card = library::owned(shared, caller, thread).await?;
            let revoked = shared.grants.revoke_words(&card, &what, scope).await;
            revoked.map(|()| Reply::Done)
        }
        Call::ChangeThread {
            thread,
            mut changes,
        } => {
            settle_changes(shared, caller, thread, &mut changes).await?;
            let call = Call::ChangeThread { thread, changes };
            return to_session(shared, caller, call).await;
        }
        Call::StartReview(start) => return review(shared, caller, start).await,
        call @ (Call::CompactThread { .. } | Call::RunShell(_)) => {
            let thread = call.thread();
            if let Some(thread) = thread {
                activity::check_thread(shared, caller, thread).await?;
            }
            let started = to_session(shared, caller, call).await;
            if let Some(thread) = thread {
                members::check_started(shared, caller, thread).await;
            }
            return started;
        }
        call @ (Call::CancelTurn { .. }
        | Call::Terminals { .. }
        | Call::AnswerAsk { .. }
        | Call::ResetThread { .. }
        | Call::UploadFile(_)
        | Call::CloseThread { .. }) => return to_session(shared, caller, call).await,
    };
    reply.map(|reply| Replied::new(Seq::ZERO, reply))
}

/// Pictures that come with a message, read.
async fn seen(
    shared: &Arc<Shared>,
    caller: &Caller,
    thread: ThreadId,
    images: Vec<Image>,
) -> Result<Vec<Image>, Refusal> {
    if images.is_empty() {
        return Ok(images);
    }
    let card = library::owned(shared, caller, thread).await?;
    pictures::read(shared, &card, images).await
}

/// A turn goes on with what it began with: what it uses is not changed under it.
async fn refuse_while_busy(
    shared: &Arc<Shared>,
    caller: &Caller,
    thread: ThreadId,
    only_reads: bool,
) -> Result<(), Refusal> {
    if only_reads {
        return Ok(());
    }
    let thread = library::get(shared, caller, thread).await?;
    match thread.reply.thread()?.status.is_busy() {
        true => Err(Refusal::busy()),
        false => Ok(()),
    }
}

/// Says what a command stands for.
async fn run_command(shared: &Arc<Shared>, caller: &Caller, run: RunCommand) -> Outcome {
    activity::check_thread(shared, caller, run.thread).await?;
    let thread = library::get(shared, caller, run.thread).await?;
    let text = commands::expand(shared, &*thread.reply.thread()?, &run).await?;
    let start = StartTurn {
        files: Vec::new(),
        thread: run.thread,
        text,
        display: Some(run.display()),
        cause: Cause::SlashCommand,
        client_message_id: run.client_message_id,
        client_turn_id: None,
        idempotency: run.idempotency,
        images: Vec::new(),
        changes: Box::default(),
        listen: None,
        pieces: Vec::new(),
    };
    let started = to_session(shared, caller, Call::StartTurn(start)).await;
    members::check_started(shared, caller, run.thread).await;
    started
}

/// Says to a reviewer what to look at.
async fn review(shared: &Arc<Shared>, caller: &Caller, review: StartReview) -> Outcome {
    let StartReview { thread, target } = review;
    let text = reviews::task(&target)?;
    activity::check_thread(shared, caller, thread).await?;
    let start = StartTurn {
        files: Vec::new(),
        thread,
        text,
        display: Some(reviews::display(&target)),
        cause: Cause::Review,
        client_message_id: None,
        client_turn_id: None,
        idempotency: Idempotency::Lasting,
        images: Vec::new(),
        changes: Box::default(),
        listen: None,
        pieces: Vec::new(),
    };
    let started = to_session(shared, caller, Call::StartTurn(start)).await;
    members::check_started(shared, caller, thread).await;
    started
}

/// What changes mean here, and for this thread.
async fn settle_changes(
    shared: &Arc<Shared>,
    caller: &Caller,
    thread: ThreadId,
    changes: &mut Changes,
) -> Result<(), Refusal> {
    let tenant = shared.own(&caller.tenant);
    permissions::settle(shared, &tenant, changes).await?;
    shared.agents.settle(&tenant, changes)?;
    if changes.sub_agent_model.is_some() {
        let found = library::get(shared, caller, thread).await?.reply.thread()?;
        let own = &found.settings.model.provider;
        offer::settle_sub_agent_model(&tenant, changes, own).await?;
    }
    let names_model = changes.named_model.is_some() || changes.model.is_some();
    if !names_model && efforts::unusual(changes).is_none() {
        return Ok(());
    }
    let thread = library::get(shared, caller, thread).await?;
    let in_use = thread.reply.thread()?.settings.model;
    offer::settle_model(shared, &tenant, changes, Some(&in_use)).await?;
    efforts::check(shared, &tenant, changes, Some(&in_use)).await
}

async fn checkpoint_call(
    shared: &Arc<Shared>,
    caller: &Caller,
    thread: ThreadId,
    call: CheckpointCall,
) -> Outcome {
    let card = library::owned(shared, caller, thread).await?;
    let reply = match call {
        call @ (CheckpointCall::Take
        | CheckpointCall::Restore { .. }
        | CheckpointCall::Delete { .. }) => {
            return to_session(shared, caller, Call::Checkpoints { thread, call }).await;
        }
        call @ (CheckpointCall::Get
        | CheckpointCall::Preview { .. }
        | CheckpointCall::Diff { .. }
        | CheckpointCall::History { .. }
        | CheckpointCall::FileAt { .. }) => checkpoints::read(shared, &card, call).await,
    };
    reply.map(|reply| Replied::new(Seq::ZERO, reply))
}

pub async fn to_session(shared: &Arc<Shared>, caller: &Caller, call: Call) -> Outcome {
    let Some(thread) = call.thread() else {
        return Err(Refusal::new(Why::Internal, "this call names no thread"));
    };
    library::owned(shared, caller, thread).await?;
    shared
        .registry
        .reach(shared, thread, |handle| {
            let (reply, answer) = oneshot::channel();
            let mail = Box::new(Mail::Call {
                call: call.clone(),
                caller: caller.clone(),
                reply,
            });
            async move {
                handle.mail.send(mail).await.ok()?;
                answer.await.ok()
            }
        })
        .await?
}
