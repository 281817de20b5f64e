//! Which files say how to work in the server's directory.

use std::path::Path;

use tools::Scope;

use crate::screen::harmless;

/// The files that an agent would be told now, the one that counts most last.
pub fn files(directory: &Path, home: &Path) -> Vec<String> {
    let directory = std::fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    let scope = Scope {
        directory: directory.clone(),
        extra: Vec::new(),
        outside: Default::default(),
        private: vec![home.to_owned()],
        spill: None,
        skills: Vec::new(),
        trusted: false,
        read_only: true,
    };
    let files = tools::surroundings::instructions(&scope, Some(home));
    let place = |path: String| directory.join(path).to_string_lossy().into_owned();
    files.into_iter().map(|file| place(file.path)).collect()
}

pub fn in_words(files: &[String]) -> String {
    if files.is_empty() {
        return "No file says how to work in this directory (docs/instructions.md).\n".to_owned();
    }
    let files: Vec<String> = files.iter().map(|file| harmless(file)).collect();
    let files = files.join("\n  ");
    format!("How to work here is said in, the last counts most:\n  {files}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_listed_with_the_one_that_counts_most_last() {
        let (home, work) = (tempfile::tempdir(), tempfile::tempdir());
        let (home, work) = (home.expect("a directory"), work.expect("a directory"));
        assert!(in_words(&files(work.path(), home.path())).starts_with("No file"));
        let write = |path: std::path::PathBuf| std::fs::write(path, "Use tabs.").expect("written");
        write(home.path().join("AGENTS.md"));
        write(work.path().join("CLAUDE.md"));
        let found = files(work.path(), home.path());
        let place = std::fs::canonicalize(work.path()).expect("a place");
        let expected = [home.path().join("AGENTS.md"), place.join("CLAUDE.md")];
        assert_eq!(found, expected.map(|path| path.display().to_string()));
        assert!(in_words(&found).contains(&found[1]));
    }
}
