//! What the request brings along, as blocks: question, findings, variables, data, background, descriptions.

use debate_core::formats::prediction::config::{Brief, DataSummary, KeyVariable};
use debate_core::id::OutcomeId;
use serde::Deserialize;
use serde_json::Value;

use super::blocks::{Block, Share, Slot};
use super::outcomes::Letters;
use crate::plain_text::plain_text;

/// How much of each part of the material is shown; a part without a share is not shown at all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shares {
    pub(super) question: Share,
    pub(super) findings: Option<Share>,
    pub(super) variables: Option<Share>,
    pub(super) data: Option<Share>,
    pub(super) criteria: Option<Share>,
    pub(super) background: Option<Share>,
    pub(super) descriptions: Option<Share>,
}

/// Returns the blocks of the material, in the order in which prompts show them.
pub(super) fn blocks(brief: &Brief, outcomes: &[OutcomeId], shares: &Shares) -> Vec<Block> {
    let parts = [
        Block::inline(Slot::Question, "question", &plain_text(&brief.question), shares.question),
        shares.criteria.and_then(|share| criteria(brief, share)),
        shares.descriptions.and_then(|share| descriptions(brief, outcomes, share)),
        shares.background.and_then(|share| background(brief, share)),
        shares.findings.and_then(|share| findings(brief, share)),
        shares.variables.and_then(|share| variables(brief, share)),
        shares.data.and_then(|share| data(&brief.data_summary, share)),
    ];
    parts.into_iter().flatten().collect()
}

fn findings(brief: &Brief, share: Share) -> Option<Block> {
    let findings = brief.simulation_summary.key_findings.iter();
    Block::list(Slot::Findings, "findings", findings.map(|finding| ("- ", finding.as_str())), share)
}

/// Lists variables as `- name = value (category, importance)`, the important ones first.
fn variables(brief: &Brief, share: Share) -> Option<Block> {
    let mut variables: Vec<&KeyVariable> = brief.key_variables.iter().collect();
    variables.sort_by_key(|variable| std::cmp::Reverse(importance(&variable.importance)));
    let lines: Vec<String> = variables.into_iter().map(variable).collect();
    Block::list(Slot::Variables, "variables", lines.iter().map(|line| ("- ", line.as_str())), share)
}

fn variable(variable: &KeyVariable) -> String {
    let (value, importance) = (scalar(&variable.current_value), scalar(&variable.importance));
    let kind = [variable.category.trim(), importance.trim()];
    let kind: Vec<&str> = kind.into_iter().filter(|word| !word.is_empty()).collect();
    let mut line = variable.name.trim().to_owned();
    if !value.trim().is_empty() {
        line.push_str(" = ");
        line.push_str(value.trim());
    }
    if !kind.is_empty() {
        line.push_str(" (");
        line.push_str(&kind.join(", "));
        line.push(')');
    }
    line
}

/// Returns how much a variable matters, in thousandths where it is a number.
fn importance(value: &Value) -> i64 {
    match value {
        Value::Number(number) => (number.as_f64().unwrap_or_default().clamp(-1e9, 1e9) * 1e3) as i64,
        Value::String(word) => match word.trim().to_ascii_lowercase().as_str() {
            "critical" | "very high" => 1_000,
            "high" => 800,
            "low" => 200,
            number => number.parse().map_or(500, |number: f64| (number.clamp(-1e9, 1e9) * 1e3) as i64),
        },
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => 500,
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

fn data(data: &DataSummary, share: Share) -> Option<Block> {
    let (start, end) = (data.timeframe.start.trim(), data.timeframe.end.trim());
    let period = if start.is_empty() || end.is_empty() {
        format!("{start}{end}")
    } else {
        format!("{start} to {end}")
    };
    let lines = [("region: ", data.region.as_str()), ("period: ", &period)].into_iter();
    let lines = lines.chain(labelled("economy: ", &data.economic_highlights));
    let lines = lines.chain(labelled("sentiment: ", &data.sentiment_highlights));
    let lines = lines.chain(labelled("gap: ", &data.data_gaps));
    Block::list(Slot::Data, "data", lines, share)
}

fn labelled<'a>(label: &'a str, texts: &'a [String]) -> impl Iterator<Item = (&'a str, &'a str)> {
    texts.iter().map(move |text| (label, text.as_str()))
}

/// What a task may say beyond its question. Tasks have no fixed shape; whatever else stands there is not shown.
#[derive(Deserialize)]
struct Task {
    #[serde(default)]
    resolution_criteria: Value,
    #[serde(default)]
    fine_print: Value,
    #[serde(default)]
    description: Value,
    #[serde(default)]
    background: Value,
}

fn criteria(brief: &Brief, share: Share) -> Option<Block> {
    let task: Task = serde_json::from_str(&brief.task).ok()?;
    let texts = [("", &task.resolution_criteria), ("Fine print: ", &task.fine_print)];
    let texts = texts.into_iter().filter_map(|(label, value)| Some((label, value.as_str()?.trim())));
    let texts = texts.filter(|(_, text)| !text.is_empty());
    let texts: Vec<String> = texts.map(|(label, text)| format!("{label}{}", plain_text(text))).collect();
    Block::inline(Slot::Criteria, "criteria", &texts.join("\n"), share)
}

fn background(brief: &Brief, share: Share) -> Option<Block> {
    let task: Task = serde_json::from_str(&brief.task).ok()?;
    let criteria = task.resolution_criteria.as_str().map(str::trim);
    let lines = [("description: ", &task.description), ("background: ", &task.background)];
    let texts = lines.into_iter().filter_map(|(label, value)| Some((label, value.as_str()?)));
    let is_new = |text: &str| text != brief.question.trim() && Some(text) != criteria;
    let beyond = texts.filter(|(_, text)| is_new(text.trim()));
    let beyond: Vec<_> = beyond.map(|(label, text)| (label, plain_text(text))).collect();
    let beyond = beyond.iter().map(|(label, text)| (*label, text.as_ref()));
    Block::list(Slot::Background, "background", beyond, share)
}

fn descriptions(brief: &Brief, outcomes: &[OutcomeId], share: Share) -> Option<Block> {
    let letters = Letters::of(outcomes, &brief.outcomes);
    let described = brief.outcomes.iter().enumerate().filter(|(_, text)| !text.description.trim().is_empty());
    let lines: Vec<_> = described
        .map(|(place, text)| (format!("{} | ", letters.get(place)), plain_text(&text.description)))
        .collect();
    let lines = lines.iter().map(|(letter, text)| (letter.as_str(), text.as_ref()));
    Block::list(Slot::Descriptions, "descriptions", lines, share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use debate_core::formats::prediction::config::{OutcomeText, SimulationSummary, Timeframe};
    use serde_json::json;

    const WHOLE: Share = Share::spare(1, 1);

    fn brief() -> Brief {
        let variable = |name: &str, importance: Value, value: Value| KeyVariable {
            name: name.to_owned(),
            category: "economic".to_owned(),
            importance,
            current_value: value,
        };
        Brief {
            question: "Will it rain?".to_owned(),
            task:
                r#"{"question": "Will it rain?", "resolution_criteria": "More than 1 mm", "background": 7}"#
                    .to_owned(),
            outcomes: vec![
                OutcomeText { label: "Yes".to_owned(), description: String::new() },
                OutcomeText { label: "No".to_owned(), description: "It stays\ndry".to_owned() },
            ],
            key_variables: vec![
                variable("Wind", json!("low"), json!(3)),
                variable("Pressure", json!(0.9), json!("falling")),
                variable("Cloud", Value::Null, Value::Null),
            ],
            simulation_summary: SimulationSummary {
                final_distribution: Vec::new(),
                key_findings: vec!["It <often> rains".to_owned(), "  ".to_owned()],
            },
            data_summary: DataSummary {
                region: "Bergen".to_owned(),
                timeframe: Timeframe { start: "2026-01-01".to_owned(), end: String::new() },
                data_gaps: vec!["No radar".to_owned()],
                ..DataSummary::default()
            },
            personas: Vec::new(),
            rubrics: Vec::new(),
        }
    }

    fn written(shares: &Shares) -> String {
        let mut text = String::new();
        for block in blocks(&brief(), &["dry", "wet"].map(OutcomeId::from), shares) {
            assert_eq!(block.write(Some(1_000), &mut text), None);
        }
        text
    }

    #[test]
    fn k19_criteria_show_the_fine_print_and_no_markup() {
        let task = json!({
            "resolution_criteria": "Resolves **Yes** if [FRED](https://fred.org/x) says so.",
            "fine_print": "A <u>draw</u> counts &amp; is final.",
        });
        let brief = Brief { task: task.to_string(), ..brief() };
        let mut text = String::new();
        assert_eq!(criteria(&brief, WHOLE).unwrap().write(Some(1_000), &mut text), None);
        let shown = "Resolves Yes if FRED (fred.org) says so. Fine print: A draw counts &amp; is final.";
        assert_eq!(text, format!("<criteria>{shown}</criteria>\n"));
    }

    #[test]
    fn every_part_of_the_request_has_its_block() {
        let shares = Shares {
            question: WHOLE,
            findings: Some(WHOLE),
            variables: Some(WHOLE),
            data: Some(WHOLE),
            criteria: Some(WHOLE),
            background: Some(WHOLE),
            descriptions: Some(WHOLE),
        };
        let expected = "<question>Will it rain?</question>
<criteria>More than 1 mm</criteria>
<descriptions>
B | It stays dry
</descriptions>
<findings>
- It &lt;often&gt; rains
</findings>
<variables>
- Pressure = falling (economic, 0.9)
- Cloud (economic)
- Wind = 3 (economic, low)
</variables>
<data>
region: Bergen
period: 2026-01-01
gap: No radar
</data>
";
        assert_eq!(written(&shares), expected);
    }

    #[test]
    fn a_part_without_a_share_is_not_shown() {
        let shares = Shares {
            question: WHOLE,
            findings: None,
            variables: None,
            data: None,
            criteria: None,
            background: None,
            descriptions: None,
        };
        assert_eq!(written(&shares), "<question>Will it rain?</question>\n");
    }
}
