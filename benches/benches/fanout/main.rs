//! The cost of streaming debates to many subscribers, compared with a bare tonic stream of the same messages, and
//! whether any subscriber misses an event or sees one twice; and the server's stability over time (`--soak MINUTES`).
//!
//! Servers run in processes of their own, so that processor time and memory are theirs alone; their clients run here.
//! 1,000 debates of 31 calls wait for their model; 5,000 subscribers, five for each, begin to watch; the model
//! answers, without latency, from then on. Each subscriber checks the hash chain over everything that it is sent,
//! prose included, up to the conclusion. The same is run without subscribers, and with bare tonic in the engine's
//! process, which streams the same messages as they are written. Then bare tonic alone streams the messages of the
//! first run as fast as it can. Finally the first run is repeated, and the server gets SIGTERM while it is busy and is
//! restarted on its store. `--quick` runs a tenth of everything.

#![allow(missing_docs, reason = "a program")]

#[cfg(target_os = "linux")]
mod bare;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod publishing_store;
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
    // A server's input may stay open; the next line is not awaited.
    runtime.shutdown_background();
    ended
}

#[cfg(not(target_os = "linux"))]
fn main() -> Result<()> {
    anyhow::bail!("processor time, memory and files of a server are read from /proc, which is on Linux alone")
}
