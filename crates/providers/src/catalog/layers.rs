//! One catalog file laid over another: what is written replaces, what is not written stays.

use super::file::{File, ModelEntry, OAuthEntry, ProviderEntry};

impl File {
    pub fn lay_over(&mut self, own: File) {
        for theirs in own.provider {
            match self.provider.iter_mut().find(|each| each.id == theirs.id) {
                Some(ours) => ours.lay_over(theirs),
                None => self.provider.push(theirs),
            }
        }
    }
}

/// What is written replaces; what is not written stays.
pub(super) fn replace<T>(place: &mut Option<T>, written: Option<T>) {
    if written.is_some() {
        *place = written;
    }
}

impl ProviderEntry {
    fn lay_over(&mut self, own: ProviderEntry) {
        replace(&mut self.name, own.name);
        replace(&mut self.wire, own.wire);
        replace(&mut self.base_url, own.base_url);
        replace(&mut self.base_url_env, own.base_url_env);
        replace(&mut self.host_env, own.host_env);
        replace(&mut self.key_env, own.key_env);
        replace(&mut self.google_file_env, own.google_file_env);
        replace(&mut self.aws_service, own.aws_service);
        replace(&mut self.bearer_env, own.bearer_env);
        replace(&mut self.key_base_url, own.key_base_url);
        replace(&mut self.key_base_url_env, own.key_base_url_env);
        replace(&mut self.keyless, own.keyless);
        replace(&mut self.models_path, own.models_path);
        replace(&mut self.lists_all, own.lists_all);
        replace(&mut self.local_api, own.local_api);
        replace(&mut self.key_header, own.key_header);
        replace(&mut self.by_name_only, own.by_name_only);
        replace(&mut self.small_model, own.small_model);
        replace(&mut self.auth, own.auth);
        self.retired.extend(own.retired);
        self.quirks = self.quirks.with(&own.quirks);
        if let Some(headers) = own.headers {
            self.headers.get_or_insert_default().0.extend(headers.0);
        }
        if let Some(oauth) = own.oauth {
            self.oauth.get_or_insert_default().lay_over(oauth);
        }
        for theirs in own.model {
            match self.model.iter_mut().find(|each| each.id == theirs.id) {
                Some(ours) => ours.lay_over(theirs),
                None => self.model.push(theirs),
            }
        }
    }
}

impl OAuthEntry {
    fn lay_over(&mut self, own: OAuthEntry) {
        replace(&mut self.issuer, own.issuer);
        replace(&mut self.issuer_env, own.issuer_env);
        replace(&mut self.client_id, own.client_id);
        replace(&mut self.scopes, own.scopes);
        replace(&mut self.callback_ports, own.callback_ports);
        replace(&mut self.parameters, own.parameters);
        replace(&mut self.headers, own.headers);
        replace(&mut self.account_header, own.account_header);
        replace(&mut self.client_version, own.client_version);
        replace(&mut self.authorize_url, own.authorize_url);
        replace(&mut self.token_url, own.token_url);
        replace(
            &mut self.device_authorization_url,
            own.device_authorization_url,
        );
    }
}

impl ModelEntry {
    pub fn lay_over(&mut self, own: ModelEntry) {
        replace(&mut self.name, own.name);
        replace(&mut self.context, own.context);
        replace(&mut self.input, own.input);
        replace(&mut self.output, own.output);
        replace(&mut self.price, own.price);
        replace(&mut self.efforts, own.efforts);
        replace(&mut self.default_effort, own.default_effort);
        replace(&mut self.vision, own.vision);
        replace(&mut self.tools, own.tools);
        replace(&mut self.retires, own.retires);
        replace(&mut self.successor, own.successor);
        self.quirks = self.quirks.with(&own.quirks);
    }
}
