//! Numbers and rules in words for people, alike on the page, in reports and in the terminal.

use debate_core::call::CallKey;
use debate_core::event::StopRuleFired;
use debate_core::format::Format as _;
use debate_core::formats::investigation::Investigation;
use debate_core::formats::review::Review;
use debate_core::spend::Spend;
use debate_core::stop::StopRule;
use serde_json::Value;

/// Returns a share of 1 as per cent with one place; what is next to nothing or nearly all is never rounded to either.
pub(crate) fn percent(share: f64) -> String {
    match share {
        share if share > 0.0 && share < 0.0005 => "<0.1\u{a0}%".to_owned(),
        share if (0.9995..1.0).contains(&share) => ">99.9\u{a0}%".to_owned(),
        share => format!("{:.1}\u{a0}%", share * 100.0),
    }
}

/// Returns a number from 0 to 1 with two places; a dash where there is none.
pub(crate) fn score(value: &Value) -> String {
    value.as_f64().map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"))
}

/// Returns why a debate of a format stopped, in a sentence, with what was measured where something was.
pub(crate) fn stopped(format: &str, fired: &StopRuleFired) -> String {
    let words = match fired.rule {
        // Hypotheses do not move towards each other: one of them leads.
        StopRule::Convergence if format == Investigation::NAME => "One hypothesis leads clearly.",
        StopRule::Confidence if format == Investigation::NAME => {
            "One hypothesis is strong, and no challenge to it is open."
        }
        StopRule::Concluded => "Its last phase was done.",
        StopRule::Consensus => "The participants agree.",
        StopRule::Convergence => "The participants no longer move.",
        StopRule::Confidence => "The participants are sure enough.",
        StopRule::MaxRounds => "All rounds were held.",
        StopRule::Deadline => "Time was up.",
        StopRule::Budget => "A budget was used up.",
        StopRule::Cancelled => "Somebody ended it.",
        StopRule::Failed => "Too little of it could be had.",
    };
    let of =
        fired.budget.map_or_else(String::new, |budget| format!(" ({})", budget.as_str().replace('_', " ")));
    let measured = match fired.rule {
        StopRule::Consensus | StopRule::Convergence | StopRule::Confidence | StopRule::Budget => {
            format!(" {} against a limit of {}.", short(fired.statistic), short(fired.threshold))
        }
        StopRule::Concluded
        | StopRule::MaxRounds
        | StopRule::Deadline
        | StopRule::Cancelled
        | StopRule::Failed => String::new(),
    };
    format!("{words}{of}{measured}")
}

/// Returns who is asked for what by a call such as `argue/1/optimist`, as the page says it: `optimist, round 1, argue`.
/// A text that is not a call is returned unchanged.
pub(crate) fn asked(call: &str, format: &str) -> String {
    let Ok(CallKey { kind, round, role, pass }) = call.parse() else { return call.to_owned() };
    let of = if format == Review::NAME { "pair" } else { "round" };
    let pass = if pass > 1 { format!(", pass {pass}") } else { String::new() };
    format!("{role}, {of} {round}, {}{pass}", kind.replace('_', " "))
}

/// Returns what was spent; a model without a price is never shown as free.
pub(crate) fn spent(spend: &Spend) -> String {
    let more = |complete: bool| if complete { "" } else { " or more" };
    let (input, output) = (spend.known.input, spend.known.output);
    let thinking = match spend.thinking {
        0 => String::new(),
        tokens => format!(", {} of thinking", thousands(tokens)),
    };
    let tokens = if !spend.complete && input == 0 && output == 0 {
        "tokens unknown".to_owned()
    } else {
        let (input, output) = (thousands(input), thousands(output));
        format!("{input} tokens in, {output} out{thinking}{}", more(spend.complete))
    };
    match spend.cost {
        None => format!("{tokens}, cost unknown"),
        Some(cost) => format!("{tokens}, {}{}", dollars(cost.cost_micros), more(cost.complete)),
    }
}

/// Returns millionths of a US dollar as dollars, with as many places as say something and at least the cents.
#[must_use]
pub fn dollars(micros: u64) -> String {
    let all = format!("{:06}", micros % 1_000_000);
    let cents = all.trim_end_matches('0').len().max(2);
    format!("${}.{}", micros / 1_000_000, &all[..cents])
}

/// Returns a number with its thousands apart.
#[must_use]
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a number with at most four places.
fn short(number: f64) -> String {
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use debate_core::call::Tokens;
    use debate_core::spend::Cost;
    use debate_core::stop::Budget;

    use super::*;

    #[test]
    fn calls_are_worded_and_other_texts_are_unchanged() {
        let calls = ["argue/1/optimist", "cross_examine/2/judge/2", "skill/judging", "historian"];
        assert_eq!(
            calls.map(|call| asked(call, "prediction")),
            [
                "optimist, round 1, argue",
                "judge, round 2, cross examine, pass 2",
                "skill/judging",
                "historian"
            ]
        );
        assert_eq!(asked("speak/3/testing", "review"), "testing, pair 3, speak");
    }

    #[test]
    fn what_is_nearly_nothing_or_all_is_not_rounded_to_it() {
        let shown = [0.0, 0.0004, 0.0005, 0.5, 0.9996, 1.0].map(percent);
        assert_eq!(
            shown,
            ["0.0\u{a0}%", "<0.1\u{a0}%", "0.1\u{a0}%", "50.0\u{a0}%", ">99.9\u{a0}%", "100.0\u{a0}%"]
        );
    }

    #[test]
    fn k7_a_rule_says_what_it_measured_where_it_measured_something() {
        let fired = |rule, budget, statistic, threshold| StopRuleFired {
            rule,
            budget,
            statistic,
            threshold,
            shadow: false,
            closing: false,
        };
        let calls = fired(StopRule::Budget, Some(Budget::InputTokens), 1_200.0, 1_000.0);
        let text = stopped("prediction", &calls);
        assert_eq!(text, "A budget was used up. (input tokens) 1200 against a limit of 1000.");
        let agree = fired(StopRule::Consensus, None, 0.95, 0.9);
        assert_eq!(stopped("roundtable", &agree), "The participants agree. 0.95 against a limit of 0.9.");
        assert_eq!(
            stopped("prediction", &fired(StopRule::MaxRounds, None, 3.0, 3.0)),
            "All rounds were held."
        );
    }

    #[test]
    fn millionths_are_shown_as_dollars() {
        for (micros, want) in
            [(0, "$0.00"), (1, "$0.000001"), (23_400, "$0.0234"), (500_000, "$0.50"), (12_000_000, "$12.00")]
        {
            assert_eq!(dollars(micros), want);
        }
    }

    #[test]
    fn k8_tokens_that_no_reply_counted_are_unknown() {
        let spend = Spend { complete: false, ..Spend::NONE };
        assert_eq!(spent(&spend), "tokens unknown, cost unknown");
        assert_eq!(spent(&Spend { complete: true, ..spend }), "0 tokens in, 0 out, cost unknown");
    }

    #[test]
    fn k8_what_has_no_price_is_not_free_and_what_is_not_all_known_says_so() {
        let known = Tokens { input: 1_234_567, output: 890 };
        let spend = Spend { known, ..Spend::NONE };
        assert_eq!(spent(&spend), "1,234,567 tokens in, 890 out, cost unknown");
        let thought = Spend { thinking: 700, ..spend };
        assert_eq!(spent(&thought), "1,234,567 tokens in, 890 out, 700 of thinking, cost unknown");
        let cost = Cost { cost_micros: 40, cost_micros_bound: 90, complete: false };
        let spend = Spend { complete: false, cost: Some(cost), ..spend };
        assert_eq!(spent(&spend), "1,234,567 tokens in, 890 out or more, $0.00004 or more");
    }
}
