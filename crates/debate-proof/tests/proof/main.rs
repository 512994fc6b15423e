//! What checkpoints and bundles promise to auditors (rule K15).

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bundles;
mod log;
mod tampering;
mod vectors;
