//! Metrics: numbers that a server counts while it works, written out in Prometheus' text format.
//!
//! Counting is an addition without a lock, and nothing is counted per delta alone: deltas are added
//! in the groups in which they are recorded. Lists of labels have limits.

mod labels;
mod primitives;
mod text;

use std::time::Duration;

use vocabulary::{ModelRef, TurnErrorKind, TurnOutcome, Usage};

use labels::LabelledBy;
pub use primitives::{Gauge, Histogram, MetricCounter};
pub use text::MetricsText;

/// What the engine counts.
#[derive(Default)]
pub struct Metrics {
    completed: MetricCounter,
    cancelled: MetricCounter,
    failed: [MetricCounter; FAILURES.len()],
    pub deltas: MetricCounter,
    pub asks_open: Gauge,
    /// From the hand-over of a batch to its being on disk.
    pub append_time: Histogram,
    models: LabelledBy<ModelRef, ModelCounts>,
    providers: LabelledBy<String, ProviderCounts>,
}

#[derive(Default)]
struct ModelCounts {
    input: MetricCounter,
    cached: MetricCounter,
    output: MetricCounter,
    reasoning: MetricCounter,
    micro_dollars: MetricCounter,
}

#[derive(Default)]
struct ProviderCounts {
    first_part: Histogram,
    whole: Histogram,
    failed: MetricCounter,
    retried: MetricCounter,
}

/// The kinds of failure, each with its word.
const FAILURES: [(TurnErrorKind, &str); 11] = [
    (TurnErrorKind::Provider, "provider"),
    (TurnErrorKind::Budget, "budget"),
    (TurnErrorKind::InsufficientCredits, "insufficient_credits"),
    (TurnErrorKind::StepLimit, "step_limit"),
    (TurnErrorKind::Loop, "loop"),
    (TurnErrorKind::OutputLimit, "output_limit"),
    (TurnErrorKind::EmptyAnswer, "empty_answer"),
    (TurnErrorKind::ContextFull, "context_full"),
    (TurnErrorKind::ServerRestart, "server_restart"),
    (TurnErrorKind::AgentLost, "agent_lost"),
    (TurnErrorKind::Internal, "internal"),
];

/// How a request to a model went.
#[derive(Clone, Copy, Debug)]
pub struct RequestTiming {
    /// Until the first part of the answer came, if one did.
    pub first_part: Option<Duration>,
    pub whole: Duration,
    pub failed: bool,
    /// How often it was made again before its answer began.
    pub retries: u64,
}

impl Metrics {
    pub fn turn_ended(&self, outcome: &TurnOutcome) {
        match outcome {
            TurnOutcome::Completed => self.completed.add(1),
            TurnOutcome::Cancelled => self.cancelled.add(1),
            TurnOutcome::Failed(error) => {
                let place = FAILURES.iter().position(|(kind, _)| *kind == error.kind);
                if let Some(count) = place.and_then(|place| self.failed.get(place)) {
                    count.add(1);
                }
            }
        }
    }

    pub fn spent(&self, model: &ModelRef, usage: Usage) {
        self.models.with(model, |counts| {
            counts.input.add(usage.input_tokens);
            counts.cached.add(usage.cached_tokens);
            counts.output.add(usage.output_tokens);
            counts.reasoning.add(usage.reasoning_tokens);
            let cost = usage.cost_micro_dollars.unwrap_or_default();
            counts.micro_dollars.add(cost);
        });
    }

    pub fn requested(&self, provider: &str, timing: RequestTiming) {
        self.providers.with(provider, |counts| {
            if let Some(first) = timing.first_part {
                counts.first_part.observe(first);
            }
            counts.whole.observe(timing.whole);
            counts.failed.add(u64::from(timing.failed));
            counts.retried.add(timing.retries);
        });
    }

    pub fn write(&self, out: &mut MetricsText) {
        self.write_turns(out);
        out.counter(
            "dragoman_deltas_total",
            "Pieces by which answers and outputs grew.",
        );
        out.sample("dragoman_deltas_total", &[], self.deltas.get());
        out.gauge("dragoman_asks_open", "Asks that wait for a person.");
        out.sample("dragoman_asks_open", &[], self.asks_open.get());
        let name = "dragoman_store_append_seconds";
        out.histogram(name, "Time until a batch of events is on disk.");
        out.buckets(name, &[], &self.append_time);
        self.write_models(out);
        self.write_providers(out);
    }

    fn write_turns(&self, out: &mut MetricsText) {
        let name = "dragoman_turns_total";
        out.counter(
            name,
            "Turns that came to rest, by how; failed ones with the reason.",
        );
        let ended = |outcome| [("outcome", outcome), ("reason", "")];
        out.sample(name, &ended("completed"), self.completed.get());
        out.sample(name, &ended("cancelled"), self.cancelled.get());
        for ((_, reason), count) in FAILURES.iter().zip(&self.failed) {
            let labels = [("outcome", "failed"), ("reason", *reason)];
            out.sample(name, &labels, count.get());
        }
    }

    fn write_models(&self, out: &mut MetricsText) {
        let name = "dragoman_model_tokens_total";
        out.counter(
            name,
            "Tokens by model: input has cached in it, output has reasoning in it.",
        );
        self.models.each(|model, counts| {
            let labels = |kind| {
                let (provider, model) = names_of(model);
                [("provider", provider), ("model", model), ("kind", kind)]
            };
            out.sample(name, &labels("input"), counts.input.get());
            out.sample(name, &labels("cached"), counts.cached.get());
            out.sample(name, &labels("output"), counts.output.get());
            out.sample(name, &labels("reasoning"), counts.reasoning.get());
        });
        let name = "dragoman_model_cost_dollars_total";
        out.counter(name, "Dollars by model, where its price is known.");
        self.models.each(|model, counts| {
            let (provider, model) = names_of(model);
            let labels = [("provider", provider), ("model", model)];
            let dollars = counts.micro_dollars.get() as f64 / 1e6;
            out.sample(name, &labels, dollars);
        });
    }

    fn write_providers(&self, out: &mut MetricsText) {
        type Pick<T> = fn(&ProviderCounts) -> &T;
        let times: [(&str, &str, Pick<Histogram>); 2] = [
            (
                "dragoman_provider_first_part_seconds",
                "Time from a request to the first part of its answer.",
                |counts| &counts.first_part,
            ),
            (
                "dragoman_provider_request_seconds",
                "Time from a request to the end of its answer.",
                |counts| &counts.whole,
            ),
        ];
        for (name, help, pick) in times {
            out.histogram(name, help);
            self.providers.each(|provider, counts| {
                let provider = provider.map_or(labels::OTHER, String::as_str);
                out.buckets(name, &[("provider", provider)], pick(counts));
            });
        }
        let counters: [(&str, &str, Pick<MetricCounter>); 2] = [
            (
                "dragoman_provider_failures_total",
                "Requests whose answer did not come to its end.",
                |counts| &counts.failed,
            ),
            (
                "dragoman_provider_retries_total",
                "Times that a request was made again.",
                |counts| &counts.retried,
            ),
        ];
        for (name, help, pick) in counters {
            out.counter(name, help);
            self.providers.each(|provider, counts| {
                let provider = provider.map_or(labels::OTHER, String::as_str);
                out.sample(name, &[("provider", provider)], pick(counts).get());
            });
        }
    }
}

fn names_of(model: Option<&ModelRef>) -> (&str, &str) {
    model.map_or((labels::OTHER, labels::OTHER), |model| {
        (&model.provider, &model.model)
    })
}

#[cfg(test)]
mod tests;
