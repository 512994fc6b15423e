//! The calls of the default debate: five roles argue in three rounds, each argument is scored, and one synthesis.

use std::fmt;

/// Who speaks, in their order; the judge speaks last in the last round.
pub const ROLES: [&str; 5] = ["optimist", "pessimist", "contrarian", "historian", "judge"];

/// How many rounds there are.
pub const ROUNDS: usize = 3;

const ARGUMENTS: usize = ROLES.len() * ROUNDS;

/// How many calls a debate makes.
pub const CALLS: usize = 2 * ARGUMENTS + 1;

/// One call of a debate; shown as `argue r1.optimist`, `score r1.optimist`, `synthesise`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// A role argues in a round, both counted from 0.
    Argue(usize, usize),
    /// That argument is scored.
    Score(usize, usize),
    /// The end.
    Synthesise,
}

impl Call {
    /// Returns every call, by place.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..CALLS).map(Self::at)
    }

    /// Returns the call at a place below [`CALLS`].
    pub fn at(place: usize) -> Self {
        let (round, role) = (place % ARGUMENTS / ROLES.len(), place % ROLES.len());
        match place / ARGUMENTS {
            0 => Self::Argue(round, role),
            1 => Self::Score(round, role),
            _ => Self::Synthesise,
        }
    }

    /// Returns the place of the call.
    pub fn place(self) -> usize {
        match self {
            Self::Argue(round, role) => round * ROLES.len() + role,
            Self::Score(round, role) => ARGUMENTS + round * ROLES.len() + role,
            Self::Synthesise => 2 * ARGUMENTS,
        }
    }

    /// Returns the name of the argument that the call makes or scores, such as `r1.optimist`.
    pub fn argument(self) -> Option<String> {
        match self {
            Self::Argue(round, role) | Self::Score(round, role) => {
                Some(format!("r{}.{}", round + 1, ROLES[role]))
            }
            Self::Synthesise => None,
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let argument = self.argument().unwrap_or_default();
        match self {
            Self::Argue(..) => write!(f, "argue {argument}"),
            Self::Score(..) => write!(f, "score {argument}"),
            Self::Synthesise => f.write_str("synthesise"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_one_call() {
        for (place, call) in Call::all().enumerate() {
            assert_eq!(call.place(), place, "{call}");
        }
        assert_eq!(Call::all().count(), 31);
        assert_eq!(Call::at(29).to_string(), "score r3.judge");
        assert_eq!(Call::at(30), Call::Synthesise);
    }
}
