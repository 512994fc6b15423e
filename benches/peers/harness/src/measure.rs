//! What the process used so far.

use std::fs;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};

/// Returns the processor time of all threads, in user and system mode.
pub(crate) fn cpu() -> Duration {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return Duration::ZERO };
    let [user, system] = [usage.user_time(), usage.system_time()]
        .map(|time| Duration::from_micros((time.tv_sec() * 1_000_000 + time.tv_usec()).unsigned_abs()));
    user + system
}

/// Returns the most memory that was resident at once, in MB.
pub(crate) fn peak_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) / 1024.0
}
