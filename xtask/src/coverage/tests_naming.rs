//! Tests, by the words in quotes that stand in them.

#[derive(Default)]
pub struct TestsNaming(Vec<NamedTest>);

struct NamedTest {
    path: String,
    name: String,
    body: String,
}

impl TestsNaming {
    /// Reads the tests of a file: a function below an attribute that ends in `test]` or begins like `#[tokio::test`.
    pub fn take(&mut self, path: &str, text: &str) {
        let mut is_test = false;
        let mut open: Option<NamedTest> = None;
        for line in text.lines() {
            if let Some(test) = &mut open {
                test.body.push_str(line);
                test.body.push('\n');
                if line == "}" {
                    self.0.extend(open.take());
                }
            } else if line == "#[test]" || line.starts_with("#[tokio::test") {
                is_test = true;
            } else if let Some(name) = function(line).filter(|_| is_test) {
                is_test = false;
                open = Some(NamedTest {
                    path: path.to_owned(),
                    name: name.to_owned(),
                    body: String::new(),
                });
            }
        }
    }

    /// Those below a folder that have the word in quotes.
    pub fn naming(&self, folder: &str, word: &str) -> Vec<String> {
        let quoted = format!("\"{word}\"");
        let tests = self.0.iter().filter(|test| test.path.starts_with(folder));
        let named = tests.filter(|test| test.body.contains(&quoted));
        named.map(|test| test.name.clone()).collect()
    }
}

fn function(line: &str) -> Option<&str> {
    let line = line.strip_prefix("async ").unwrap_or(line);
    line.strip_prefix("fn ")?.split('(').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tests_with_the_whole_word_count() {
        let mut tests = TestsNaming::default();
        let text = "fn help() {\n    \"say\"\n}\n#[tokio::test]\nasync fn one() {\n    \"say\"\n}\n\
                    #[test]\nfn two() {\n    \"say_more\"\n}\n";
        tests.take("a/b.rs", text);
        assert_eq!(tests.naming("a/", "say"), ["one"]);
        assert!(tests.naming("c/", "say").is_empty());
    }
}
