//! What a fork's change makes of the rules of an investigation (rule K14).

use super::call::KINDS;
use super::config::{Config, HYPOTHESES_MIN};
use crate::fork::{Change, leave_out};

impl Config {
    /// Returns the rules with one thing changed.
    pub(super) fn changed(&self, change: &Change) -> Result<Self, String> {
        let mut config = self.clone();
        match change {
            Change::Nothing => {}
            Change::Model { choice, model } => {
                config.models = self.models.with(choice, model, &KINDS, |name| self.has_role(name))?;
            }
            Change::Without(left) => {
                let named = ("investigator", "investigate");
                leave_out(&mut config.seats, left, |seat| &seat.investigator, HYPOTHESES_MIN, named)?;
            }
            Change::JudgeOrder(_) => return Err("an investigation has no judge".to_owned()),
            Change::Pooling(_) => return Err("an investigation pools nothing".to_owned()),
        }
        Ok(config)
    }
}
