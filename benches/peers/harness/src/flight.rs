//! Keeping so many debates in flight, and the one line that says what it took.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::measure::{cpu, peak_mb};

/// The number of the debate that is held before anything is measured.
const WARM_UP: u32 = 900_000;

/// Holds one debate to warm up, then `debates` of them with `in_flight` at once; returns what that took.
///
/// # Errors
///
/// The first error of a debate.
pub async fn fly<D, F>(arguments: &Arguments, debate: D) -> Result<Value>
where
    D: Fn(u32) -> F + Send + Sync + 'static,
    F: Future<Output = Result<()>> + Send + 'static,
{
    let debate = Arc::new(debate);
    debate(WARM_UP).await.context("the debate that warms up failed")?;
    let base_mb = peak_mb();
    let cpu_before = cpu();
    let began = Instant::now();
    let next = Arc::new(AtomicU32::new(0));
    let lanes: Vec<_> = (0..arguments.in_flight.min(arguments.debates))
        .map(|_| {
            let (debate, next, debates) = (Arc::clone(&debate), Arc::clone(&next), arguments.debates);
            tokio::spawn(async move {
                let mut walls = Vec::new();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= debates {
                        return Ok::<_, anyhow::Error>(walls);
                    }
                    let began = Instant::now();
                    debate(number).await.with_context(|| format!("debate {number} failed"))?;
                    walls.push((number, began.elapsed().as_secs_f64() * 1e3));
                }
            })
        })
        .collect();
    let mut walls = Vec::new();
    for lane in lanes {
        walls.extend(lane.await??);
    }
    let elapsed = began.elapsed();
    let cpu_ms = (cpu() - cpu_before).as_secs_f64() * 1e3;
    walls.sort_unstable_by_key(|(number, _)| *number);
    let walls: Vec<f64> = walls.into_iter().map(|(_, wall)| wall).collect();
    Ok(json!({
        "walls_ms": walls,
        "elapsed_s": elapsed.as_secs_f64(),
        "cpu_ms": cpu_ms,
        "base_mb": base_mb,
        "peak_mb": peak_mb(),
    }))
}

/// Prints the result of a peer as the one line that is read, with `more` in it.
pub fn report(mut measured: Value, more: Value) {
    if let (Value::Object(measured), Value::Object(more)) = (&mut measured, more) {
        measured.extend(more);
    }
    println!("{measured}");
}
