//! How one argument names another: `r1.optimist` is what the optimist said in round 1 (rule P11).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::bounds;
use crate::id::{Role, is_name};

/// Names one argument of a debate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PointId {
    /// The round, from 1.
    pub round: u32,
    /// Who spoke.
    pub role: Role,
}

impl PointId {
    /// Names what a role said in a round.
    #[must_use]
    pub fn new(round: u32, role: &Role) -> Self {
        Self { round, role: role.clone() }
    }
}

impl fmt::Display for PointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}.{}", self.round, self.role)
    }
}

/// A text does not name an argument.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a point such as r1.optimist")]
pub struct PointIdError(String);

impl FromStr for PointId {
    type Err = PointIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || PointIdError(text.to_owned());
        let (round, role) = text.trim().split_once('.').ok_or_else(error)?;
        let digits = round.strip_prefix(['r', 'R']).ok_or_else(error)?;
        if role.is_empty() {
            return Err(error());
        }
        Ok(Self { round: digits.parse().map_err(|_| error())?, role: role.into() })
    }
}

impl Serialize for PointId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PointId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let point: Self = text.parse().map_err(serde::de::Error::custom)?;
        if !is_name(point.role.as_str()) {
            return Err(serde::de::Error::custom(PointIdError(text.into_owned())));
        }
        bounds::counted(point.round).map(|_| point)
    }
}
