//! A request for a review debate, made valid once: JSON to rules, subject and limits, or all violations (rule K12).
//!
//! The caller's critiques and conflicts are kept as they are in the request (rule V6). What is parsed from
//! them in addition is for the debate alone. docs/formats/review.md has the schema.

use serde_json::Value;

use super::call::JUDGE;
use super::config::{
    Brief, Config, Critique, JUDGE_MODEL_DEFAULT, MAX_PAIRS_DEFAULT, MIN_CONFLICTS_DEFAULT, MODEL_DEFAULT,
    Speech,
};
use super::conflict::{self, Conflict, Operation, value_text};
use super::reviewer::ReviewerName;
use super::{Review, findings};
use crate::format::Format as _;
use crate::id::{Digest, Role, is_name};
use crate::limits::{DEADLINE_MS_DEFAULT, Limits};
use crate::models::ModelPlan;
use crate::request::limits::AskedLimits;
use crate::request::sizes::{
    CONFLICTS_MAX, JUDGE_PASSES, LABEL_CHARS_MAX, NAME_CHARS_MAX, OPERATIONS_MAX, PAIRS, PARTICIPANTS_MAX,
    PERSONA_CHARS_MAX, TEXT_CHARS_MAX, TEXTS_MAX, TOPIC_CHARS_MAX,
};
use crate::request::{Complaints, Field, Fields, Violations, meaning_digest, models, raw_field};

/// How the predecessor's models begin, which it names without their provider.
const PREDECESSORS_MODELS: &str = "claude-";

/// Words that the judge uses for sides, a tie and itself. They cannot be the name of a reviewer.
const RESERVED: [&str; 7] = ["role_a", "role_b", "first", "second", "tie", "neither", JUDGE];

/// Makes rules, subject and limits of a request.
///
/// `json` is the text of `request`. Without a seed in the options, the seed follows from critiques and rules.
///
/// # Errors
/// Everything that is wrong with the request.
pub(in crate::formats) fn accept(
    json: &str,
    request: &Value,
    complaints: Complaints,
) -> Result<(Config, Brief, Limits), Violations> {
    let known = ["format", "original_prompt", "context", "critiques", "conflicts", "debate", "options"];
    let fields = Fields::of_request(request, &known, &complaints);
    let raw = |name: &str| raw_field(json, name).map(|raw| raw.get().to_owned());
    let critiques = critiques(&fields.required("critiques"));
    let given = fields.field("conflicts");
    let conflicts_given = given.value().is_some();
    let conflicts = if conflicts_given { conflicts(&given, &critiques) } else { conflict::find(&critiques) };
    let mut brief = Brief {
        original_prompt: fields.field("original_prompt").text_or_empty(TOPIC_CHARS_MAX),
        context: fields.field("context").text_or_empty(TOPIC_CHARS_MAX),
        critiques,
        conflicts,
        disputes: Vec::new(),
        critiques_json: raw("critiques").unwrap_or_default(),
        conflicts_json: raw("conflicts").filter(|_| conflicts_given),
    };
    let options = fields.field("options").object(&[
        "judge_passes",
        "seed",
        "models",
        "effort",
        "output_tokens",
        "language",
        "as_of",
        "limits",
    ]);
    let config = config(&fields, &options, &mut brief, conflicts_given);
    let limits = options.field("limits");
    let limits = AskedLimits::read(&limits, config.limits(DEADLINE_MS_DEFAULT).closing_tokens);
    let deadline_ms = limits.deadline_ms().unwrap_or(DEADLINE_MS_DEFAULT);
    let limits = limits.on_top_of(config.limits(deadline_ms));
    complaints.finish((config, brief, limits))
}

/// Returns the digest of what a request asks for (rule K11).
pub(in crate::formats) fn digest(config: &Config, brief: &Brief, limits: &Limits) -> Digest {
    // The caller's texts count by what they mean; all that is read of them is in the rest.
    let rest = Brief { critiques_json: String::new(), conflicts_json: None, ..brief.clone() };
    let value = |json: &str| serde_json::from_str::<Value>(json).unwrap_or_default();
    let given = (value(&brief.critiques_json), brief.conflicts_json.as_deref().map(value));
    meaning_digest(Review::NAME, config, &(given, rest), limits)
}

fn config(fields: &Fields<'_>, options: &Fields<'_>, brief: &mut Brief, conflicts_given: bool) -> Config {
    let debate = fields.field("debate").object(&[
        "enabled",
        "max_pairs",
        "model",
        "judge_model",
        "min_conflicts_to_trigger",
    ]);
    let count = |field: &Field<'_>, range, default| {
        field.whole(range).map_or(default, |count| u32::try_from(count).unwrap_or(u32::MAX))
    };
    let seed = options.field("seed").whole(0..=u64::MAX);
    let mut config = Config {
        enabled: debate.field("enabled").truth().unwrap_or(false),
        max_pairs: count(&debate.field("max_pairs"), PAIRS, MAX_PAIRS_DEFAULT),
        min_conflicts_to_trigger: count(
            &debate.field("min_conflicts_to_trigger"),
            1..=CONFLICTS_MAX as u64,
            MIN_CONFLICTS_DEFAULT,
        ),
        conflicts: u32::try_from(brief.conflicts.len()).unwrap_or(u32::MAX),
        conflicts_given,
        pairs: Vec::new(),
        judge_passes: count(&options.field("judge_passes"), JUDGE_PASSES, 1),
        seed: seed.unwrap_or_default(),
        judge_reversed: false,
        models: models(&debate, options, brief),
    };
    if config.enabled && config.conflicts >= config.min_conflicts_to_trigger {
        let selected = conflict::select_pairs(&brief.conflicts, &brief.critiques, config.max_pairs as usize);
        (config.pairs, brief.disputes) = selected.into_iter().unzip();
    }
    if seed.is_none() {
        // How a debate is run does not change what is drawn for it.
        let meant = Config { judge_passes: 1, models: ModelPlan::default(), ..config.clone() };
        config.seed = digest(&meant, brief, &meant.limits(DEADLINE_MS_DEFAULT)).as_seed();
    }
    config
}

/// Reads which models are asked: the settings of rule V1, and narrower choices in the options.
fn models(debate: &Fields<'_>, options: &Fields<'_>, brief: &Brief) -> ModelPlan {
    let narrower = &options.field("models");
    let is_reviewer =
        |name: &str| is_name(name) && brief.critiques.iter().any(|critique| critique.role.as_str() == name);
    let spoken = [Speech::Argue, Speech::Rebut].map(Speech::as_str);
    let mut plan = models::read(narrower, &spoken, is_reviewer, "reviewers");
    let kinds = [Speech::Argue.as_str(), Speech::Rebut.as_str(), JUDGE];
    models::read_asking(&mut plan, options, &kinds, is_reviewer, "reviewers");
    plan.as_of = options.field("as_of").moment();
    if models::is_named(narrower, "default") {
        narrower.refuse("has its default in debate.model; name it there");
    }
    plan.default = models_of_rule_v1(&debate.field("model"), MODEL_DEFAULT);
    let judges = models_of_rule_v1(&debate.field("judge_model"), JUDGE_MODEL_DEFAULT);
    if !judges.is_empty() {
        plan.purposes.insert(JUDGE.to_owned(), judges);
    }
    plan
}

/// Reads models as the settings of rule V1 name them: also without their provider, as the predecessor has them. Its default
/// in its own spelling is the default left out.
fn models_of_rule_v1(field: &Field<'_>, default: &str) -> Vec<String> {
    let named = models::names(field);
    if let ([only], Some((_, bare))) = (&named[..], default.split_once(':'))
        && only == bare
    {
        return Vec::new();
    }
    let whole = |name: String| match name.split_once(':') {
        None if name.starts_with(PREDECESSORS_MODELS) => format!("anthropic:{name}"),
        None | Some(_) => name,
    };
    named.into_iter().map(whole).collect()
}

/// Returns every model that the rules name, with the path at which a request names it.
pub(super) fn models_named(plan: &ModelPlan) -> Vec<(String, String)> {
    let named = plan.named().map(|(path, model)| {
        let path = match path.as_str() {
            "default" => "debate.model".to_owned(),
            JUDGE => "debate.judge_model".to_owned(),
            narrower => format!("options.models.{narrower}"),
        };
        (path, model.to_owned())
    });
    named.collect()
}

/// Reads the critiques; each reviewer has one.
fn critiques(list: &Field<'_>) -> Vec<Critique> {
    let mut critiques: Vec<Critique> = Vec::new();
    for (place, item) in list.items(PARTICIPANTS_MAX).into_iter().enumerate() {
        let fields = item.object(&["role", "system_prompt", "operations", "findings"]);
        let named = fields.required("role");
        let roles: Vec<Role> = critiques.iter().map(|critique| critique.role.clone()).collect();
        let mut own = reviewer(&named, &roles);
        if let Some(role) = own.take_if(|role| roles.contains(role)) {
            named.refuse(format_args!("{:?} is given more than once", role.as_str()));
        }
        // The rest of a critique without a valid reviewer is read too, so that all violations are reported at
        // once. Its operations belong to one reviewer that is not known yet; the place of the critique, which
        // is not a valid name, replaces the name.
        let is_refused = own.is_none();
        let role = own.unwrap_or_else(|| Role::from(format!("critiques[{place}]").as_str()));
        let findings = findings_of(&fields.field("findings"));
        let stated = fields.field("operations").items(OPERATIONS_MAX);
        let mut whose = Whose::Critique { role: &role, is_refused };
        let mut operations: Vec<_> = stated.iter().filter_map(|item| operation(item, &mut whose)).collect();
        let system_prompt = fields.field("system_prompt").text_or_empty(PERSONA_CHARS_MAX);
        operations.extend(findings.iter().filter_map(|finding| findings::operation(&role, finding)));
        critiques.push(Critique { operations, system_prompt, findings, role });
    }
    critiques
}

/// Reads a reviewer's name; `known` are those that were read before.
fn reviewer(field: &Field<'_>, known: &[Role]) -> Option<Role> {
    let name = field.name()?;
    if RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
        field.refuse(format_args!("{name:?} is reserved for the judge; choose another name"));
        return None;
    }
    if let Err(error) = name.parse::<ReviewerName>() {
        // A reviewer that debates may get a proposal for its prompt, which is a file with its name.
        field.refuse(error);
        return None;
    }
    // The judge may name a reviewer in any case, and so may a file system.
    let differs = |known: &&Role| known.as_str() != name && known.as_str().eq_ignore_ascii_case(name);
    if let Some(known) = known.iter().find(differs) {
        field.refuse(format_args!("{name:?} differs only in case from {:?}", known.as_str()));
        return None;
    }
    Some(Role::from(name))
}

/// Reads findings: texts, or objects with a `text` and the place that it is about.
fn findings_of(list: &Field<'_>) -> Vec<String> {
    let read = |item: Field<'_>| {
        if matches!(item.value(), Some(Value::Object(_))) {
            let fields = item.object(&["text", "path", "line", "severity"]);
            fields.field("path").text(LABEL_CHARS_MAX);
            fields.field("line").whole(0..=u64::from(u32::MAX));
            fields.field("severity").text(NAME_CHARS_MAX);
            fields.required("text").words(TEXT_CHARS_MAX).map(str::to_owned)
        } else {
            item.words(TEXT_CHARS_MAX).map(str::to_owned)
        }
    };
    list.items(TEXTS_MAX).into_iter().filter_map(read).collect()
}

/// Where an operation stands, and so whose it may be.
enum Whose<'a> {
    /// In the critique of a reviewer, whose name may have been refused.
    Critique { role: &'a Role, is_refused: bool },
    /// In a conflict, where it names its reviewer; these were named before.
    Conflict(&'a mut Vec<Role>),
}

/// Reads an operation; within a critique it is that reviewer's.
///
/// What else an operation of the caller's conflicts has is the caller's, and stays.
fn operation(item: &Field<'_>, whose: &mut Whose<'_>) -> Option<Operation> {
    let fields = match whose {
        Whose::Critique { .. } => item.object(&["reviewer_role", "op", "target", "value"]),
        Whose::Conflict(_) => item.open_object(),
    };
    let (named, known) = match whose {
        Whose::Critique { .. } => (fields.field("reviewer_role"), &[][..]),
        Whose::Conflict(known) => (fields.required("reviewer_role"), &known[..]),
    };
    let stated = if named.value().is_some() { reviewer(&named, known) } else { None };
    let reviewer_role = match whose {
        Whose::Critique { role, is_refused } => {
            if !*is_refused && stated.is_some_and(|stated| stated != **role) {
                named.refuse(format_args!("must be {:?}, whose critique this is", role.as_str()));
            }
            Some((*role).clone())
        }
        Whose::Conflict(known) => {
            known.extend(stated.clone());
            stated
        }
    };
    let op = fields.required("op").name();
    let target = fields.required("target").words(LABEL_CHARS_MAX);
    let field = fields.field("value");
    let value = field.value().cloned().unwrap_or_default();
    let chars = value_text(&value).chars().count();
    if chars > TEXT_CHARS_MAX {
        field.refuse(format_args!("has {chars} characters; {TEXT_CHARS_MAX} are allowed"));
    }
    Some(Operation { reviewer_role: reviewer_role?, op: op?.to_owned(), target: target?.to_owned(), value })
}

/// Reads the caller's conflicts; whatever else they hold stays in the text that goes back untouched.
fn conflicts(list: &Field<'_>, critiques: &[Critique]) -> Vec<Conflict> {
    let mut known: Vec<Role> = critiques.iter().map(|critique| critique.role.clone()).collect();
    let mut read = |item: Field<'_>| {
        let fields = item.open_object();
        let stated = fields.field("ops");
        let mut whose = Whose::Conflict(&mut known);
        let operations = stated.items(OPERATIONS_MAX);
        let ops: Vec<Operation> = operations.iter().filter_map(|item| operation(item, &mut whose)).collect();
        let kind = fields.required("type").name();
        let target = fields.required("target").words(LABEL_CHARS_MAX);
        // A conflict whose own operations were all refused takes none of the critiques: these all have a target.
        let has_own = stated.value().is_some_and(|given| !given.as_array().is_some_and(Vec::is_empty));
        let are_refused = has_own && ops.is_empty();
        Conflict {
            kind: kind.unwrap_or_default().to_owned(),
            target: target.filter(|_| !are_refused).unwrap_or_default().to_owned(),
            ops,
            resolution: fields.field("resolution").value().cloned().unwrap_or_default(),
        }
    };
    list.items(CONFLICTS_MAX).into_iter().map(&mut read).collect()
}

#[cfg(test)]
mod tests;
