//! What was measured, beside what we want.

use serde_json::{Value, json};

/// A number we want to stay on one side of.
#[derive(Clone, Copy)]
pub enum Bound {
    Below(f64),
    Above(f64),
}

impl Bound {
    fn met(self, measured: f64) -> bool {
        match self {
            Bound::Below(most) => measured <= most,
            Bound::Above(least) => measured >= least,
        }
    }

    fn text(self) -> String {
        match self {
            Bound::Below(most) => format!("< {}", shown(most)),
            Bound::Above(least) => format!("> {}", shown(least)),
        }
    }
}

pub struct Row {
    name: String,
    unit: &'static str,
    measured: f64,
    floor: Option<Bound>,
    goal: Option<Bound>,
    note: String,
}

impl Row {
    pub fn new(name: impl Into<String>, unit: &'static str, measured: f64) -> Self {
        Self {
            name: name.into(),
            unit,
            measured,
            floor: None,
            goal: None,
            note: String::new(),
        }
    }

    /// What must be met.
    pub fn floor(mut self, floor: Bound) -> Self {
        self.floor = Some(floor);
        self
    }

    /// What the design promises.
    pub fn goal(mut self, goal: Bound) -> Self {
        self.goal = Some(goal);
        self
    }

    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    fn mark(&self) -> &'static str {
        let met = |bound: Option<Bound>| bound.map(|bound| bound.met(self.measured));
        match (met(self.floor), met(self.goal)) {
            (Some(false), _) => "MISSED",
            (_, Some(true)) => "goal",
            (Some(true), _) => "floor",
            (None, Some(false)) => "below goal",
            (None, None) => "",
        }
    }
}

#[derive(Default)]
pub struct Table(Vec<Row>);

impl Table {
    pub fn add(&mut self, row: Row) {
        let measured = shown(row.measured);
        eprintln!("  {}: {measured} {} {}", row.name, row.unit, row.note);
        self.0.push(row);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn print(&self) {
        let text = |bound: Option<Bound>| bound.map_or_else(String::new, Bound::text);
        println!(
            "{:<44} {:>10} {:<9} {:>10} {:>10}  mark",
            "what", "measured", "", "floor", "goal"
        );
        for row in &self.0 {
            println!(
                "{:<44} {:>10} {:<9} {:>10} {:>10}  {:<10} {}",
                row.name,
                shown(row.measured),
                row.unit,
                text(row.floor),
                text(row.goal),
                row.mark(),
                row.note,
            );
        }
    }

    pub fn json(&self) -> Value {
        let bound = |bound: Option<Bound>| match bound {
            Some(Bound::Below(most)) => json!({ "below": most }),
            Some(Bound::Above(least)) => json!({ "above": least }),
            None => Value::Null,
        };
        let row = |row: &Row| {
            json!({
                "name": row.name,
                "measured": row.measured,
                "unit": row.unit,
                "floor": bound(row.floor),
                "goal": bound(row.goal),
                "mark": row.mark(),
                "note": row.note,
            })
        };
        self.0.iter().map(row).collect()
    }
}

/// Three figures are as many as a shared machine can vouch for.
fn shown(number: f64) -> String {
    match number.abs() {
        size if size >= 1e6 => format!("{:.2}M", number / 1e6),
        size if size >= 1e4 => format!("{:.1}k", number / 1e3),
        size if size >= 100.0 => format!("{number:.0}"),
        size if size >= 10.0 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

/// Times of many tries, in milliseconds.
pub struct Times(Vec<f64>);

impl Times {
    pub fn new(mut millis: Vec<f64>) -> Self {
        millis.sort_by(f64::total_cmp);
        Self(millis)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The time that `share` of the tries stay below.
    pub fn at(&self, share: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        let place = (last as f64 * share).round() as usize;
        self.0.get(place).copied().unwrap_or(f64::NAN)
    }

    pub fn best(&self) -> f64 {
        self.at(0.0)
    }

    pub fn p50(&self) -> f64 {
        self.at(0.5)
    }

    pub fn p99(&self) -> f64 {
        self.at(0.99)
    }
}
