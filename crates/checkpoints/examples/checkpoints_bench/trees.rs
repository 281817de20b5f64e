//! Workspaces to measure with: text as in source code, and some that does not compress.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy)]
pub enum Shape {
    /// 10,000 files and 100 MB.
    Sources,
    /// 100,000 files of some hundred bytes.
    ManySmall,
}

/// What was made.
pub struct Made {
    pub files: u64,
    pub bytes: u64,
    /// One in the middle.
    pub some_file: PathBuf,
}

/// One file in so many does not compress.
const NOISE_EVERY: usize = 10;

/// So much less of everything for a quick look.
const QUICK: usize = 10;

pub fn make(workspace: &Path, shape: Shape, quick: bool) -> anyhow::Result<Made> {
    let (files, per_directory) = match shape {
        Shape::Sources => (10_000, 20),
        Shape::ManySmall => (100_000, 50),
    };
    let files = if quick { files / QUICK } else { files };
    let mut chance = Chance(1);
    let words = words(&mut chance);
    let mut made = Made {
        files: files as u64,
        bytes: 0,
        some_file: PathBuf::new(),
    };
    for number in 0..files {
        let directory = number / per_directory;
        let folder = PathBuf::from(format!("part_{}/mod_{directory}", directory % 40));
        fs::create_dir_all(workspace.join(&folder))?;
        let length = length(shape, &mut chance);
        let (content, ending) = if number % NOISE_EVERY == 0 {
            (noise(length, &mut chance), "bin")
        } else {
            (source(length, &words, &mut chance), "rs")
        };
        let path = folder.join(format!("file_{number}.{ending}"));
        fs::write(workspace.join(&path), &content)?;
        made.bytes += content.len() as u64;
        if number == files / 2 + 1 {
            made.some_file = path;
        }
    }
    Ok(made)
}

/// Many small ones and a few large ones, as in any project.
fn length(shape: Shape, chance: &mut Chance) -> usize {
    match (shape, chance.below(100)) {
        (Shape::ManySmall, _) => 100 + chance.below(1200),
        (Shape::Sources, 0..70) => 500 + chance.below(7_500),
        (Shape::Sources, 70..95) => 8_000 + chance.below(12_000),
        (Shape::Sources, 95..) => 20_000 + chance.below(120_000),
    }
}

fn words(chance: &mut Chance) -> Vec<String> {
    let syllables = [
        "read", "write", "file", "path", "state", "of", "thread", "line", "to", "map", "index",
        "next", "value", "is", "at", "text", "open", "count", "from", "node",
    ];
    let word = |chance: &mut Chance| {
        let parts = (0..1 + chance.below(3)).map(|_| syllables[chance.below(syllables.len())]);
        parts.collect::<Vec<_>>().join("_")
    };
    (0..3000).map(|_| word(chance)).collect()
}

/// Lines of words, some far more often than others.
fn source(length: usize, words: &[String], chance: &mut Chance) -> Vec<u8> {
    let pick = |chance: &mut Chance| {
        let few = 1 + chance.below(words.len());
        &words[chance.below(few)]
    };
    let mut text = String::with_capacity(length + 100);
    while text.len() < length {
        let indent = " ".repeat(4 * chance.below(4));
        let (one, two, three) = (pick(chance), pick(chance), pick(chance));
        let line = match chance.below(5) {
            0 => format!(
                "{indent}let {one} = {two}({three}, {});\n",
                chance.below(1000)
            ),
            1 => format!("{indent}if {one}.{two}() {{\n"),
            2 => format!("{indent}// {one} {two} {three} {}\n", pick(chance)),
            3 => format!("{indent}fn {one}({two}: &{three}) -> Result<()> {{\n"),
            _ => format!("{indent}}}\n"),
        };
        text.push_str(&line);
    }
    text.truncate(length);
    text.into_bytes()
}

fn noise(length: usize, chance: &mut Chance) -> Vec<u8> {
    let words = (0..length.div_ceil(8)).flat_map(|_| chance.next().to_le_bytes());
    words.take(length).collect()
}

pub fn append_a_line(path: &Path) -> anyhow::Result<()> {
    let mut file = fs::File::options().append(true).open(path)?;
    Ok(file.write_all(b"// one more line\n")?)
}

/// Deletes all that is in it.
pub fn empty(directory: &Path) -> anyhow::Result<()> {
    fs::remove_dir_all(directory)?;
    Ok(fs::create_dir(directory)?)
}

/// Files and their bytes.
pub fn count(directory: &Path) -> anyhow::Result<(u64, u64)> {
    let (mut files, mut bytes) = (0, 0);
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            let inside = count(&entry.path())?;
            files += inside.0;
            bytes += inside.1;
        } else {
            files += 1;
            bytes += entry.metadata()?.len();
        }
    }
    Ok((files, bytes))
}

/// The same numbers in every run (splitmix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}
