//! What a fork's change makes of the rules of a roundtable (rule K14).

use super::call::Kind;
use super::config::{AGENTS_MIN, Config, LIGHT};
use crate::fork::{Change, leave_out};

impl Config {
    /// Returns the rules with one thing changed.
    pub(super) fn changed(&self, change: &Change) -> Result<Self, String> {
        let mut config = self.clone();
        match change {
            Change::Nothing => {}
            Change::Model { choice, model } => {
                let is_agent = |name: &str| self.agents.iter().any(|agent| agent.name.as_str() == name);
                let kinds = [Kind::Respond.as_str(), Kind::Repoll.as_str(), LIGHT];
                config.models = self.models.with(choice, model, &kinds, is_agent)?;
            }
            Change::Without(left) => {
                let named = ("agent", "take part");
                leave_out(&mut config.agents, left, |agent| &agent.name, AGENTS_MIN, named)?;
            }
            Change::JudgeOrder(_) => return Err("a roundtable has no judge".to_owned()),
            Change::Pooling(_) => return Err("a roundtable pools nothing".to_owned()),
        }
        Ok(config)
    }
}
