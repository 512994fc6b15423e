//! A request for an investigation, made valid once: JSON to rules, subject and limits, or all violations (rule K12).

use serde_json::Value;

use super::answer::HypothesisText;
use super::call::KINDS;
use super::config::{
    Brief, Config, DEADLINE_MS_DEFAULT, HYPOTHESES_MAX, HYPOTHESES_MIN, INVESTIGATORS_DEFAULT, Language,
    RESERVED, ROUNDS_MAX, Seat,
};
use crate::counted::counted;
use crate::limits::Limits;
use crate::models::ModelPlan;
use crate::request::limits::AskedLimits;
use crate::request::sizes::{TEXT_CHARS_MAX, TOPIC_CHARS_MAX};
use crate::request::{Complaints, Field, Fields, Violations, models};

/// The fields of a request.
const KNOWN: [&str; 8] =
    ["format", "problem", "context", "language", "hypotheses", "investigators", "rounds", "options"];

/// Makes rules, subject and limits of a request.
///
/// Whether there is a workspace is for the edge to say: see [`Config::workspace`].
///
/// # Errors
/// Everything that is wrong with the request.
pub(in crate::formats) fn accept(
    request: &Value,
    complaints: Complaints,
) -> Result<(Config, Brief, Limits), Violations> {
    let fields = Fields::of_request(request, &KNOWN, &complaints);
    let problem = fields.required("problem").words(TOPIC_CHARS_MAX).unwrap_or_default().to_owned();
    let context = fields.field("context").text_or_empty(TOPIC_CHARS_MAX);
    let listed = fields.field("hypotheses");
    let hypotheses = hypotheses(&listed);
    let given = listed.value().map(|_| u32::try_from(hypotheses.len()).unwrap_or(u32::MAX));
    let named = investigators(&fields.field("investigators"));
    let count = given
        .map_or(if named.is_empty() { INVESTIGATORS_DEFAULT } else { named.len() }, |given| given as usize);
    if !named.is_empty() && named.len() != count {
        let names = counted(named.len(), "name", "names");
        let hypotheses = counted(count, "hypothesis", "hypotheses");
        fields.field("investigators").refuse(format_args!("has {names} for {hypotheses}; each needs one"));
    }
    let rounds = fields.field("rounds").whole(1..=u64::from(ROUNDS_MAX));
    let mut config = Config {
        language: language(&fields.field("language")),
        rounds: rounds.and_then(|rounds| u32::try_from(rounds).ok()).unwrap_or(ROUNDS_MAX),
        seats: seats(&named, count),
        hypotheses: given,
        workspace: false,
        models: ModelPlan::default(),
    };
    let options = fields.field("options").object(&["limits", "models"]);
    let is_role = |name: &str| config.has_role(name);
    config.models = models::read(&options.field("models"), &KINDS, is_role, "roles");
    let limits = limits(&options.field("limits"), &config);
    complaints.finish((config, Brief { problem, context, hypotheses }, limits))
}

fn language(field: &Field<'_>) -> Language {
    let Some(name) = field.text(usize::MAX) else { return Language::default() };
    let found = Language::ALL.into_iter().find(|language| language.as_str() == name);
    if found.is_none() {
        let names: Vec<&str> = Language::ALL.iter().map(|language| language.as_str()).collect();
        field.refuse(format_args!("must be one of {}", names.join(", ")));
    }
    found.unwrap_or_default()
}

/// Reads the hypotheses; one that cannot be tested is refused (rule I3).
fn hypotheses(list: &Field<'_>) -> Vec<HypothesisText> {
    let items = list.items(HYPOTHESES_MAX);
    if matches!(list.value(), Some(Value::Array(given)) if given.len() < HYPOTHESES_MIN) {
        list.refuse(format_args!(
            "must have at least {HYPOTHESES_MIN}; leave them out for the lead to propose"
        ));
    }
    let hypothesis = |item: &Field<'_>| {
        let fields = item.object(&["statement", "prediction"]);
        let text = |name| fields.required(name).words(TEXT_CHARS_MAX);
        let (statement, prediction) = (text("statement"), text("prediction"));
        let (statement, prediction) = (statement?.to_owned(), prediction?.to_owned());
        let hypothesis = HypothesisText { statement, prediction };
        if let Some(why) = hypothesis.why_untestable() {
            fields.field("prediction").refuse(format_args!("cannot be tested: the hypothesis {why}"));
        }
        Some(hypothesis)
    };
    items.iter().filter_map(hypothesis).collect()
}

fn investigators<'a>(list: &Field<'a>) -> Vec<&'a str> {
    let items = list.items(HYPOTHESES_MAX);
    if matches!(list.value(), Some(Value::Array(given)) if given.len() < HYPOTHESES_MIN) {
        list.refuse(format_args!("must name at least {HYPOTHESES_MIN}"));
    }
    let mut names: Vec<&str> = Vec::new();
    for item in &items {
        let Some(name) = item.name() else { continue };
        if RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
            item.refuse(format_args!("{name:?} is another role's name"));
        } else if names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            item.refuse(format_args!("{name:?} is given more than once"));
        } else {
            names.push(name);
        }
    }
    names
}

/// Gives every hypothesis its investigator.
fn seats(named: &[&str], count: usize) -> Vec<Seat> {
    let seat = |number: usize| {
        let name =
            named.get(number - 1).map_or_else(|| format!("investigator_{number}"), ToString::to_string);
        Seat { investigator: name.as_str().into(), hypothesis: u32::try_from(number).unwrap_or(u32::MAX) }
    };
    (1..=count).map(seat).collect()
}

/// Reads what the debate may spend (rule K8).
fn limits(limits: &Field<'_>, config: &Config) -> Limits {
    let asked = AskedLimits::read(limits, config.limits(DEADLINE_MS_DEFAULT).closing_tokens);
    asked.on_top_of(config.limits(asked.deadline_ms().unwrap_or(DEADLINE_MS_DEFAULT)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(request: &Value) -> Vec<String> {
        accept(request, Complaints::default()).unwrap_err().0.iter().map(ToString::to_string).collect()
    }

    fn hypothesis(statement: &str) -> Value {
        json!({ "statement": statement, "prediction": format!("If so, {statement} shows in the log") })
    }

    #[test]
    fn i7_hypotheses_come_with_the_request_or_are_left_to_the_lead() {
        let request = json!({ "problem": "It hangs.", "language": "zh",
            "hypotheses": [hypothesis("a lock"), hypothesis("a leak")] });
        let (config, brief, limits) = accept(&request, Complaints::default()).unwrap();
        let names: Vec<&str> = config.seats.iter().map(|seat| seat.investigator.as_str()).collect();
        assert_eq!(names, ["investigator_1", "investigator_2"]);
        assert_eq!((config.hypotheses, config.rounds, config.language), (Some(2), 3, Language::Zh));
        assert_eq!((brief.hypotheses.len(), config.calls_expected()), (2, 20));
        assert_eq!(limits.deadline_ms, DEADLINE_MS_DEFAULT);
        let request = json!({ "problem": "It hangs.", "investigators": ["ann", "bo"], "rounds": 1 });
        let (config, ..) = accept(&request, Complaints::default()).unwrap();
        assert_eq!((config.hypotheses, config.seats.len(), config.calls_expected()), (None, 2, 9));
    }

    #[test]
    fn k12_everything_wrong_is_named_at_once() {
        let request = json!({ "problem": " ", "language": "fr", "rounds": 4, "extra": 1,
            "hypotheses": [{"statement": "bad design", "prediction": "bad design"}],
            "investigators": ["lead", "ann", "Ann"],
            "options": {"models": {"judge": "a:1", "roles": {"nobody": "a:1"}}} });
        assert_eq!(
            refused(&request),
            [
                "extra: is not a field of this request",
                "problem: must not be empty",
                "hypotheses: must have at least 2; leave them out for the lead to propose",
                "hypotheses[0].prediction: cannot be tested: the hypothesis predicts only what it states",
                "investigators[0]: \"lead\" is another role's name",
                "investigators[2]: \"Ann\" is given more than once",
                "rounds: must be a whole number from 1 to 3",
                "language: must be one of en, zh",
                "options.models.judge: is not a field of this request",
                "options.models.roles.nobody: \"nobody\" is not one of the roles",
            ]
        );
        let uneven = json!({ "problem": "x", "investigators": ["a", "b", "c"],
            "hypotheses": [hypothesis("a lock"), hypothesis("a leak")] });
        assert_eq!(refused(&uneven), ["investigators: has 3 names for 2 hypotheses; each needs one"]);
    }
}
