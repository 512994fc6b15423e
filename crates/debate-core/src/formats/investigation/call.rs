//! The questions that an investigation asks (rules I1, I7).

use crate::call::CallKey;
use crate::id::Role;

use super::answer::Act;
use super::config::{DEVILS_ADVOCATE, LEAD, SYNTHESIZER};

/// The kinds of question, as requests name them in `options.models`.
pub const KINDS: [&str; 7] = ["propose", "report", "challenge", "respond", "status", "verdict", "convey"];

/// One question of an investigation; rounds count from 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// The lead sets up hypotheses.
    Propose,
    /// An investigator reports on its hypothesis.
    Report {
        /// The round.
        round: u32,
        /// Who.
        investigator: Role,
    },
    /// The devil's advocate challenges what was reported.
    Challenge {
        /// The round.
        round: u32,
    },
    /// An investigator answers the challenges that are open.
    Respond {
        /// The round.
        round: u32,
        /// Who.
        investigator: Role,
    },
    /// The synthesizer says where things stand.
    Status {
        /// The round.
        round: u32,
    },
    /// The synthesizer rules.
    Verdict {
        /// The last round.
        round: u32,
    },
    /// The lead conveys the conclusion.
    Convey {
        /// The last round.
        round: u32,
    },
}

impl Call {
    /// Returns the kernel's key of this question.
    #[must_use]
    pub fn key(&self) -> CallKey {
        let (kind, round, role) = match self {
            Self::Propose => ("propose", 1, LEAD.into()),
            Self::Report { round, investigator } => ("report", *round, investigator.clone()),
            Self::Challenge { round } => ("challenge", *round, DEVILS_ADVOCATE.into()),
            Self::Respond { round, investigator } => ("respond", *round, investigator.clone()),
            Self::Status { round } => ("status", *round, SYNTHESIZER.into()),
            Self::Verdict { round } => ("verdict", *round, SYNTHESIZER.into()),
            Self::Convey { round } => ("convey", *round, LEAD.into()),
        };
        CallKey::new(kind, round, role)
    }

    /// Reads a kernel key; `None` when it is not of this format.
    #[must_use]
    pub fn of(key: &CallKey) -> Option<Self> {
        let (round, investigator) = (key.round, key.role.clone());
        match &*key.kind {
            "propose" => Some(Self::Propose),
            "report" => Some(Self::Report { round, investigator }),
            "challenge" => Some(Self::Challenge { round }),
            "respond" => Some(Self::Respond { round, investigator }),
            "status" => Some(Self::Status { round }),
            "verdict" => Some(Self::Verdict { round }),
            "convey" => Some(Self::Convey { round }),
            _ => None,
        }
    }

    /// Returns whether the role that answers this question may do something at all (rule I1).
    #[must_use]
    pub fn allows(&self, act: Act) -> bool {
        match self {
            Self::Propose | Self::Convey { .. } => matches!(act, Act::Propose | Act::Convey),
            Self::Report { .. } | Self::Respond { .. } => act == Act::Investigate,
            Self::Challenge { .. } => act == Act::Challenge,
            Self::Status { .. } | Self::Verdict { .. } => matches!(act, Act::Assess | Act::Judge),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_is_read_from_its_key() {
        let ann = Role::from("ann");
        let calls = [
            Call::Propose,
            Call::Report { round: 2, investigator: ann.clone() },
            Call::Challenge { round: 2 },
            Call::Respond { round: 2, investigator: ann },
            Call::Status { round: 2 },
            Call::Verdict { round: 3 },
            Call::Convey { round: 3 },
        ];
        for (call, kind) in calls.into_iter().zip(KINDS) {
            let key: CallKey = call.key().to_string().parse().unwrap();
            assert_eq!((&*key.kind, Call::of(&key)), (kind, Some(call)));
        }
    }

    #[test]
    fn i1_each_role_may_do_what_the_protocol_allows_it_and_nothing_else() {
        let round = 1;
        let investigator = Role::from("ann");
        let table = [
            (Call::Report { round, investigator: investigator.clone() }, vec![Act::Investigate]),
            (Call::Respond { round, investigator }, vec![Act::Investigate]),
            (Call::Challenge { round }, vec![Act::Challenge]),
            (Call::Status { round }, vec![Act::Assess, Act::Judge]),
            (Call::Verdict { round }, vec![Act::Assess, Act::Judge]),
            (Call::Propose, vec![Act::Propose, Act::Convey]),
            (Call::Convey { round }, vec![Act::Propose, Act::Convey]),
        ];
        for (call, allowed) in table {
            let found: Vec<Act> = Act::ALL.into_iter().filter(|act| call.allows(*act)).collect();
            assert_eq!(found, allowed, "{call:?}");
        }
    }
}
