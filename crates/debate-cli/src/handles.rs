//! How many files and connections this process may have open.

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
