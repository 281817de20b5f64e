//! Instructions: files in which people say how to work on a project, the user's own one first, then from
//! the top of the repository down to where the work is.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::git::Repository;
use crate::held::Place;
use crate::path::{self, PathDisplay, Private};
use crate::{Scope, text};

/// Of a directory the first of these that is there is read.
pub const NAMES: [&str; 5] = [
    "AGENTS.override.md",
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    ".github/copilot-instructions.md",
];
/// The user's own file, in the server's data directory.
pub const GLOBAL: &str = "AGENTS.md";
/// Of all files together; what is nearest to the work is read first.
const BYTES_MAX: usize = 32 * 1024;

/// Whose words a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionAuthor {
    User,
    /// The program that the user works with.
    Client,
    /// Whoever wrote the project.
    Project,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionFile {
    /// As it is shown: from the workspace on where it lies inside.
    pub path: String,
    pub text: String,
    pub author: InstructionAuthor,
    /// How many bytes of it are left out at its end.
    pub left_out: usize,
}

/// The files for work in a workspace, the one that counts most last. `home`: the server's data.
pub fn gather(scope: &Scope, home: Option<&Path>) -> Vec<InstructionFile> {
    let mut room = BYTES_MAX;
    let boundary = boundary(scope);
    let mut files: Vec<InstructionFile> = directories(&boundary, &scope.directory)
        .iter()
        .filter_map(|directory| of_directory(scope, &boundary, directory, &mut room))
        .collect();
    files.extend(home.and_then(|home| of_user(&home.join(GLOBAL), &mut room)));
    files.reverse();
    files
}

/// The files of directories below the workspace, down to the one that holds `file`.
pub fn below(scope: &Scope, file: &Path) -> Vec<InstructionFile> {
    let mut room = BYTES_MAX;
    let boundary = boundary(scope);
    let Ok(workspace) = std::fs::canonicalize(&scope.directory) else {
        return Vec::new();
    };
    let target = path::resolve("read", scope, &file.to_string_lossy());
    let Some(target) = target.ok().filter(|target| target.starts_with(&workspace)) else {
        return Vec::new();
    };
    let mut files: Vec<InstructionFile> = target
        .ancestors()
        .skip(usize::from(!target.is_dir()))
        .take_while(|directory| *directory != workspace)
        .filter_map(|directory| of_directory(scope, &boundary, directory, &mut room))
        .collect();
    files.reverse();
    files
}

/// Nothing above this is looked at: the top of the repository or, without one, the workspace.
fn boundary(scope: &Scope) -> PathBuf {
    let repository = Repository::around(&scope.directory);
    let top = repository.map_or_else(|| scope.directory.clone(), |repository| repository.top);
    std::fs::canonicalize(&top).unwrap_or(top)
}

/// From the workspace up to the boundary.
fn directories(boundary: &Path, workspace: &Path) -> Vec<PathBuf> {
    let workspace = std::fs::canonicalize(workspace).unwrap_or_else(|_| workspace.to_owned());
    workspace
        .ancestors()
        .take_while(|directory| directory.starts_with(boundary))
        .map(Path::to_owned)
        .collect()
}

fn of_directory(
    scope: &Scope,
    boundary: &Path,
    directory: &Path,
    room: &mut usize,
) -> Option<InstructionFile> {
    NAMES.iter().find_map(|name| {
        let path = directory.join(name);
        // A link may lead to another file of the project, and nowhere else.
        let target = std::fs::canonicalize(&path).ok()?;
        if !target.starts_with(boundary) || Private::of(scope).has(&target) {
            return None;
        }
        let shown = PathDisplay::of(scope).path(&path);
        read(&target, shown, InstructionAuthor::Project, room)
    })
}

fn of_user(path: &Path, room: &mut usize) -> Option<InstructionFile> {
    let target = std::fs::canonicalize(path).ok()?;
    let shown = path.display().to_string();
    read(&target, shown, InstructionAuthor::User, room)
}

/// A file with words in it, as far as there is room.
fn read(
    target: &Path,
    path: String,
    author: InstructionAuthor,
    room: &mut usize,
) -> Option<InstructionFile> {
    let (file, stamp) = Place::find(target).and_then(|place| place.open()).ok()?;
    let mut bytes = Vec::new();
    file.take(BYTES_MAX as u64).read_to_end(&mut bytes).ok()?;
    let (decoded, _) = text::decode(&bytes)?;
    let mut text = decoded.trim().to_owned();
    if text.is_empty() {
        return None;
    }
    let unread = usize::try_from(stamp.bytes).map_or(0, |all| all.saturating_sub(bytes.len()));
    let end = text.floor_char_boundary(text.len().min(*room));
    let left_out = unread + text.len() - end;
    text.truncate(end);
    *room -= end;
    Some(InstructionFile {
        path,
        text,
        author,
        left_out,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::scratch::Scratch;

    fn write(path: PathBuf, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn paths(files: &[InstructionFile]) -> Vec<&str> {
        files.iter().map(|file| file.path.as_str()).collect()
    }

    #[test]
    fn files_are_read_from_the_top_of_the_repository_down_and_the_first_name_of_each_directory() {
        let (scratch, home) = (Scratch::new(), Scratch::new());
        std::fs::create_dir(scratch.path(".git")).unwrap();
        write(scratch.path("CLAUDE.md"), "root");
        write(scratch.path("GEMINI.md"), "not this one");
        write(scratch.path("app/AGENTS.md"), "app");
        write(scratch.path("app/AGENTS.override.md"), "app, really");
        write(
            scratch.path("app/web/.github/copilot-instructions.md"),
            "web",
        );
        write(scratch.path("app/web/deep/AGENTS.md"), "deep");
        write(home.path(GLOBAL), "mine");
        let mut scope = scratch.scope();
        scope.directory = scratch.path("app/web");
        let files = gather(&scope, Some(&home.path("")));
        let texts: Vec<&str> = files.iter().map(|file| file.text.as_str()).collect();
        assert_eq!(texts, ["mine", "root", "app, really", "web"]);
        assert_eq!(files[0].author, InstructionAuthor::User);
        assert_eq!(files[3].author, InstructionAuthor::Project);
        assert_eq!(files[3].path, ".github/copilot-instructions.md");

        let below = below(&scope, Path::new("deep/x/new.rs"));
        assert_eq!(paths(&below), ["deep/AGENTS.md"]);
        assert!(super::below(&scope, Path::new("../x.rs")).is_empty());
    }

    #[test]
    fn what_is_nearest_has_room_first_and_what_is_left_out_is_counted() {
        let scratch = Scratch::new();
        std::fs::create_dir(scratch.path(".git")).unwrap();
        write(scratch.path("AGENTS.md"), &"r".repeat(BYTES_MAX));
        write(scratch.path("a/AGENTS.md"), &"é".repeat(BYTES_MAX / 2 - 5));
        let mut scope = scratch.scope();
        scope.directory = scratch.path("a");
        let files = gather(&scope, None);
        assert_eq!(files[1].left_out, 0);
        assert_eq!(
            (files[0].text.len(), files[0].left_out),
            (10, BYTES_MAX - 10)
        );
    }

    #[test]
    fn a_link_leads_to_another_file_of_the_project_and_nowhere_else() {
        let (scratch, other) = (Scratch::new(), Scratch::new());
        write(scratch.path("docs/rules.md"), "rules");
        write(other.path("secret"), "secret");
        std::os::unix::fs::symlink("docs/rules.md", scratch.path("CLAUDE.md")).unwrap();
        std::os::unix::fs::symlink(other.path("secret"), scratch.path("AGENTS.md")).unwrap();
        let files = gather(&scratch.scope(), None);
        assert_eq!(paths(&files), ["CLAUDE.md"]);
        assert_eq!(files[0].text, "rules");
    }
}
