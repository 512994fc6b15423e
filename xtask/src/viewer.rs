//! The page of debate-viewer: its build, which is committed, and the browser that its tests drive.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::cargo::{Workspace, succeed};
use crate::debian;
use crate::npm;
use crate::report::Ended;

const WEB: &str = "crates/debate-viewer/web";
const ASSETS: &str = "crates/debate-viewer/assets";

/// Builds the page into the folder that is part of the program.
///
/// # Errors
///
/// When npm is missing or fails, or the sources are not well typed.
pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    if let Some(missing) = npm::missing(workspace) {
        bail!("{missing} is not installed");
    }
    build_into(workspace, &workspace.root.join(ASSETS))
}

/// Checks that the committed page is what its sources give.
///
/// # Errors
///
/// When it is not, or npm fails.
pub(crate) fn check(workspace: &Workspace) -> Result<Ended> {
    if let Some(missing) = npm::missing(workspace) {
        return Ok(Ended::Skipped(format!("{missing} is not installed")));
    }
    let built = workspace.target.join("viewer-page");
    build_into(workspace, &built)?;
    let differing = differing(&workspace.root.join(ASSETS), &built)?;
    if !differing.is_empty() {
        bail!("{ASSETS} is not what {WEB} gives ({}); run cargo xtask viewer", differing.join(", "));
    }
    Ok(Ended::Passed)
}

/// Makes sure that the tests of the page find a browser, installing Debian's where this may be done.
///
/// # Errors
///
/// When an installation fails.
pub(crate) fn provide_browser(workspace: &Workspace) -> Result<Ended> {
    if let Some(missing) = npm::missing(workspace) {
        return Ok(Ended::Skipped(format!("{missing} is not installed, so no browser is driven")));
    }
    npm::install(workspace, WEB)?;
    if npm::is_there(workspace, "chromium") {
        return Ok(Ended::Passed);
    }
    if !debian::install("chromium")? {
        return Ok(Ended::Skipped("chromium is not installed, and there is no apt-get".to_owned()));
    }
    Ok(Ended::Passed)
}

fn build_into(workspace: &Workspace, folder: &Path) -> Result<()> {
    npm::install(workspace, WEB)?;
    let web = workspace.root.join(WEB);
    let mut check = workspace.program(&npm::program());
    check.current_dir(&web).args(["run", "--silent", "check"]);
    succeed(check)?;
    let mut build = workspace.program(Path::new("node"));
    build.current_dir(&web).arg("build.mjs").arg(folder);
    succeed(build)
}

/// Returns the names of files that are not the same in both folders, or only in one of them.
fn differing(one: &Path, other: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for folder in [one, other] {
        for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    names.dedup();
    names.retain(|name| {
        let read = |folder: &Path| fs::read(folder.join(name)).ok();
        read(one) != read(other)
    });
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_differ_or_stand_in_one_folder_alone_are_named() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (folder, name, text) in [
            (&one, "same", "a"),
            (&other, "same", "a"),
            (&one, "changed", "a"),
            (&other, "changed", "b"),
            (&other, "new", ""),
        ] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        assert_eq!(differing(one.path(), other.path()).unwrap(), ["changed", "new"]);
    }
}
