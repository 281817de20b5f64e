//! `connect_provider`: the one message by which this protocol signs in.
//!
//! It names a provider and perhaps a key, and nothing more, so the catalog is asked first for the
//! method. What a person has to do, and how it ended, is told in assistant messages: the protocol
//! has no other words for them. Whoever connects a provider wants to use it, so the session changes
//! to its default model (Server -> Client Events: config_updated).

use vocabulary::{
    AuthMethod, Call, Catalog, Challenge, Changes, NamedModel, Secret, SignInCall, SignedIn,
};

use super::super::sign_in::FLOW_RUNNING;
use super::super::tell::tools::log;
use super::super::wire;
use super::super::wire::conversation::AssistantMessage;
use super::calls::{Cowork1Calls, Cowork1Purpose};
use super::session::Cowork1Session;
use crate::Action;

/// A sign-in from the message to its end.
pub struct Connecting {
    provider: String,
    key: Option<Secret>,
    /// Of the catalog, once it is known.
    method: String,
}

impl Cowork1Session {
    pub fn connect(
        &mut self,
        out: &mut Vec<Action>,
        calls: &mut Cowork1Calls,
        provider: String,
        key: Option<wire::client::Secret>,
    ) {
        if self.connecting.is_some() {
            return self.refuse(out, FLOW_RUNNING);
        }
        let key = key.map(|key| Secret::new(key.0.trim()));
        self.connecting = Some(Connecting {
            provider,
            key: key.filter(|key| !key.is_blank()),
            method: String::new(),
        });
        calls.make(out, Cowork1Purpose::ConnectCatalog, Call::GetCatalog);
    }

    pub fn connect_chosen(
        &mut self,
        out: &mut Vec<Action>,
        calls: &mut Cowork1Calls,
        catalog: &Catalog,
    ) {
        if let Some(mut connecting) = self.connecting.take() {
            if connecting.lacks_key(catalog) {
                return self.connect_pending(out, &connecting.provider);
            }
            let next = connecting.choose(catalog);
            self.connect_goes_on(out, calls, connecting, next);
        }
    }

    pub fn connect_challenged(
        &mut self,
        out: &mut Vec<Action>,
        calls: &mut Cowork1Calls,
        challenge: &Challenge,
    ) {
        if let Some(connecting) = self.connecting.take() {
            let next = connecting.answer_to(challenge);
            self.connect_goes_on(out, calls, connecting, next);
        }
    }

    fn connect_goes_on(
        &mut self,
        out: &mut Vec<Action>,
        calls: &mut Cowork1Calls,
        connecting: Connecting,
        next: Result<ConnectStep, String>,
    ) {
        let ConnectStep { tell, wanted, call } = match next {
            Ok(next) => next,
            Err(why) => return self.connect_failed(out, &why),
        };
        match tell {
            Tell::Nothing => {}
            Tell::Log(line) => out.push(Action::Send(log(&self.id, &line))),
            Tell::Person(text) => self.tell_person(out, &text),
        }
        self.connecting = Some(connecting);
        calls.make(out, wanted, Call::SignIn(call));
    }

    pub fn connected(&mut self, out: &mut Vec<Action>, calls: &mut Cowork1Calls, end: SignedIn) {
        let Some(connecting) = self.connecting.take() else {
            return;
        };
        if !end.ok {
            return self.connect_failed(out, &end.message);
        }
        let provider = &connecting.provider;
        self.tell_person(
            out,
            &format!("### Connected: {provider}\n\n{}", end.message),
        );
        if self.busy || self.model.provider == *provider {
            return;
        }
        let changes = Changes {
            named_model: Some(NamedModel::DefaultOf(provider.clone())),
            ..Changes::default()
        };
        let thread = self.card.id;
        calls.make(
            out,
            Cowork1Purpose::Nothing,
            Call::ChangeThread { thread, changes },
        );
    }

    pub fn connect_failed(&mut self, out: &mut Vec<Action>, why: &str) {
        self.connecting = None;
        self.refuse(out, &format!("connect failed: {why}"));
    }

    /// Not an error: the person was asked for a key and gave none yet.
    fn connect_pending(&self, out: &mut Vec<Action>, provider: &str) {
        let text = format!(
            "### Connection pending: {provider}\n\nNo API key provided. The connection stays pending \
             until one is: connect {provider} again with an API key."
        );
        self.tell_person(out, &text);
    }

    fn tell_person(&self, out: &mut Vec<Action>, text: &str) {
        let message = wire::ServerEvent::AssistantMessage(AssistantMessage {
            session_id: &self.id,
            text,
        });
        out.push(Action::Send(message.frame()));
    }
}

/// What a flow does next, and what is said of it.
struct ConnectStep {
    tell: Tell,
    wanted: Cowork1Purpose,
    call: SignInCall,
}

enum Tell {
    Nothing,
    Log(String),
    Person(String),
}

impl Connecting {
    /// Whether the provider takes a key and nothing else, and none was given.
    fn lacks_key(&self, catalog: &Catalog) -> bool {
        let mut providers = catalog.providers.iter();
        let entry = providers.find(|each| each.id == self.provider);
        let key_only = entry.is_some_and(|entry| {
            let is_key = |method: &AuthMethod| matches!(method, AuthMethod::ApiKey { .. });
            !entry.auth_methods.is_empty() && entry.auth_methods.iter().all(is_key)
        });
        key_only && self.key.is_none()
    }

    /// With a key the provider's first method that takes one, else the first without.
    fn choose(&mut self, catalog: &Catalog) -> Result<ConnectStep, String> {
        let provider = self.provider.clone();
        let entry = catalog.providers.iter().find(|each| each.id == provider);
        let entry = entry.ok_or_else(|| format!("this server has no provider {provider}"))?;
        let with_key = entry.auth_methods.iter().find_map(|method| match method {
            AuthMethod::ApiKey { id, .. } => Some(id),
            AuthMethod::OAuth { .. } => None,
        });
        let without = entry.auth_methods.iter().find_map(|method| match method {
            AuthMethod::OAuth { id, .. } => Some(id),
            AuthMethod::ApiKey { .. } => None,
        });
        match (self.key.take(), with_key, without) {
            (Some(key), Some(id), _) => {
                let method = id.clone();
                Ok(ConnectStep {
                    tell: Tell::Nothing,
                    wanted: Cowork1Purpose::ConnectEnd,
                    call: SignInCall::SetKey {
                        provider,
                        method,
                        key,
                    },
                })
            }
            (None, _, Some(id)) => {
                self.method = id.clone();
                let method = id.clone();
                Ok(ConnectStep {
                    tell: Tell::Log(format!("[connect {provider}] starting oauth...")),
                    wanted: Cowork1Purpose::ConnectChallenge,
                    call: SignInCall::Begin { provider, method },
                })
            }
            (Some(_), None, _) => Err(format!("{provider} takes no API key")),
            (None, _, None) => Err(format!("{provider} needs an API key")),
        }
    }

    fn answer_to(&self, challenge: &Challenge) -> Result<ConnectStep, String> {
        let provider = &self.provider;
        if challenge.needs_code {
            return Err(format!(
                "this sign-in needs a code to be entered, which this client cannot do; \
                 run `dragoman auth login {provider}`"
            ));
        }
        let mut text = format!("### Connect {provider}\n\n{}", challenge.instructions);
        if let Some(url) = &challenge.url
            && !challenge.instructions.contains(url.as_str())
        {
            text.push_str(&format!("\n\n<{url}>"));
        }
        Ok(ConnectStep {
            tell: Tell::Person(text),
            wanted: Cowork1Purpose::ConnectEnd,
            call: SignInCall::Finish {
                provider: provider.clone(),
                method: self.method.clone(),
                code: None,
            },
        })
    }
}
