//! What a fork's change makes of the rules of a prediction debate (rule K14).

use super::call::{Call, JUDGE};
use super::config::Config;
use super::plan::ROLES_MIN;
use crate::fork::{Change, JudgeOrder};

impl Config {
    /// Returns the rules with one thing changed.
    pub(super) fn changed(&self, change: &Change) -> Result<Self, String> {
        let mut config = self.clone();
        match change {
            Change::Nothing => {}
            Change::Model { choice, model } => {
                let is_role = |name: &str| self.roles.iter().any(|role| role.as_str() == name);
                config.models = self.models.with(choice, model, &Call::KINDS, is_role)?;
            }
            Change::Without(left) => {
                config.roles.retain(|role| role != left);
                if config.roles.len() == self.roles.len() {
                    return Err(format!("{left} is no role of this debate"));
                }
                let speakers = config.roles.iter().filter(|role| role.as_str() != JUDGE).count();
                if speakers < ROLES_MIN {
                    return Err(format!("without {left} fewer than {ROLES_MIN} roles would argue"));
                }
            }
            Change::JudgeOrder(JudgeOrder::Reversed) => config.judge_reversed = !self.judge_reversed,
            Change::JudgeOrder(JudgeOrder::Drawn(seed)) => {
                (config.seed, config.judge_reversed) = (*seed, false);
            }
            Change::Pooling(pooling) => config.pooling = *pooling,
        }
        Ok(config)
    }
}
