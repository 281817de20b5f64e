//! The escape tests, as every user that this run can be: an ordinary one always, and root where root runs
//! it. Installs bubblewrap where that is possible, and says what was not tried.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};

use anyhow::{Context, bail};

use crate::run::{cargo, root, works};

/// The user that is nobody in particular, on every system.
const ORDINARY: u32 = 65_534;
/// Where the tests make their worlds; see `crates/tools/tests/escape/world.rs`.
const PLACE_VARIABLE: &str = "ESCAPE_PLACE";
const INSTALL_SECONDS_MAX: &str = "90";
/// Only something that hangs takes so long.
const RUN_SECONDS_MAX: &str = "900";
/// Hidden from commands as a whole, so that nothing there proves anything.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// The installation of bubblewrap, under way while the compiler runs; ends with what people should know.
pub struct Bubblewrap(JoinHandle<String>);

impl Bubblewrap {
    pub fn begin() -> Self {
        Self(thread::spawn(install))
    }

    pub fn finish(self) -> String {
        let panicked = |_| "bubblewrap: its installation panicked".to_owned();
        self.0.join().unwrap_or_else(panicked)
    }
}

fn install() -> String {
    if is_there("bwrap") {
        return "bubblewrap: installed".to_owned();
    }
    let missing = |why: &str| format!("bubblewrap: NOT INSTALLED, so it is not tried: {why}");
    if !is_there("apt-get") {
        return missing("there is no apt-get; install it with your system's package manager");
    }
    let sudo: &[&str] = match is_root() {
        true => &[],
        false if works(Command::new("sudo").args(["-n", "true"])) => &["sudo", "-n"],
        false => return missing("only root may; try `sudo apt-get install bubblewrap`"),
    };
    let apt = |words: &[&str]| {
        let limit = ["timeout", INSTALL_SECONDS_MAX, "apt-get", "-y"];
        let line: Vec<&str> = sudo.iter().chain(&limit).chain(words).copied().collect();
        let mut command = Command::new(line[0]);
        works(
            command
                .args(&line[1..])
                .env("DEBIAN_FRONTEND", "noninteractive"),
        )
    };
    let install = ["install", "--no-install-recommends", "bubblewrap"];
    match apt(&install) || apt(&["update"]) && apt(&install) {
        true => "bubblewrap: installed by apt-get just now".to_owned(),
        false => missing("apt-get could not install it"),
    }
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

fn is_root() -> bool {
    let said = Command::new("id").arg("-u").output();
    said.is_ok_and(|said| said.stdout.trim_ascii() == b"0")
}

/// `cargo xtask escape`: only these tests.
pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("`escape` takes no argument, not `{unknown}`");
    }
    println!("{}", Bubblewrap::begin().finish());
    try_all(&["--package", "tools"])
}

/// Runs the tests as each user; of the packages that were built already, so that little is built again.
pub fn try_all(packages: &[&str]) -> anyhow::Result<()> {
    let binary = test_binary(packages)?;
    // One after the other: the sockets of one run would come and go under the fences of the other.
    println!("-- escape tests as whoever runs this");
    let mut held = vec![works_aloud(direct(&binary))?];
    match (is_root(), is_there("setpriv")) {
        (true, true) => {
            println!("-- escape tests as an ordinary user");
            let place = Place::new(&binary)?;
            held.push(works_aloud(place.command())?);
        }
        (true, false) => println!("NOT TRIED as an ordinary user: there is no setpriv"),
        (false, _) => println!("NOT TRIED as root: it is not root who runs this"),
    }
    match held.iter().all(|held| *held) {
        true => Ok(()),
        false => bail!("the sandbox does not hold all that it should"),
    }
}

fn works_aloud(mut command: Command) -> anyhow::Result<bool> {
    let status = command.status();
    Ok(status
        .context("the escape tests cannot be started")?
        .success())
}

fn direct(binary: &Path) -> Command {
    let mut command = Command::new("timeout");
    command
        .arg(RUN_SECONDS_MAX)
        .arg(binary)
        .args(TEST_ARGUMENTS);
    command
}

const TEST_ARGUMENTS: [&str; 2] = ["--test-threads=1", "--nocapture"];

/// A directory of an ordinary user with all that the tests need: what cargo built may be out of reach.
struct Place(PathBuf);

impl Place {
    fn new(binary: &Path) -> anyhow::Result<Self> {
        let name = format!("dragoman-escape-{}", std::process::id());
        let target = root().join("target");
        let candidates = [
            target.as_path(),
            Path::new("/srv"),
            Path::new("/opt"),
            Path::new("/"),
        ];
        let parent = candidates.into_iter().find(|path| is_reached(path));
        let parent = parent.context("no directory can be reached by an ordinary user")?;
        let place = Self(parent.join(name));
        fs::create_dir_all(place.0.join("home"))?;
        let built = binary.parent().and_then(Path::parent);
        let launcher = built.context("the tests lie nowhere")?.join("fence");
        for (from, to) in [(binary, "escape"), (&launcher, "fence")] {
            let to = place.0.join(to);
            fs::copy(from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
            fs::set_permissions(&to, fs::Permissions::from_mode(0o755))?;
        }
        for path in [place.0.clone(), place.0.join("home")] {
            chown(path, Some(ORDINARY), Some(ORDINARY))?;
        }
        Ok(place)
    }

    fn command(&self) -> Command {
        let id = ORDINARY.to_string();
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid", &id, "--regid", &id, "--clear-groups"])
            .args(["timeout", RUN_SECONDS_MAX])
            .arg(self.0.join("escape"))
            .args(TEST_ARGUMENTS)
            .current_dir(&self.0)
            .env("HOME", self.0.join("home"))
            .env(PLACE_VARIABLE, &self.0)
            .env_remove("TMPDIR");
        command
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Whether everybody can go there, and commands see it.
fn is_reached(path: &Path) -> bool {
    let open = |path: &Path| {
        path.metadata()
            .is_ok_and(|meta| meta.permissions().mode() & 1 != 0)
    };
    let temporary = TEMPORARY.iter().any(|root| path.starts_with(root));
    !temporary && path.ancestors().all(open)
}

fn test_binary(packages: &[&str]) -> anyhow::Result<PathBuf> {
    let listed = cargo(&["nextest", "list"])
        .args(packages)
        .args(["--filterset", "binary(escape)"])
        .args(["--list-type", "binaries-only"])
        .args(["--message-format", "json"])
        .stderr(Stdio::inherit())
        .output()
        .context("cargo-nextest cannot be started")?;
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let path = binary_of(&text, "escape").context("nextest knows no escape tests")?;
    Ok(PathBuf::from(path))
}

/// The path of the test binary whose file name begins so.
fn binary_of<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    let mut paths = json.split("\"binary-path\":\"").skip(1);
    let is_it = |path: &&str| {
        let file = Path::new(path).file_name().and_then(|file| file.to_str());
        file.is_some_and(|file| file.starts_with(&format!("{name}-")))
    };
    paths.find_map(|rest| rest.split('"').next().filter(is_it))
}

#[cfg(test)]
mod tests {
    use super::binary_of;

    #[test]
    fn the_binary_is_found_among_all() {
        let json = r#"{"rust-binaries":{"a::it":{"binary-path":"/t/deps/it-1"},"tools::escape":{"binary-id":"tools::escape","binary-path":"/t/deps/escape-2"}}}"#;
        assert_eq!(binary_of(json, "escape"), Some("/t/deps/escape-2"));
        assert_eq!(binary_of(json, "other"), None);
    }
}
