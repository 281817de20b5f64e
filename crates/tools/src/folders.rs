//! The folders with settings, skills and notes: ours, and the one that other agents use. They are spelled
//! here and nowhere else, so that what guards them and what reads them cannot disagree.

/// Ours: in a workspace, and the usual place of our data in a person's home directory.
pub const OWN: &str = ".cowork";
/// Of other agents: read where we have nothing of our own, never written.
pub const OTHER_AGENTS: &str = ".agent";
/// In our own folder: keys and tokens, which no tool reads.
pub const AUTH: &str = "auth";
/// What tells the server and its agents what to do: no file tool and no command changes it.
pub const GUARDED: [&str; 2] = [OWN, OTHER_AGENTS];
