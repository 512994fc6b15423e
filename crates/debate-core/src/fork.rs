//! Forks (rule K14): a debate that goes on from another's prefix with one thing changed. What a change makes of the
//! rules is for the format to say; what it makes void follows from what calls were shown.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::debate::Debate;
use crate::event::{Event, Forked, KernelEvent, Recorded};
use crate::format::Format;
use crate::id::{Role, Seq, Timestamp};
use crate::measures::pooling::Pooling;
use crate::spend::Spend;

/// How many forks may lie between a debate and one that is no fork.
pub const DEPTH_MAX: usize = 16;

/// What a fork changes; written `field=value`, and `nothing` where it changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Nothing: the debate goes on from there as it was.
    Nothing,
    /// What is asked from there on is put to another model.
    Model {
        /// Which choice of model: `PURPOSE` or `roles.ROLE`, as in `options.models`; all of them where it is empty.
        choice: String,
        /// The model, by the name under which it is recorded.
        model: String,
    },
    /// A role takes no part, and never did.
    Without(Role),
    /// The judge sees arguments in another order (rule P19).
    JudgeOrder(JudgeOrder),
    /// Roles are pooled another way (rule P18).
    Pooling(Pooling),
}

/// The order in which a judge sees arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JudgeOrder {
    /// The one before, from its end.
    Reversed,
    /// The one drawn from a seed.
    Drawn(u64),
}

/// A text is not a change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no change; write {}", CHANGES.join(", "))]
pub struct ChangeError {
    text: String,
}

/// How changes are written.
const CHANGES: [&str; 5] = [
    "model=NAME or model.CHOICE=NAME",
    "without=ROLE",
    "judge_order=SEED or judge_order=reversed",
    "pooling=linear, log_odds, extremised or trimmed",
    "nothing",
];

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Model { choice, model } if choice.is_empty() => write!(f, "model={model}"),
            Self::Model { choice, model } => write!(f, "model.{choice}={model}"),
            Self::Without(role) => write!(f, "without={role}"),
            Self::JudgeOrder(JudgeOrder::Reversed) => f.write_str("judge_order=reversed"),
            Self::JudgeOrder(JudgeOrder::Drawn(seed)) => write!(f, "judge_order={seed}"),
            Self::Pooling(pooling) => write!(f, "pooling={}", pooling.as_str()),
        }
    }
}

impl FromStr for Change {
    type Err = ChangeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ChangeError { text: text.to_owned() };
        if text == "nothing" {
            return Ok(Self::Nothing);
        }
        let (field, value) = text.split_once('=').filter(|(_, value)| !value.is_empty()).ok_or_else(error)?;
        match field {
            "model" => Ok(Self::Model { choice: String::new(), model: value.to_owned() }),
            "without" => Ok(Self::Without(Role::from(value))),
            "judge_order" if value == "reversed" => Ok(Self::JudgeOrder(JudgeOrder::Reversed)),
            "judge_order" => {
                let seed = value.parse().map_err(|_| error())?;
                Ok(Self::JudgeOrder(JudgeOrder::Drawn(seed)))
            }
            "pooling" => Pooling::named(value).map(Self::Pooling).ok_or_else(error),
            _ => {
                let choice = field.strip_prefix("model.").filter(|choice| !choice.is_empty());
                let choice = choice.ok_or_else(error)?.to_owned();
                Ok(Self::Model { choice, model: value.to_owned() })
            }
        }
    }
}

/// Takes a member out of those who take part; `kind` says what members are called, `verb` what they would do.
///
/// # Errors
/// It is none of them, or too few are left.
pub(crate) fn leave_out<T>(
    members: &mut Vec<T>,
    left: &Role,
    name: impl Fn(&T) -> &Role,
    members_min: usize,
    (kind, verb): (&str, &str),
) -> Result<(), String> {
    let before = members.len();
    members.retain(|member| name(member) != left);
    if members.len() == before {
        return Err(format!("{left} is no {kind} of this debate"));
    }
    if members.len() < members_min {
        return Err(format!("without {left} fewer than {members_min} would {verb}"));
    }
    Ok(())
}

/// Returns where a log can be forked that is to be forked at `at`: there, or behind the facts of the answer that this
/// would part from what it came to.
#[must_use]
pub fn whole<F: Format>(log: &[Recorded<F>], at: Seq) -> Seq {
    let belongs =
        |event: &Event<F>| matches!(event, Event::Fact(_) | Event::Kernel(KernelEvent::AttemptAbandoned(_)));
    let answers = |event: &Event<F>| matches!(event, Event::Kernel(KernelEvent::CallAnswered(_)));
    let split = log.partition_point(|recorded| recorded.seq <= at);
    let (before, after) = log.split_at(split);
    let last = before.iter().rev().find(|recorded| !belongs(&recorded.event));
    if !last.is_some_and(|recorded| answers(&recorded.event)) {
        return at;
    }
    let rest = after.iter().take_while(|recorded| belongs(&recorded.event));
    rest.last().map_or(at, |recorded| recorded.seq)
}

impl<F: Format> Debate<F> {
    /// Returns what this debate was forked from, and how.
    #[must_use]
    pub fn forked(&self) -> Option<&Forked> {
        self.lineage.last()
    }

    /// Goes on as another debate, with one thing changed.
    pub(crate) fn apply_forked(&mut self, at: Timestamp, forked: &Forked) -> Result<(), String> {
        let (parent, head) = (self.id, self.head);
        if (forked.parent, forked.at) != (parent, head) {
            let (other, place) = (forked.parent, forked.at);
            return Err(format!(
                "it goes on from event {place} of {other}, this is event {head} of {parent}"
            ));
        }
        if self.lineage.len() >= DEPTH_MAX {
            return Err(format!("it is more than {DEPTH_MAX} forks deep"));
        }
        let id = forked.debate.ok_or("it does not say which debate it opens")?;
        let change: Change = forked.change.parse().map_err(|error: ChangeError| error.to_string())?;
        let config = F::changed(&self.config, &change)?;
        for (key, call) in &mut self.calls {
            let others_answer = F::models(&self.config, key) != F::models(&config, key);
            Arc::make_mut(call).fork(others_answer);
        }
        self.go_on();
        self.id = id;
        self.head = Seq::START;
        self.config = Arc::new(config);
        self.limits = forked.limits.unwrap_or(self.limits);
        if forked.models.is_some() {
            self.bound.clone_from(&forked.models);
            self.replacement = None;
        }
        self.opened_at = at;
        self.deadline_at = at.plus_ms(self.limits.deadline_ms);
        self.spend = Spend::NONE;
        self.unpriced_models.clear();
        self.conclusion = None;
        // Its own events are numbered anew.
        self.inherits_redaction |= !std::mem::take(&mut self.redacted).is_empty();
        self.resolved = None;
        self.scored = None;
        self.lineage.push(forked.clone());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k14_a_change_is_read_as_it_is_written() {
        for text in [
            "nothing",
            "model=openai:gpt-5",
            "model.score=openai:library/llama3:8b",
            "model.roles.judge=simulated:latency=5ms",
            "without=optimist",
            "judge_order=reversed",
            "judge_order=7",
            "pooling=log_odds",
        ] {
            assert_eq!(text.parse::<Change>().unwrap().to_string(), text);
        }
        for text in ["", "model", "model=", "model.=x", "without=", "judge_order=x", "pooling=x", "rounds=3"]
        {
            assert!(text.parse::<Change>().is_err(), "{text}");
        }
    }
}
