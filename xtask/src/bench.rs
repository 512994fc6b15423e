//! `cargo xtask bench NAME`: one bench target, its medians as a table and as JSON.

use std::time::SystemTime;

use anyhow::{Result, bail};
use serde_json::json;

use crate::cargo::{Workspace, succeed};
use crate::estimates::{Measured, measured_since};
use crate::peers;

/// The benches that measure without criterion and print their own tables.
const OWN_TABLES: [&str; 7] = ["schedule", "store", "catchup", "replicas", "replay", "wake", "fanout"];

/// The benches that can be had quicker.
pub(crate) const QUICK: [&str; 6] = ["store", "catchup", "replay", "wake", "replicas", "fanout"];

/// Returns the package that has a bench: the one of servers needs the program, those of the log nothing but the store.
fn package(name: &str) -> &'static str {
    match name {
        "replicas" => "debate-cli",
        "store" | "catchup" => "debate-store",
        _ => "debate-benches",
    }
}

/// Runs one bench target and prints what it measured.
///
/// # Errors
///
/// When the target does not exist, does not run, or measures nothing.
pub(crate) fn run(
    workspace: &Workspace,
    name: &str,
    json: bool,
    quick: bool,
    criterion: &[String],
) -> Result<()> {
    let folder = workspace.target.join("criterion");
    let started = SystemTime::now();
    let mut bench = workspace.cargo(["bench", "--package", package(name), "--bench", name, "--"]);
    bench.args(criterion).env("CRITERION_HOME", &folder);
    if name == "catchup" {
        bench.args(peers::catchup::arguments(workspace));
    }
    if OWN_TABLES.contains(&name) {
        bench.args(json.then_some("--json")).args(quick.then_some("--quick"));
        return succeed(bench);
    }
    succeed(bench)?;
    let measured = if folder.is_dir() { measured_since(&folder, started)? } else { Vec::new() };
    if measured.is_empty() {
        bail!("the bench {name} measured nothing");
    }
    println!("\n{}", table(&measured));
    if json {
        let results: Vec<_> = measured.iter().map(|one| one.to_json(&measured)).collect();
        println!("{}", json!({ "bench": name, "results": results }));
    }
    Ok(())
}

/// Has a server under load for so many minutes, and fails where it grows.
///
/// # Errors
///
/// When memory, tasks or files of the server grew, or a client missed an event.
pub(crate) fn soak(workspace: &Workspace, minutes: f64, json: bool) -> Result<()> {
    let mut bench = workspace.cargo(["bench", "--package", package("fanout"), "--bench", "fanout", "--"]);
    bench.args(["--soak", &minutes.to_string()]).args(json.then_some("--json"));
    succeed(bench)
}

fn table(measured: &[Measured]) -> String {
    let width = measured.iter().map(|one| one.name().chars().count()).max().unwrap_or(0).max("bench".len());
    let mut lines =
        vec![format!("{:<width$}  {:>10}  {:>23}  {:>7}", "bench", "median", "95 % interval", "× floor")];
    for one in measured {
        let [low, high] = one.interval_ns.map(duration);
        let ratio = one.ratio(measured).map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}"));
        lines.push(format!(
            "{:<width$}  {:>10}  {low:>10} … {high:>10}  {ratio:>7}",
            one.name(),
            duration(one.median_ns)
        ));
    }
    lines.join("\n")
}

fn duration(ns: f64) -> String {
    let (scale, unit) = match ns {
        ns if ns < 1e3 => (1.0, "ns"),
        ns if ns < 1e6 => (1e3, "µs"),
        ns if ns < 1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{:.2} {unit}", ns / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_shows_medians_and_ratios_to_the_floor() {
        let one = |function: &str, median_ns: f64| Measured {
            group: "consensus".to_owned(),
            function: Some(function.to_owned()),
            parameter: None,
            median_ns,
            interval_ns: [median_ns * 0.9, median_ns * 1.1],
        };
        let text = table(&[one("floor", 400.0), one("of five", 1_000.0)]);
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[1].contains("400.00 ns") && lines[1].ends_with('–'), "{text}");
        assert!(lines[2].contains("1.00 µs") && lines[2].ends_with("2.50"), "{text}");
    }

    #[test]
    fn durations_are_shown_in_the_unit_that_fits() {
        let shown = [5.0, 5e3, 5e6, 5e9].map(duration);
        assert_eq!(shown, ["5.00 ns", "5.00 µs", "5.00 ms", "5.00 s"]);
    }
}
