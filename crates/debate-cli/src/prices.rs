//! What models cost: reading the file of prices, and money as people read it (rule K8).

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use debate_core::request::WHOLE;
use debate_core::request::sizes::REQUEST_BYTES_MAX;
use debate_core::spend::Cost;
use debate_engine::Prices;
pub(crate) use debate_viewer::wording::dollars;

use crate::exit::Failure;
use crate::plain::one_line;

/// Reads a file of prices; without one nothing has a price.
///
/// # Errors
/// The file cannot be read, or its text cannot be used; everything that is wrong with it is named.
pub(crate) fn read(file: Option<&Path>) -> anyhow::Result<Prices> {
    let Some(file) = file else { return Ok(Prices::default()) };
    let name = file.display();
    let mut text = String::new();
    // One byte more than is allowed, so that too long a file is refused as such and not cut.
    let read =
        File::open(file).and_then(|file| file.take(REQUEST_BYTES_MAX as u64 + 1).read_to_string(&mut text));
    read.map_err(|error| Failure::bad_input(format!("cannot read prices from {name}: {error}")))?;
    Prices::read(&text).map_err(|violations| {
        let lines = violations.0.iter().map(|found| {
            let whole = if found.field == WHOLE { found.reason.clone() } else { found.to_string() };
            format!("\n  {}", one_line(&whole))
        });
        Failure::bad_input(format!("{name} is no list of prices:{}", lines.collect::<String>()))
    })
}

/// Returns what a debate cost in a few words; models without a price are named.
pub(crate) fn cost_text<'m>(cost: Option<Cost>, unpriced: impl IntoIterator<Item = &'m String>) -> String {
    let unpriced: Vec<String> = unpriced.into_iter().map(|model| one_line(model)).collect();
    let Some(cost) = cost else {
        let why = if unpriced.is_empty() { "no request has ended yet" } else { "no model has a price" };
        return format!("cost unknown: {why}");
    };
    let known = dollars(cost.cost_micros);
    if cost.complete {
        return known;
    }
    if unpriced.is_empty() {
        format!(
            "{known} or more, at most {} (some replies came without usage)",
            dollars(cost.cost_micros_bound)
        )
    } else {
        format!("{known} or more ({} has no price)", unpriced.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k8_a_cost_that_is_not_all_known_says_so() {
        let cost = |complete| Cost { cost_micros: 20_000, cost_micros_bound: 30_000, complete };
        let model = "openai:x".to_owned();
        assert_eq!(cost_text(Some(cost(true)), []), "$0.02");
        assert_eq!(
            cost_text(Some(cost(false)), []),
            "$0.02 or more, at most $0.03 (some replies came without usage)"
        );
        assert_eq!(cost_text(Some(cost(false)), [&model]), "$0.02 or more (openai:x has no price)");
        assert_eq!(cost_text(None, [&model]), "cost unknown: no model has a price");
        assert_eq!(cost_text(None, []), "cost unknown: no request has ended yet");
    }
}
