//! What a fork's change makes of the rules of a roundtable (rule K14).

use super::call::Kind;
use super::config::{AGENTS_MIN, Config, LIGHT};
use crate::fork::Change;

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
                config.agents.retain(|agent| agent.name != *left);
                if config.agents.len() == self.agents.len() {
                    return Err(format!("{left} is no agent of this debate"));
                }
                if config.agents.len() < AGENTS_MIN {
                    return Err(format!("without {left} fewer than {AGENTS_MIN} would take part"));
                }
            }
            Change::JudgeOrder(_) => return Err("a roundtable has no judge".to_owned()),
            Change::Pooling(_) => return Err("a roundtable pools nothing".to_owned()),
        }
        Ok(config)
    }
}
