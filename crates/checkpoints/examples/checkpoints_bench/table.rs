//! What was measured, side by side, and whether it is good enough.

use std::time::Duration;

use serde_json::{Value, json};

#[derive(Clone, Copy)]
pub enum Figure {
    Time(Duration),
    Bytes(u64),
}

impl Figure {
    pub fn time(self) -> Option<Duration> {
        match self {
            Figure::Time(time) => Some(time),
            Figure::Bytes(_) => None,
        }
    }

    pub fn text(self) -> String {
        match self {
            Figure::Time(time) => shown(time),
            Figure::Bytes(bytes) => format!("{:.1} MB", bytes as f64 / 1e6),
        }
    }

    fn json(self) -> Value {
        match self {
            Figure::Time(time) => json!({ "milliseconds": time.as_secs_f64() * 1e3 }),
            Figure::Bytes(bytes) => json!({ "bytes": bytes }),
        }
    }
}

fn shown(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

pub struct Row {
    pub step: &'static str,
    /// By who it was; ours first.
    pub measured: Vec<(&'static str, Figure)>,
    /// What ours may take at most.
    pub floor: Option<Duration>,
}

impl Row {
    fn mark(&self) -> &'static str {
        let ours = self.measured.first().and_then(|(_, figure)| figure.time());
        match (ours, self.floor) {
            (Some(ours), Some(floor)) if ours <= floor => "held",
            (Some(_), Some(_)) => "MISSED",
            (_, None) | (None, Some(_)) => "",
        }
    }

    fn json(&self) -> Value {
        let measured = self.measured.iter();
        let measured = measured.map(|(name, figure)| (*name, figure.json()));
        json!({
            "step": self.step,
            "measured": Value::from_iter(measured),
            "floor_milliseconds": self.floor.map(|floor| floor.as_secs_f64() * 1e3),
            "mark": self.mark(),
        })
    }
}

#[derive(Default)]
pub struct Table(Vec<(String, Vec<Row>)>);

impl Table {
    pub fn add(&mut self, title: &str, rows: Vec<Row>) {
        self.0.push((title.to_owned(), rows));
    }

    pub fn print(&self) {
        for (title, rows) in &self.0 {
            print!("{title:<28}");
            for (name, _) in rows
                .iter()
                .flat_map(|row| &row.measured)
                .take(columns(rows))
            {
                print!(" {name:>13}");
            }
            println!(" {:>13}", "floor");
            for row in rows {
                print!("  {:<26}", row.step);
                for (_, figure) in &row.measured {
                    print!(" {:>13}", figure.text());
                }
                let floor = row
                    .floor
                    .map_or_else(String::new, |floor| format!("< {}", shown(floor)));
                println!(" {floor:>13}  {}", row.mark());
            }
            println!();
        }
    }

    pub fn json(&self) -> Value {
        let part = |(title, rows): &(String, Vec<Row>)| {
            let rows: Vec<Value> = rows.iter().map(Row::json).collect();
            json!({ "workspace": title, "rows": rows })
        };
        self.0.iter().map(part).collect()
    }
}

fn columns(rows: &[Row]) -> usize {
    rows.first().map_or(0, |row| row.measured.len())
}
