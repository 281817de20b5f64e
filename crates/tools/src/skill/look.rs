//! How a skill wants to be shown: the interface block of `agents/openai.yaml`, or of the first YAML file
//! beside it, with icons as data URIs.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use vocabulary::SkillLook;

use super::front::{field, list, nested};
use super::limited_text;
use crate::held;

const AGENTS: &str = "agents";
const PREFERRED: &str = "openai";
/// How many files of agents are named.
const AGENTS_MAX: usize = 20;
/// Longer texts are no label.
const TEXT_CHARS_MAX: usize = 2_000;
/// A larger icon is left out.
const ICON_BYTES_MAX: u64 = 64 << 10;
/// All icons of a list together; those behind it are left out.
const ICONS_BYTES_MAX: u64 = 2 << 20;

/// How many bytes of icons a list still has room for.
pub(super) struct IconRoom(u64);

impl Default for IconRoom {
    fn default() -> Self {
        Self(ICONS_BYTES_MAX)
    }
}

/// What the skill in this canonical directory says of its looks.
pub(super) fn read(directory: &Path, room: &mut IconRoom) -> Option<SkillLook> {
    let files = yaml_files(directory);
    let chosen = files.iter().find(|file| stem(file) == PREFERRED);
    let text = limited_text(&inside(directory, chosen.or(files.first())?)?).ok()?;
    let block = nested(&text, "interface")?;
    let label = |key: &str| {
        let text = field(&block, key).filter(|text| !text.is_empty());
        text.filter(|text| text.chars().count() <= TEXT_CHARS_MAX)
    };
    let mut icon = |key: &str| data_uri(directory, &field(&block, key)?, room);
    let icon_small = icon("icon_small");
    let icon_large = icon("icon_large");
    let mut agents = list(&block, "agents");
    if agents.is_empty() {
        agents = files.iter().map(|file| stem(file).to_owned()).collect();
    }
    agents.truncate(AGENTS_MAX);
    Some(SkillLook {
        display_name: label("display_name"),
        short_description: label("short_description"),
        icon_small,
        icon_large,
        default_prompt: label("default_prompt"),
        agents: Some(agents),
    })
}

/// The files in `agents`, from the skill's directory on, by name.
fn yaml_files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory.join(AGENTS));
    let names = entries.into_iter().flatten().flatten();
    let paths = names.map(|entry| Path::new(AGENTS).join(entry.file_name()));
    let is_yaml = |path: &PathBuf| {
        let extension = path.extension();
        extension.is_some_and(|extension| extension == "yaml" || extension == "yml")
    };
    let mut files: Vec<PathBuf> = paths.filter(is_yaml).take(AGENTS_MAX).collect();
    files.sort();
    files
}

fn stem(file: &Path) -> &str {
    file.file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or_default()
}

/// Where this path leads, if it stays in the skill's directory.
fn inside(directory: &Path, path: &Path) -> Option<PathBuf> {
    let file = std::fs::canonicalize(directory.join(path)).ok()?;
    file.starts_with(directory).then_some(file)
}

fn data_uri(directory: &Path, path: &str, room: &mut IconRoom) -> Option<String> {
    let file = inside(directory, Path::new(path))?;
    let media = match file.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        _ => return None,
    };
    let most = ICON_BYTES_MAX.min(room.0);
    let mut bytes = Vec::new();
    let mut opened = held::open(&file).ok()?.take(most + 1);
    opened.read_to_end(&mut bytes).ok()?;
    let size = bytes.len() as u64;
    if bytes.is_empty() || size > most {
        return None;
    }
    room.0 -= size;
    Some(format!("data:{media};base64,{}", STANDARD.encode(bytes)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::scratch::Scratch;

    fn skill(files: &[(&str, &str)]) -> (Scratch, PathBuf) {
        let scratch = Scratch::new();
        let directory = std::fs::canonicalize(scratch.path("")).unwrap().join("a");
        for (path, text) in files {
            let path = directory.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        (scratch, directory)
    }

    #[test]
    fn the_interface_block_says_how_a_skill_looks() {
        let yaml = "# how it looks\ninterface:\n  display_name: \"A skill\"\n  short_description: Does: a\n  \
                    icon_small: ./assets/a.svg\n  icon_large: \"assets/a.PNG\"\n  default_prompt: >-\n    Do\n    \
                    it\npolicy:\n  display_name: other\n";
        let (_scratch, directory) = skill(&[
            ("agents/openai.yaml", yaml),
            ("agents/aaa.yml", "interface:\n  display_name: wrong"),
            ("agents/readme.md", "no"),
            ("assets/a.svg", "<svg/>"),
            ("assets/a.PNG", "png"),
        ]);
        let look = read(&directory, &mut IconRoom::default()).unwrap();
        let expected = SkillLook {
            display_name: Some("A skill".to_owned()),
            short_description: Some("Does: a".to_owned()),
            icon_small: Some("data:image/svg+xml;base64,PHN2Zy8+".to_owned()),
            icon_large: Some("data:image/png;base64,cG5n".to_owned()),
            default_prompt: Some("Do it".to_owned()),
            agents: Some(vec!["aaa".to_owned(), "openai".to_owned()]),
        };
        assert_eq!(look, expected);
        std::fs::remove_file(directory.join("agents/openai.yaml")).unwrap();
        let look = read(&directory, &mut IconRoom::default()).unwrap();
        assert_eq!(look.display_name.as_deref(), Some("wrong"));
    }

    #[test]
    fn an_icon_is_a_small_picture_of_the_skill_itself() {
        let (scratch, directory) = skill(&[("a.png", "a"), ("a.txt", "a"), ("empty.png", "")]);
        std::fs::write(scratch.path("secret.png"), "s").unwrap();
        std::os::unix::fs::symlink(scratch.path("secret.png"), directory.join("link.png")).unwrap();
        let large = vec![0; ICON_BYTES_MAX as usize + 1];
        std::fs::write(directory.join("large.png"), large).unwrap();
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(
            rustix::fs::CWD,
            directory.join("fifo.png"),
            fifo,
            0o600.into(),
            0,
        )
        .unwrap();
        let room = &mut IconRoom::default();
        assert!(data_uri(&directory, "a.png", room).is_some());
        let outside = scratch.path("secret.png");
        for path in [
            "a.txt",
            "empty.png",
            "link.png",
            "large.png",
            "fifo.png",
            "../secret.png",
            outside.to_str().unwrap(),
            "none.png",
        ] {
            assert_eq!(data_uri(&directory, path, room), None, "{path}");
        }
        assert_eq!(data_uri(&directory, "a.png", &mut IconRoom(0)), None);
    }
}
