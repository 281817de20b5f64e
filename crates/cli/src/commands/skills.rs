//! `dragoman skills`: which skills there are, and the user's own switched on and off.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tools::Scope;
use tools::skill::{self, SkillCatalog, SkillChangeError, SkillProblem};
use vocabulary::{Skill, SkillTier, did_you_mean, nearest};

use super::checkpoints::words;
use super::table::aligned;

const EXAMPLES: &str = "\
Examples:
  dragoman skills                      which skills an agent here could load, and what is wrong with others
  dragoman skills list --dir ~/project in another directory
  dragoman skills new release          make a skill of your own; --project makes it in this directory
  dragoman skills disable release      agents neither see it nor load it; `enable` brings it back

A skill is a directory with a SKILL.md in it. They come with the directory you work in (project), are yours in
the data directory (global) or where other agents read them too (user); the first of a name counts. Those of
a project are used once somebody trusts them. docs/skills.md says where each of them lies.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SkillsArguments {
    #[command(subcommand)]
    pub what: Option<SkillsCommand>,
    /// The directory whose skills are meant [default: the current one]
    #[arg(short, long, value_name = "DIR", global = true)]
    pub dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum SkillsCommand {
    /// Show which skills there are (the default)
    List,
    /// Make a skill, to be filled in
    New {
        /// Small letters and digits, in words joined by '-'
        name: String,
        /// In the directory rather than for all of yours
        #[arg(long)]
        project: bool,
    },
    /// Use a global skill again
    Enable { name: String },
    /// Stop using a global skill, without deleting it
    Disable { name: String },
}

pub async fn run(arguments: SkillsArguments, home: &Path) -> anyhow::Result<()> {
    let SkillsArguments { what, dir, json } = arguments;
    let dir = dir.unwrap_or_else(|| PathBuf::from("."));
    let dir = dir
        .canonicalize()
        .with_context(|| format!("cannot use the directory {}", words::path(&dir)))?;
    if let Some(SkillsCommand::New { project: false, .. }) = &what {
        server::home::prepare(home)?;
    }
    let scope = scope(dir, home);
    let work = move || match what.unwrap_or(SkillsCommand::List) {
        SkillsCommand::List => list(&scope, json),
        SkillsCommand::New { name, project } => new(&scope, &name, project, json),
        SkillsCommand::Enable { name } => switch(&scope, &name, true, json),
        SkillsCommand::Disable { name } => switch(&scope, &name, false, json),
    };
    let done = tokio::task::spawn_blocking(work).await;
    done.context("the look was cut off")?
}

/// Where a server on this home would look.
fn scope(directory: PathBuf, home: &Path) -> Scope {
    Scope {
        directory,
        extra: Vec::new(),
        outside: Default::default(),
        private: vec![home.to_owned()],
        spill: None,
        skills: server::skill_folders(home),
        trusted: false,
        read_only: true,
    }
}

fn list(scope: &Scope, json: bool) -> anyhow::Result<()> {
    let SkillCatalog {
        skills,
        mut problems,
    } = skill::catalog(scope);
    let commands = tools::commands::commands(scope, &tools::Trusted::nothing("not looked up"));
    problems.extend(commands.problems);
    if json {
        let skills: Vec<Value> = skills.iter().map(for_programs).collect();
        let problems = problems.iter();
        let problems: Vec<Value> = problems
            .map(|each| json!({ "path": each.path, "problem": each.problem }))
            .collect();
        return words::say_json(&json!({ "skills": skills, "problems": problems }));
    }
    let heading = ["NAME", "FROM", "USED", "WHAT IT IS FOR"].map(str::to_owned);
    let rows: Vec<Vec<String>> = std::iter::once(heading.to_vec())
        .chain(skills.iter().map(row))
        .collect();
    words::say(format!("{}{}", aligned(&rows), in_words(&problems)))
}

fn row(skill: &Skill) -> Vec<String> {
    const WIDTH: usize = 80;
    let mut description: String = skill.description.chars().take(WIDTH).collect();
    if description.len() < skill.description.len() {
        description.push('…');
    }
    let used = match (skill.enabled, skill.tier) {
        (false, _) => "no",
        (true, SkillTier::Project) => "if trusted",
        (true, SkillTier::Global | SkillTier::User | SkillTier::BuiltIn) => "yes",
    };
    vec![
        skill.name.clone(),
        tier(skill.tier).to_owned(),
        used.to_owned(),
        description,
    ]
}

fn in_words(problems: &[SkillProblem]) -> String {
    if problems.is_empty() {
        return String::new();
    }
    let line = |each: &SkillProblem| {
        let problem = tools::shown::line(&each.problem);
        format!("  {}: {problem}\n", words::path(&each.path))
    };
    let lines: String = problems.iter().map(line).collect();
    format!("\nNot used:\n{lines}")
}

fn for_programs(skill: &Skill) -> Value {
    json!({
        "name": skill.name,
        "path": skill.path,
        "source": tier(skill.tier),
        "enabled": skill.enabled,
        "triggers": skill.triggers,
        "description": skill.description,
    })
}

fn tier(tier: SkillTier) -> &'static str {
    match tier {
        SkillTier::Project => "project",
        SkillTier::Global => "global",
        SkillTier::User => "user",
        SkillTier::BuiltIn => "built-in",
    }
}

fn new(scope: &Scope, name: &str, project: bool, json: bool) -> anyhow::Result<()> {
    let folder = match project {
        true => scope.directory.join(tools::folders::OWN).join("skills"),
        false => scope.skills.first().cloned().unwrap_or_default(),
    };
    let file = skill::create(&folder, name)
        .with_context(|| format!("cannot make the skill {}", tools::shown::line(name)))?;
    if json {
        return words::say_json(&json!({ "name": name, "path": file }));
    }
    let trust = match project {
        true => " Agents use it once it is trusted: dragoman trust add.",
        false => "",
    };
    words::say(format!(
        "made {}\nSay there what it is for and what to do.{trust}\n",
        words::path(&file)
    ))
}

fn switch(scope: &Scope, name: &str, enabled: bool, json: bool) -> anyhow::Result<()> {
    let verb = if enabled { "enabled" } else { "disabled" };
    match skill::set_enabled(scope, name, enabled) {
        Ok(()) if json => words::say_json(&json!({ "name": name, "enabled": enabled })),
        Ok(()) => words::say(format!("{name} is {verb}\n")),
        Err(SkillChangeError::NotFound | SkillChangeError::Name) => {
            let skills = skill::catalog(scope).skills;
            let near = nearest(name, skills.iter().map(|skill| skill.name.as_str()));
            let advice = match near.is_empty() {
                true => "; `dragoman skills` lists them".to_owned(),
                false => did_you_mean(&near),
            };
            bail!("there is no skill `{name}`{advice}")
        }
        Err(SkillChangeError::NotGlobal) => bail!(
            "`{name}` is not one of your global skills, and only those can be {verb}; \
             `dragoman skills` says where it comes from"
        ),
        Err(error @ (SkillChangeError::InTheWay(_) | SkillChangeError::Failed { .. })) => {
            Err(error).with_context(|| format!("{name} cannot be {verb}"))
        }
    }
}
