//! `/metrics`: what the engine counts, and what only the server knows, for Prometheus.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use observability::metrics::{Gauge, MetricsText};
use vocabulary::{Caller, Permission};

use crate::gate;
use crate::http::Site;
use crate::table::{TONGUES, Tongue};

/// How many clients are connected, by dialect.
#[derive(Default)]
pub struct OpenConnections([Gauge; TONGUES.len()]);

/// One of them, as long as it lives.
pub struct OpenConnection {
    site: Arc<Site>,
    place: usize,
}

impl OpenConnections {
    pub fn enter(site: &Arc<Site>, tongue: &Tongue) -> OpenConnection {
        let place = TONGUES.iter().position(|each| each.name == tongue.name);
        let place = place.unwrap_or_default();
        let connection = OpenConnection {
            site: Arc::clone(site),
            place,
        };
        connection.count(1);
        connection
    }
}

impl OpenConnection {
    fn count(&self, change: i64) {
        if let Some(open) = self.site.open.0.get(self.place) {
            open.add(change);
        }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.count(-1);
    }
}

/// What the whole server does is the business of who runs it, and of no other tenant.
fn may_see(caller: Option<&Caller>) -> bool {
    caller
        .is_some_and(|caller| caller.tenant.is_local() && caller.role.may(Permission::TenantAdmin))
}

pub async fn page(
    State(site): State<Arc<Site>>,
    Extension(gate::Sender(caller)): Extension<gate::Sender>,
) -> Response {
    if !may_see(caller.as_ref()) {
        let message = "metrics are for an owner of the server's own tenant\n";
        return (StatusCode::FORBIDDEN, message).into_response();
    }
    let mut out = MetricsText::default();
    let name = "dragoman_connections";
    out.gauge(name, "Clients that are connected, by dialect.");
    for (tongue, open) in TONGUES.iter().zip(&site.open.0) {
        out.sample(name, &[("dialect", tongue.name)], open.get());
    }
    let connected = site.connected.load(std::sync::atomic::Ordering::Relaxed);
    let name = "dragoman_connections_total";
    out.counter(name, "Clients that have connected.");
    out.sample(name, &[], connected);
    let name = "dragoman_uptime_seconds";
    out.gauge(name, "Time since the start.");
    out.sample(name, &[], site.started.elapsed().as_secs());
    if let Some(resident) = resident_bytes() {
        let name = "process_resident_memory_bytes";
        out.gauge(name, "Resident memory of this process.");
        out.sample(name, &[], resident);
    }
    if let Some(engine) = site.engine.get() {
        engine.write_metrics(&mut out);
    }
    let kind = [
        (header::CONTENT_TYPE, MetricsText::CONTENT_TYPE),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (kind, out.into_string()).into_response()
}

/// As the kernel counts it: the second number of `statm`, in pages.
fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use vocabulary::{Role, TenantId};

    use super::*;

    #[test]
    fn only_an_owner_of_the_servers_own_tenant_sees_metrics() {
        let caller = |tenant: &str, role| Caller {
            tenant: TenantId::new(tenant),
            role,
            ..Caller::local()
        };
        assert!(may_see(Some(&Caller::local())));
        assert!(!may_see(None));
        assert!(!may_see(Some(&caller("north", Role::Owner))));
        for role in [Role::Admin, Role::BillingAdmin, Role::Member, Role::Viewer] {
            assert!(!may_see(Some(&caller("local", role))));
        }
    }
}
