//! Every Rust file says on its first line what it is.

use super::Finding;

pub fn check(path: &str, text: &str) -> Vec<Finding> {
    let said = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("//!"))
        .is_some_and(|sentence| !sentence.trim().is_empty());
    if said {
        return Vec::new();
    }
    let what = "no `//!` on the first line; say in one sentence what this file is";
    vec![Finding::error(path, 1, what)]
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn a_file_without_its_sentence_is_found() {
        assert!(check("a.rs", "//! What it is.\nuse b;").is_empty());
        assert_eq!(check("a.rs", "use b;\n//! Too late.").len(), 1);
        assert_eq!(check("a.rs", "//!\nuse b;").len(), 1);
        assert_eq!(check("a.rs", "").len(), 1);
    }
}
