//! A private PostgreSQL for tests and benches: a cluster of its own in a temporary folder, reached through a unix socket
//! alone, gone with the process that started it, however that ends.
//!
//! It starts what is installed and installs nothing. Never used by what is shipped. It is empty where there are no unix
//! sockets.

#![cfg(unix)]

mod binaries;
mod cluster;
mod disk;
mod keeper;
#[cfg(feature = "proxy")]
mod proxy;
mod server;

pub use binaries::Binaries;
pub use disk::SmallDisk;
#[cfg(feature = "proxy")]
pub use proxy::Proxy;
pub use server::{Server, fresh_database};

use std::path::PathBuf;

/// A private PostgreSQL could not be started or asked.
#[derive(Debug, thiserror::Error)]
pub enum FixtureError {
    /// There are no binaries.
    #[error(
        "PostgreSQL is not installed: no `initdb` in /usr/lib/postgresql/*/bin nor on the PATH; on Debian: \
         apt-get install postgresql"
    )]
    NotInstalled,
    /// PostgreSQL refuses to run as root, and there is no other user to run it as.
    #[error("PostgreSQL does not run as root, and there is no user `postgres` or `nobody` to run it as")]
    NoUser,
    /// A program that is needed failed.
    #[error("{program} failed: {output}")]
    Program {
        /// Which one.
        program: String,
        /// What it printed.
        output: String,
    },
    /// The server did not come up in time.
    #[error("PostgreSQL did not start in time; its log says: {log}")]
    NotReady {
        /// The end of its log.
        log: String,
    },
    /// A file or a process could not be had.
    #[error("cannot use {path}")]
    Io {
        /// The file or program.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

impl FixtureError {
    /// Names the file or program that an error of the system is about.
    fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        |source| Self::Io { path, source }
    }
}
