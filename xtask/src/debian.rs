//! Programs of the system, which Debian has as packages.

use std::process::Command;

use anyhow::Result;

use crate::cargo::{answers, succeed};

/// Installs a package of Debian, and returns whether this is a system on which it could.
///
/// # Errors
///
/// When apt-get fails.
pub(crate) fn install(package: &str) -> Result<bool> {
    let mut version = Command::new("apt-get");
    version.arg("--version");
    if !answers(version) {
        return Ok(false);
    }
    println!("{package} is not installed; installing Debian's: apt-get install {package}");
    for arguments in [&["update"][..], &["install", "--yes", "--no-install-recommends", package]] {
        let mut apt_get = Command::new("apt-get");
        apt_get.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        succeed(apt_get)?;
    }
    Ok(true)
}
