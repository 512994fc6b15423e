//! The files of a cluster: made once per version, below the target folder, and copied for every server.

use std::env;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::FixtureError;
use crate::binaries::{Binaries, run};

/// Marks the folder that cargo builds in.
const TARGET_MARK: &str = "CACHEDIR.TAG";

/// Makes a folder that only the user of the server can read. Its path is short, for it will hold a socket.
pub(crate) fn make_folder(binaries: &Binaries) -> Result<PathBuf, FixtureError> {
    let mut number = 0_u32;
    loop {
        let folder = env::temp_dir().join(format!("debate-pg-{}-{number}", std::process::id()));
        match fs::create_dir(&folder) {
            Ok(()) => {
                hand_over(binaries, &folder)?;
                return Ok(folder);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(FixtureError::Io { path: folder, source: error }),
        }
    }
}

/// Puts the files of a new cluster into `data`, a folder that is not there yet.
pub(crate) fn make_data(binaries: &Binaries, data: &Path) -> Result<(), FixtureError> {
    let Some(target) = target_folder() else { return initialise(binaries, data) };
    let kept = target.join("postgres");
    fs::create_dir_all(&kept).map_err(FixtureError::io(&kept))?;
    let lock = kept.join("lock");
    let lock =
        File::create(&lock).and_then(|file| file.lock().map(|()| file)).map_err(FixtureError::io(&lock))?;
    let template = kept.join(binaries.version()?);
    if !template.join("PG_VERSION").is_file() {
        initialise(binaries, data)?;
        let half_made = kept.join("new");
        let _ = fs::remove_dir_all(&half_made);
        copy(data, &half_made)?;
        fs::rename(&half_made, &template).map_err(FixtureError::io(&template))?;
        return Ok(());
    }
    drop(lock);
    copy(&template, data)?;
    hand_over(binaries, data)
}

fn initialise(binaries: &Binaries, data: &Path) -> Result<(), FixtureError> {
    let mut initdb = binaries.command("initdb");
    initdb.args(["--auth=trust", "--encoding=UTF8", "--locale=C", "--username=postgres", "--no-sync"]);
    initdb.arg("-D").arg(data);
    run(initdb).map(drop)
}

/// Returns the folder that this program was built in.
fn target_folder() -> Option<PathBuf> {
    let program = env::current_exe().ok()?;
    program.ancestors().find(|folder| folder.join(TARGET_MARK).is_file()).map(Path::to_path_buf)
}

fn copy(from: &Path, to: &Path) -> Result<(), FixtureError> {
    let mut cp = Command::new("cp");
    cp.arg("-R").arg(from).arg(to);
    run(cp).map(drop)
}

/// Makes the user of the server the owner of a folder, closed to everybody else.
fn hand_over(binaries: &Binaries, folder: &Path) -> Result<(), FixtureError> {
    let mut chmod = Command::new("chmod");
    chmod.arg("0700").arg(folder);
    run(chmod)?;
    let Some(user) = binaries.user() else { return Ok(()) };
    let mut chown = Command::new("chown");
    chown.args(["-R", &format!("{}:{}", user.uid, user.gid)]).arg(folder);
    run(chown).map(drop)
}
