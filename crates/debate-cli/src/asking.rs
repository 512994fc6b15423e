//! How long a debate that is started here may take, how much its models think, and how much its prompts show (rules K22,
//! P15, P23).

use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use debate_core::call;
use debate_core::formats::accept::AcceptedRequest;
use debate_core::formats::prediction::config::Preset;
use debate_core::limits::NO_DEADLINE_MS;
use debate_core::request::sizes::DEADLINE_MS;
use debate_prompts::prediction;

use crate::args::Options;
use crate::exit::Failure;
use crate::time_span;

/// What the command line says of a debate that it starts.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Asking {
    /// Time for the whole debate, such as 30m, or none; wins over the request, and without either there is no deadline.
    /// Only the time counts in which the debate is driven
    #[arg(long, value_name = "TIME")]
    deadline: Option<Deadline>,

    /// How much models think; wins over the request's own default. Left to the provider unless set
    #[arg(long, value_name = "EFFORT", value_enum, hide_possible_values = false)]
    effort: Option<Effort>,

    /// How much the prompts of a prediction show; wins over the request. Standard where neither says it
    #[arg(long, value_name = "PRESET", value_enum, hide_possible_values = false)]
    preset: Option<PresetName>,
}

/// How much the prompts of a prediction show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PresetName {
    /// The least: up to 600 tokens for each argument
    Contract,
    /// Whole arguments: up to 6,000 tokens for each argument
    Standard,
    /// All that was said: up to 20,000 tokens for each argument
    Deep,
}

impl From<PresetName> for Preset {
    fn from(name: PresetName) -> Self {
        match name {
            PresetName::Contract => Self::Contract,
            PresetName::Standard => Self::Standard,
            PresetName::Deep => Self::Deep,
        }
    }
}

/// A deadline, or that there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deadline {
    None,
    After(Duration),
}

impl FromStr for Deadline {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "none" {
            return Ok(Self::None);
        }
        let span = time_span::read(text).map_err(|error| format!("{error}, or none"))?;
        let least = Duration::from_millis(*DEADLINE_MS.start());
        if span < least { Err(format!("write at least {least:?}")) } else { Ok(Self::After(span)) }
    }
}

/// How much a model thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Effort {
    /// Not at all, or as little as the model allows
    None,
    /// A little
    Low,
    /// Some
    Medium,
    /// A lot
    High,
}

impl From<Effort> for call::Effort {
    fn from(effort: Effort) -> Self {
        match effort {
            Effort::None => Self::None,
            Effort::Low => Self::Low,
            Effort::Medium => Self::Medium,
            Effort::High => Self::High,
        }
    }
}

impl Asking {
    /// Applies it to a request.
    ///
    /// # Errors
    /// A call may take longer than the debate, or the preset is too small for the request.
    pub(crate) fn apply(self, request: &mut AcceptedRequest, options: &Options) -> anyhow::Result<()> {
        if let Some(effort) = self.effort {
            request.models_mut().effort.default = Some(effort.into());
        }
        if let AcceptedRequest::Prediction(accepted) = request {
            let is_open = accepted.config.preset.is_none() && accepted.config.input_tokens.is_empty();
            if let Some(preset) = self.preset.map(Preset::from).or(is_open.then_some(Preset::Standard)) {
                accepted.take_preset(preset);
                prediction::admit(accepted).map_err(|refused| Failure::bad_input(refused.to_string()))?;
            }
        }
        let says_deadline = request.says_deadline();
        let limits = request.limits_mut();
        limits.driven_time = true;
        match self.deadline {
            Some(Deadline::After(span)) => {
                limits.set_deadline(u64::try_from(span.as_millis()).unwrap_or(NO_DEADLINE_MS));
            }
            None if says_deadline => {}
            Some(Deadline::None) | None => limits.set_deadline(NO_DEADLINE_MS),
        }
        let deadline = Duration::from_millis(limits.deadline_ms);
        match options.call_time_set().find(|(_, timeout)| *timeout > deadline) {
            Some((flag, timeout)) => Err(Failure::bad_input(format!(
                "{flag} {timeout:?} is longer than the debate's deadline of {deadline:?}; \
                 lower it, or raise --deadline"
            ))),
            None => Ok(()),
        }
    }
}
