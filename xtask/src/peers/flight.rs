//! One run of one peer: so many debates, so many at once, and what it says it took.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::model_server::{ModelServer, on_processor};
use super::roster::Started;

/// The most time that one run may take.
const PATIENCE: Duration = Duration::from_secs(900);

/// What is asked of a peer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub(crate) debates: u32,
    pub(crate) in_flight: u32,
    /// The median latency of a call.
    pub(crate) median_ms: f64,
    /// The standard deviation of its logarithm; 0 is a fixed latency.
    pub(crate) sigma: f64,
}

impl Field {
    /// One debate without latency: whether the peer works at all.
    pub(crate) const TRIAL: Self = Self { debates: 1, in_flight: 1, median_ms: 0.0, sigma: 0.0 };
}

/// What a run took.
#[derive(Debug, Clone)]
pub(crate) struct Flight {
    /// Of every debate, ascending.
    pub(crate) walls_ms: Vec<f64>,
    /// Wall over critical path of the same draws, summed over all debates.
    pub(crate) stretch: f64,
    /// Median over debates of wall less critical path.
    pub(crate) excess_ms: f64,
    /// Processor time of each debate.
    pub(crate) cpu_ms: f64,
    pub(crate) debates_a_second: f64,
    /// Peak memory after one debate.
    pub(crate) base_mb: f64,
    /// What each debate in flight adds to it.
    pub(crate) extra_kb: Option<f64>,
    /// Time to verify one debate, for those that can.
    pub(crate) verify_ms: Option<f64>,
    pub(crate) versions: Value,
}

impl Flight {
    /// Returns the wall time that a share of the debates stays below.
    pub(crate) fn wall_ms(&self, share: f64) -> f64 {
        let place = (self.walls_ms.len() as f64 * share).ceil() as usize;
        self.walls_ms[place.clamp(1, self.walls_ms.len()) - 1]
    }
}

/// Runs a peer and checks that it made every call once.
///
/// # Errors
///
/// When it fails, takes too long, says nothing, or makes other calls than it should.
pub(crate) fn fly(server: &ModelServer, started: &Started, field: Field) -> Result<Flight> {
    fly_as(server, started, field, started.peer.schedule)
}

/// Runs a peer under another schedule than its own.
///
/// # Errors
///
/// As [`fly`].
pub(crate) fn fly_as(
    server: &ModelServer,
    started: &Started,
    field: Field,
    schedule: &str,
) -> Result<Flight> {
    server.set_latency(field)?;
    let said = said(server, started, field, schedule)?;
    // One more debate warms up.
    server.check_calls(field.debates + 1)?;
    let paths = server.critical_paths(field.debates, schedule)?;
    read(&said, field, &paths).context("the peer's last line lacks a number")
}

/// Holds one debate of the engine and writes its requests down for all others; keeps its log for the floor that has one.
///
/// # Errors
///
/// When the debate fails or the file cannot be written.
pub(crate) fn record(server: &ModelServer, ours: &Path, folder: &Path) -> Result<PathBuf> {
    let work = folder.join("log");
    emptied(&work)?;
    let mut command = on_processor(0, ours);
    command.args(["--url", &server.url(), "--debates", "1", "--tape", "-", "--work"]).arg(work);
    let ended = command.stdout(Stdio::null()).status().context("cannot start the engine")?;
    if !ended.success() {
        bail!("the engine's debate failed");
    }
    let path = folder.join("tape.json");
    fs::write(&path, server.tape()?.to_string())
        .with_context(|| format!("cannot write {}", path.display()))?;
    fs::copy(folder.join("log/peers.sqlite"), folder.join("log.sqlite")).context("the engine left no log")?;
    Ok(path)
}

/// Runs a peer and returns the last line that it says.
fn said(server: &ModelServer, started: &Started, field: Field, schedule: &str) -> Result<Value> {
    let [program, first @ ..] = &started.commands[..] else { bail!("the peer has no program") };
    let work = emptied(&started.work)?;
    let [output, errors] = ["output.txt", "errors.txt"].map(|name| started.tape.with_file_name(name));
    let mut command = on_processor(0, Path::new(program));
    command.args(first).args(["--url", &server.url(), "--schedule", schedule, "--tape"]).arg(&started.tape);
    command.args(["--debates", &field.debates.to_string(), "--in-flight", &field.in_flight.to_string()]);
    command.arg("--work").arg(work).env("PYTHONDONTWRITEBYTECODE", "1");
    command.stdin(Stdio::null()).stdout(File::create(&output)?).stderr(File::create(&errors)?);
    let mut child = command.spawn().context("cannot start the peer")?;
    let began = Instant::now();
    let ended = loop {
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        if began.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            bail!("it was not done after {} s", PATIENCE.as_secs());
        }
        thread::sleep(Duration::from_millis(20));
    };
    if !ended.success() {
        let errors = fs::read(&errors)?;
        let errors = String::from_utf8_lossy(&errors);
        let lines: Vec<&str> = errors.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let why = lines.iter().find(|line| line.contains("Error")).or(lines.last());
        bail!("it ended with {ended}: {}", why.unwrap_or(&"without a word"));
    }
    let output = fs::read(&output)?;
    let output = String::from_utf8_lossy(&output);
    let line = output.lines().rev().find(|line| line.starts_with('{')).context("it says nothing")?;
    serde_json::from_str(line).context("its last line is not JSON")
}

fn read(said: &Value, field: Field, paths: &[f64]) -> Option<Flight> {
    let number = |name: &str| said[name].as_f64();
    let walls: Vec<f64> = said["walls_ms"].as_array()?.iter().filter_map(Value::as_f64).collect();
    if walls.len() != field.debates as usize || paths.len() != walls.len() {
        return None;
    }
    let excess: Vec<f64> = walls.iter().zip(paths).map(|(wall, path)| wall - path).collect();
    let (base_mb, peak_mb) = (number("base_mb")?, number("peak_mb")?);
    let others = f64::from(field.in_flight.saturating_sub(1));
    Some(Flight {
        stretch: walls.iter().sum::<f64>() / paths.iter().sum::<f64>(),
        excess_ms: median(excess),
        cpu_ms: number("cpu_ms")? / f64::from(field.debates),
        debates_a_second: f64::from(field.debates) / number("elapsed_s")?,
        base_mb,
        extra_kb: (others > 0.0).then(|| (peak_mb - base_mb) * 1024.0 / others),
        verify_ms: number("verify_ms"),
        versions: said["versions"].clone(),
        walls_ms: sorted(walls),
    })
}

fn emptied(folder: &Path) -> Result<&Path> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// Returns the middle of some numbers; of an even count the mean of the two in the middle.
pub(crate) fn median(numbers: Vec<f64>) -> f64 {
    let numbers = sorted(numbers);
    let upper = numbers.len() / 2;
    match numbers.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => numbers[upper],
        _ => f64::midpoint(numbers[upper - 1], numbers[upper]),
    }
}

fn sorted(mut numbers: Vec<f64>) -> Vec<f64> {
    numbers.sort_by(f64::total_cmp);
    numbers
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const FIELD: Field = Field { debates: 3, in_flight: 3, median_ms: 50.0, sigma: 0.0 };

    #[test]
    fn a_run_is_read_from_what_the_peer_says() {
        let said = json!({
            "walls_ms": [330.0, 310.0, 320.0], "elapsed_s": 1.5, "cpu_ms": 12.0, "base_mb": 10.0, "peak_mb": 12.0,
        });
        let flight = read(&said, FIELD, &[300.0; 3]).unwrap();
        assert_eq!((flight.excess_ms, flight.cpu_ms, flight.debates_a_second), (20.0, 4.0, 2.0));
        assert_eq!((flight.extra_kb, flight.verify_ms), (Some(1024.0), None));
        assert_eq!((flight.wall_ms(0.5), flight.wall_ms(0.99)), (320.0, 330.0));
        assert!((flight.stretch - 960.0 / 900.0).abs() < 1e-12);
    }

    #[test]
    fn a_peer_that_leaves_a_debate_out_is_not_measured() {
        let said = json!({
            "walls_ms": [330.0, 310.0], "elapsed_s": 1.5, "cpu_ms": 12.0, "base_mb": 10.0, "peak_mb": 12.0,
        });
        assert!(read(&said, FIELD, &[300.0; 3]).is_none());
        assert!(read(&json!({}), FIELD, &[300.0; 3]).is_none());
    }

    #[test]
    fn the_median_of_an_even_count_is_between_two() {
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
    }
}
