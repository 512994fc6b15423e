//! What the engine promises, on whole debates with a simulated model and real stores.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod asking;
mod bench_of_one;
mod forking;
mod keeping;
mod life;
mod money;
mod moody_store;
#[cfg(unix)]
mod policy;
#[cfg(unix)]
mod postgres_faults;
mod racing;
mod redacting;
mod searching;
mod sent_prompts;
mod sharing;
mod tenants;
mod thinking;
mod tools;
mod watching;
mod windows;
