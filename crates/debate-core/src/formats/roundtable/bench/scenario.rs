//! Scenarios: requests for roundtables with names, each a baseline or a variant of one.

use serde_json::{Map, Value};

use super::comparison::Terms;
use crate::format::Format as _;
use crate::formats::accept::{Accepted, AcceptedRequest, accept};
use crate::formats::roundtable::Roundtable;
use crate::id::Role;
use crate::request::sizes::{LABEL_CHARS_MAX, TEXTS_MAX};
use crate::request::{Complaints, Fields, Violation, Violations, parse};

/// Scenarios in one file.
const SCENARIOS_MAX: usize = 50;
/// What a simulation cannot show of a variant that asks a lighter model, for fewer tokens or without a cache of tools.
const UNSEEN: &str = "drawn latencies know no model, no length and no tool: whether `sequential` makes it faster is for a real model \
                      to show";
/// The fields of a scenario in addition to those of a request.
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

impl Scenario {
    /// Returns what this variant has to fulfill against its baseline: to be faster if more of a round runs in
    /// parallel, or if it shortens sequential modes in another way (rule T8).
    ///
    /// With `is_simulated`, drawn latencies depend neither on the model nor on the number of tokens, so the
    /// other way cannot be judged.
    #[must_use]
    pub fn terms<'a>(&'a self, baseline: &Self, is_simulated: bool) -> Terms<'a> {
        let (own, other) = (&self.request.config, &baseline.request.config);
        let is_hastened = own.sequential != other.sequential;
        Terms {
            is_to_be_faster: own.parallelization() > other.parallelization() || is_hastened && !is_simulated,
            reductions: &[],
            reported_issues: &self.reported_issues,
            unseen: (is_hastened && is_simulated).then_some(UNSEEN),
        }
    }

    /// Returns what both debate differently, so that they cannot be compared.
    fn differences(&self, baseline: &Self) -> Vec<&'static str> {
        let names = |scenario: &Self| -> Vec<Role> {
            scenario.request.config.agents.iter().map(|agent| agent.name.clone()).collect()
        };
        let rounds = |scenario: &Self| scenario.request.config.rounds;
        let differ = [
            ("topic", self.request.brief != baseline.request.brief),
            ("agents", names(self) != names(baseline)),
            ("rounds", rounds(self) != rounds(baseline)),
        ];
        differ.into_iter().filter_map(|(field, differs)| differs.then_some(field)).collect()
    }
}

/// Reads the scenarios of a file: an object with a list `scenarios`.
///
/// # Errors
/// Everything that is wrong with it, by path, such as `scenarios[1].mode`.
pub fn read(json: &str) -> Result<Vec<Scenario>, Violations> {
    parse(json, Complaints::default(), accept_all)
}

fn accept_all(document: &Value, complaints: Complaints) -> Result<Vec<Scenario>, Violations> {
    let fields = Fields::of_request(document, &["scenarios"], &complaints);
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

/// Checks scenarios that are run together: names are unique, and every baseline is there, a baseline, and of the same topic,
/// agents and rounds.
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
            Some(found) => {
                let differ = scenario.differences(found);
                if !differ.is_empty() {
                    refuse(
                        scenario,
                        format!("differs from its baseline {baseline:?} in {}", differ.join(", ")),
                    );
                }
            }
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(Violations(faults)) }
}
