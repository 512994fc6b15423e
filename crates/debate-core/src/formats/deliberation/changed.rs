//! What a fork's change makes of the rules of a deliberation (rule K14).

use super::config::{Config, PARTICIPANTS_MIN, Phase};
use crate::fork::{Change, leave_out};

impl Config {
    /// Returns the rules with one thing changed.
    pub(super) fn changed(&self, change: &Change) -> Result<Self, String> {
        let mut config = self.clone();
        match change {
            Change::Nothing => {}
            Change::Model { choice, model } => {
                let speakers = self.participants.iter().chain(&self.orchestrator);
                let is_role = |name: &str| speakers.clone().any(|speaker| speaker.name.as_str() == name);
                let phases = Phase::ALL.map(Phase::as_str);
                config.models = self.models.with(choice, model, &phases, is_role)?;
            }
            Change::Without(left) => {
                let named = ("participant", "take part");
                leave_out(&mut config.participants, left, |speaker| &speaker.name, PARTICIPANTS_MIN, named)?;
            }
            Change::JudgeOrder(_) => return Err("a deliberation has no judge".to_owned()),
            Change::Pooling(_) => return Err("a deliberation pools nothing".to_owned()),
        }
        Ok(config)
    }
}
