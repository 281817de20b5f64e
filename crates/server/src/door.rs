//! Who is at the other end of a socket, and how they become somebody on it.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use dialects::{Hello, NotAuthenticated};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use vocabulary::{Caller, Secret, Timestamp};

use crate::accept::Arrival;
use crate::access::Denied;
use crate::gate;
use crate::http::Site;
use crate::limits::AUTHENTICATE_MAX;
use crate::replacing::NamedSocket;
use crate::table::ZANE;

/// The door that one socket came in by. It knows its caller from the start, or from the first token
/// on it that is right; who is known stays so.
#[derive(Clone)]
pub struct Door {
    pub site: Arc<Site>,
    pub arrival: Arrival,
    /// The dialect that is spoken.
    pub via: &'static str,
    pub caller: Option<Caller>,
    /// Comes when the same client has connected again.
    pub replaced: Option<CancellationToken>,
}

impl Door {
    /// From now on the socket is theirs.
    pub fn enter(&mut self, caller: Caller) {
        self.caller = Some(Caller {
            via: Some(self.via.into()),
            ..caller
        });
        self.arrival.seat.identify();
    }

    /// The socket's place among those of its client, where the client has a name.
    pub fn take_place(&mut self, hello: &Hello) -> Option<NamedSocket> {
        let name = hello.query("clientId").filter(|_| self.via == ZANE)?;
        let place = self.site.named.enter(self.caller.as_ref()?, name)?;
        self.replaced = Some(place.replaced.clone());
        Some(place)
    }

    /// Whose token this is. Wrong ones count like those of requests. On a socket that is somebody's
    /// already it has to be theirs: then it counts from now on, and until it ends.
    pub async fn authenticate(&self, token: Secret) -> Result<Caller, NotAuthenticated> {
        let (now, token) = (Instant::now(), token.reveal());
        let access = &self.site.access;
        let admitted = access.authenticate(self.arrival.peer, &[&token], now).await;
        if admitted
            .as_ref()
            .is_ok_and(|caller| !caller.speaks(self.via))
        {
            return Err(NotAuthenticated::OtherDialect);
        }
        let caller = admitted.map_err(|denied| match denied {
            Denied::Guessing(wait) => NotAuthenticated::TooMany {
                retry_after_ms: wait.as_millis() as i64,
            },
            Denied::NotNow(failed) => {
                tracing::warn!(%failed, "a token was not looked up");
                NotAuthenticated::NotNow
            }
            Denied::OtherUser | Denied::NoToken | Denied::WrongToken => {
                gate::log_wrong_token(&self.site, &self.arrival, now);
                NotAuthenticated::Wrong
            }
        })?;
        // What runs on a socket was begun by one person, and is told to that one.
        match &self.caller {
            Some(known) if !is_same_person(known, &caller) => Err(NotAuthenticated::OtherCaller),
            Some(_) | None => Ok(caller),
        }
    }

    /// What comes first. Between the token and the socket somebody may have revoked it, so who came in by one
    /// is asked for at once.
    pub fn first_event(&self) -> Option<BoxFuture<'static, DoorEvent>> {
        match &self.caller {
            Some(caller) if caller.credential.is_some() => {
                Some(std::future::ready(DoorEvent::Renew).boxed())
            }
            Some(_) | None => self.next_event(),
        }
    }

    /// What comes to a socket by time, or by what others do; to our own user only that they come again.
    pub fn next_event(&self) -> Option<BoxFuture<'static, DoorEvent>> {
        let event = match &self.caller {
            None => Some(self.shut().boxed()),
            Some(caller) => self.until_renewal(caller).map(FutureExt::boxed),
        };
        let Some(replaced) = self.replaced.clone() else {
            return event;
        };
        let replaced = replaced.cancelled_owned().map(|()| DoorEvent::Replaced);
        Some(match event {
            None => replaced.boxed(),
            Some(event) => async {
                tokio::select! {
                    event = event => event,
                    replaced = replaced => replaced,
                }
            }
            .boxed(),
        })
    }

    /// For a client that is nobody yet: comes when it has had its time, or when its place is needed for
    /// another.
    fn shut(&self) -> impl Future<Output = DoorEvent> + use<> {
        let seat = Arc::clone(&self.arrival.seat);
        async move {
            tokio::select! {
                () = sleep(AUTHENTICATE_MAX) => {}
                () = seat.evicted() => {}
            }
            DoorEvent::Shut
        }
    }

    /// Comes when a caller may have become another, or what they came in by ends.
    fn until_renewal(&self, caller: &Caller) -> Option<impl Future<Output = DoorEvent> + use<>> {
        let credential = caller.credential.as_ref()?;
        let mut changes = self.site.access.authenticator.changes();
        let expires_at = credential.expires_at;
        Some(async move {
            tokio::select! {
                () = changed(&mut changes) => {}
                () = until(expires_at) => {}
            }
            DoorEvent::Renew
        })
    }

    /// Asks who the caller is by now; from then on they are that. Nobody: they have to go.
    pub async fn renew(&mut self) -> Result<(), Dismissed> {
        let Some(caller) = &self.caller else {
            return Ok(());
        };
        if caller.expires_at().is_some_and(|end| end <= now()) {
            return Err(Dismissed);
        }
        match self.site.access.authenticator.renew(caller).await {
            Ok(Some(renewed)) if renewed.speaks(self.via) => {
                self.caller = Some(Caller {
                    via: Some(self.via.into()),
                    ..renewed
                });
                Ok(())
            }
            Ok(_) => Err(Dismissed),
            Err(failed) => {
                // Nobody said that they are not who they were.
                tracing::warn!(%failed, "a caller was not looked up again");
                Ok(())
            }
        }
    }
}

fn is_same_person(one: &Caller, other: &Caller) -> bool {
    (&one.tenant, &one.member) == (&other.tenant, &other.member)
}

/// What comes to a socket by time, or by what others do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoorEvent {
    /// Nobody has said who they are.
    Shut,
    /// Who it is has to be asked again.
    Renew,
    /// The same client has connected again.
    Replaced,
}

/// What somebody came in by is not good any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dismissed;

async fn changed(changes: &mut Option<watch::Receiver<u64>>) {
    match changes {
        Some(changes) => {
            if changes.changed().await.is_err() {
                std::future::pending().await
            }
        }
        None => std::future::pending().await,
    }
}

async fn until(time: Option<Timestamp>) {
    match time {
        Some(time) => {
            let left = time.millis().saturating_sub(now().millis());
            sleep(Duration::from_millis(left.max(0) as u64)).await;
        }
        None => std::future::pending().await,
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Timestamp(since.unwrap_or_default().as_millis() as i64)
}
