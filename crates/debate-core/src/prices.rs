//! What models cost (rule K8): a list of prices, read once at the edge, and the arithmetic on it. The kernel never looks
//! at prices; it is given what a call may cost and what it did cost.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::call::{Tokens, Usage};
use crate::request::{self, Complaints, Field, Violations};

/// Millionths in a whole.
const MILLION: u128 = 1_000_000;
/// The dearest price of a million tokens, in US dollars.
const PRICE_MAX: f64 = 100_000.0;
/// Models in one list of prices.
const MODELS_MAX: usize = 10_000;

/// What the tokens of one model cost, in millionths of a US dollar for a million of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// For tokens that the model reads.
    pub input: u64,
    /// For tokens that the provider has in its cache.
    pub cached_input: u64,
    /// For tokens that the model writes, reasoning included.
    pub output: u64,
}

impl Price {
    /// Returns the most that so many tokens can cost, in millionths of a US dollar, rounded up.
    #[must_use]
    pub fn most(&self, tokens: Tokens) -> u64 {
        micros([(tokens.input, self.input.max(self.cached_input)), (tokens.output, self.output)])
    }

    /// Returns what a request cost, in millionths of a US dollar, rounded up; none where its usage is not known.
    ///
    /// Where nothing is said of a cache, all input counts at its full price.
    #[must_use]
    pub fn of(&self, usage: &Usage) -> Option<u64> {
        let (input, output) = (usage.input?, usage.output?);
        let cached = usage.cached.unwrap_or(0).min(input);
        Some(micros([(input - cached, self.input), (cached, self.cached_input), (output, self.output)]))
    }
}

fn micros<const N: usize>(parts: [(u64, u64); N]) -> u64 {
    let sum: u128 = parts.into_iter().map(|(tokens, price)| u128::from(tokens) * u128::from(price)).sum();
    u64::try_from(sum.div_ceil(MILLION)).unwrap_or(u64::MAX)
}

/// The prices of models, by the names under which these are recorded, such as `openai:gpt-5-mini`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prices(BTreeMap<String, Price>);

impl Prices {
    /// Reads a list of prices as people write it: by model, US dollars for a million tokens.
    ///
    /// ```json
    /// {"openai:gpt-5-mini": {"input": 0.25, "cached_input": 0.025, "output": 2}}
    /// ```
    ///
    /// Without `cached_input`, cached tokens cost as much as others.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(json: &str) -> Result<Self, Violations> {
        request::parse(json, Complaints::default(), Self::accept)
    }

    fn accept(list: &Value, complaints: Complaints) -> Result<Self, Violations> {
        let mut prices = BTreeMap::new();
        for (model, entry) in Field::root(list, &complaints).entries(MODELS_MAX) {
            if model.trim().is_empty() {
                entry.refuse("a price needs the name of its model, such as openai:gpt-5-mini");
            }
            prices.insert(model.to_owned(), price(&entry));
        }
        complaints.finish(Self(prices))
    }

    /// Returns the price of a model, if it has one.
    #[must_use]
    pub fn get(&self, model: &str) -> Option<Price> {
        self.0.get(model).copied()
    }
}

impl FromIterator<(String, Price)> for Prices {
    fn from_iter<I: IntoIterator<Item = (String, Price)>>(prices: I) -> Self {
        Self(prices.into_iter().collect())
    }
}

fn price(entry: &Field<'_>) -> Price {
    let named = entry.entries(usize::MAX);
    for (name, field) in &named {
        if !matches!(*name, "input" | "cached_input" | "output") {
            field.refuse("is none of input, cached_input, output");
        }
    }
    let [input, cached_input, output] = ["input", "cached_input", "output"].map(|name| {
        let field = named.iter().find(|(known, _)| *known == name);
        field.map(|(_, field)| dollars(field))
    });
    let is_object = matches!(entry.value(), Some(serde_json::Value::Object(_)));
    for (name, _) in [("input", input), ("output", output)].iter().filter(|(_, price)| price.is_none()) {
        if is_object {
            entry.refuse(format_args!("lacks the price of its {name}"));
        }
    }
    let input = input.unwrap_or_default();
    Price { input, cached_input: cached_input.unwrap_or(input), output: output.unwrap_or_default() }
}

/// Reads dollars as millionths.
fn dollars(field: &Field<'_>) -> u64 {
    (field.number(0.0..=PRICE_MAX).unwrap_or_default() * MILLION as f64).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Prices {
        Prices::read(json).unwrap_or_else(|refused| panic!("{refused}"))
    }

    fn used(input: u64, output: u64, cached: Option<u64>) -> Usage {
        Usage { input: Some(input), output: Some(output), cached, reasoning: None }
    }

    #[test]
    fn k8_a_request_costs_its_input_what_of_it_was_cached_and_its_output() {
        let prices = read(r#"{"a:1": {"input": 0.25, "cached_input": 0.025, "output": 2}}"#);
        let price = prices.get("a:1").unwrap();
        assert_eq!(price, Price { input: 250_000, cached_input: 25_000, output: 2_000_000 });
        assert_eq!(price.of(&used(1_000, 100, None)), Some(250 + 200));
        assert_eq!(price.of(&used(1_000, 100, Some(600))), Some(100 + 15 + 200));
        assert_eq!(price.of(&used(1, 0, None)), Some(1), "a part of a millionth counts as a whole one");
        assert_eq!(price.of(&used(10, 0, Some(99))), Some(1), "no more is cached than was read");
        assert_eq!(price.of(&Usage { output: None, ..used(1, 1, None) }), None);
        assert_eq!(price.most(Tokens { input: 1_000, output: 100 }), 450);
        assert_eq!(price.most(Tokens { input: u64::MAX, output: u64::MAX }), u64::MAX);
    }

    #[test]
    fn k8_a_model_that_is_not_listed_has_no_price_and_none_is_not_nothing() {
        let prices = read(r#"{"local:1": {"input": 0, "output": 0.0}}"#);
        let tokens = Tokens { input: 9, output: 9 };
        assert_eq!(prices.get("local:1").map(|price| price.most(tokens)), Some(0));
        assert_eq!(prices.get("local:2"), None);
    }

    #[test]
    fn cached_input_costs_as_much_as_other_input_unless_said_otherwise_and_is_reserved_at_the_dearer() {
        let price = read(r#"{"a": {"input": 3, "output": 15}}"#).get("a").unwrap();
        assert_eq!(price.of(&used(10, 0, Some(10))), Some(30));
        let price = read(r#"{"a": {"input": 3, "cached_input": 4, "output": 15}}"#).get("a").unwrap();
        assert_eq!(price.most(Tokens { input: 10, output: 0 }), 40);
    }

    #[test]
    fn k12_all_violations_in_prices_are_reported_at_once() {
        let json = r#"{"a": {"input": -1, "speed": 3}, "b": 7, "": {"input": 1, "output": "x"},
            "c": {"input": 1, "cached_input": null, "output": 100001}}"#;
        let found: Vec<String> = Prices::read(json).unwrap_err().0.iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "a.speed: is none of input, cached_input, output",
                "a.input: must be from 0 to 100000",
                "a: lacks the price of its output",
                "b: must be an object",
                "request: a price needs the name of its model, such as openai:gpt-5-mini",
                "output: must be a number",
                "c.cached_input: must be a number",
                "c.output: must be from 0 to 100000",
            ]
        );
        for (bad, why) in [("", "request: is not JSON"), ("[]", "request: must be an object")] {
            let refused = Prices::read(bad).unwrap_err().to_string();
            assert!(refused.contains(why), "{refused}");
        }
        let twice = r#"{"a": {"input": 1, "output": 1}, "a": {"input": 2, "output": 2}}"#;
        assert!(Prices::read(twice).unwrap_err().to_string().contains("a: is given more than once"));
    }
}
