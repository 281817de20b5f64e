//! The checks and formatters that a project can be seen to use: it has their settings, and the machine or
//! the project has the programs. They run the project's own code, so whoever uses them must trust it.

use std::ffi::OsStr;
use std::path::Path;

use super::rule::{CheckKind, CheckRule};

/// A settings file that is larger is not looked into.
const SETTINGS_BYTES_MAX: u64 = 1 << 20;
const SCRIPTS: [&str; 9] = [
    "*.js", "*.jsx", "*.mjs", "*.cjs", "*.ts", "*.tsx", "*.mts", "*.cts", "*.vue",
];
const TYPED: [&str; 4] = ["*.ts", "*.tsx", "*.mts", "*.cts"];
/// Where a project has Python programs of its own.
const PYTHON_PROGRAMS: [&str; 2] = [".venv/bin", "venv/bin"];
const NODE_PROGRAMS: &str = "node_modules/.bin";

/// Those of the project in this directory. `path` is where programs of the machine lie.
pub fn find(directory: &Path, path: Option<&OsStr>) -> Vec<CheckRule> {
    let project = ProjectTools { directory, path };
    let found = [
        project.rustfmt(),
        project.prettier(),
        project.ruff_format(),
        project.gofmt(),
        project.cargo(),
        project.tsc(),
        project.eslint(),
        project.ruff(),
        project.pyright(),
        project.go_vet(),
    ];
    found.into_iter().flatten().collect()
}

struct ProjectTools<'a> {
    directory: &'a Path,
    path: Option<&'a OsStr>,
}

impl ProjectTools<'_> {
    fn has(&self, file: &str) -> bool {
        self.directory.join(file).is_file()
    }

    fn has_any(&self, files: &[&str]) -> bool {
        files.iter().any(|file| self.has(file))
    }

    /// Whether a file of the project begins a line with this.
    fn says(&self, file: &str, beginning: &str) -> bool {
        let text = self.text(file);
        text.lines()
            .any(|line| line.trim_start().starts_with(beginning))
    }

    fn text(&self, file: &str) -> String {
        let file = self.directory.join(file);
        let fits = std::fs::metadata(&file)
            .is_ok_and(|found| found.is_file() && found.len() <= SETTINGS_BYTES_MAX);
        match fits {
            true => std::fs::read_to_string(file).unwrap_or_default(),
            false => String::new(),
        }
    }

    fn has_program(&self, name: &str) -> bool {
        let path = self.path.unwrap_or_default();
        std::env::split_paths(path).any(|folder| folder.join(name).is_file())
    }

    /// How to call a program that Node's packages bring along.
    fn node_program(&self, name: &str) -> Option<String> {
        let program = format!("{NODE_PROGRAMS}/{name}");
        self.has(&program).then_some(program)
    }

    fn python_program(&self, name: &str) -> Option<String> {
        let own = PYTHON_PROGRAMS.map(|folder| format!("{folder}/{name}"));
        let own = own.into_iter().find(|program| self.has(program));
        own.or_else(|| self.has_program(name).then(|| name.to_owned()))
    }

    fn cargo(&self) -> Option<CheckRule> {
        let usable = self.has("Cargo.toml") && self.has_program("cargo");
        // There is no network: what is missing is to be said at once.
        let run = "cargo check -q --offline --message-format short";
        let files = ["*.rs", "Cargo.toml"];
        usable.then(|| check(&files, run.to_owned()))?
    }

    fn rustfmt(&self) -> Option<CheckRule> {
        let settings = self.has_any(&["rustfmt.toml", ".rustfmt.toml"]);
        if !settings || !self.has_program("rustfmt") {
            return None;
        }
        let edition = self.edition();
        let edition = edition.map(|edition| format!(" --edition {edition}"));
        let edition = edition.unwrap_or_default();
        format(&["*.rs"], format!("rustfmt{edition} {{files}}"))
    }

    /// As the project's manifest has it: rustfmt alone does not look there.
    fn edition(&self) -> Option<String> {
        let manifest: toml::Table = self.text("Cargo.toml").parse().ok()?;
        let own = manifest.get("package").and_then(|own| own.get("edition"));
        let shared = manifest.get("workspace").and_then(|all| all.get("package"));
        let shared = shared.and_then(|package| package.get("edition"));
        let edition = [own, shared]
            .into_iter()
            .flatten()
            .find_map(|each| each.as_str())?;
        let is_year = edition.bytes().all(|byte| byte.is_ascii_digit());
        is_year.then(|| edition.to_owned())
    }

    fn tsc(&self) -> Option<CheckRule> {
        let program = self
            .node_program("tsc")
            .filter(|_| self.has("tsconfig.json"))?;
        check(&TYPED, format!("{program} --noEmit --pretty false"))
    }

    fn eslint(&self) -> Option<CheckRule> {
        let settings = [
            "eslint.config.js",
            "eslint.config.mjs",
            "eslint.config.cjs",
            "eslint.config.ts",
            ".eslintrc",
            ".eslintrc.js",
            ".eslintrc.cjs",
            ".eslintrc.json",
            ".eslintrc.yml",
            ".eslintrc.yaml",
        ];
        let program = self.node_program("eslint");
        let program = program.filter(|_| self.has_any(&settings))?;
        check(&SCRIPTS, format!("{program} --no-color {{files}}"))
    }

    fn prettier(&self) -> Option<CheckRule> {
        let settings = [
            ".prettierrc",
            ".prettierrc.json",
            ".prettierrc.yml",
            ".prettierrc.yaml",
            ".prettierrc.toml",
            ".prettierrc.js",
            ".prettierrc.cjs",
            ".prettierrc.mjs",
            "prettier.config.js",
            "prettier.config.cjs",
            "prettier.config.mjs",
            "prettier.config.ts",
        ];
        let program = self.node_program("prettier");
        let program = program.filter(|_| self.has_any(&settings))?;
        let run = format!("{program} --write --ignore-unknown --log-level warn {{files}}");
        let others = [
            "*.css", "*.scss", "*.html", "*.json", "*.md", "*.yml", "*.yaml",
        ];
        let files: Vec<&str> = SCRIPTS.into_iter().chain(others).collect();
        format(&files, run)
    }

    fn ruff(&self) -> Option<CheckRule> {
        let settings = self.has_any(&["ruff.toml", ".ruff.toml", "pyproject.toml"]);
        let program = self.python_program("ruff").filter(|_| settings)?;
        let run = format!(
            "{program} check -q --no-cache --force-exclude --output-format concise {{files}}"
        );
        check(&["*.py", "*.pyi"], run)
    }

    fn ruff_format(&self) -> Option<CheckRule> {
        let settings = self.has_any(&["ruff.toml", ".ruff.toml"]);
        let settings = settings || self.says("pyproject.toml", "[tool.ruff");
        let program = self.python_program("ruff").filter(|_| settings)?;
        let run = format!("{program} format -q --no-cache --force-exclude {{files}}");
        format(&["*.py", "*.pyi"], run)
    }

    fn pyright(&self) -> Option<CheckRule> {
        let settings = self.has("pyrightconfig.json");
        let settings = settings || self.says("pyproject.toml", "[tool.pyright");
        let program = self.node_program("pyright");
        let program = program.or_else(|| self.python_program("pyright"));
        let program = program.filter(|_| settings)?;
        check(&["*.py", "*.pyi"], format!("{program} {{files}}"))
    }

    fn go_vet(&self) -> Option<CheckRule> {
        let usable = self.has("go.mod") && self.has_program("go");
        let run = "GOPROXY=off go vet ./...";
        usable.then(|| check(&["*.go", "go.mod"], run.to_owned()))?
    }

    /// It has no settings: where there is a module, everybody uses it.
    fn gofmt(&self) -> Option<CheckRule> {
        let usable = self.has("go.mod") && self.has_program("gofmt");
        usable.then(|| format(&["*.go"], "gofmt -w {files}".to_owned()))?
    }
}

fn check(files: &[&str], run: String) -> Option<CheckRule> {
    CheckRule::found(CheckKind::Check, files, run)
}

fn format(files: &[&str], run: String) -> Option<CheckRule> {
    CheckRule::found(CheckKind::Format, files, run)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::scratch::Scratch;

    /// What is found in a directory with these files, the machine's programs below `bin`.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let scratch = Scratch::new();
        for (file, text) in files {
            let file = scratch.path(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        let programs = scratch.path("bin");
        let rules = find(&scratch.path(""), Some(programs.as_os_str()));
        let shown = |rule: &CheckRule| format!("{}: {}", rule.kind.key(), rule.run);
        rules.iter().map(shown).collect()
    }

    #[test]
    fn nothing_is_found_without_settings_or_without_the_program() {
        let programs = [
            "bin/cargo",
            "bin/rustfmt",
            "bin/ruff",
            "bin/go",
            "bin/gofmt",
        ];
        let programs = programs.map(|program| (program, ""));
        assert_eq!(found(&programs), [""; 0]);
        let settings = [
            "Cargo.toml",
            "rustfmt.toml",
            "tsconfig.json",
            "eslint.config.js",
            ".prettierrc",
            "ruff.toml",
            "pyrightconfig.json",
            "go.mod",
        ];
        assert_eq!(found(&settings.map(|file| (file, ""))), [""; 0]);
    }

    #[test]
    fn a_rust_project_is_checked_and_formatted_as_its_settings_say() {
        let check = "check: cargo check -q --offline --message-format short";
        let cargo = ("bin/cargo", "");
        assert_eq!(found(&[("Cargo.toml", ""), cargo]), [check]);
        let rustfmt = [("bin/rustfmt", ""), ("rustfmt.toml", ""), cargo];
        for (manifest, edition) in [
            ("", ""),
            ("[package]\nedition = \"2021\"", " --edition 2021"),
            (
                "[workspace.package]\nedition = \"2024\"\n[package]\nedition.workspace = true",
                " --edition 2024",
            ),
            ("[package]\nedition = \"2021; rm\"", ""),
        ] {
            let files = [&[("Cargo.toml", manifest)][..], &rustfmt].concat();
            let format = format!("format: rustfmt{edition} {{files}}");
            assert_eq!(found(&files), [format.as_str(), check]);
        }
    }

    #[test]
    fn programs_of_the_project_are_taken_before_those_of_the_machine() {
        let node = ["tsc", "eslint", "prettier"];
        let node = node.map(|name| format!("node_modules/.bin/{name}"));
        let mut files: Vec<(&str, &str)> = node.iter().map(|file| (file.as_str(), "")).collect();
        files.extend([
            ("tsconfig.json", ""),
            ("eslint.config.js", ""),
            (".prettierrc", ""),
            ("pyproject.toml", "[project]\nname = 'x'\n"),
            (".venv/bin/ruff", ""),
            ("bin/ruff", ""),
            ("bin/pyright", ""),
        ]);
        assert_eq!(
            found(&files),
            [
                "format: node_modules/.bin/prettier --write --ignore-unknown --log-level warn {files}",
                "check: node_modules/.bin/tsc --noEmit --pretty false",
                "check: node_modules/.bin/eslint --no-color {files}",
                "check: .venv/bin/ruff check -q --no-cache --force-exclude --output-format concise {files}",
            ]
        );
        let settings = ("pyproject.toml", "[tool.ruff.lint]\n[tool.pyright]\n");
        let more = found(&[settings, ("bin/ruff", ""), ("bin/pyright", "")]);
        assert_eq!(
            more[0],
            "format: ruff format -q --no-cache --force-exclude {files}"
        );
        assert_eq!(more[2], "check: pyright {files}");
    }

    #[test]
    fn a_go_module_is_vetted_without_the_network() {
        let files = [("go.mod", ""), ("bin/go", ""), ("bin/gofmt", "")];
        assert_eq!(
            found(&files),
            [
                "format: gofmt -w {files}",
                "check: GOPROXY=off go vet ./..."
            ]
        );
    }
}
