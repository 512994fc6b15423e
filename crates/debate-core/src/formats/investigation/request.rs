//! A request for an investigation, made valid once: JSON to rules, subject and limits, or all violations (rule K12).

use serde_json::Value;

use super::answer::HypothesisText;
use super::call::KINDS;
use super::config::{
    Brief, Config, DEADLINE_MS_DEFAULT, HYPOTHESES_MAX, HYPOTHESES_MIN, INVESTIGATORS_DEFAULT, Language,
    RESERVED, ROUNDS_MAX, Seat,
};
use super::hypothesis::why_tests_nothing;
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
    let investigators = fields.field("investigators");
    let names = names(&investigators, given);
    // Refused entries count too. A length that is refused itself is not reported twice.
    let lengths = HYPOTHESES_MIN..=HYPOTHESES_MAX;
    if let (Some(names), Some(hypotheses)) = (length(&investigators), length(&listed))
        && lengths.contains(&hypotheses)
        && names.clamp(HYPOTHESES_MIN, HYPOTHESES_MAX) != hypotheses
    {
        let names = counted(names, "name", "names");
        let hypotheses = counted(hypotheses, "hypothesis", "hypotheses");
        investigators.refuse(format_args!("has {names} for {hypotheses}; each needs one"));
    }
    let rounds = fields.field("rounds").whole(1..=u64::from(ROUNDS_MAX));
    let mut config = Config {
        language: language(&fields.field("language")),
        rounds: rounds.and_then(|rounds| u32::try_from(rounds).ok()).unwrap_or(ROUNDS_MAX),
        seats: names.into_iter().zip(1..).map(seat).collect(),
        hypotheses: given,
        workspace: false,
        models: ModelPlan::default(),
    };
    let options = fields.field("options").object(&["limits", "models", "effort", "output_tokens", "as_of"]);
    let is_role = |name: &str| config.has_role(name);
    let mut plan = models::read(&options.field("models"), &KINDS, is_role, "roles");
    models::read_asking(&mut plan, &options, &KINDS, is_role, "roles");
    plan.as_of = options.field("as_of").moment();
    config.models = plan;
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
        let prediction = prediction?.to_owned();
        let hypothesis = statement
            .map(str::to_owned)
            .map(|statement| HypothesisText { statement, prediction: prediction.clone() });
        let why = match &hypothesis {
            Some(hypothesis) => hypothesis.why_untestable(),
            None => why_tests_nothing(&prediction),
        };
        if let Some(why) = why {
            fields.field("prediction").refuse(format_args!("cannot be tested: the hypothesis {why}"));
        }
        hypothesis
    };
    items.iter().filter_map(hypothesis).collect()
}

/// Returns how many entries a list has, whatever is wrong with them.
fn length(list: &Field<'_>) -> Option<usize> {
    list.value().and_then(Value::as_array).map(Vec::len)
}

/// Returns who investigates, in order: one for each hypothesis, unless the request names them.
fn names(list: &Field<'_>, hypotheses: Option<u32>) -> Vec<String> {
    if list.value().is_some() {
        return investigators(list).into_iter().map(str::to_owned).collect();
    }
    let count = hypotheses.map_or(INVESTIGATORS_DEFAULT, |given| given as usize);
    (1..=count).map(|number| format!("investigator_{number}")).collect()
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

/// Gives a hypothesis its investigator.
fn seat((name, hypothesis): (String, u32)) -> Seat {
    Seat { investigator: name.as_str().into(), hypothesis }
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
            "options": {"models": {"judge": "a:1", "roles": {"outsider": "a:1"}}} });
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
                "options.models.roles.outsider: \"outsider\" is not one of the roles",
            ]
        );
        let halves = json!({ "problem": "x", "hypotheses": [
            {"prediction": "bad design"}, {"statement": " ", "prediction": "If so, it hangs"}] });
        assert_eq!(
            refused(&halves),
            [
                "hypotheses[0].statement: is required",
                "hypotheses[0].prediction: cannot be tested: the hypothesis predicts nothing that could turn out \
                 otherwise: say what is seen if it is true",
                "hypotheses[1].statement: must not be empty",
            ]
        );
    }

    #[test]
    fn k12_investigators_are_counted_with_those_whose_names_are_refused() {
        let uneven = |investigators: Value| {
            refused(&json!({ "problem": "x", "investigators": investigators,
                "hypotheses": [hypothesis("a lock"), {"statement": "a leak"}] }))
        };
        let half = "hypotheses[1].prediction: is required";
        let three = "investigators: has 3 names for 2 hypotheses; each needs one";
        let name = "must be 1 to 64 ASCII letters, digits, underscores, hyphens or full stops";
        assert_eq!(uneven(json!(["a", "b", "c"])), [half, three]);
        let refused_name = format!("investigators[1]: {name}");
        assert_eq!(uneven(json!(["a", "b c", "d"])), [half, &refused_name, three]);
        assert_eq!(
            uneven(json!(["a", "A", "lead"])),
            [
                half,
                "investigators[1]: \"A\" is given more than once",
                "investigators[2]: \"lead\" is another role's name",
                three
            ]
        );
        assert_eq!(uneven(json!(["a", "b c"])), [half, &refused_name], "with its name mended there are two");
        assert_eq!(uneven(json!(["a"])), [half, "investigators: must name at least 2"]);
        let many: Value = (0..9).map(|n| format!("n{n}")).collect();
        let expected = [
            half,
            "investigators: has 9 entries; 8 are allowed",
            "investigators: has 9 names for 2 hypotheses; each needs one",
        ];
        assert_eq!(uneven(many), expected);
        let mut open = json!({ "problem": "x", "investigators": ["a", "b", "c"], "hypotheses": "some" });
        assert_eq!(refused(&open), ["hypotheses: must be a list"], "the number of hypotheses is unknown");
        open["hypotheses"] = json!([hypothesis("a lock")]);
        let few = "hypotheses: must have at least 2; leave them out for the lead to propose";
        assert_eq!(refused(&open), [few]);
    }
}
