//! A disk that is soon full.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::binaries::run;
use crate::{FixtureError, Server};

/// A small file system in memory that belongs to the user of a server, gone with its owner. Drop it before the server.
#[derive(Debug)]
pub struct SmallDisk {
    folder: PathBuf,
}

impl SmallDisk {
    /// Mounts one of so many MiB in the folder of a server.
    ///
    /// # Errors
    /// When that is not permitted: only root may.
    pub fn mount(server: &Server, size_mib: u32) -> Result<Self, FixtureError> {
        let folder = server.folder().join("disk");
        let owner = fs::metadata(server.folder()).map_err(FixtureError::io(server.folder()))?;
        fs::create_dir(&folder).map_err(FixtureError::io(&folder))?;
        let options = format!("size={size_mib}m,mode=0700,uid={},gid={}", owner.uid(), owner.gid());
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(&folder);
        run(mount)?;
        Ok(Self { folder })
    }

    /// Returns where it is mounted.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes it as large as so many MiB.
    ///
    /// # Errors
    /// When that is not permitted.
    pub fn grow(&self, size_mib: u32) -> Result<(), FixtureError> {
        let mut mount = Command::new("mount");
        mount.args(["-o", &format!("remount,size={size_mib}m")]).arg(&self.folder);
        run(mount).map(drop)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let mut umount = Command::new("umount");
        umount.arg("--lazy").arg(&self.folder);
        let _ = run(umount);
    }
}
