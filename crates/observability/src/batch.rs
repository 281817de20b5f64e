//! A batch of spans as one request body.

use std::io::Write as _;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message as _;

use crate::attributes::{self, AttributeWords, DeploymentLabels};
use crate::otlp::{
    ExportTraceServiceRequest, InstrumentationScope, KeyValue, OtlpResource, ResourceSpans,
    ScopeSpans,
};
use crate::secrets::KnownSecrets;
use crate::settings::TracingSettings;
use crate::span::TraceSpan;

/// Makes requests for one endpoint.
pub struct BatchEncoder {
    words: AttributeWords,
    labels: DeploymentLabels,
    resource: Vec<KeyValue>,
    secrets: Arc<KnownSecrets>,
}

impl BatchEncoder {
    pub fn new(
        settings: &TracingSettings,
        words: AttributeWords,
        instance: &str,
        secrets: Arc<KnownSecrets>,
    ) -> Self {
        let labels = DeploymentLabels {
            environment: settings.langfuse.environment.clone(),
            release: settings.langfuse.release.clone(),
        };
        let mut resource = vec![
            KeyValue::new("telemetry.sdk.language", "rust"),
            KeyValue::new("telemetry.sdk.name", env!("CARGO_PKG_NAME")),
            KeyValue::new("telemetry.sdk.version", env!("CARGO_PKG_VERSION")),
            KeyValue::new("service.instance.id", instance),
            KeyValue::new("service.name", settings.service_name()),
        ];
        resource.extend(labels.attributes());
        // What is said of itself stands once, by the name that was chosen for it.
        let named = settings.resource.iter();
        let further = named.filter(|(name, _)| resource.iter().all(|known| known.key != *name));
        let further: Vec<_> = further
            .map(|(name, value)| KeyValue::new(name.as_str(), value.as_str()))
            .collect();
        resource.extend(further);
        Self {
            words,
            labels,
            resource,
            secrets,
        }
    }

    /// The body of a request, compressed.
    pub fn encode(&self, spans: &[Arc<TraceSpan>]) -> std::io::Result<Vec<u8>> {
        let clean = |text: &str| self.secrets.left_out(text).into_owned();
        let told = |span: &Arc<TraceSpan>| attributes::told(span, &self.labels, self.words, &clean);
        let request = ExportTraceServiceRequest {
            resource_spans: vec![ResourceSpans {
                resource: Some(OtlpResource {
                    attributes: self.resource.clone(),
                }),
                scope_spans: vec![ScopeSpans {
                    scope: Some(InstrumentationScope {
                        name: "dragoman".to_owned(),
                        version: env!("CARGO_PKG_VERSION").to_owned(),
                    }),
                    spans: spans.iter().map(told).collect(),
                }],
            }],
        };
        let mut body = GzEncoder::new(Vec::new(), Compression::fast());
        body.write_all(&request.encode_to_vec())?;
        body.finish()
    }
}
