//! Tools as models are told of them, made once: they go with every request of every thread.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use providers::ToolSpec;
use tools::{Tool, ToolFaces};

/// Beyond so many, those of tools that are gone are let go of.
const SPECS_KEPT: usize = 512;

#[derive(Default)]
pub struct ToolSpecCache {
    specs: Mutex<HashMap<(Box<str>, ToolFaces), CachedSpec>>,
}

struct CachedSpec {
    /// Another tool may come to have the same name.
    tool: Weak<dyn Tool>,
    spec: ToolSpec,
}

impl ToolSpecCache {
    pub fn get(&self, tool: &Arc<dyn Tool>, faces: ToolFaces) -> ToolSpec {
        let key = (Box::from(tool.name()), faces);
        let mut specs = self.specs.lock();
        let known = specs.get(&key);
        let same = known.filter(|known| std::ptr::addr_eq(known.tool.as_ptr(), Arc::as_ptr(tool)));
        if let Some(known) = same {
            return known.spec.clone();
        }
        if specs.len() >= SPECS_KEPT {
            specs.retain(|_, cached| cached.tool.strong_count() > 0);
        }
        let spec = made(tool.as_ref(), faces);
        let cached = CachedSpec {
            tool: Arc::downgrade(tool),
            spec: spec.clone(),
        };
        specs.insert(key, cached);
        spec
    }
}

fn made(tool: &dyn Tool, faces: ToolFaces) -> ToolSpec {
    let face = faces.face(tool);
    ToolSpec {
        grammar: face.grammar,
        ..ToolSpec::new(&face.name, &face.description, face.parameters)
    }
}
