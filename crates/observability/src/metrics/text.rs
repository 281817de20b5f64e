//! Prometheus' text format, version 0.0.4.

use std::fmt::{Display, Write as _};

use super::Histogram;

/// What is written so far.
#[derive(Debug, Default)]
pub struct MetricsText(String);

impl MetricsText {
    /// What answers in this format say of themselves.
    pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

    pub fn counter(&mut self, name: &str, help: &str) {
        self.family(name, help, "counter");
    }

    pub fn gauge(&mut self, name: &str, help: &str) {
        self.family(name, help, "gauge");
    }

    pub fn histogram(&mut self, name: &str, help: &str) {
        self.family(name, help, "histogram");
    }

    fn family(&mut self, name: &str, help: &str, kind: &str) {
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {kind}"));
    }

    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels = spelled(labels);
        self.line(format_args!("{name}{labels} {value}"));
    }

    pub fn buckets(&mut self, name: &str, labels: &[(&str, &str)], histogram: &Histogram) {
        let bucket = format!("{name}_bucket");
        for (end, count) in histogram.up_to() {
            let end = end.to_string();
            let labels = [labels, &[("le", end.as_str())]].concat();
            self.sample(&bucket, &labels, count);
        }
        let all = [labels, &[("le", "+Inf")]].concat();
        self.sample(&bucket, &all, histogram.count());
        self.sample(&format!("{name}_sum"), labels, histogram.sum_seconds());
        self.sample(&format!("{name}_count"), labels, histogram.count());
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "{line}");
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

fn spelled(labels: &[(&str, &str)]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let escaped = |value: &str| {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        value.replace('\n', "\\n")
    };
    let pair = |(name, value): &(&str, &str)| format!("{name}=\"{}\"", escaped(value));
    let pairs: Vec<String> = labels.iter().map(pair).collect();
    format!("{{{}}}", pairs.join(","))
}
