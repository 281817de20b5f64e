//! The settings of traces: where they go. What none of them says is read from the variables that
//! Langfuse and OpenTelemetry have for it.

use observability::OtlpSettings;

use super::super::setting::Fallback::Nothing;
use super::super::setting::Setting;
use super::super::setting::SettingKind::{Path, Text};
use super::super::values::{label, web_address};
use super::USUAL;

const OBSERVABILITY: Option<&str> = Some("Observability");

pub const LANGFUSE_URL: Setting = Setting {
    name: "langfuse-url",
    value: "URL",
    help: "The Langfuse that traces of turns go to (default: LANGFUSE_BASE_URL, or Langfuse's own)",
    heading: OBSERVABILITY,
    fallback: Nothing("LANGFUSE_BASE_URL, or Langfuse's own"),
    sample: "https://langfuse.example",
    kind: Text(|all, text| {
        web_address(text).map(|value| all.tracing().langfuse.base_url = Some(value))
    }),
    ..USUAL
};

pub const LANGFUSE_PUBLIC_KEY: Setting = Setting {
    name: "langfuse-public-key",
    value: "KEY",
    help: "The public key of the Langfuse project (default: LANGFUSE_PUBLIC_KEY)",
    heading: OBSERVABILITY,
    fallback: Nothing("LANGFUSE_PUBLIC_KEY"),
    sample: "pk-lf-1234",
    kind: Text(|all, text| {
        label(text).map(|value| all.tracing().langfuse.public_key = Some(value))
    }),
    ..USUAL
};

pub const LANGFUSE_SECRET_KEY_FILE: Setting = Setting {
    name: "langfuse-secret-key-file",
    value: "FILE",
    help: "A file with its secret key, that only you may read (default: LANGFUSE_SECRET_KEY)",
    heading: OBSERVABILITY,
    fallback: Nothing("LANGFUSE_SECRET_KEY"),
    sample: "~/.config/langfuse-key",
    kind: Path(|all, path| all.settings.langfuse_key_file = Some(path)),
    ..USUAL
};

pub const LANGFUSE_ENVIRONMENT: Setting = Setting {
    name: "langfuse-environment",
    value: "NAME",
    help: "What Langfuse calls this deployment (default: LANGFUSE_TRACING_ENVIRONMENT)",
    heading: OBSERVABILITY,
    fallback: Nothing("LANGFUSE_TRACING_ENVIRONMENT"),
    sample: "production",
    kind: Text(|all, text| {
        label(text).map(|value| all.tracing().langfuse.environment = Some(value))
    }),
    ..USUAL
};

pub const LANGFUSE_RELEASE: Setting = Setting {
    name: "langfuse-release",
    value: "NAME",
    help: "The release that traces are of (default: LANGFUSE_RELEASE)",
    heading: OBSERVABILITY,
    fallback: Nothing("LANGFUSE_RELEASE"),
    sample: "2026-11",
    kind: Text(|all, text| label(text).map(|value| all.tracing().langfuse.release = Some(value))),
    ..USUAL
};

pub const OTLP_ENDPOINT: Setting = Setting {
    name: "otlp-endpoint",
    value: "URL",
    help: "An OTLP endpoint that traces of turns go to, below /v1/traces (default: \
           OTEL_EXPORTER_OTLP_ENDPOINT)",
    heading: OBSERVABILITY,
    fallback: Nothing("OTEL_EXPORTER_OTLP_ENDPOINT"),
    sample: "http://localhost:4318",
    kind: Text(|all, text| {
        web_address(text).map(|base| all.tracing().otlp = Some(OtlpSettings::below(&base)))
    }),
    ..USUAL
};
