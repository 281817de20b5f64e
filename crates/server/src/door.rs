//! Who is at the other end of a socket, and how they become somebody on it.

use std::sync::Arc;
use std::time::Instant;

use dialects::NotAuthenticated;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::sleep;
use vocabulary::{Caller, Secret};

use crate::accept::Arrival;
use crate::access::Denied;
use crate::gate;
use crate::http::Site;
use crate::limits::AUTHENTICATE_MAX;

/// The door that one socket came in by. It knows its caller from the start, or from the first token
/// on it that is right; who is known stays so.
#[derive(Clone)]
pub struct Door {
    pub site: Arc<Site>,
    pub arrival: Arrival,
    /// The dialect that is spoken.
    pub via: &'static str,
    pub caller: Option<Caller>,
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

    /// Whose token this is. Wrong ones count like those of requests.
    pub fn authenticate(&self, token: Secret) -> Result<Caller, NotAuthenticated> {
        if let Some(known) = &self.caller {
            return Ok(known.clone());
        }
        let (now, token) = (Instant::now(), token.reveal());
        let shown = std::iter::once(token.as_str());
        let access = &self.site.access;
        access
            .authenticate(self.arrival.peer, shown, now)
            .map_err(|denied| match denied {
                Denied::Guessing(wait) => NotAuthenticated::TooMany {
                    retry_after_ms: wait.as_millis() as i64,
                },
                Denied::OtherUser | Denied::NoToken | Denied::WrongToken => {
                    gate::log_wrong_token(&self.site, &self.arrival, now);
                    NotAuthenticated::Wrong
                }
            })
    }

    /// For a client that is nobody yet: comes when it has had its time, or when its place is needed for
    /// another.
    pub fn shut(&self) -> Option<BoxFuture<'static, ()>> {
        let seat = Arc::clone(&self.arrival.seat);
        let shut = async move {
            tokio::select! {
                () = sleep(AUTHENTICATE_MAX) => {}
                () = seat.evicted() => {}
            }
        };
        self.caller.is_none().then(|| shut.boxed())
    }
}
