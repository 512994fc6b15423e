//! Files that prove what a store held: keys, the folder of checkpoints, bundles; and comparing a store with them.

pub(crate) mod archive;
pub(crate) mod bundle_file;
pub(crate) mod folder;
pub(crate) mod keys;
pub(crate) mod streams;
