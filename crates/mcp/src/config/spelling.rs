//! `mcp-servers.json`, as text and as servers.
//!
//! Read by hand rather than by derive: an error has to name the field, and must never repeat a value,
//! which may be a key.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value, json};
use vocabulary::{McpAuth, McpServer, McpTransport};

use super::FILE;
use super::field::{Field, kind};

/// The most servers that one file may have.
pub const SERVERS_MAX: usize = 200;
pub const NAME_CHARS_MAX: usize = 128;

/// The servers of a file, or what is wrong with it: nothing of a malformed file counts.
pub fn parse(bytes: &[u8]) -> Result<Vec<McpServer>, String> {
    let root = parse_root(bytes)?;
    servers_of(&root)
}

/// A file as it is, with what only others know of.
pub fn parse_root(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let wrong = |what: String| format!("{FILE}: {what}");
    let text = std::str::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8".to_owned()))?;
    // Some editors begin every file with this.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match serde_json::from_str(text) {
        Ok(Value::Object(root)) => Ok(root),
        Ok(other) => Err(wrong(format!(
            "Invalid input: expected object, received {}",
            kind(Some(&other))
        ))),
        Err(error) => Err(wrong(format!("invalid JSON: {error}"))),
    }
}

pub fn servers_of(root: &Map<String, Value>) -> Result<Vec<McpServer>, String> {
    let list = Field::of(root, "", "servers");
    let Some(Value::Array(values)) = list.value else {
        return Err(list.expected("array"));
    };
    if values.len() > SERVERS_MAX {
        return Err(list.wrong(&format!("there are more than {SERVERS_MAX}")));
    }
    let (mut servers, mut names) = (Vec::new(), BTreeSet::new());
    for (position, value) in values.iter().enumerate() {
        let at = format!("servers.{position}");
        let server = parse_server(value, &at)?;
        if !names.insert(server.name.clone()) {
            return Err(format!(
                "{FILE}: {at}.name: an earlier server has the same name"
            ));
        }
        servers.push(server);
    }
    Ok(servers)
}

/// One server; `at` is where it stands.
pub fn parse_server(value: &Value, at: &str) -> Result<McpServer, String> {
    let field = Field::at(Some(value), at.to_owned());
    let object = field.object()?;
    let retries = Field::of(object, at, "retries");
    Ok(McpServer {
        name: name(&Field::of(object, at, "name"))?,
        transport: transport(&Field::of(object, at, "transport"))?,
        required: Field::of(object, at, "required").optional(Field::boolean)?,
        retries: retries.optional(Field::retries)?,
        auth: Field::of(object, at, "auth").optional(auth)?,
    })
}

/// What a server may be called: anything that people can see, but not endlessly.
fn name(field: &Field<'_>) -> Result<String, String> {
    let name = field.text()?.trim();
    if name.is_empty() {
        return Err(field.wrong("must not be empty"));
    }
    if name.chars().count() > NAME_CHARS_MAX {
        return Err(field.wrong(&format!("is longer than {NAME_CHARS_MAX} characters")));
    }
    let is_unseen = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
    };
    if name.contains(is_unseen) {
        return Err(field.wrong("has characters that cannot be seen"));
    }
    Ok(name.to_owned())
}

fn transport(field: &Field<'_>) -> Result<McpTransport, String> {
    let (object, at) = (field.object()?, field.at.as_str());
    let of = |name| Field::of(object, at, name);
    let kind = of("type");
    match kind.text()? {
        "stdio" => Ok(McpTransport::Stdio {
            command: of("command").program_text()?.to_owned(),
            args: of("args").optional(Field::arguments)?.unwrap_or_default(),
            env: of("env").optional(variables)?.unwrap_or_default(),
            cwd: of("cwd").optional(Field::program_text)?.map(str::to_owned),
        }),
        "http" => Ok(McpTransport::Http {
            url: url(&of("url"))?,
            headers: of("headers").optional(headers)?.unwrap_or_default(),
        }),
        "sse" => Ok(McpTransport::Sse {
            url: url(&of("url"))?,
            headers: of("headers").optional(headers)?.unwrap_or_default(),
        }),
        // Whatever else stands there.
        _ => Err(kind.wrong("must be \"stdio\", \"http\" or \"sse\"")),
    }
}

fn auth(field: &Field<'_>) -> Result<McpAuth, String> {
    let (object, at) = (field.object()?, field.at.as_str());
    let of = |name| Field::of(object, at, name);
    let owned = |name| {
        let text = of(name).optional(Field::text)?;
        Ok::<_, String>(text.map(str::to_owned))
    };
    let kind = of("type");
    match kind.text()? {
        "none" => Ok(McpAuth::None),
        "api_key" => {
            of("headerName").optional(header_name)?;
            of("prefix").optional(header_value)?;
            Ok(McpAuth::ApiKey {
                header: owned("headerName")?,
                prefix: owned("prefix")?,
                key_id: owned("keyId")?,
            })
        }
        "oauth" => {
            let mode = of("oauthMode");
            if !matches!(mode.optional(Field::text)?, None | Some("auto" | "code")) {
                return Err(mode.wrong("must be \"auto\" or \"code\""));
            }
            of("resource").optional(url)?;
            Ok(McpAuth::OAuth {
                scope: owned("scope")?,
                resource: owned("resource")?,
                mode: owned("oauthMode")?,
            })
        }
        // Whatever else stands there.
        _ => Err(kind.wrong("must be \"none\", \"api_key\" or \"oauth\"")),
    }
}

fn url(field: &Field<'_>) -> Result<String, String> {
    let text = field.text()?.trim();
    let Ok(url) = Url::parse(text) else {
        return Err(field.wrong("is not a URL"));
    };
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(field.wrong("must begin with http:// or https://"));
    }
    // It would be shown wherever the server is.
    if !url.username().is_empty() || url.password().is_some() {
        return Err(field.wrong("must not hold a password; use headers or auth"));
    }
    Ok(text.to_owned())
}

fn variables(field: &Field<'_>) -> Result<BTreeMap<String, String>, String> {
    let pairs = field.texts()?;
    for (name, value) in &pairs {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(field.wrong("has a name that no variable can have"));
        }
        if value.contains('\0') {
            return Err(field.inner(name).wrong("has a NUL in it"));
        }
    }
    Ok(pairs)
}

fn headers(field: &Field<'_>) -> Result<BTreeMap<String, String>, String> {
    let pairs = field.texts()?;
    for (name, value) in &pairs {
        if HeaderName::from_bytes(name.as_bytes()).is_err() {
            return Err(field.wrong("has a name that no header can have"));
        }
        if HeaderValue::from_str(value).is_err() {
            let what = "has characters that no header can have";
            return Err(field.inner(name).wrong(what));
        }
    }
    Ok(pairs)
}

fn header_name(field: &Field<'_>) -> Result<(), String> {
    let name = HeaderName::from_bytes(field.text()?.as_bytes());
    name.map(|_| ())
        .map_err(|_| field.wrong("cannot be the name of a header"))
}

fn header_value(field: &Field<'_>) -> Result<(), String> {
    let value = HeaderValue::from_str(field.text()?);
    value
        .map(|_| ())
        .map_err(|_| field.wrong("has characters that no header can have"))
}

/// A server as the file has it.
pub fn spell(server: &McpServer) -> Map<String, Value> {
    let mut entry = Map::new();
    entry.insert("name".to_owned(), json!(server.name));
    let transport = match &server.transport {
        McpTransport::Stdio {
            command,
            args,
            env,
            cwd,
        } => {
            let pairs = [
                ("type", Some(json!("stdio"))),
                ("command", Some(json!(command))),
                ("args", (!args.is_empty()).then(|| json!(args))),
                ("env", (!env.is_empty()).then(|| json!(env))),
                ("cwd", cwd.as_ref().map(|cwd| json!(cwd))),
            ];
            object(pairs)
        }
        McpTransport::Http { url, headers } => remote("http", url, headers),
        McpTransport::Sse { url, headers } => remote("sse", url, headers),
    };
    entry.insert("transport".to_owned(), transport);
    if let Some(required) = server.required {
        entry.insert("required".to_owned(), json!(required));
    }
    if let Some(retries) = server.retries {
        entry.insert("retries".to_owned(), json!(retries));
    }
    if let Some(auth) = &server.auth {
        entry.insert("auth".to_owned(), spell_auth(auth));
    }
    entry
}

fn remote(kind: &str, url: &str, headers: &BTreeMap<String, String>) -> Value {
    object([
        ("type", Some(json!(kind))),
        ("url", Some(json!(url))),
        ("headers", (!headers.is_empty()).then(|| json!(headers))),
    ])
}

fn spell_auth(auth: &McpAuth) -> Value {
    let text = |text: &Option<String>| text.as_ref().map(|text| json!(text));
    match auth {
        McpAuth::None => object([("type", Some(json!("none")))]),
        McpAuth::ApiKey {
            header,
            prefix,
            key_id,
        } => object([
            ("type", Some(json!("api_key"))),
            ("headerName", text(header)),
            ("prefix", text(prefix)),
            ("keyId", text(key_id)),
        ]),
        McpAuth::OAuth {
            scope,
            resource,
            mode,
        } => object([
            ("type", Some(json!("oauth"))),
            ("scope", text(scope)),
            ("resource", text(resource)),
            ("oauthMode", text(mode)),
        ]),
    }
}

fn object<const N: usize>(pairs: [(&str, Option<Value>); N]) -> Value {
    let there = pairs
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(there.collect())
}

#[cfg(test)]
mod tests;
