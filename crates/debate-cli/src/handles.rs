//! How many files and connections this process may have open.

/// Files that are kept from clients, at least.
const KEPT_MIN: u64 = 200;

/// Raises the limit of this process as far as the machine allows: every client of a server takes one.
pub(crate) fn raise() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

        let found = getrlimit(Resource::Nofile);
        let raised = Rlimit { current: found.maximum, maximum: found.maximum };
        if found != raised
            && let Err(error) = setrlimit(Resource::Nofile, raised)
        {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the limit of open files stays as it was"
            );
        }
    }
}

/// Returns the highest limit that a process here may have; nothing where there is none.
pub(crate) fn most() -> Option<u64> {
    #[cfg(unix)]
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    #[cfg(not(unix))]
    let most = None;
    most
}

/// Returns how many of the connections asked for this process may have: a quarter of its files, and at least
/// [`KEPT_MIN`] where there are so many, are kept for the store, for providers and for itself.
pub(crate) fn for_clients(asked: u64) -> u64 {
    #[cfg(unix)]
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    #[cfg(not(unix))]
    let limit = None;
    limit.map_or(asked, |limit| asked.min(left_for_clients(limit)))
}

fn left_for_clients(limit: u64) -> u64 {
    limit.saturating_sub((limit / 4).max(KEPT_MIN)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_leave_files_for_the_store_and_for_providers() {
        assert_eq!([0, 200, 1_024, 4_096, 1_048_576].map(left_for_clients), [1, 1, 768, 3_072, 786_432]);
    }
}
