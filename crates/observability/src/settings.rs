//! Where traces go: what is configured, and what the environment says in the words of Langfuse and
//! OpenTelemetry.

use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use vocabulary::{LangfuseTarget, TracingHealth, TracingState};

use crate::limits::{BATCH_DELAY, BATCH_DELAY_MAX};

/// What the service is called, if nobody says otherwise.
const SERVICE_NAME: &str = "dragoman";

#[derive(Clone, Debug, Default)]
pub struct TracingSettings {
    pub langfuse: LangfuseSettings,
    pub otlp: Option<OtlpSettings>,
    pub service_name: Option<String>,
    pub resource: Vec<(String, String)>,
    /// How long a span waits for others to go with it.
    pub batch_delay: Option<Duration>,
    /// What else no span may contain.
    pub known_secrets: Vec<SecretString>,
}

#[derive(Clone, Debug, Default)]
pub struct LangfuseSettings {
    pub base_url: Option<String>,
    pub public_key: Option<String>,
    pub secret_key: Option<SecretString>,
    pub environment: Option<String>,
    pub release: Option<String>,
}

/// An endpoint that takes traces by OTLP over HTTP.
#[derive(Clone, Debug)]
pub struct OtlpSettings {
    /// The whole address, path included.
    pub traces_url: String,
    /// They may hold a key.
    pub headers: Vec<(String, SecretString)>,
}

impl TracingSettings {
    /// Fills what nobody configured from the variables that every such program reads.
    #[must_use]
    pub fn or_environment(mut self, variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let read = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let langfuse = &mut self.langfuse;
        fill(&mut langfuse.base_url, || {
            read("LANGFUSE_BASE_URL").or_else(|| read("LANGFUSE_HOST"))
        });
        fill(&mut langfuse.public_key, || read("LANGFUSE_PUBLIC_KEY"));
        fill(&mut langfuse.secret_key, || {
            read("LANGFUSE_SECRET_KEY").map(SecretString::from)
        });
        fill(&mut langfuse.environment, || {
            read("LANGFUSE_TRACING_ENVIRONMENT")
        });
        fill(&mut langfuse.release, || read("LANGFUSE_RELEASE"));
        fill(&mut self.service_name, || read("OTEL_SERVICE_NAME"));
        if let Some(listed) = read("OTEL_RESOURCE_ATTRIBUTES") {
            self.resource.extend(pairs(&listed));
        }
        fill(&mut self.batch_delay, || {
            let millis = read("OTEL_BSP_SCHEDULE_DELAY")?.trim().parse().ok()?;
            Some(Duration::from_millis(millis))
        });
        self.add_otlp(&read);
        self
    }

    fn add_otlp(&mut self, read: &dyn Fn(&str) -> Option<String>) {
        let is = |name: &str, word: &str| read(name).is_some_and(|value| value.trim() == word);
        if is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none") {
            self.otlp = None;
            return;
        }
        fill(&mut self.otlp, || {
            let whole = read("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
            let base = || read("OTEL_EXPORTER_OTLP_ENDPOINT").map(|base| traces_below(&base));
            let traces_url = whole.or_else(base)?.trim().to_owned();
            Some(OtlpSettings {
                traces_url,
                headers: Vec::new(),
            })
        });
        let headers = read("OTEL_EXPORTER_OTLP_TRACES_HEADERS")
            .or_else(|| read("OTEL_EXPORTER_OTLP_HEADERS"));
        if let (Some(otlp), Some(listed)) = (&mut self.otlp, headers) {
            let secret = |(name, value)| (name, SecretString::from(value));
            otlp.headers.extend(pairs(&listed).into_iter().map(secret));
        }
    }

    pub fn service_name(&self) -> &str {
        self.service_name.as_deref().unwrap_or(SERVICE_NAME)
    }

    pub fn batch_delay(&self) -> Duration {
        self.batch_delay.unwrap_or(BATCH_DELAY).min(BATCH_DELAY_MAX)
    }

    pub fn is_configured(&self) -> bool {
        self.otlp.is_some() || self.langfuse.target().is_configured()
    }

    /// What may be told of them before anything was sent.
    pub fn state(&self) -> TracingState {
        TracingState {
            langfuse: self.langfuse.target(),
            health: match self.is_configured() {
                true => TracingHealth::Ready { since: None },
                false => TracingHealth::Unconfigured,
            },
        }
    }

    /// What no span may contain.
    pub fn secrets(&self) -> Vec<SecretString> {
        let headers = self.otlp.iter().flat_map(|otlp| &otlp.headers);
        let values = headers.map(|(_, value)| value.clone());
        self.langfuse
            .secret_key
            .iter()
            .cloned()
            .chain(values)
            .chain(self.known_secrets.iter().cloned())
            .collect()
    }
}

impl OtlpSettings {
    /// An endpoint for everything, without headers.
    pub fn below(base: &str) -> Self {
        Self {
            traces_url: traces_below(base),
            headers: Vec::new(),
        }
    }
}

impl LangfuseSettings {
    pub fn target(&self) -> LangfuseTarget {
        LangfuseTarget {
            environment: self.environment.clone(),
            release: self.release.clone(),
            has_public_key: self.public_key.is_some(),
            has_secret_key: self.secret_key.is_some(),
            ..LangfuseTarget::at(self.base_url.as_deref().map(str::trim))
        }
    }

    /// Both keys, where both are there.
    pub(crate) fn keys(&self) -> Option<(&str, &str)> {
        let public = self.public_key.as_deref()?;
        Some((public, self.secret_key.as_ref()?.expose_secret()))
    }
}

/// Where an endpoint for everything takes traces.
fn traces_below(base: &str) -> String {
    format!("{}/v1/traces", base.trim().trim_end_matches('/'))
}

fn fill<T>(place: &mut Option<T>, find: impl FnOnce() -> Option<T>) {
    if place.is_none() {
        *place = find();
    }
}

/// `a=b,c=d`, where values may be percent-encoded. What is no pair is passed over.
fn pairs(listed: &str) -> Vec<(String, String)> {
    let pair = |text: &str| {
        let (name, value) = text.split_once('=')?;
        let name = name.trim();
        (!name.is_empty()).then(|| (name.to_owned(), percent_decoded(value.trim())))
    };
    listed.split(',').filter_map(pair).collect()
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = match (first, after) {
            (b'%', [high, low, ..]) => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                digit(*high)
                    .zip(digit(*low))
                    .map(|(high, low)| high * 16 + low)
            }
            (_, _) => None,
        };
        match code.and_then(|code| u8::try_from(code).ok()) {
            Some(code) => {
                bytes.push(code);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> TracingSettings {
        TracingSettings::default().or_environment(&|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn without_a_word_nothing_is_configured_and_the_address_is_langfuses_own() {
        let state = read(&[]).state();
        assert_eq!(state, TracingState::default());
        assert_eq!(
            state.langfuse.traces_url,
            "https://cloud.langfuse.com/api/public/otel/v1/traces"
        );
    }

    #[test]
    fn one_key_is_told_but_is_not_enough() {
        let settings = read(&[("LANGFUSE_PUBLIC_KEY", "pk"), ("LANGFUSE_SECRET_KEY", " ")]);
        let target = settings.langfuse.target();
        assert!(target.has_public_key && !target.has_secret_key);
        assert!(!settings.is_configured());
    }

    #[test]
    fn what_is_configured_counts_before_the_environment() {
        let mut own = TracingSettings::default();
        own.langfuse.base_url = Some("https://mine.example/".to_owned());
        let variable = |name: &str| (name == "LANGFUSE_HOST").then(|| "https://other".to_owned());
        let target = own.or_environment(&variable).langfuse.target();
        assert_eq!(target.base_url, "https://mine.example");
    }

    #[test]
    fn otlp_is_configured_as_its_specification_says() {
        let all = read(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b, , broken, y=1"),
            ("OTEL_RESOURCE_ATTRIBUTES", "team=core"),
            ("OTEL_BSP_SCHEDULE_DELAY", "50"),
        ]);
        let otlp = all.otlp.as_ref().expect("an endpoint");
        assert_eq!(otlp.traces_url, "http://collector:4318/v1/traces");
        let headers = &otlp.headers;
        assert_eq!(headers.len(), 2);
        assert_eq!(headers[0].1.expose_secret(), "a b");
        assert_eq!(all.resource, [("team".to_owned(), "core".to_owned())]);
        assert_eq!(all.batch_delay(), Duration::from_millis(50));
        assert!(all.is_configured());
        let own = read(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces/here"),
        ]);
        assert_eq!(
            own.otlp.map(|otlp| otlp.traces_url).as_deref(),
            Some("http://traces/here")
        );
        for off in [
            ("OTEL_SDK_DISABLED", "true"),
            ("OTEL_TRACES_EXPORTER", "none"),
        ] {
            let off = read(&[
                ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318"),
                off,
            ]);
            assert!(!off.is_configured());
        }
    }

    #[test]
    fn a_debug_print_has_no_key() {
        let settings = read(&[
            ("LANGFUSE_SECRET_KEY", "sk-planted"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=planted"),
        ]);
        assert!(!format!("{settings:?}").contains("planted"));
        assert_eq!(settings.secrets().len(), 2);
    }
}
