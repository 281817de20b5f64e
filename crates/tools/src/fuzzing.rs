//! Ways for the fuzz targets to what is private otherwise.

/// The instructions of a skill behind its front matter, or why it is none.
pub fn skill_body<'a>(skill: &'a str, directory: &str) -> Result<&'a str, String> {
    crate::skill::front::body(skill, directory)
}

/// The words of a line that is one simple command and runs as it is written.
pub fn plain_words(line: &str) -> Option<Vec<String>> {
    crate::shell::plain_words(line)
}
