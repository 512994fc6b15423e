//! Scenarios: requests for roundtables with names, each a baseline or a variant of one.

use serde_json::{Map, Value};

use crate::format::Format as _;
use crate::formats::accept::{Accepted, AcceptedRequest, accept};
use crate::formats::roundtable::Roundtable;
use crate::request::sizes::{LABEL_CHARS_MAX, TEXTS_MAX};
use crate::request::{Complaints, Fields, Violation, Violations, parse};

/// Scenarios in one file.
const SCENARIOS_MAX: usize = 50;
/// What a scenario has beside the fields of a request.
const OWN: [&str; 3] = ["name", "baseline", "reported_issues"];

/// One scenario.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its name, unique among those that are run together.
    pub name: String,
    /// The scenario that it is compared with; none where it is a baseline itself.
    pub baseline: Option<String>,
    /// What people reported about it, for the report and as a trigger.
    pub reported_issues: Vec<String>,
    /// What is debated, and how.
    pub request: Accepted<Roundtable>,
}

/// Reads the scenarios of a file: an object with a list `scenarios`.
///
/// # Errors
/// Everything that is wrong with it, by path, such as `scenarios[1].mode`.
pub fn read(json: &str) -> Result<Vec<Scenario>, Violations> {
    let document = parse(json)?;
    let complaints = Complaints::default();
    let fields = Fields::of_request(&document, &["scenarios"], &complaints);
    let list = fields.required("scenarios");
    if matches!(list.value(), Some(Value::Array(given)) if given.is_empty()) {
        list.refuse("must have at least one scenario");
    }
    let mut scenarios = Vec::new();
    for (place, item) in list.items(SCENARIOS_MAX).into_iter().enumerate() {
        let Some(Value::Object(given)) = item.value() else {
            item.refuse("must be an object");
            continue;
        };
        let known: Vec<&str> = given.keys().map(String::as_str).collect();
        let own = item.object(&known);
        let name = own.required("name").name().unwrap_or_default().to_owned();
        let baseline = own.field("baseline").name().map(str::to_owned);
        let reported_issues = own.field("reported_issues").texts(TEXTS_MAX, LABEL_CHARS_MAX);
        match request(given) {
            Ok(request) => scenarios.push(Scenario { name, baseline, reported_issues, request }),
            Err(Violations(faults)) => faults.into_iter().for_each(|Violation { field, reason }| {
                complaints.add(&format!("scenarios[{place}].{field}"), reason);
            }),
        }
    }
    complaints.finish(scenarios)
}

/// Reads what of a scenario makes a request.
fn request(given: &Map<String, Value>) -> Result<Accepted<Roundtable>, Violations> {
    let fields = given.iter().filter(|(name, _)| !OWN.contains(&name.as_str()));
    let mut request: Map<String, Value> = fields.map(|(name, value)| (name.clone(), value.clone())).collect();
    request.insert("format".to_owned(), Roundtable::NAME.into());
    match accept(&Value::Object(request).to_string())? {
        AcceptedRequest::Roundtable(accepted) => Ok(*accepted),
        AcceptedRequest::Prediction(_)
        | AcceptedRequest::Deliberation(_)
        | AcceptedRequest::Review(_)
        | AcceptedRequest::Investigation(_) => Err(Violation::whole("is no roundtable").into()),
    }
}

/// Checks scenarios that are run together: names are unique, and every baseline is there and a baseline.
///
/// # Errors
/// Everything that does not fit, by the names of the scenarios.
pub fn check(scenarios: &[Scenario]) -> Result<(), Violations> {
    let mut faults = Vec::new();
    let mut refuse = |scenario: &Scenario, reason: String| {
        faults.push(Violation { field: scenario.name.clone(), reason });
    };
    for (place, scenario) in scenarios.iter().enumerate() {
        if scenarios[..place].iter().any(|known| known.name == scenario.name) {
            refuse(scenario, "is the name of more than one scenario".to_owned());
        }
        let Some(baseline) = &scenario.baseline else { continue };
        match scenarios.iter().find(|known| known.name == *baseline) {
            None => refuse(scenario, format!("its baseline {baseline:?} is not among the scenarios")),
            Some(found) if found.baseline.is_some() => {
                refuse(scenario, format!("its baseline {baseline:?} is a variant itself"));
            }
            Some(_) => {}
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(Violations(faults)) }
}
