//! The lines of a file.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use store::Receipt;
use vocabulary::{PlanStep, Seq, Thread, Timestamp, Usage};

use super::place::LibraryPlace;

/// The version that is written, and the only one that is read.
pub const VERSION: u32 = 1;
/// What the first line says that a file is.
pub const KIND: &str = "thread";

/// What every version's first line has.
#[derive(Deserialize)]
pub struct ExportKind {
    pub dragoman: String,
    pub version: u32,
}

/// Whether a text begins as one of our files does, of whatever version.
pub fn is_exported(beginning: &[u8]) -> bool {
    beginning.starts_with(b"{\"dragoman\":\"")
}

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ThreadHeader {
    pub dragoman: String,
    pub version: u32,
    /// As lists show it: what its log comes to.
    pub thread: Thread,
    pub last_seq: Seq,
    /// Numbers up to here are spent: a client may have seen them.
    pub high_water: Seq,
    /// For readers; the log has it.
    #[serde(default)]
    pub plan: Vec<PlanStep>,
    /// What was spent in all; the log has it.
    #[serde(default)]
    pub usage: Usage,
    #[serde(default)]
    pub place: LibraryPlace,
}

/// Any line behind the first: an event, a receipt or the end.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransferLine<'a> {
    #[serde(default)]
    pub seq: Option<Seq>,
    #[serde(default)]
    pub at: Option<Timestamp>,
    /// As the log keeps it, to the letter.
    #[serde(default, borrow)]
    pub event: Option<&'a RawValue>,
    #[serde(default)]
    pub receipt: Option<KeptReceipt>,
    #[serde(default)]
    pub end: Option<TransferEnd>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeptReceipt {
    pub kind: String,
    pub client_id: String,
    /// Of the request's body, in hexadecimal.
    pub hash: String,
    pub answer: String,
}

impl From<Receipt> for KeptReceipt {
    fn from(receipt: Receipt) -> Self {
        Self {
            kind: receipt.kind.into_owned(),
            client_id: receipt.client_id,
            hash: blake3::Hash::from_bytes(receipt.hash).to_hex().to_string(),
            answer: receipt.answer,
        }
    }
}

/// The last line: how many there were of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransferEnd {
    pub events: u64,
    pub receipts: u64,
}
