//! What was measured, as tables for people and as JSON.

use serde_json::{Value, json};

use super::Row;
use super::bars::{Bar, Bound};
use super::flight::{Flight, median};
use super::roster::FLOOR;

/// Returns the table of all rows; `CPU` shows the median and, after `±`, half of what lies between the rounds.
pub(crate) fn rows(rows: &[Row]) -> String {
    let head = [
        "peer",
        "schedule",
        "in flight",
        "ms a call",
        "debates",
        "wall p50 ms",
        "p99 ms",
        "excess ms",
        "CPU ms",
        "× floor",
        "base MB",
        "KB each",
        "debates/s",
    ];
    let mut table = vec![head.map(str::to_owned).to_vec()];
    table.extend(rows.iter().map(|row| cells(row, rows)));
    let width = |column: usize| table.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: &Vec<String>| {
        let padded = cells.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            let width = *width;
            if column < 2 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    table.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn cells(row: &Row, rows: &[Row]) -> Vec<String> {
    let of = |read: fn(&Flight) -> f64| median(row.flights.iter().map(read).collect());
    let cpu: Vec<f64> = row.flights.iter().map(|flight| flight.cpu_ms).collect();
    let noise =
        (cpu.iter().copied().fold(0.0, f64::max) - cpu.iter().copied().fold(f64::MAX, f64::min)) / 2.0;
    vec![
        row.peer.to_owned(),
        row.schedule.to_owned(),
        row.field.in_flight.to_string(),
        format!("{:.0}", row.field.median_ms),
        format!("{}×{}", row.flights.len(), row.field.debates),
        format!("{:.0}", of(|flight| flight.wall_ms(0.5))),
        format!("{:.0}", of(|flight| flight.wall_ms(0.99))),
        format!("{:.0}", of(|flight| flight.excess_ms)),
        format!("{:.1} ±{noise:.1}", of(|flight| flight.cpu_ms)),
        times_floor(row, rows).map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.1}")),
        format!("{:.0}", of(|flight| flight.base_mb)),
        extra_kb(row).map_or_else(|| "–".to_owned(), |extra| format!("{extra:.0}")),
        format!("{:.1}", of(|flight| flight.debates_a_second)),
    ]
}

fn extra_kb(row: &Row) -> Option<f64> {
    let extra: Option<Vec<f64>> = row.flights.iter().map(|flight| flight.extra_kb).collect();
    extra.map(median)
}

/// Returns the processor time over that of the floor with as many debates in flight.
fn times_floor(row: &Row, rows: &[Row]) -> Option<f64> {
    let floor =
        rows.iter().find(|other| other.peer == FLOOR && other.field.in_flight == row.field.in_flight)?;
    let cpu = |row: &Row| median(row.flights.iter().map(|flight| flight.cpu_ms).collect());
    Some(cpu(row) / cpu(floor))
}

/// Returns the table of the ratios that are promised.
pub(crate) fn bars(bars: &[Bar]) -> String {
    let width = bars.iter().map(|bar| bar.name.chars().count()).max().unwrap_or(0);
    let line = |bar: &Bar| {
        let spread =
            bar.spread.map_or_else(String::new, |[low, high]| format!("  (rounds {low:.2} to {high:.2})"));
        let bound = match bar.bound {
            Bound::AtMost(most) => format!("≤ {most:.2}"),
            Bound::AtLeast(least) => format!("≥ {least:.2}"),
        };
        let verdict = if bar.holds() { "pass" } else { "FAIL" };
        format!("{verdict}  {:<width$}  {:>6.3}  {bound}{spread}", bar.name, bar.value)
    };
    bars.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns a row with all that each round measured, single debates aside.
pub(crate) fn row_json(row: &Row) -> Value {
    let flight = |flight: &Flight| {
        json!({
            "wall_p50_ms": flight.wall_ms(0.5),
            "wall_p99_ms": flight.wall_ms(0.99),
            "excess_ms": flight.excess_ms,
            "cpu_ms": flight.cpu_ms,
            "debates_a_second": flight.debates_a_second,
            "base_mb": flight.base_mb,
            "extra_kb": flight.extra_kb,
            "verify_ms": flight.verify_ms,
        })
    };
    json!({
        "peer": row.peer,
        "schedule": row.schedule,
        "in_flight": row.field.in_flight,
        "latency_ms": row.field.median_ms,
        "debates": row.field.debates,
        "rounds": row.flights.iter().map(flight).collect::<Vec<_>>(),
        "versions": row.flights.first().map(|flight| flight.versions.clone()),
    })
}
