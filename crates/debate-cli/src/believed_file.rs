//! Files whose word is taken, or that are secret: who else could have written or read them.

use std::fs::Metadata;

/// Returns whether everybody on the machine may write a file. Groups may: that of a user alone is common.
#[cfg(unix)]
pub(crate) fn is_everybodys(about: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    about.is_file() && about.permissions().mode() & 0o002 != 0
}

#[cfg(not(unix))]
pub(crate) fn is_everybodys(_: &Metadata) -> bool {
    false
}

/// Returns whether a file's group, or everybody on the machine, may read it.
#[cfg(unix)]
pub(crate) fn is_for_others_to_read(about: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    about.is_file() && about.permissions().mode() & 0o044 != 0
}

#[cfg(not(unix))]
pub(crate) fn is_for_others_to_read(_: &Metadata) -> bool {
    false
}

/// Returns whether a file is another user's than whose process this is, and not the machine's own.
#[cfg(unix)]
pub(crate) fn is_anothers(about: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    about.uid() != rustix::process::geteuid().as_raw() && about.uid() != 0
}

#[cfg(not(unix))]
pub(crate) fn is_anothers(_: &Metadata) -> bool {
    false
}
