//! Resolved questions, read from files with one JSON object a line. Each becomes a request that reveals
//! neither the answer nor the forecast of a market, and a resolution that is recorded once the debate has
//! concluded.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Prediction, request};
use crate::event::Resolved;
use crate::formats::accept::Accepted;
use crate::id::{OutcomeId, Timestamp};
use crate::measures::distribution::Distribution;
use crate::request::sizes::{
    LABEL_CHARS_MAX, NAME_CHARS_MAX, OUTCOMES_MAX, TASK_BYTES_MAX, TASK_ID_CHARS_MAX,
};
use crate::request::{Complaints, Field, Fields, Violation, Violations, WHOLE, parse};

/// A question with its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Its id in the file.
    pub id: String,
    /// Its line, from 1.
    pub line: usize,
    /// What is debated.
    pub request: Accepted<Prediction>,
    /// What happened, and what a market had thought of it where the file says so.
    pub resolved: Resolved,
}

/// The questions of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Questions {
    /// Those with an answer, in their order.
    pub resolved: Vec<Question>,
    /// How many have none yet.
    pub open: usize,
}

/// Reads a file of questions at a moment; they are debated in so many rounds, or as many as debates have by default.
///
/// A line needs `id`, `question`, `outcomes` (labels) and, where it is to be debated, `resolution`, one of them. It may have
/// `background`, `resolution_criteria`, `fine_print`, `open_date`, `close_date`, `resolve_date`, and `crowd.value`, the
/// probability of Yes, or of the first of two outcomes. Whatever else stands there is not looked at.
///
/// # Errors
/// Everything that is wrong with it, by line and field.
pub fn read(text: &str, rounds: Option<u32>, now: Timestamp) -> Result<Questions, Violations> {
    let complaints = Complaints::default();
    let (mut questions, mut lines) = (Questions::default(), BTreeMap::new());
    // Texts may hold other separators of lines than this one.
    for (line, number) in text.split('\n').zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
        match question(line, number, rounds, now) {
            Ok(None) => questions.open += 1,
            Ok(Some(question)) => {
                if let Some(first) = lines.insert(question.id.clone(), number) {
                    let reason = format!("{:?} is the id of line {first} too", question.id);
                    complaints.add(&format!("line {number}: id"), reason);
                }
                questions.resolved.push(question);
            }
            Err(Violations(faults)) => faults.into_iter().for_each(|Violation { field, reason }| {
                let place = if field == WHOLE { String::new() } else { format!(": {field}") };
                complaints.add(&format!("line {number}{place}"), reason);
            }),
        }
    }
    complaints.finish(questions)
}

/// Reads one line; none where the question is still open.
fn question(
    line: &str,
    number: usize,
    rounds: Option<u32>,
    now: Timestamp,
) -> Result<Option<Question>, Violations> {
    let read = |value: &Value, complaints| resolved(value, complaints, number, rounds, now);
    parse(line, Complaints::default(), read)
}

fn resolved(
    value: &Value,
    complaints: Complaints,
    number: usize,
    rounds: Option<u32>,
    now: Timestamp,
) -> Result<Option<Question>, Violations> {
    let fields = any_fields(&Field::root(value, &complaints));
    let resolution = fields.field("resolution");
    if resolution.value().is_none() {
        return complaints.finish(None);
    }
    let id = fields.required("id").words(TASK_ID_CHARS_MAX).unwrap_or_default().to_owned();
    let outcomes = Outcomes::read(&fields.required("outcomes"));
    let request = asked(&fields, &id, &outcomes, rounds);
    let happened = resolution.words(LABEL_CHARS_MAX).and_then(|label| {
        let place = outcomes.place(label);
        if place.is_none() && !outcomes.labels.is_empty() {
            resolution.refuse(format_args!("{label:?} is none of its outcomes"));
        }
        outcomes.ids.get(place?).cloned()
    });
    let happened_at = moment(&fields.field("resolve_date"), now);
    let market = market(&any_fields(&fields.field("crowd")).field("value"), &outcomes);
    // Where nothing is known to have happened, that is among what is wrong.
    let Some(outcome) = happened else { return complaints.finish(None) };
    complaints.finish(())?;
    let resolved = Resolved { outcome, happened_at, market };
    let (config, brief, limits) = request::accept(&request.to_string(), &request, Complaints::default())?;
    let digest = request::digest(&config, &brief, &limits);
    let request = Accepted { config, brief, limits, digest, says_deadline: false };
    Ok(Some(Question { id, line: number, request, resolved }))
}

/// Reads an object and ignores all fields that are not read.
fn any_fields<'a>(field: &Field<'a>) -> Fields<'a> {
    let known = match field.value() {
        Some(Value::Object(map)) => map.keys().map(String::as_str).collect(),
        Some(_) | None => Vec::new(),
    };
    field.object(&known)
}

/// What may happen.
struct Outcomes<'a> {
    labels: Vec<&'a str>,
    ids: Vec<OutcomeId>,
}

impl<'a> Outcomes<'a> {
    fn read(list: &Field<'a>) -> Self {
        let items = list.items(OUTCOMES_MAX);
        let mut outcomes = Self { labels: Vec::new(), ids: Vec::new() };
        for item in &items {
            let label = item.words(LABEL_CHARS_MAX).unwrap_or_default();
            if outcomes.place(label).is_some() {
                item.refuse(format_args!("{label:?} is given more than once"));
            }
            outcomes.labels.push(label);
            outcomes.ids.push(id_of(label, outcomes.labels.len()));
        }
        if items.len() < 2 && matches!(list.value(), Some(Value::Array(_))) {
            list.refuse("must name two outcomes or more");
        }
        outcomes
    }

    /// Returns the place of an outcome by its label, however it is capitalised.
    fn place(&self, label: &str) -> Option<usize> {
        let wanted = label.trim().to_lowercase();
        self.labels.iter().position(|known| known.trim().to_lowercase() == wanted)
    }
}

/// Returns a short label in small letters, or the place of a long one.
fn id_of(label: &str, place: usize) -> OutcomeId {
    let small = label.trim().to_lowercase();
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_name = (1..=NAME_CHARS_MAX).contains(&small.len()) && small.chars().all(fits);
    OutcomeId::new(if is_name { small } else { format!("outcome-{place}") })
}

/// Writes the request: nothing of it tells what happened, when, or what a market thought.
fn asked(fields: &Fields<'_>, id: &str, outcomes: &Outcomes<'_>, rounds: Option<u32>) -> Value {
    let text =
        |name: &str| fields.field(name).text(TASK_BYTES_MAX).map(str::trim).filter(|text| !text.is_empty());
    let question = fields.required("question").words(TASK_BYTES_MAX).map(str::trim);
    let criteria = [text("resolution_criteria"), text("fine_print")].into_iter().flatten();
    let criteria: Vec<&str> = criteria.filter(|text| *text != "N/A").collect();
    let mut task = Map::new();
    let texts = [("question", question), ("background", text("background"))];
    let dates = [("open_date", text("open_date")), ("close_date", text("close_date"))];
    for (name, text) in texts.into_iter().chain(dates) {
        task.extend(text.map(|text| (name.to_owned(), Value::from(text))));
    }
    if !criteria.is_empty() {
        task.insert("resolution_criteria".to_owned(), criteria.join(" ").into());
    }
    let shown = outcomes.ids.iter().zip(&outcomes.labels);
    let shown = shown.map(|(id, label)| json!({"id": id, "label": label}));
    let timeframe = json!({"start": text("open_date"), "end": text("close_date")});
    json!({
        "task_id": id,
        "prediction_context": {
            "task": task,
            "outcomes": shown.collect::<Vec<_>>(),
            "data_summary": {"timeframe": timeframe},
        },
        "config": rounds.map(|rounds| json!({"rounds": rounds})),
        "options": moments(text("open_date"), text("close_date")),
    })
}

/// Returns the options `as_of` and `closes_at` (rule K19), without dates that cannot be read or are out of order. The day
/// of the answer is left out: a day before the close would reveal what happened.
fn moments(open: Option<&str>, close: Option<&str>) -> Value {
    let moment = |text: Option<&str>| text?.parse::<Timestamp>().ok();
    let (as_of, closes_at) = (moment(open), moment(close));
    let closes_at = closes_at.filter(|close| as_of.is_none_or(|open| open <= *close));
    let dates = [("as_of", as_of), ("closes_at", closes_at)];
    let dates = dates.into_iter().filter_map(|(name, at)| Some((name.to_owned(), at?.to_string().into())));
    Value::Object(dates.collect())
}

fn moment(field: &Field<'_>, now: Timestamp) -> Option<Timestamp> {
    let at = field.moment()?;
    if at > now {
        field.refuse(format_args!("{at} is still to come"));
    }
    Some(at)
}

/// Reads one probability as a forecast of two outcomes; of more it says nothing.
fn market(value: &Field<'_>, outcomes: &Outcomes<'_>) -> Option<Distribution> {
    let probability = value.number(0.0..=1.0)?;
    let mut both = vec![probability, 1.0 - probability];
    if outcomes.place("yes") == Some(1) {
        both.reverse();
    }
    Distribution::new(both).ok().filter(|market| market.len() == outcomes.labels.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::prediction::config::Dates;

    const NOW: Timestamp = Timestamp(1_790_000_000_000);

    fn line(changes: &Value) -> String {
        let mut line = json!({
            "id": "q-1", "question": "Will the harbour freeze?", "outcomes": ["Yes", "No"], "background": "It is cold.",
            "resolution_criteria": "By the harbour master's log.", "fine_print": "N/A", "source": "somewhere",
            "crowd": {"kind": "The market price.", "value": 0.2}, "resolution": "no", "resolve_date": "2026-03-01",
            "open_date": "2026-01-01", "close_date": "2026-04-01T00:00:00+00:00",
        });
        for (name, value) in changes.as_object().unwrap() {
            line[name] = value.clone();
        }
        line.to_string()
    }

    #[test]
    fn a_question_becomes_a_request_that_does_not_tell_how_it_ended_or_what_a_market_thought() {
        let open = line(&json!({"id": "q-2", "resolution": null}));
        let found = read(&format!("{}\n\n{open}\n", line(&json!({}))), Some(2), NOW).unwrap();
        assert_eq!((found.resolved.len(), found.open), (1, 1));
        let Question { id, line, request, resolved } = &found.resolved[0];
        assert_eq!((id.as_str(), *line, request.config.rounds), ("q-1", 1, 2));
        let outcomes: Vec<&str> = request.config.outcomes.iter().map(OutcomeId::as_str).collect();
        assert_eq!((outcomes, request.brief.outcomes[0].label.as_str()), (vec!["yes", "no"], "Yes"));
        assert_eq!(resolved.outcome.as_str(), "no");
        assert_eq!(resolved.happened_at, "2026-03-01".parse().ok());
        assert_eq!(resolved.market, Distribution::new(vec![0.2, 0.8]).ok());
        let moment = |text: &str| text.parse().ok();
        let (as_of, closes_at) = (moment("2026-01-01"), moment("2026-04-01"));
        assert_eq!(request.config.dates, Dates { as_of, closes_at, resolves_at: None });
        let shown = serde_json::to_string(&request.brief).unwrap();
        assert!(shown.contains("harbour master") && shown.contains("It is cold."), "{shown}");
        for hidden in ["0.2", "0.8", "market", "2026-03-01", "N/A", "somewhere"] {
            assert!(!shown.contains(hidden), "{hidden}: {shown}");
        }
    }

    #[test]
    fn k19_dates_that_are_none_are_left_out() {
        let dates =
            |changes: Value| read(&line(&changes), None, NOW).unwrap().resolved[0].request.config.dates;
        assert_eq!(dates(json!({"open_date": "soon", "close_date": null})), Dates::default());
        let as_of = "2026-05-01".parse().ok();
        assert_eq!(dates(json!({"open_date": "2026-05-01"})), Dates { as_of, ..Dates::default() });
    }

    #[test]
    fn a_market_speaks_of_yes_and_of_two_outcomes_alone() {
        let market =
            |changes: Value| read(&line(&changes), None, NOW).unwrap().resolved[0].resolved.market.clone();
        assert_eq!(market(json!({"outcomes": ["No", "Yes"]})), Distribution::new(vec![0.8, 0.2]).ok());
        assert_eq!(market(json!({"outcomes": ["Lower", "no"]})), Distribution::new(vec![0.2, 0.8]).ok());
        assert_eq!(market(json!({"outcomes": ["Yes", "No", "Neither of them"]})), None);
        assert_eq!(market(json!({"crowd": null})), None);
    }

    #[test]
    fn long_labels_are_named_by_their_place() {
        let long =
            json!({"outcomes": ["A rise of 2 % or more", "None"], "resolution": "a rise of 2 % or more"});
        let found = read(&line(&long), None, NOW).unwrap();
        assert_eq!(found.resolved[0].resolved.outcome.as_str(), "outcome-1");
    }

    #[test]
    fn k12_all_violations_are_reported_by_line_and_field() {
        let lines = [
            line(&json!({})),
            "{".to_owned(),
            line(&json!({})),
            line(&json!({"id": "", "question": 7, "outcomes": ["No", "no"], "crowd": {"value": 2}})),
            line(&json!({"id": "b", "resolution": "perhaps", "resolve_date": "soon"})),
            line(&json!({"id": "c", "outcomes": ["No"], "resolve_date": "2999-01-01", "crowd": 0.5})),
            "7".to_owned(),
            line(&json!({"id": "d", "outcomes": null, "question": null})),
        ];
        let refused = read(&lines.join("\n"), None, NOW).unwrap_err();
        let found: Vec<String> = refused.0.iter().map(ToString::to_string).collect();
        let starts = [
            "line 2: is not JSON",
            "line 3: id: \"q-1\" is the id of line 1 too",
            "line 4: id: must not be empty",
            "line 4: outcomes[1]: \"no\" is given more than once",
            "line 4: question: must be a text",
            "line 4: crowd.value: must be from 0 to 1",
            "line 5: resolution: \"perhaps\" is none of its outcomes",
            "line 5: resolve_date: ",
            "line 6: outcomes: must name two outcomes or more",
            "line 6: resolve_date: 2999-01-01T00:00:00.000Z is still to come",
            "line 6: crowd: must be an object",
            "line 7: must be an object",
            "line 8: outcomes: is required",
            "line 8: question: is required",
        ];
        assert_eq!(found.len(), starts.len(), "{found:#?}");
        for (found, start) in found.iter().zip(starts) {
            assert!(found.starts_with(start), "{found} is not {start}");
        }
    }
}
