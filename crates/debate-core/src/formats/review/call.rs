//! The questions that a review debate asks of each pair: four speeches, and the judge's passes (rules V3, V4).

use super::config::{Config, Pair, Speech};
use crate::call::CallKey;
use crate::id::Role;

/// One question of a review debate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// A reviewer speaks.
    Speak {
        /// The pair, from 1.
        pair: u32,
        /// What the reviewer does.
        speech: Speech,
        /// Who speaks.
        role: Role,
    },
    /// The judge looks at a pair.
    Judge {
        /// The pair, from 1.
        pair: u32,
        /// Which of the judge's passes, from 1.
        pass: u32,
    },
}

/// The kind of the judge's question, and the role under which it is asked.
pub const JUDGE: &str = "judge";

impl Call {
    /// The kinds of question, as keys spell them.
    pub const KINDS: [&'static str; 3] = [Speech::Argue.as_str(), Speech::Rebut.as_str(), JUDGE];

    /// Returns the kernel's key of this question.
    #[must_use]
    pub fn key(&self) -> CallKey {
        match self {
            Self::Speak { pair, speech, role } => CallKey::new(speech.as_str(), *pair, role.clone()),
            Self::Judge { pair, pass } => CallKey { pass: *pass, ..CallKey::new(JUDGE, *pair, JUDGE.into()) },
        }
    }

    /// Reads a kernel key; `None` when it is not of this format.
    #[must_use]
    pub fn of(key: &CallKey) -> Option<Self> {
        let pair = key.round;
        let speak = |speech| Self::Speak { pair, speech, role: key.role.clone() };
        match &*key.kind {
            kind if kind == Speech::Argue.as_str() => Some(speak(Speech::Argue)),
            kind if kind == Speech::Rebut.as_str() => Some(speak(Speech::Rebut)),
            JUDGE => Some(Self::Judge { pair, pass: key.pass }),
            _ => None,
        }
    }
}

/// Returns the key of a speech.
pub(super) fn speak(pair: u32, speech: Speech, role: &Role) -> CallKey {
    Call::Speak { pair, speech, role: role.clone() }.key()
}

/// Returns the key of a pass of the judge.
pub(super) fn judge(pair: u32, pass: u32) -> CallKey {
    Call::Judge { pair, pass }.key()
}

/// Returns the keys of a pair's speeches, in the order in which they are made.
pub(super) fn speeches(number: u32, pair: &Pair) -> impl Iterator<Item = CallKey> {
    Speech::ORDER.into_iter().map(move |(speech, side)| speak(number, speech, pair.role(side)))
}

/// Returns the keys of the judge's passes over a pair, in order.
pub(super) fn passes(config: &Config, number: u32) -> impl Iterator<Item = CallKey> + use<> {
    (1..=config.judge_passes).map(move |pass| judge(number, pass))
}
