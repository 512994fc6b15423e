//! What a format of debate is. The kernel asks these questions and nothing else; a format knows no storage, no
//! prompts, no time.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::call::{CallKey, InputRef, Want};
use crate::debate::Debate;
use crate::event::StopRuleFired;
use crate::fork::Change;
use crate::id::{OutcomeId, Timestamp};
use crate::models::Asking;
use crate::prose::{Prose, Texts};
use crate::record::Record;
use crate::stop::Completeness;

/// How good an answer is by one measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// The call whose answer it is.
    pub call: CallKey,
    /// What is measured, in snake case.
    pub name: String,
    /// The score, in the range of the measure.
    pub score: f64,
}

/// A way to debate: which calls are wanted, who sees what, what an answer means, how it ends.
///
/// Every function is pure: the same debate gives the same answer on any machine. `apply` is the only one that
/// changes anything, and it only records.
pub trait Format: Debug + Clone + PartialEq + Send + Sync + 'static {
    /// The format's name as requests spell it.
    const NAME: &'static str;
    /// Whether rounds that are added to a debate can have a question of their own.
    const TAKES_FOCUS: bool = false;

    /// The rules of one debate, already valid. Facts: they survive redaction.
    type Config: Debug + Clone + PartialEq + Serialize + DeserializeOwned + Send + Sync;
    /// The subject in people's words. Prose: redaction deletes it.
    type Brief: Debug + Clone + PartialEq + Serialize + DeserializeOwned + Send + Sync;
    /// The domain facts that this format adds to the log.
    type Fact: Record;
    /// What the facts fold into.
    type State: Debug + Clone + Send + Sync;
    /// What one call may see. A prompt is rendered from this and cannot see more.
    type Visible: Debug + Clone + Send + Sync;
    /// One reply, read.
    type Answer: Debug + Clone + Send;
    /// The result.
    type Outcome: Debug + Clone + PartialEq + Serialize + Send;

    /// Returns the state of a debate in which nothing has been said yet.
    fn open(config: &Self::Config) -> Self::State;

    /// Records a fact.
    fn apply(state: &mut Self::State, fact: &Self::Fact);

    /// Takes back what a revision of a call brought, now that it is void.
    fn void(state: &mut Self::State, want: &Want);

    /// Returns the questions whose answers are needed now, in a fixed order, answered ones included or not.
    ///
    /// While [`Debate::stop`] says that the debate is closing, only closing calls may be named.
    fn wanted(debate: &Debate<Self>) -> Vec<Want>;

    /// Returns the answers that a call is shown, in the order shown.
    fn inputs(debate: &Debate<Self>, want: &Want) -> Vec<InputRef>;

    /// Returns what a call may see.
    fn visible(debate: &Debate<Self>, want: &Want) -> Self::Visible;

    /// Returns what an answer means as facts, or why it cannot be used at all.
    ///
    /// # Errors
    /// The reason, for the one who is asked again.
    fn facts(debate: &Debate<Self>, want: &Want, answer: &Self::Answer) -> Result<Vec<Self::Fact>, String>;

    /// Returns what follows from the state without asking anybody, one step at a time; `None` when nothing does.
    fn advance(debate: &Debate<Self>) -> Option<Step<Self::Fact>>;

    /// Returns whether a call belongs to the closing of the debate, for which a reserve is kept.
    fn is_closing(call: &CallKey) -> bool;

    /// Returns the models that a call is put to, those that stand in for the first behind it; empty where the choice is
    /// the process's.
    fn models<'a>(config: &'a Self::Config, call: &CallKey) -> &'a [String];

    /// Returns what the rules say of how a call is asked (rule P23).
    fn asking(_config: &Self::Config, _call: &CallKey) -> Asking {
        Asking::default()
    }

    /// Returns the moment that the rules set for prompts and tools (rule K19); none where it is the opening of the debate.
    fn as_of(_config: &Self::Config) -> Option<Timestamp> {
        None
    }

    /// Returns every model that the rules name, with the path at which a request names it.
    fn models_named(config: &Self::Config) -> Vec<(String, String)>;

    /// Returns the number of calls of a debate in which nothing goes wrong.
    fn calls_expected(config: &Self::Config) -> u64;

    /// Returns the questions of a debate in which nothing goes wrong.
    fn calls(config: &Self::Config) -> Vec<CallKey>;

    /// Returns whether a tool call that repeats an earlier one, of any role, reuses its answer (rule T8).
    fn shares_tools(_config: &Self::Config) -> bool {
        false
    }

    /// Returns what a fact says about the quality of an answer, for monitoring from outside; empty if the
    /// format does not judge answers by numbers.
    fn evaluations(_config: &Self::Config, _fact: &Self::Fact) -> Vec<Evaluation> {
        Vec::new()
    }

    /// Returns whether the debate stands still until a wanted call is answered; other calls may take their time.
    fn is_critical(debate: &Debate<Self>, call: &CallKey) -> bool;

    /// Returns how whole the outcome is, were the debate to conclude now.
    fn completeness(debate: &Debate<Self>) -> Completeness;

    /// Returns the result, from the state alone.
    fn outcome(debate: &Debate<Self>, texts: Texts) -> Self::Outcome;

    /// Returns the possible answers of the question, for resolution; empty where the format has none.
    fn outcomes(config: &Self::Config) -> &[OutcomeId];

    /// Returns the rules with more rounds, or `None` where the format or its limits do not allow them.
    fn continued(config: &Self::Config, rounds: u32) -> Option<Self::Config>;

    /// Tells the state that the debate goes on with more rounds, and what they are to deal with.
    fn reopen(state: &mut Self::State, config: &Self::Config, focus: Option<&Prose<String>>);

    /// Returns the rules with one thing changed, for a fork (rule K14).
    ///
    /// # Errors
    /// Why this debate, or the format, cannot be changed so.
    fn changed(config: &Self::Config, change: &Change) -> Result<Self::Config, String>;

    /// Takes back what was concluded from a prefix without asking anybody, now that a fork goes on from it.
    fn forked(state: &mut Self::State);

    /// Returns the prose of an `Opened` event for display, where it is still there.
    fn title(brief: &Prose<Self::Brief>) -> Option<String>;
}

/// Something that follows from the state alone.
#[derive(Debug, Clone, PartialEq)]
pub enum Step<Fact> {
    /// A phase or round begins.
    OpenPhase {
        /// Its name.
        phase: &'static str,
        /// Its number, from 1.
        round: u32,
    },
    /// A phase or round ends.
    ClosePhase {
        /// Its name.
        phase: &'static str,
        /// Its number, from 1.
        round: u32,
    },
    /// Facts that the format derives.
    Record(Vec<Fact>),
    /// A standing answer breaks rules and is to be asked for again.
    Reject {
        /// The question and the revision that is rejected.
        want: Want,
        /// The rules it breaks.
        rules: Vec<String>,
        /// The reason, as shown to the role that is asked again.
        reason: String,
    },
    /// A rule of the format ends the debate, or would.
    Stop(StopRuleFired),
    /// The outcome can be computed.
    Conclude,
}
