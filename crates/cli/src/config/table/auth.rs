//! The settings of JWTs: whose are taken, and what is read from them.

use identity::jwt::{TENANT_CLAIM, issuer_url, plain_name, safe_url};

use super::super::setting::Fallback::{Nothing, Value};
use super::super::setting::Setting;
use super::super::setting::SettingKind::{Switch, Text};
use super::USUAL;

const SIGN_IN: Option<&str> = Some("Sign-in by an OpenID provider");

pub const AUTH_ISSUER: Setting = Setting {
    name: "auth-issuer",
    value: "URL",
    help: "The OpenID provider whose JWTs let clients in, exactly as it is written in their `iss`",
    heading: SIGN_IN,
    fallback: Nothing("none: no JWT is taken"),
    sample: "https://login.example/",
    kind: Text(|all, text| {
        issuer_url(text)?;
        all.settings.auth.issuer = Some(text.to_owned());
        Ok(())
    }),
    ..USUAL
};

pub const AUTH_AUDIENCE: Setting = Setting {
    name: "auth-audience",
    value: "NAME",
    help: "Take only JWTs that are for this audience (`aud`); set it if the provider signs for others, too",
    heading: SIGN_IN,
    fallback: Nothing("any"),
    sample: "https://dragoman.example",
    kind: Text(|all, text| {
        all.settings.auth.audience = Some(plain_name(text)?);
        Ok(())
    }),
    ..USUAL
};

pub const AUTH_JWKS_URL: Setting = Setting {
    name: "auth-jwks-url",
    value: "URL",
    help: "Where the keys of the provider are (default: where its discovery document says)",
    heading: SIGN_IN,
    fallback: Nothing("where the issuer's discovery document says"),
    sample: "https://login.example/.well-known/jwks.json",
    kind: Text(|all, text| {
        safe_url(text)?;
        all.settings.auth.jwks_url = Some(text.to_owned());
        Ok(())
    }),
    ..USUAL
};

pub const AUTH_TENANT_CLAIM: Setting = Setting {
    name: "auth-tenant-claim",
    value: "NAME",
    help: "The claim that names the tenant",
    heading: SIGN_IN,
    fallback: Value(TENANT_CLAIM),
    kind: Text(|all, text| {
        all.settings.auth.tenant_claim = plain_name(text)?;
        Ok(())
    }),
    ..USUAL
};

pub const AUTH_ROLE_CLAIM: Setting = Setting {
    name: "auth-role-claim",
    value: "NAME",
    help: "The claim that names the role of who comes for the first time (default: they are members)",
    heading: SIGN_IN,
    fallback: Nothing("none: who comes for the first time is a member"),
    sample: "role",
    kind: Text(|all, text| {
        all.settings.auth.role_claim = Some(plain_name(text)?);
        Ok(())
    }),
    ..USUAL
};

pub const AUTH_PROVISION: Setting = Setting {
    name: "auth-provision",
    value: "yes|no",
    help: "Whether who comes for the first time becomes a member of their tenant; otherwise only \
           known members are let in",
    heading: SIGN_IN,
    fallback: Value("true"),
    kind: Switch(|all, on| all.settings.auth.provision = on),
    ..USUAL
};
