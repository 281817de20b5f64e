//! Workspaces that mean harm or are harmed: a clear answer each time, in time, and nothing outside is
//! touched.

mod foreign_git;
mod full_disk;
mod moving;
mod outside;
mod permission;
mod places;
mod special;

use std::time::Duration;

/// Long enough for a slow machine, short enough to call it a hang.
const LIMIT: Duration = Duration::from_secs(60);
