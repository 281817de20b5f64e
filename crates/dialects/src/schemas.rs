//! JSON Schemas of every dialect's frames, made from the wire types.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Value, json};

use crate::codex::Endpoint::{Codex, Zane};
use crate::{codex, cowork, diminuendo, pioneer};

pub mod rpc;

/// What a client of one dialect may send, and what it may be told.
pub struct DialectSchema {
    /// Also its name at `/schema` and in `schemas/`.
    pub dialect: &'static str,
    pub client: Value,
    pub server: Value,
}

/// Every dialect's schema; one line per dialect.
pub fn all() -> Vec<DialectSchema> {
    type Dim = diminuendo::wire::event::ServerEvent<'static>;
    vec![
        of::<cowork::wire::client::ClientMessage, cowork::wire::ServerEvent<'static>>("cowork"),
        of::<cowork::v1::wire::ClientMessage, cowork::v1::wire::Told<'static>>("cowork1"),
        of::<diminuendo::wire::client::ClientMessage, Dim>("diminuendo"),
        rpc(
            "zane",
            codex::schema::client(Zane),
            codex::schema::server(Zane),
        ),
        rpc(
            "codex",
            codex::schema::client(Codex),
            codex::schema::server(Codex),
        ),
        rpc(
            "pioneer",
            pioneer::schema::client(),
            pioneer::schema::server(),
        ),
    ]
}

impl DialectSchema {
    /// Both directions in one document.
    pub fn document(&self) -> Value {
        json!({ "dialect": self.dialect, "client": self.client, "server": self.server })
    }
}

fn rpc(dialect: &'static str, client: Value, server: Value) -> DialectSchema {
    DialectSchema {
        dialect,
        client,
        server,
    }
}

fn of<Client: JsonSchema, Server: JsonSchema>(dialect: &'static str) -> DialectSchema {
    // What a client sends is read, what it is told is written: a default matters only there.
    let client = SchemaGenerator::new(SchemaSettings::draft2020_12().for_deserialize());
    let server = SchemaGenerator::new(SchemaSettings::draft2020_12().for_serialize());
    DialectSchema {
        dialect,
        client: client.into_root_schema_for::<Client>().to_value(),
        server: server.into_root_schema_for::<Server>().to_value(),
    }
}
