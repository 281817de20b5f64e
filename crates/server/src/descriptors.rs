//! How many files and sockets this process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::limits::{DESCRIPTORS_RESERVED, SOCKETS_MAX};

/// Raises the limit as far as we may: the usual soft one is for programs that use `select`.
/// Tells how many sockets fit under it.
pub fn raise() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
    sockets_max(getrlimit(Resource::Nofile).current)
}

/// What is left for sockets once the store, tools and commands have theirs.
fn sockets_max(limit: Option<u64>) -> usize {
    let limit = limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    });
    let reserved = DESCRIPTORS_RESERVED.min(limit / 2);
    (limit - reserved).min(SOCKETS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_leave_descriptors_for_everything_else() {
        assert_eq!(sockets_max(None), SOCKETS_MAX);
        assert_eq!(sockets_max(Some(1_048_576)), SOCKETS_MAX);
        assert_eq!(sockets_max(Some(4_096)), 4_096 - DESCRIPTORS_RESERVED);
        assert_eq!(sockets_max(Some(256)), 128);
    }
}
