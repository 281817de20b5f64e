//! What operators see: traces of turns, delivered to Langfuse and to OTLP endpoints, and metrics.
//!
//! A [`TraceSpan`] is handed to the [`TraceExporter`], which never waits and never fails: a task of
//! its own delivers, and what does not fit is counted. Without an endpoint there is no exporter.

pub mod limits;

mod attributes;
mod batch;
mod exporter;
pub mod metrics;
pub mod otlp;
mod outlet;
mod secrets;
mod settings;
mod span;
mod transport;

pub use exporter::TraceExporter;
pub use metrics::Metrics;
pub use settings::{LangfuseSettings, OtlpSettings, TracingSettings};
pub use span::{
    Generation, ObservationKind, SpanId, SpanProblem, TraceId, TraceInfo, TraceSpan, cut,
};
#[cfg(test)]
mod tests;

pub use transport::{DeliveryError, HttpTransport, Transport};
