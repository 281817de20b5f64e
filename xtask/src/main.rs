//! The project's own commands: `cargo xtask help` lists them.

mod bench;
mod catalog;
mod coverage;
mod escape;
mod eval;
mod fuzz;
mod page;
mod peers;
mod prompt;
mod run;
mod schemas;
mod soak;
mod test;
mod tidy;
mod transcripts;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask <command>

  test                       everything that decides whether a change lands
  escape                     try to get out of the sandbox, in every mode, as root and as a user
  page                       the web page's own tests
  peers                      install the servers that the live tests talk to
  catalog                    gather limits, prices and ends of the models of the catalog anew
  catalog --check            only look whether they are whole and how old they are
  tidy                       the project's own rules, in a second
  transcripts                run every scenario and compare its transcripts
  transcripts busy reset     only these scenarios
  transcripts --update       rewrite the transcripts; read the diff before you commit
  coverage [--update]        which story and test shows each message of the cowork protocols
  schemas [--update]         compare, or rewrite, the checked-in schemas of the wire protocols
  prompt                     the first request of every family of models, with its tokens
  prompt --update            rewrite the golden requests of the agent; read the diff before you commit
  eval --model P/M           thirty small real tasks for a model; docs/eval.md
  soak crashes               kill the server many times and check that nothing is lost
  soak crashes --kills 500 --seed 7
  soak dialects              clients of all dialects do random things at the same threads; at rest
                             all must have the same
  soak dialects --minutes 10 --seed 7 --clients 2 --drop-one-in 1000
  fuzz                       any bytes into every dialect and parser, a minute each
  fuzz shell --seconds 600   one of them, longer (cowork … pioneer, rehearsal, decode, shell,
                             policy, front, origin)
  bench                      measure the server as it is shipped; prints one table
  bench --quick --json FILE  smaller numbers of everything, and the table as JSON
  bench echo stream          only these rows
  bench search               how long a search takes, and what its index costs
  bench checkpoints          snapshots and restores beside tar and a git shadow repository
  help                       this page
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> anyhow::Result<()> {
    let Some((command, rest)) = arguments.split_first() else {
        print!("{HELP}");
        return Ok(());
    };
    match command.as_str() {
        "test" => test::run(rest),
        "escape" => escape::run(rest),
        "page" => page::run(rest),
        "peers" => peers::run(rest),
        "catalog" => catalog::run(rest),
        "tidy" => tidy::run(rest),
        "transcripts" => transcripts::run(rest),
        "coverage" => coverage::run(rest),
        "schemas" => schemas::run(rest),
        "prompt" => prompt::run(rest),
        "eval" => eval::run(rest),
        "soak" => soak::run(rest),
        "fuzz" => fuzz::run(rest),
        "bench" => bench::run(rest),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        unknown => anyhow::bail!(
            "there is no command `{unknown}`; there are test, page, peers, catalog, tidy, transcripts, \
             coverage, schemas, prompt, eval, soak, fuzz, bench, help"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_command_says_what_exists() {
        let error = dispatch(&["tset".to_owned()]).expect_err("no such command");
        assert!(error.to_string().contains(
            "test, page, peers, catalog, tidy, transcripts, coverage, schemas, prompt, eval, soak, fuzz, bench"
        ));
    }
}
