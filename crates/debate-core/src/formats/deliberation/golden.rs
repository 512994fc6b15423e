//! Golden cases in the legacy format (rule D11): canned responses in, what must come of them out. A case runs through
//! the kernel like any debate, but asks no model.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use uuid::Uuid;

use super::Deliberation;
use super::answer::Answer;
use super::call::Call;
use super::config::{
    Brief, Concurrency, Config, MAX_ROUNDS_DEFAULT, Mode, PARTICIPANTS_MIN, Phase, Speaker,
    TIMEOUT_MS_DEFAULT,
};
use super::outcome::DeliberationResult;
use crate::call::{Reserved, Want, Work};
use crate::command::{BeginCall, Command, DecideError};
use crate::debate::{ApplyError, Debate};
use crate::event::{AttemptRef, Event, FailureKind, Opened, PromptRef, ReplyFacts, ReplyProse};
use crate::format::Format as _;
use crate::id::{DebateId, Digest, Role, Timestamp};
use crate::models::ModelPlan;
use crate::prose::{Prose, Texts};

/// The orchestrator's names where a case does not give one.
const ORCHESTRATORS: [&str; 2] = ["orchestrator", "moderator"];

/// One golden case.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GoldenCase {
    /// Its name.
    pub id: String,
    /// What it shows.
    pub description: String,
    /// What is debated, and what everybody says.
    pub input: GoldenInput,
    /// What must come of it.
    pub expected: GoldenExpected,
}

/// What is debated, and what everybody says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GoldenInput {
    /// What is debated.
    pub topic: String,
    /// How thoroughly.
    pub mode: Mode,
    /// What each participant says, phase by phase, participants in order of speaking. Who says less than there are
    /// phases fails in the next one.
    pub participant_responses: Responses,
    /// Whose entry holds the consensus. Unless given, it is `orchestrator` or `moderator`, or else a participant who
    /// has exactly one response more than participants have phases; without any of them there is no orchestrator.
    #[serde(default)]
    pub orchestrator: Option<String>,
}

/// Responses by name, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Responses(pub Vec<(String, Vec<String>)>);

impl<'de> Deserialize<'de> for Responses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Responses;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of lists of texts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Responses, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Responses(entries))
            }
        }

        deserializer.deserialize_map(Entries)
    }
}

/// What must come of a case; what is absent may be anything.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GoldenExpected {
    /// Participants who changed position, in any order.
    #[serde(default)]
    pub position_changes: Option<Vec<String>>,
    /// The disagreements that the consensus leaves, in order.
    #[serde(default)]
    pub disagreements: Option<Vec<String>>,
    /// Rounds held: phases, as `maxRounds` counts them, or single turns, as the legacy engine's rounds were.
    pub round_count: u32,
    /// The phases held, in order.
    pub phase_sequence: Vec<Phase>,
}

/// Something did not come out as a golden case says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// What, as the case names it, such as `expected.roundCount`.
    pub field: &'static str,
    /// What the case says.
    pub expected: String,
    /// What came out.
    pub actual: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, got {}", self.field, self.expected, self.actual)
    }
}

/// Reads golden cases: one, or a list of them.
///
/// # Errors
/// The text is not JSON of that shape.
pub fn read(json: &str) -> Result<Vec<GoldenCase>, serde_json::Error> {
    if json.trim_start().starts_with('[') {
        return serde_json::from_str(json);
    }
    serde_json::from_str(json).map(|case| vec![case])
}

/// Runs a golden case through the kernel and returns whatever did not come out as it says (rule D11).
#[must_use]
pub fn check(case: &GoldenCase) -> Vec<Mismatch> {
    match run(&case.input) {
        Ok(result) => compare(&case.expected, &result),
        Err(error) => {
            let expected = "a debate that can be held".to_owned();
            vec![Mismatch { field: "input", expected, actual: error.to_string() }]
        }
    }
}

fn compare(expected: &GoldenExpected, result: &DeliberationResult) -> Vec<Mismatch> {
    let mut mismatches = Vec::new();
    let mut differ = |field, same: bool, expected: String, actual: String| {
        if !same {
            mismatches.push(Mismatch { field, expected, actual });
        }
    };
    if let Some(changes) = &expected.position_changes {
        let mut actual: Vec<&str> = result.position_changes.iter().map(Role::as_str).collect();
        let mut changes: Vec<&str> = changes.iter().map(String::as_str).collect();
        actual.sort_unstable();
        changes.sort_unstable();
        let (said, found) = (format!("{changes:?}"), format!("{actual:?}"));
        differ("expected.positionChanges", changes == actual, said, found);
    }
    if let Some(disagreements) = &expected.disagreements {
        let (said, found) = (format!("{disagreements:?}"), format!("{:?}", result.disagreements));
        differ("expected.disagreements", *disagreements == result.disagreements, said, found);
    }
    let rounds = [result.round_count, result.turn_count];
    let found = format!("{} phases of {} turns in all", result.round_count, result.turn_count);
    let same = rounds.contains(&expected.round_count);
    differ("expected.roundCount", same, expected.round_count.to_string(), found);
    let names = |phases: &[Phase]| phases.iter().map(|phase| phase.as_str()).collect::<Vec<_>>().join(" ");
    let (said, found) = (names(&expected.phase_sequence), names(&result.phase_sequence));
    differ("expected.phaseSequence", said == found, said.clone(), found.clone());
    mismatches
}

/// A golden case cannot be run.
#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error("{0} participants respond; {PARTICIPANTS_MIN} are needed")]
    Participants(usize),
    #[error("{0} is named more than once")]
    Repeated(String),
    #[error(transparent)]
    Decide(#[from] DecideError),
    #[error(transparent)]
    Apply(#[from] ApplyError),
}

/// What everybody still has to say.
struct Script {
    lines: BTreeMap<Role, VecDeque<String>>,
}

impl Script {
    fn next(&mut self, speaker: &Role) -> Option<String> {
        self.lines.get_mut(speaker)?.pop_front()
    }
}

fn run(input: &GoldenInput) -> Result<DeliberationResult, RunError> {
    let (config, mut script) = cast(input)?;
    let at = Timestamp(0);
    let opened = Opened {
        format: Deliberation::NAME.to_owned(),
        debate: DebateId(Uuid::nil()),
        request_digest: Digest::default(),
        limits: config.limits(TIMEOUT_MS_DEFAULT),
        config,
        models: None,
        prose: Prose::new(Brief { topic: input.topic.clone(), skills: Vec::new() }),
    };
    let mut debate = Debate::opened(&opened, at);
    let events = opened.decide(at)?;
    apply(&mut debate, at, events.iter().skip(1))?;
    while let Some(Work::Turn { want, turn }) = debate.wanted_work().into_iter().next() {
        let begin = BeginCall {
            work: Work::Turn { want: want.clone(), turn },
            hedge: None,
            model: "golden:canned".to_owned(),
            prompt: PromptRef {
                version: "golden@1".to_owned(),
                digest: Digest::default(),
                tokens: 0,
                ..PromptRef::default()
            },
            reserved: Reserved::default(),
            thinking: crate::call::Thinking::default(),
        };
        tell(&mut debate, at, Command::BeginCall(begin))?;
        let attempt = debate.call(&want.call).map_or(1, |call| call.attempt);
        let answer = respond(&mut script, &want, attempt, turn);
        tell(&mut debate, at, answer)?;
    }
    Ok(Deliberation::outcome(&debate, Texts::Shown))
}

fn tell(
    debate: &mut Debate<Deliberation>,
    at: Timestamp,
    command: Command<Deliberation>,
) -> Result<(), RunError> {
    let events = debate.decide(at, command)?;
    apply(debate, at, events.iter())
}

fn apply<'a>(
    debate: &mut Debate<Deliberation>,
    at: Timestamp,
    events: impl Iterator<Item = &'a Event<Deliberation>>,
) -> Result<(), RunError> {
    for event in events {
        debate.apply(at, event)?;
    }
    Ok(())
}

/// Answers with the next line of the role that is asked; a role without lines left fails for good.
fn respond(script: &mut Script, want: &Want, attempt: u32, turn: u32) -> Command<Deliberation> {
    let attempt = AttemptRef { call: want.call.clone(), revision: want.revision, attempt, turn };
    let reply = ReplyFacts::default();
    let Some(text) = script.next(&want.call.role).filter(|text| !text.trim().is_empty()) else {
        let message = "the case has no response here".to_owned();
        return Command::FailCall { attempt, failure: FailureKind::Denied, reply, message, text: None };
    };
    let is_consensus = Call::of(&want.call).is_some_and(|call| call.phase == Phase::Consensus);
    let answer =
        if is_consensus { Answer::Consensus(text.clone()) } else { Answer::Contribution(text.clone()) };
    Command::FinishCall { attempt, reply, prose: ReplyProse { text, ..ReplyProse::default() }, answer }
}

/// Assigns the parts. A speaker with the consensus as its only part is not a participant.
fn cast(input: &GoldenInput) -> Result<(Config, Script), RunError> {
    let mut lines: BTreeMap<Role, VecDeque<String>> = BTreeMap::new();
    let orchestrator = orchestrator(input);
    let (mut participants, mut moderator) = (Vec::new(), None);
    for (name, responses) in &input.participant_responses.0 {
        let speaker = Speaker { name: name.as_str().into(), skills: Vec::new() };
        if lines.insert(speaker.name.clone(), responses.iter().cloned().collect()).is_some() {
            return Err(RunError::Repeated(name.clone()));
        }
        let is_orchestrator = Some(name.as_str()) == orchestrator;
        if is_orchestrator {
            moderator = Some(speaker.clone());
        }
        if !is_orchestrator || responses.len() > 1 {
            participants.push(speaker);
        }
    }
    if participants.len() < PARTICIPANTS_MIN {
        return Err(RunError::Participants(participants.len()));
    }
    let config = Config {
        mode: input.mode,
        max_rounds: MAX_ROUNDS_DEFAULT,
        participants,
        orchestrator: moderator,
        tool_phases: Vec::new(),
        native_web_search: false,
        concurrency: Concurrency::Sequential,
        skills_missing: Vec::new(),
        models: ModelPlan::default(),
    };
    Ok((config, Script { lines }))
}

/// Returns whose entry holds the consensus.
fn orchestrator(input: &GoldenInput) -> Option<&str> {
    let entries = &input.participant_responses.0;
    let named = || entries.iter().find(|(name, _)| ORCHESTRATORS.contains(&name.as_str()));
    let phases = input.mode.phases().len();
    let surplus = || entries.iter().find(|(_, responses)| responses.len() == phases);
    let found = || named().or_else(surplus).map(|(name, _)| name.as_str());
    input.orchestrator.as_deref().or_else(found)
}
