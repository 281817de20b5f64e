//! What a token says: of whom, by whom, for whom, and for how long (RFC 7519, 4.1).

use serde_json::{Map, Value};
use vocabulary::{Role, TenantId, Timestamp};

use super::limits::{CLOCK_SKEW_S, EMAIL_BYTES_MAX, SUBJECT_BYTES_MAX};
use super::{JwtError, JwtSettings, VerifiedToken, skewed};
use crate::tenants::tenant_id;

/// The last second of the year 9999; a later one is a mistake of units.
const SECONDS_MAX: f64 = 253_402_300_799.0;

type Claims = Map<String, Value>;

/// Whom the claims name, if they are for us and for now.
pub fn check(
    claims: &Claims,
    settings: &JwtSettings,
    now: Timestamp,
) -> Result<VerifiedToken, JwtError> {
    if claims.get("iss").and_then(Value::as_str) != Some(settings.issuer()) {
        return Err(JwtError::Issuer);
    }
    check_audience(claims, settings.audience())?;
    let ends = check_times(claims, now)?;
    let subject = claims.get("sub").and_then(Value::as_str);
    let subject = subject.filter(|text| is_name(text, SUBJECT_BYTES_MAX));
    Ok(VerifiedToken {
        subject: subject.ok_or(JwtError::Claim("sub"))?.to_owned(),
        email: email(claims)?,
        tenant: tenant(claims, settings.tenant_claim())?,
        role: settings.role_claim().and_then(|name| {
            let role = claims.get(name).and_then(Value::as_str);
            role.and_then(Role::parse)
        }),
        expires_at: Timestamp(ends.saturating_add(CLOCK_SKEW_S).saturating_mul(1_000)),
    })
}

fn check_audience(claims: &Claims, wanted: Option<&str>) -> Result<(), JwtError> {
    let Some(wanted) = wanted else {
        return Ok(());
    };
    let named = match claims.get("aud") {
        Some(Value::String(one)) => one == wanted,
        Some(Value::Array(many)) => many.iter().any(|each| each.as_str() == Some(wanted)),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => false,
    };
    named.then_some(()).ok_or(JwtError::Audience)
}

/// The second in which it ends, if that is still to come and it has begun.
fn check_times(claims: &Claims, now: Timestamp) -> Result<i64, JwtError> {
    let (latest, earliest) = skewed(now);
    let ends = seconds(claims, "exp")?.ok_or(JwtError::Claim("exp"))?;
    if ends <= earliest {
        return Err(JwtError::Expired);
    }
    for name in ["nbf", "iat"] {
        if seconds(claims, name)?.is_some_and(|begins| begins > latest) {
            return Err(JwtError::NotYetValid);
        }
    }
    Ok(ends)
}

fn seconds(claims: &Claims, name: &'static str) -> Result<Option<i64>, JwtError> {
    let Some(value) = claims.get(name) else {
        return Ok(None);
    };
    let seconds = value
        .as_f64()
        .filter(|each| (0.0..=SECONDS_MAX).contains(each));
    let seconds = seconds.ok_or(JwtError::Claim(name))?;
    Ok(Some(seconds as i64))
}

fn email(claims: &Claims) -> Result<Option<String>, JwtError> {
    match claims.get("email") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if is_name(text, EMAIL_BYTES_MAX) && text.contains('@') => {
            Ok(Some(text.clone()))
        }
        Some(_) => Err(JwtError::Claim("email")),
    }
}

fn tenant(claims: &Claims, name: &str) -> Result<TenantId, JwtError> {
    let tenant = claims.get(name).and_then(Value::as_str);
    let tenant = tenant.and_then(|text| tenant_id(text).ok());
    tenant.ok_or(JwtError::Tenant)
}

/// Something that can be shown and kept.
fn is_name(text: &str, bytes_max: usize) -> bool {
    let blank = |each: char| each.is_whitespace() || each.is_control();
    (1..=bytes_max).contains(&text.len()) && !text.contains(blank)
}
