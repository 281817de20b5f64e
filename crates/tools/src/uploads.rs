//! Files that clients upload: put into the directory for them, through the path guard, and never in the
//! place of another file.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::held::Place;
use crate::{Failure, Scope, path};

/// As file systems have it.
const NAME_BYTES_MAX: usize = 255;
/// How many files of the same name there may be.
const SAME_NAME_MAX: usize = 1_000;
/// What the path guard calls who asks.
const WHO: &str = "upload";

/// The last part of a name that a client gave; none where that is no name of a file. Clients on other
/// systems separate the parts by backslashes.
pub fn base_name(given: &str) -> Option<&str> {
    let last = given.trim().rsplit(['/', '\\']).next()?.trim();
    let fits = |c: char| !c.is_control();
    let is_name =
        !matches!(last, "" | "." | "..") && last.len() <= NAME_BYTES_MAX && last.chars().all(fits);
    is_name.then_some(last)
}

/// Puts a file into a directory, which is made if it is missing; gives its path. A name that is taken
/// gets a number: `a.png`, `a-2.png`.
pub fn save(scope: &Scope, folder: &Path, name: &str, content: &[u8]) -> Result<PathBuf, String> {
    for number in 1..=SAME_NAME_MAX {
        let wanted = folder.join(numbered(name, number));
        let target = resolve(scope, &wanted)?;
        let failed =
            |error: std::io::Error| format!("{} cannot be written: {error}", wanted.display());
        let place = Place::make(&target).map_err(failed)?;
        if place.kind().map_err(failed)?.is_some() {
            continue;
        }
        match place.replace(content, None) {
            Ok(_) => return Ok(target),
            // Somebody else took the name meanwhile.
            Err(error) if error.kind() == ErrorKind::StaleNetworkFileHandle => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Err(format!(
        "there are {SAME_NAME_MAX} files like {name} in {}; give it another name",
        folder.display()
    ))
}

/// Makes a directory for results or uploads, and what is missing above it.
pub fn make_folder(scope: &Scope, folder: &Path) -> Result<(), String> {
    // A name inside of it, so that all of it is made.
    let inside = resolve(scope, &folder.join("x"))?;
    let made = Place::make(&inside).map(|_| ());
    made.map_err(|error| format!("{} cannot be made: {error}", folder.display()))
}

fn resolve(scope: &Scope, wanted: &Path) -> Result<PathBuf, String> {
    path::resolve_to_change(WHO, scope, &wanted.to_string_lossy()).map_err(
        |failure| match failure {
            Failure::Error(why) => why,
            Failure::Cancelled(_) => format!("{WHO} cancelled"),
        },
    )
}

fn numbered(name: &str, number: usize) -> String {
    if number == 1 {
        return name.to_owned();
    }
    let added = format!("-{number}");
    // A dot at the beginning begins no ending.
    let (stem, ending) = match name.rfind('.') {
        Some(at) if at > 0 => name.split_at(at),
        Some(_) | None => (name, ""),
    };
    let room = NAME_BYTES_MAX.saturating_sub(added.len() + ending.len());
    let cut = (0..=room.min(stem.len()))
        .rev()
        .find(|at| stem.is_char_boundary(*at));
    format!("{}{added}{ending}", &stem[..cut.unwrap_or(0)])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn only_the_last_part_of_a_name_counts() {
        for (given, name) in [
            ("image.png", Some("image.png")),
            ("../../x", Some("x")),
            ("/etc/passwd", Some("passwd")),
            ("C:\\Users\\me\\a b.txt", Some("a b.txt")),
            (" .env ", Some(".env")),
            ("", None),
            ("..", None),
            ("a/", None),
            ("a\0b", None),
            ("a\nb", None),
        ] {
            assert_eq!(base_name(given), name, "{given:?}");
        }
        assert_eq!(base_name(&"x".repeat(256)), None);
    }

    #[test]
    fn nothing_that_lies_there_is_replaced() {
        let scratch = Scratch::new();
        let (scope, folder) = (scratch.scope(), scratch.path("uploads"));
        let saved = |name: &str, content: &[u8]| save(&scope, &folder, name, content).unwrap();
        let first = saved("a.tar.gz", b"1");
        let second = saved("a.tar.gz", b"2");
        assert!(second.ends_with("uploads/a.tar-2.gz"), "{second:?}");
        assert_eq!(std::fs::read(first).unwrap(), b"1");
        assert_eq!(std::fs::read(second).unwrap(), b"2");
        saved(".env", b"");
        assert!(saved(".env", b"").ends_with(".env-2"));
        let long = format!("{}.png", "ä".repeat(125));
        saved(&long, b"");
        let cut = saved(&long, b"");
        assert!(cut.file_name().unwrap().len() <= NAME_BYTES_MAX, "{cut:?}");
        let left: Vec<_> = std::fs::read_dir(&folder).unwrap().flatten().collect();
        assert_eq!(left.len(), 6, "nothing else is left there: {left:?}");
    }

    #[test]
    fn no_link_leads_out_and_settings_stay_the_users() {
        let (scratch, elsewhere) = (Scratch::new(), tempfile::tempdir().unwrap());
        let link = scratch.path("uploads");
        std::os::unix::fs::symlink(elsewhere.path(), &link).unwrap();
        for folder in [
            &link,
            &scratch.path(".cowork"),
            &elsewhere.path().to_owned(),
        ] {
            let refused = save(&scratch.scope(), folder, "config.json", b"{}").unwrap_err();
            assert!(refused.contains("blocked"), "{refused}");
            assert!(make_folder(&scratch.scope(), folder).is_err());
        }
        assert_eq!(elsewhere.path().read_dir().unwrap().count(), 0);
        // What its owner opened is open.
        let mut scope = scratch.scope();
        scope.extra.push(elsewhere.path().to_owned());
        save(&scope, elsewhere.path(), "a", b"1").unwrap();
    }
}
