//! A check that a project has, with real commands in every fence that this machine has: it runs where the
//! user trusts the project, and reaches no network even where commands do.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use testkit::process::Launch;
use testkit::{Process, Scratch};

use crate::{DRAGOMAN, Visitor, tell};

const LIMIT: Duration = Duration::from_secs(60);
const FENCES: [&str; 2] = ["bubblewrap", "landlock"];
const SCRIPT: &str = "turn\n\
                      call write {\"filePath\":\"a.ts\",\"content\":\"let a = 1;\\n\"}\n\
                      next\nsay Done.\n";

/// A project whose check leaves a word on whether it reached this port.
fn project(port: u16) -> anyhow::Result<Scratch> {
    let scratch = Scratch::new()?;
    let program = scratch.workspace().join("node_modules/.bin/tsc");
    std::fs::create_dir_all(scratch.workspace().join("node_modules/.bin"))?;
    let text = format!(
        "#!/bin/bash\nif (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null\n\
         then echo open > reached; else echo closed > reached; fi\n"
    );
    std::fs::write(&program, text)?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    scratch.write("tsconfig.json", "{}")?;
    std::fs::write(scratch.user().join("script"), SCRIPT)?;
    Ok(scratch)
}

/// What the check left after an edit.
async fn left_after_an_edit(fence: &str, is_trusted: bool) -> anyhow::Result<Option<String>> {
    let neighbour = TcpListener::bind("127.0.0.1:0")?;
    let scratch = project(neighbour.local_addr()?.port())?;
    let trusted = scratch.workspace().display().to_string();
    let mut launch = Launch::new(DRAGOMAN, &scratch)
        .rehearsal(&scratch.user().join("script"))
        .argument(format!("--sandbox={fence}"))
        .argument("--network");
    if is_trusted {
        launch = launch.argument(format!("--trust={trusted}"));
    }
    let server = Process::start(&launch).await?;
    let mut visitor = Visitor::arrive(&server).await?;
    visitor.say("go").await?;
    visitor.rest().await?;
    let left = std::fs::read_to_string(scratch.workspace().join("reached"));
    Ok(left.ok().map(|left| left.trim_end().to_owned()))
}

#[test]
fn a_check_of_a_project_runs_where_it_is_trusted_and_without_the_network() {
    tell(LIMIT, async {
        for fence in FENCES {
            let left = left_after_an_edit(fence, false).await?;
            assert_eq!(left, None, "{fence}");
            let left = left_after_an_edit(fence, true).await?;
            assert_eq!(left.as_deref(), Some("closed"), "{fence}");
        }
        // Where nothing holds it, nobody's trust is enough.
        assert_eq!(left_after_an_edit("off", true).await?, None);
        Ok(())
    });
}
