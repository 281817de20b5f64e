//! Measures snapshots and restores beside `tar -cz` and a git shadow repository, on the same tree in
//! the same run: `cargo xtask bench checkpoints`.
//!
//! All three read files that are in the page cache, and what one wrote is on the disk before the
//! next begins. A peer that is not installed is left out.

mod git;
mod keeper;
mod table;
mod tar;
mod trees;
mod vault;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use keeper::{AnyKeeper, Keeper};
use table::{Figure, Row, Table};
use trees::Shape;

/// Short work is done this often and the median counts; long work is done once.
const RUNS: usize = 3;
const LONG: Duration = Duration::from_secs(5);

fn main() -> anyhow::Result<()> {
    let Arguments {
        shapes,
        quick,
        json,
    } = arguments()?;
    let mut table = Table::default();
    for shape in shapes {
        measure(shape, quick, &mut table)?;
    }
    table.print();
    println!(
        "median of {RUNS}, or once where it takes longer than {LONG:?}; {}",
        busy()
    );
    if let Some(path) = json {
        let text = serde_json::to_string_pretty(&table.json())?;
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// What else the machine does: with more at work than it has cores, the short times are too long.
fn busy() -> String {
    let cores = std::thread::available_parallelism().map_or(1, |count| count.get());
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default();
    format!("{cores} cores, load {load} at the end")
}

struct Arguments {
    shapes: Vec<Shape>,
    quick: bool,
    json: Option<PathBuf>,
}

fn arguments() -> anyhow::Result<Arguments> {
    let mut words = std::env::args().skip(1);
    let (mut shapes, mut quick, mut json) = (Vec::new(), false, None);
    while let Some(word) = words.next() {
        match word.as_str() {
            "sources" => shapes.push(Shape::Sources),
            "many-small" => shapes.push(Shape::ManySmall),
            "--quick" => quick = true,
            "--json" => json = Some(words.next().context("--json needs a file")?.into()),
            unknown => bail!(
                "`bench checkpoints` knows --quick, --json FILE, sources and many-small, not \
                 `{unknown}`"
            ),
        }
    }
    if shapes.is_empty() {
        shapes = vec![Shape::Sources, Shape::ManySmall];
    }
    Ok(Arguments {
        shapes,
        quick,
        json,
    })
}

fn measure(shape: Shape, quick: bool, table: &mut Table) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let workspace = home.path().join("workspace");
    let tree = trees::make(&workspace, shape, quick)?;
    let title = format!("{} files, {} MB", tree.files, tree.bytes / 1_000_000);
    eprintln!("{title}");
    let mut runs = Vec::new();
    for make in [vault::keeper, tar::keeper, git::keeper] {
        match make(home.path(), &workspace)? {
            Some(keeper) => runs.push(Run::new(keeper, &workspace)),
            None => eprintln!("  a peer is not installed and left out"),
        }
    }
    // Each step for all of them before the next, so that what else the machine does weighs on all.
    for run in &mut runs {
        run.first()?;
    }
    for run in &mut runs {
        run.unchanged()?;
    }
    for run in &mut runs {
        run.changed(&tree.some_file)?;
    }
    for run in &mut runs {
        run.restore_one(&tree.some_file)?;
    }
    for run in &mut runs {
        run.restore_all()?;
    }
    let floors = !quick && matches!(shape, Shape::Sources);
    table.add(&title, rows(&runs, floors));
    Ok(())
}

/// One keeper and what was measured of it.
struct Run {
    keeper: Box<AnyKeeper>,
    workspace: PathBuf,
    figures: Vec<Figure>,
}

impl Run {
    fn new(keeper: Box<AnyKeeper>, workspace: &Path) -> Self {
        Self {
            keeper,
            workspace: workspace.to_owned(),
            figures: Vec::new(),
        }
    }

    fn note(&mut self, figure: Figure) {
        eprintln!("  {}: {}", self.keeper.name(), figure.text());
        self.figures.push(figure);
    }

    fn first(&mut self) -> anyhow::Result<()> {
        let time = repeated(&mut self.keeper, Keeper::clear, Keeper::snapshot)?;
        self.note(Figure::Time(time));
        let bytes = self.keeper.disk()?;
        self.note(Figure::Bytes(bytes));
        Ok(())
    }

    fn unchanged(&mut self) -> anyhow::Result<()> {
        let time = repeated(&mut self.keeper, |_| Ok(()), Keeper::snapshot)?;
        self.note(Figure::Time(time));
        Ok(())
    }

    fn changed(&mut self, file: &Path) -> anyhow::Result<()> {
        let full = self.workspace.join(file);
        let before = std::fs::read(&full)?;
        let time = repeated(
            &mut self.keeper,
            |_| trees::append_a_line(&full),
            Keeper::snapshot,
        )?;
        self.note(Figure::Time(time));
        std::fs::write(full, before)?;
        Ok(())
    }

    fn restore_one(&mut self, file: &Path) -> anyhow::Result<()> {
        let full = self.workspace.join(file);
        let before = std::fs::read(&full)?;
        let time = repeated(
            &mut self.keeper,
            |_| trees::append_a_line(&full),
            |keeper| keeper.restore(Some(file)),
        )?;
        ensure!(
            std::fs::read(&full)? == before,
            "{file:?} did not come back"
        );
        self.note(Figure::Time(time));
        Ok(())
    }

    fn restore_all(&mut self) -> anyhow::Result<()> {
        let before = trees::count(&self.workspace)?;
        let workspace = self.workspace.clone();
        let time = repeated(
            &mut self.keeper,
            |_| trees::empty(&workspace),
            |keeper| keeper.restore(None),
        )?;
        let after = trees::count(&self.workspace)?;
        ensure!(before == after, "{before:?} became {after:?}");
        self.note(Figure::Time(time));
        let bytes = self.keeper.disk()?;
        self.note(Figure::Bytes(bytes));
        Ok(())
    }
}

/// The median of a few runs, or the only one where it takes long.
fn repeated(
    keeper: &mut Box<AnyKeeper>,
    prepare: impl Fn(&mut AnyKeeper) -> anyhow::Result<()>,
    run: impl Fn(&mut AnyKeeper) -> anyhow::Result<()>,
) -> anyhow::Result<Duration> {
    let mut times = Vec::new();
    while times.len() < RUNS && times.iter().sum::<Duration>() < LONG {
        prepare(keeper.as_mut())?;
        rustix::fs::sync();
        let start = Instant::now();
        run(keeper.as_mut())?;
        times.push(start.elapsed());
    }
    times.sort();
    Ok(times[times.len() / 2])
}

/// The steps of [`measure`], in the order in which each run noted them.
const STEPS: [&str; 7] = [
    "first snapshot",
    "disk used by it",
    "nothing changed",
    "one file changed",
    "restore one changed file",
    "restore everything",
    "disk used in the end",
];

fn rows(runs: &[Run], floors: bool) -> Vec<Row> {
    let names: Vec<&'static str> = runs.iter().map(|run| run.keeper.name()).collect();
    let row = |(index, step): (usize, &&'static str)| {
        let figures = runs.iter().map(|run| run.figures[index]);
        let measured: Vec<_> = names.iter().copied().zip(figures).collect();
        let floor = floors.then(|| floor(step, &measured)).flatten();
        Row {
            step,
            measured,
            floor,
        }
    };
    STEPS.iter().enumerate().map(row).collect()
}

/// What must hold with 10,000 files.
fn floor(step: &str, measured: &[(&str, Figure)]) -> Option<Duration> {
    match step {
        "first snapshot" => measured
            .iter()
            .find(|(name, _)| *name == git::NAME)
            .and_then(|(_, figure)| figure.time())
            .map(|time| time / 3),
        "nothing changed" => Some(Duration::from_millis(60)),
        "one file changed" | "restore one changed file" => Some(Duration::from_millis(80)),
        _ => None,
    }
}
