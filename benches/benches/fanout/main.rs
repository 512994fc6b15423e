//! What it costs to show debates to many at once, and whether anybody misses or sees twice anything, beside a bare tonic stream
//! of the same messages; and how the server holds out over time (`--soak MINUTES`).
//!
//! Servers run in processes of their own, so that processor time and memory are theirs alone; their clients run here. 1,000
//! debates of 31 calls wait for their model; 5,000 subscribers, five for each, begin to watch; the model answers, without
//! latency, from then on. Each subscriber checks the hash chain over everything that it is sent, words included, up to the
//! conclusion. The same is run without subscribers, and with bare tonic beside the engine, which streams the same messages as they
//! are written; and once bare tonic alone streams those of the first run as fast as it can. Then all is run again, and the server is sent SIGTERM while it is busy and started anew on its store. `--quick` takes a
//! tenth of all.

#![allow(missing_docs, reason = "a program")]

#[cfg(target_os = "linux")]
mod bare;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod report;
#[cfg(target_os = "linux")]
mod rounds;
#[cfg(target_os = "linux")]
mod server;
#[cfg(target_os = "linux")]
mod soak;
#[cfg(target_os = "linux")]
mod subscriber;
#[cfg(target_os = "linux")]
mod told;

use anyhow::Result;

/// As in the program `debate`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(target_os = "linux")]
fn main() -> Result<()> {
    use std::path::Path;
    use std::time::Duration;

    let given: Vec<String> = std::env::args().skip(1).collect();
    let after = |flag: &str| given.iter().skip_while(|given| *given != flag).nth(1).map(String::as_str);
    let has = |flag: &str| given.iter().any(|given| given == flag);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        let store = given.get(2).map(Path::new);
        match (after("--role"), store, after("--soak")) {
            (Some("engine"), Some(store), _) => server::run(store, false).await,
            (Some("engine-and-floor"), Some(store), _) => server::run(store, true).await,
            (Some("bare"), Some(store), _) => bare::run(store).await,
            (Some(role), ..) => anyhow::bail!("there is no role {role}"),
            (None, _, Some(minutes)) => {
                soak::run(Duration::from_secs_f64(60.0 * minutes.parse::<f64>()?), has("--json")).await
            }
            (None, _, None) => rounds::run(has("--quick"), has("--json")).await,
        }
    });
    // A server's input may stay open, and nobody waits for its next line.
    runtime.shutdown_background();
    ended
}

#[cfg(not(target_os = "linux"))]
fn main() -> Result<()> {
    anyhow::bail!("processor time, memory and files of a server are read from /proc, which is on Linux alone")
}
