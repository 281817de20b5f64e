//! Tools to play with: they note when they begin and end, and wait to be let go.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::watch;
use tools::{Failure, Judgement, Risk, Scope, Tool, ToolCx};
use vocabulary::{Effects, Subject, ToolOutput};

/// What the toys of one test have in common.
#[derive(Default)]
struct Table {
    notes: Vec<String>,
    released: BTreeSet<String>,
}

#[derive(Clone)]
pub struct Toys(watch::Sender<Table>);

impl Toys {
    pub fn new() -> Self {
        Self(watch::Sender::new(Table::default()))
    }

    /// A tool. Its input is `{"id": …, "hold": bool}`; with `hold` it runs until it is released.
    pub fn tool(&self, name: &'static str, effects: Effects) -> Arc<dyn Tool> {
        let (toys, asks) = (self.clone(), false);
        Arc::new(Toy {
            name,
            effects,
            subject: Subject::Other,
            toys,
            asks,
        })
    }

    /// A tool that runs a command.
    pub fn command(&self, name: &'static str) -> Arc<dyn Tool> {
        Arc::new(Toy {
            name,
            effects: Effects::RUNS,
            subject: Subject::Command {
                line: name.to_owned(),
                directory: None,
            },
            toys: self.clone(),
            asks: false,
        })
    }

    /// A tool that a person must allow.
    pub fn asking_tool(&self, name: &'static str, effects: Effects) -> Arc<dyn Tool> {
        let (toys, asks) = (self.clone(), true);
        Arc::new(Toy {
            name,
            effects,
            subject: Subject::Other,
            toys,
            asks,
        })
    }

    fn note(&self, note: String) {
        self.0.send_modify(|table| table.notes.push(note));
    }

    pub fn notes(&self) -> Vec<String> {
        self.0.borrow().notes.clone()
    }

    pub fn release(&self, id: &str) {
        self.0.send_modify(|table| {
            table.released.insert(id.to_owned());
        });
    }

    /// Waits until all of this was noted.
    pub async fn noted(&self, notes: &[&str]) {
        let all = |table: &Table| {
            notes
                .iter()
                .all(|note| table.notes.iter().any(|n| n == note))
        };
        self.0.subscribe().wait_for(all).await.expect("a table");
    }
}

struct Toy {
    name: &'static str,
    effects: Effects,
    subject: Subject,
    asks: bool,
    toys: Toys,
}

#[async_trait]
impl Tool for Toy {
    fn name(&self) -> &'static str {
        self.name
    }

    fn description(&self) -> &'static str {
        "A toy."
    }

    fn parameters(&self) -> Value {
        json!({"type": "object"})
    }

    fn effects(&self) -> Effects {
        self.effects
    }

    fn subject(&self, _input: &Value) -> Subject {
        self.subject.clone()
    }

    fn judge(&self, _scope: &Scope, _input: &Value) -> Judgement {
        match self.asks {
            false => Judgement::Allow,
            true => Judgement::Ask {
                command: self.name.to_owned(),
                dangerous: false,
                risk: Risk::ManualReview,
                why: "it asks".to_owned(),
            },
        }
    }

    async fn run(&self, cx: &ToolCx, input: Value) -> Result<ToolOutput, Failure> {
        let id = input["id"].as_str().unwrap_or_default().to_owned();
        self.toys.note(format!("{id} begins"));
        if cx.scope.read_only {
            self.toys.note(format!("{id} may not write"));
        }
        if input["hold"] == true {
            let mut table = self.toys.0.subscribe();
            tokio::select! {
                () = cx.cancel.cancelled() => {
                    self.toys.note(format!("{id} is cancelled"));
                    return Err(Failure::Cancelled(ToolOutput::Text("stopped".to_owned())));
                }
                released = table.wait_for(|table| table.released.contains(&id)) => {
                    drop(released.expect("a table"));
                }
            }
        }
        self.toys.note(format!("{id} ends"));
        Ok(ToolOutput::Text(format!("{id} did it")))
    }
}
