//! What is checked out in a repository, and where it came from: read from its files.

use std::path::Path;

use vocabulary::GitInfo;

use super::{Repository, checked_out_branch, pointer, read_up_to, settings};

/// Longer lists of packed references are not looked through: the commit is not known then.
const PACKED_BYTES_MAX: u64 = 16 << 20;

/// The repository that a directory lies in; none where it lies in none.
pub fn info(directory: &Path) -> Option<GitInfo> {
    let repository = Repository::around(directory)?;
    let info = GitInfo {
        branch: checked_out_branch(&repository),
        sha: commit(&repository),
        origin: origin(&repository),
    };
    Some(info).filter(|info| !info.is_empty())
}

/// The commit that is checked out; none before the first one.
fn commit(repository: &Repository) -> Option<String> {
    let head = pointer(&repository.git_dir.join("HEAD"))?;
    let Some(reference) = head.strip_prefix("ref: ") else {
        return Some(head).filter(|head| is_commit(head));
    };
    // Nothing but a reference is read, wherever the file says it is.
    let is_plain = |part: &str| !part.is_empty() && !part.starts_with('.');
    if !reference.starts_with("refs/") || !reference.split('/').all(is_plain) {
        return None;
    }
    let loose = pointer(&repository.common_dir.join(reference));
    let commit = loose.or_else(|| packed(repository, reference))?;
    Some(commit).filter(|commit| is_commit(commit))
}

fn packed(repository: &Repository, reference: &str) -> Option<String> {
    let file = repository.common_dir.join("packed-refs");
    let bytes = read_up_to(&file, PACKED_BYTES_MAX).ok()??;
    let mut lines = bytes.split(|byte| *byte == b'\n');
    lines.find_map(|line| {
        let (commit, name) = std::str::from_utf8(line).ok()?.split_once(' ')?;
        (name.trim_end() == reference).then(|| commit.to_owned())
    })
}

fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn origin(repository: &Repository) -> Option<String> {
    let settings = settings(&repository.common_dir.join("config")).ok()?;
    let url = settings.into_iter().find(|setting| {
        let of_origin = setting.subsection.as_deref() == Some("origin");
        of_origin && (setting.section.as_str(), setting.name.as_str()) == ("remote", "url")
    })?;
    let url = without_credentials(&url.value?);
    let is_short = url.chars().count() <= GitInfo::CHARS_MAX;
    (is_short && !url.is_empty()).then_some(url)
}

/// A URL can have a name and a password in it, which are nobody's business. `git@host:path` has none.
fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (host, path) = match rest.find(['/', '?', '#']) {
        Some(end) => rest.split_at(end),
        None => (rest, ""),
    };
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    // What stands behind a question mark can be a token.
    let path = path.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    fn repository(head: &str) -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join(".git/refs/heads")).unwrap();
        fs::create_dir_all(place.path().join("below")).unwrap();
        fs::write(place.path().join(".git/HEAD"), head).unwrap();
        place
    }

    #[test]
    fn branch_commit_and_origin_are_read_from_below_too() {
        let place = repository("ref: refs/heads/main\n");
        let git = place.path().join(".git");
        fs::write(git.join("refs/heads/main"), format!("{COMMIT}\n")).unwrap();
        let config = "[remote \"origin\"]\n\turl = https://me:secret@example.com/a.git?t=1\n";
        fs::write(git.join("config"), config).unwrap();
        let info = info(&place.path().join("below")).unwrap();
        assert_eq!(info.branch.as_deref(), Some("main"));
        assert_eq!(info.sha.as_deref(), Some(COMMIT));
        assert_eq!(info.origin.as_deref(), Some("https://example.com/a.git"));
    }

    #[test]
    fn packed_references_and_bare_commits_are_found() {
        let place = repository("ref: refs/heads/main\n");
        let packed = format!("# pack-refs\n{COMMIT} refs/heads/main\n^{COMMIT}\n");
        fs::write(place.path().join(".git/packed-refs"), packed).unwrap();
        assert_eq!(info(place.path()).unwrap().sha.as_deref(), Some(COMMIT));
        let place = repository(COMMIT);
        let info = info(place.path()).unwrap();
        assert_eq!((info.branch, info.sha.as_deref()), (None, Some(COMMIT)));
    }

    #[test]
    fn what_is_no_reference_is_not_followed() {
        let place = repository("ref: refs/../../secret\n");
        fs::write(place.path().join("secret"), COMMIT).unwrap();
        assert_eq!(info(place.path()), None);
        assert_eq!(info(tempfile::tempdir().unwrap().path()), None);
    }
}
