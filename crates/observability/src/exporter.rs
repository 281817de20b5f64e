//! The exporter: every span to every endpoint that is configured.

use std::sync::Arc;

use secrecy::SecretString;
use vocabulary::TracingHealth;

use crate::attributes::AttributeWords;
use crate::batch::BatchEncoder;
use crate::limits::FLUSH_TIME_MAX;
use crate::outlet::{HealthListener, Outlet};
use crate::secrets::KnownSecrets;
use crate::settings::TracingSettings;
use crate::span::TraceSpan;
use crate::transport::{HttpTransport, Transport};

/// Hands spans to tasks that deliver them. Nothing runs before the first span.
pub struct TraceExporter {
    outlets: Vec<Outlet>,
    secrets: Arc<KnownSecrets>,
}

impl TraceExporter {
    /// None: there is nowhere to send traces.
    pub fn new(settings: &TracingSettings) -> Option<Self> {
        let langfuse = HttpTransport::langfuse(&settings.langfuse);
        let otlp = settings.otlp.as_ref().map(HttpTransport::otlp);
        let langfuse = langfuse.map(|transport| (transport, AttributeWords::Langfuse));
        let otlp = otlp.map(|transport| (transport, AttributeWords::All));
        let secrets = Arc::<KnownSecrets>::default();
        secrets.learn(settings.secrets());
        let instance = uuid::Uuid::new_v4().to_string();
        let outlet = |(transport, words): (HttpTransport, AttributeWords)| {
            let encoder = BatchEncoder::new(settings, words, &instance, Arc::clone(&secrets));
            let transport: Box<dyn Transport> = Box::new(transport);
            Outlet::new(transport, encoder, settings.batch_delay())
        };
        let outlets: Vec<_> = langfuse.into_iter().chain(otlp).map(outlet).collect();
        (!outlets.is_empty()).then_some(Self { outlets, secrets })
    }

    /// Called, from a task of ours, whenever the health changed.
    pub fn on_change(&self, listener: HealthListener) {
        for outlet in &self.outlets {
            outlet.on_change(Arc::clone(&listener));
        }
    }

    /// These are left out of everything that is sent from now on.
    pub fn hide(&self, secrets: impl IntoIterator<Item = SecretString>) {
        self.secrets.learn(secrets);
    }

    /// Never waits. What does not fit is counted as lost.
    pub fn offer(&self, span: TraceSpan) {
        let span = Arc::new(span);
        for outlet in &self.outlets {
            outlet.offer(Arc::clone(&span));
        }
    }

    /// Of all endpoints the one that fares worst.
    pub fn health(&self) -> TracingHealth {
        let all = || self.outlets.iter().map(Outlet::health);
        let failing = all().find(|health| matches!(health, TracingHealth::Failing { .. }));
        let recovered = || all().find(|health| *health != TracingHealth::Ready { since: None });
        failing
            .or_else(recovered)
            .unwrap_or(TracingHealth::Ready { since: None })
    }

    /// Spans that nobody will ever get.
    pub fn lost(&self) -> u64 {
        self.outlets.iter().map(Outlet::lost).sum()
    }

    /// Spans that wait.
    pub fn waiting(&self) -> usize {
        self.outlets.iter().map(Outlet::waiting).sum()
    }

    /// Delivers what is left, within a limit.
    pub async fn close(&self) {
        self.outlets.iter().for_each(Outlet::begin_close);
        let all = async {
            for outlet in &self.outlets {
                outlet.closed().await;
            }
        };
        if tokio::time::timeout(FLUSH_TIME_MAX, all).await.is_err() {
            tracing::warn!("some traces were not delivered before the end");
        }
    }
}
