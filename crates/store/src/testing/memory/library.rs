//! A tenant's records in memory.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::{Record, RecordChange, RecordKind, Records, Result, StoreError};

#[derive(Default)]
pub(super) struct Library {
    revision: u64,
    records: BTreeMap<(RecordKind, String), Bytes>,
}

impl Library {
    pub(super) fn read(&self, kind: RecordKind) -> Records {
        let from = (kind, String::new());
        let found = self.records.range(from..);
        let found = found.take_while(|((of, _), _)| *of == kind);
        let record = |((_, id), value): (&(RecordKind, String), &Bytes)| Record {
            id: id.clone(),
            value: value.clone(),
        };
        Records {
            revision: self.revision,
            records: found.map(record).collect(),
        }
    }

    pub(super) fn named(&self, kind: RecordKind, ids: &[String]) -> Vec<Record> {
        let named = |id: &String| {
            let value = self.records.get(&(kind, id.clone()))?.clone();
            let id = id.clone();
            Some(Record { id, value })
        };
        ids.iter().filter_map(named).collect()
    }

    pub(super) fn write(&mut self, expected: u64, changes: Vec<RecordChange>) -> Result<u64> {
        let found = self.revision;
        if found != expected {
            return Err(StoreError::Outdated { expected, found });
        }
        for RecordChange { kind, id, value } in changes {
            match value {
                Some(value) => self.records.insert((kind, id), value),
                None => self.records.remove(&(kind, id)),
            };
        }
        self.revision += 1;
        Ok(self.revision)
    }
}
