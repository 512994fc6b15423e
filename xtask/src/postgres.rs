//! PostgreSQL for the tests: each test process starts a private one from installed binaries.

use anyhow::Result;

use crate::report::Ended;

/// Makes sure that there are binaries, installing Debian's where they are missing and this may be done.
///
/// # Errors
///
/// When there are none and they cannot be installed.
#[cfg(unix)]
pub(crate) fn provide() -> Result<Ended> {
    use anyhow::bail;
    use debate_postgres_fixture::{Binaries, FixtureError};

    use crate::debian;

    let binaries = match Binaries::find() {
        Err(FixtureError::NotInstalled) => {
            if !debian::install("postgresql")? {
                bail!("PostgreSQL is not installed, and there is no apt-get to install it with");
            }
            Binaries::find()?
        }
        found => found?,
    };
    println!("PostgreSQL {} in {}", binaries.version()?, binaries.folder().display());
    Ok(Ended::Passed)
}

/// Says that there are no such tests on this system.
///
/// # Errors
///
/// Never.
#[cfg(not(unix))]
pub(crate) fn provide() -> Result<Ended> {
    Ok(Ended::Skipped("the tests on PostgreSQL need unix sockets".to_owned()))
}
