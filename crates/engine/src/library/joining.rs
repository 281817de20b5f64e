//! Listening to a thread, and starting a turn in the same step.

use std::sync::Arc;

use tokio::sync::oneshot;
use vocabulary::{Audience, Caller, Refusal, Reply, StartTurn, ThreadId, ThreadView, Why};

use super::{owned, reading};
use crate::servers;
use crate::session::{AttachedListener, Handle, ListenFrom, Mail, Outcome, Replied};
use crate::{ListenOptions, Listener, Shared};

pub async fn attach(
    shared: &Arc<Shared>,
    caller: &Caller,
    thread: ThreadId,
    wish: ListenOptions,
) -> Result<(ThreadView, Listener), Refusal> {
    let card = owned(shared, caller, thread).await?;
    let attached = reach_to_attach(shared, thread, wish, None).await?;
    // Counted before this one came.
    if attached.seen.view.listeners == 0 {
        servers::warm(shared, &attached.seen.view.thread);
    }
    let view = reading::complete(shared, attached.seen, wish.recent).await?;
    let scanner = match wish.watch_files {
        true => shared.scanners.of(&card.directory),
        false => None,
    };
    let watch = scanner.map(|scanner| scanner.watch());
    Ok((view, attached.listener.watching(watch)))
}

/// Starts a turn and listens to it, in one step of its session.
pub async fn start_turn(
    shared: &Arc<Shared>,
    caller: &Caller,
    start: StartTurn,
    audience: Audience,
) -> Outcome {
    let thread = start.thread;
    owned(shared, caller, thread).await?;
    let wish = ListenOptions {
        attendance: audience.into(),
        from: ListenFrom::Head,
        recent: 0,
        watch_files: false,
    };
    let attached = reach_to_attach(shared, thread, wish, Some((start, caller))).await?;
    let Some(mut started) = attached.started else {
        return Err(Refusal::new(Why::Internal, "the turn was not started"));
    };
    let view = reading::complete(shared, attached.seen, wish.recent).await?;
    let as_of = view.head;
    started.joined = Some(Box::new(view));
    Ok(Replied {
        listener: Some(attached.listener),
        ..Replied::new(as_of, Reply::Turn(started))
    })
}

async fn reach_to_attach(
    shared: &Arc<Shared>,
    thread: ThreadId,
    wish: ListenOptions,
    start: Option<(StartTurn, &Caller)>,
) -> Result<AttachedListener, Refusal> {
    let attach = |handle: Handle| {
        let start = start.as_ref();
        let start = start.map(|(start, caller)| (Box::new(start.clone()), (*caller).clone()));
        let (reply, answer) = oneshot::channel();
        let mail = Box::new(Mail::Attach {
            attendance: wish.attendance,
            from: wish.from,
            start,
            reply,
        });
        async move {
            handle.mail.send(mail).await.ok()?;
            answer.await.ok()
        }
    };
    shared.registry.reach(shared, thread, attach).await?
}
