//! What debates cost, from a file of prices (rule K8).

use serde_json::{Value, json};

use crate::program::{Program, example};

const PRICES: &str = r#"{"simulated:7": {"input": 0.25, "cached_input": 0.025, "output": 2}}"#;

/// Writes the example with a limit on its money.
fn limited(program: &Program, cost_micros_max: u64) -> String {
    let mut request: Value = serde_json::from_slice(&std::fs::read(example("ice.json")).unwrap()).unwrap();
    request["options"]["limits"]["cost_micros_max"] = json!(cost_micros_max);
    program.write("limited.json", request.to_string()).display().to_string()
}

#[test]
fn k8_a_cost_is_shown_in_the_result_on_the_page_and_in_lists() {
    let program = Program::new();
    let prices = program.write("prices.json", PRICES);
    let file = example("ice.json").display().to_string();
    let mut command = program.command(["run", &file, "--json", "--seed", "7"]);
    let output = command.env("DEBATE_PRICES", &prices).output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cost = &result["extra"]["cost"];
    let tokens = &result["metadata"]["sonnet_tokens_used"];
    let most = tokens["input"].as_u64().unwrap() / 4 + tokens["output"].as_u64().unwrap() * 2 + 62;
    let micros = cost["cost_micros"].as_u64().unwrap();
    assert!(micros > 0 && micros <= most, "{cost} of {tokens}");
    assert_eq!(cost["complete"], true);
    let id = result["debate_id"].as_str().unwrap();
    let dollars = format!("${}", format!("0.{micros:06}").trim_end_matches('0'));
    let shown = program.run(["show", id]);
    assert!(shown.stdout.contains(&format!("  {dollars}\n")), "{dollars}: {}", shown.stdout);
    let listed = program.run(["list"]);
    assert!(listed.stdout.contains(&dollars), "{dollars}: {}", listed.stdout);
    assert_eq!(program.run(["list", "--json"]).lines()[0]["cost"], *cost);
}

#[test]
fn k8_without_prices_the_cost_is_unknown_and_not_nothing() {
    let program = Program::new();
    let id = program.debate("ice.json");
    let shown = program.run(["show", &id]);
    assert!(shown.stdout.contains("  cost unknown: no model has a price\n"), "{}", shown.stdout);
    assert!(!shown.stdout.contains('$'), "{}", shown.stdout);
    assert_eq!(program.run(["list", "--json"]).lines()[0].get("cost"), None);
}

#[test]
fn k8_money_that_runs_out_gives_a_partial_result_that_says_so() {
    let program = Program::new();
    let prices = program.write("prices.json", PRICES).display().to_string();
    let file = limited(&program, 12_000);
    let ran =
        program.run(["run", &file, "--preset", "contract", "--seed", "7", "--prices", &prices, "--quiet"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("PARTIAL"), "{}", ran.stdout);
    assert!(ran.stdout.contains("stopped by budget of cost_micros"), "{}", ran.stdout);
    assert!(ran.stdout.contains("would exceed $0.012;"), "{}", ran.stdout);
}

#[test]
fn k8_a_limit_on_money_needs_a_price_of_every_model() {
    let program = Program::new();
    let file = limited(&program, 1_000_000);
    let ran = program.run(["run", &file, "--seed", "7"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let says = "options.limits.cost_micros_max: \"simulated:7\" has no price here";
    assert!(ran.stderr.contains(says), "{}", ran.stderr);
}

#[test]
fn prices_that_cannot_be_used_are_named_all_at_once() {
    let program = Program::new();
    let file = example("ice.json").display().to_string();
    let bad =
        program.write("bad.json", r#"{"a": {"input": "x", "speed": 1}, "b": {"input": 1, "output": -1}}"#);
    for (prices, says) in [
        (
            bad.display().to_string(),
            vec!["a.speed: is none of", "a.input: must be a number", "a: lacks", "b.output"],
        ),
        (
            program.write("text.json", "prices").display().to_string(),
            vec!["is no list of prices:\n  is not JSON"],
        ),
        (program.path("gone.json").display().to_string(), vec!["cannot read prices from"]),
    ] {
        let ran = program.run(["run", &file, "--prices", &prices]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        for says in says {
            assert!(ran.stderr.contains(says), "{says}: {}", ran.stderr);
        }
        assert!(!program.path("debates.sqlite").exists(), "{prices}");
    }
}
