//! What a fork's change makes of the rules of a review debate (rule K14).

use super::call::Call;
use super::config::Config;
use crate::fork::{Change, JudgeOrder};

impl Config {
    /// Returns the rules with one thing changed.
    pub(super) fn changed(&self, change: &Change) -> Result<Self, String> {
        let mut config = self.clone();
        match change {
            Change::Nothing => {}
            Change::Model { choice, model } => {
                let is_role = |name: &str| {
                    let roles = self.pairs.iter().flat_map(|pair| [&pair.role_a, &pair.role_b]);
                    roles.into_iter().any(|role| role.as_str() == name)
                };
                config.models = self.models.with(choice, model, &Call::KINDS, is_role)?;
            }
            Change::Without(left) => {
                return Err(format!("without {left} the other reviewer has no opponent"));
            }
            Change::JudgeOrder(JudgeOrder::Reversed) => config.judge_reversed = !self.judge_reversed,
            Change::JudgeOrder(JudgeOrder::Drawn(seed)) => {
                (config.seed, config.judge_reversed) = (*seed, false);
            }
            Change::Pooling(_) => return Err("a review pools nothing".to_owned()),
        }
        Ok(config)
    }
}
