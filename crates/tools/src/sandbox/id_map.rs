//! Where root runs the server, its commands are root only by name: the number behind it is another.
//!
//! The kernel lets whoever has the number 0 change its settings, whatever privileges were taken away. So
//! a user namespace calls a number that nobody has `root`, and the file systems are mounted once more, in
//! a mount namespace of this process, with a mapping that shows root's files as that number's. What a
//! command makes in the workspace belongs to root as before. Then `bwrap` does the rest, in there.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::CWD;
use rustix::mount::{
    MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount_change, move_mount,
    open_tree, unmount,
};
use rustix::thread::{Gid, LinkNameSpaceType, Uid, UnshareFlags};
use serde::{Deserialize, Serialize};

use super::launcher::{ARGUMENT, HOLD, MAP};
use super::launcher_file::RUNNING;

/// The number of those who are root by name. It belongs to nobody: accounts of people and services are
/// far below, those of containers end before.
const OUTSIDE: u32 = 2_000_000_000;
/// The last number there is; the one behind it means none.
const LAST: u32 = u32::MAX - 1;

/// What the step that maps is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Mapping {
    /// Must be on file systems that can be mapped; otherwise root stays what it is.
    pub writable: Vec<PathBuf>,
    /// Any directory; mounted upon where nobody sees it.
    pub mount_point: PathBuf,
}

impl Mapping {
    /// The launcher's arguments for running a program with the mapping.
    pub fn arguments(&self, program: &Path) -> Result<Vec<OsString>, String> {
        let text = serde_json::to_string(self)
            .map_err(|_| "the sandbox cannot be told of a path that is not text".to_owned())?;
        Ok(vec![
            ARGUMENT.into(),
            MAP.into(),
            text.into(),
            program.into(),
        ])
    }

    /// Whether it can be done here, by really trying. Only root can.
    pub fn works(&self, launcher: &Path) -> bool {
        let Ok(arguments) = self.arguments(Path::new("")) else {
            return false;
        };
        let mut command = Command::new(launcher);
        command.args(arguments).stdin(Stdio::null());
        command.output().is_ok_and(|output| output.status.success())
    }
}

/// Does not return but for saying why it failed; then nothing has run. Without a program, it only tries:
/// then nothing said means that it works.
pub fn become_program(mapping: &Mapping, program: &[OsString]) -> Result<i32, String> {
    let is_mapped = enter(mapping)?;
    match program.split_first() {
        Some((name, arguments)) if !name.is_empty() => {
            let error = Command::new(name).args(arguments).exec();
            Err(format!("cannot start {}: {error}", name.to_string_lossy()))
        }
        Some(_) | None if is_mapped => Ok(0),
        Some(_) | None => Err("the file system cannot be mapped".to_owned()),
    }
}

/// Gives whether everything is mapped. Where it is not, nothing has changed.
fn enter(mapping: &Mapping) -> Result<bool, String> {
    let user = user_namespace().map_err(|error| format!("no user namespace: {error}"))?;
    let directory = std::env::current_dir().map_err(|error| error.to_string())?;
    let tree = || -> rustix::io::Result<bool> {
        unshare(UnshareFlags::NEWNS)?;
        let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
        mount_change("/", private)?;
        if !mount_mapped(&user, mapping)? {
            unmount(&mapping.mount_point, UnmountFlags::DETACH)?;
            return Ok(false);
        }
        rustix::process::chdir(&mapping.mount_point)?;
        rustix::process::pivot_root(".", ".")?;
        unmount(".", UnmountFlags::DETACH)?;
        rustix::process::chdir(&directory)?;
        Ok(true)
    };
    if !tree().map_err(|error| format!("no mapped mounts: {error}"))? {
        return Ok(false);
    }
    let become_root = || -> rustix::io::Result<()> {
        rustix::thread::move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))?;
        rustix::thread::set_thread_groups(&[])?;
        rustix::thread::set_thread_res_gid(Gid::ROOT, Gid::ROOT, Gid::ROOT)?;
        rustix::thread::set_thread_res_uid(Uid::ROOT, Uid::ROOT, Uid::ROOT)
    };
    become_root().map_err(|error| format!("the user namespace cannot be entered: {error}"))?;
    Ok(true)
}

/// Mounts all that is mounted once more below the mount point, mapped where that can be. Gives whether
/// all is that has to be.
fn mount_mapped(user: &File, mapping: &Mapping) -> rustix::io::Result<bool> {
    let text = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    // The outer ones come first.
    let mut mounts: Vec<(PathBuf, bool)> = Vec::new();
    for point in mount_points(&text) {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
        // What lies under another mount cannot be reached, and need not be.
        let Ok(tree) = open_tree(CWD, &point, flags) else {
            continue;
        };
        let is_mapped = composefs_ioctls::mount::mount_setattr_idmap(&tree, user).is_ok();
        let inside = point.strip_prefix("/").unwrap_or(&point);
        let to = mapping.mount_point.join(inside);
        let moved = move_mount(&tree, "", CWD, &to, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH);
        match moved {
            Ok(()) => mounts.push((point, is_mapped)),
            Err(error) if point == Path::new("/") => return Err(error),
            Err(_) => {}
        }
    }
    let is_mapped = |path: &Path| {
        let around = mounts.iter().filter(|(point, _)| path.starts_with(point));
        let nearest = around.max_by_key(|(point, _)| point.components().count());
        nearest.is_some_and(|(_, is_mapped)| *is_mapped)
    };
    let needed = mapping.writable.iter().map(PathBuf::as_path);
    Ok(needed.chain([Path::new("/")]).all(is_mapped))
}

/// The fifth word of each line, in which special characters are written as octal numbers.
fn mount_points(mountinfo: &[u8]) -> impl Iterator<Item = PathBuf> {
    let lines = mountinfo.split(|&byte| byte == b'\n');
    lines.filter_map(|line| {
        let word = line.split(|&byte| byte == b' ').nth(4)?;
        Some(PathBuf::from(OsString::from_vec(unescaped(word))))
    })
}

fn unescaped(word: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((&first, behind)) = rest.split_first() {
        let digits = (first == b'\\').then(|| behind.get(..3)).flatten();
        let number = digits
            .and_then(|digits| OsStr::from_bytes(digits).to_str())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match number {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[3..];
            }
            None => {
                bytes.push(first);
                rest = behind;
            }
        }
    }
    bytes
}

/// A user namespace in which root is somebody else, and everybody else themselves. A process that only
/// waits has it until we hold it ourselves.
fn user_namespace() -> std::io::Result<File> {
    let mut holder = Command::new(RUNNING)
        .args([ARGUMENT, HOLD])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut make = || -> std::io::Result<File> {
        let mut sign = [0];
        let output = holder
            .stdout
            .as_mut()
            .ok_or(std::io::ErrorKind::BrokenPipe)?;
        output.read_exact(&mut sign)?;
        let process = PathBuf::from(format!("/proc/{}", holder.id()));
        for name in ["uid_map", "gid_map"] {
            let mut file = File::options().write(true).open(process.join(name))?;
            // At once, as the kernel wants it.
            file.write_all(map().as_bytes())?;
        }
        File::open(process.join("ns/user"))
    };
    let made = make();
    drop(holder.stdin.take());
    let _ = holder.wait();
    made
}

/// Lines of "inside, outside, how many".
fn map() -> String {
    let (below, above) = (OUTSIDE - 1, OUTSIDE + 1);
    let rest = LAST - OUTSIDE;
    format!("0 {OUTSIDE} 1\n1 1 {below}\n{above} {above} {rest}\n")
}

/// The process that holds a user namespace until its input closes.
pub fn hold() -> Result<i32, String> {
    unshare(UnshareFlags::NEWUSER).map_err(|error| error.to_string())?;
    let mut output = std::io::stdout();
    let told = output.write_all(b"\n").and_then(|()| output.flush());
    told.map_err(|error| error.to_string())?;
    let _ = std::io::stdin().read(&mut [0]);
    Ok(0)
}

/// The one that is not deprecated is unsafe because of open files that are no longer shared, and those
/// are not what is asked for here.
#[allow(deprecated)]
pub(super) fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    rustix::thread::unshare(flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_read_with_their_special_characters() {
        let text =
            b"22 1 8:1 / / rw - ext4 /dev/a rw\n23 22 0:5 / /mnt/a\\040b\\134c rw - tmpfs x rw\n";
        let expected = ["/", "/mnt/a b\\c"].map(PathBuf::from);
        assert_eq!(mount_points(text).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn every_number_but_one_is_mapped_once() {
        let lines = map();
        let sums = lines.lines().map(|line| {
            let numbers: Vec<u64> = line
                .split(' ')
                .map(|word| word.parse().unwrap_or(0))
                .collect();
            (numbers[0], numbers[1], numbers[2])
        });
        let (zero, low, high) = (
            (0, u64::from(OUTSIDE), 1),
            (1, 1, u64::from(OUTSIDE) - 1),
            (
                u64::from(OUTSIDE) + 1,
                u64::from(OUTSIDE) + 1,
                u64::from(LAST - OUTSIDE),
            ),
        );
        assert_eq!(sums.collect::<Vec<_>>(), [zero, low, high]);
        assert_eq!(high.0 + high.2 - 1, u64::from(LAST));
    }
}
