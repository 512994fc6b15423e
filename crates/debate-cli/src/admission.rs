//! The last word on a valid request before it is opened: what it names is loaded, and it must fit its prompts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use debate_core::formats::accept::AcceptedRequest;
use debate_core::formats::deliberation;
use debate_core::formats::roundtable::flags::Flags;
use debate_core::request::Violations;
use debate_grpc::Admission;
use debate_prompts::prediction;

use crate::args::Options;
use crate::exit::Failure;
use crate::{flags, search, skills, workspace};

/// Returns what admits the requests of a server, with the flags that the environment has now.
///
/// # Errors
/// A flag of the environment cannot be used (rule T9).
pub(crate) fn admission(options: &Options, skills_dir: Option<PathBuf>) -> anyhow::Result<Admission> {
    let (offered, options) = (options.offered(), options.clone());
    let flags = flags::of_environment().map_err(|refused| Failure::bad_input(refused.to_string()))?;
    Ok(Arc::new(move |request: &mut AcceptedRequest| {
        for left_out in admit(request, skills_dir.as_deref(), &flags, &offered)? {
            tracing::warn!("{left_out}");
        }
        workspace::admit(request, options.workspace.as_deref());
        if let Some(left_out) = search::admit(request, &options) {
            tracing::warn!("{left_out}");
        }
        Ok(())
    }))
}

/// Admits a request from any client. Returns what was left out of it, one line each. `offered` are the models that it
/// may name.
///
/// # Errors
/// A prompt would be over its token budget even at its smallest (rule P15), or flags contradict each other (rule T9).
pub(crate) fn admit(
    request: &mut AcceptedRequest,
    skills_dir: Option<&Path>,
    flags: &Flags,
    offered: &[String],
) -> Result<Vec<String>, Violations> {
    match request {
        AcceptedRequest::Prediction(accepted) => {
            prediction::admit(accepted)?;
            Ok(Vec::new())
        }
        AcceptedRequest::Deliberation(accepted) => {
            // What cannot be loaded is left out, and the log says so (rule D8).
            let (loaded, problems) = skills::load(skills_dir, &accepted.config.skills_wanted());
            deliberation::skills::admit(&mut accepted.config, &mut accepted.brief, loaded);
            Ok(problems)
        }
        AcceptedRequest::Roundtable(accepted) => {
            let config = &mut accepted.config;
            config.flags = config.flags.admitted(flags, config.mode)?;
            Ok(Vec::new())
        }
        AcceptedRequest::Review(accepted) => {
            accepted.config.prefer_default_models(|name| offered.iter().any(|offered| offered == name));
            Ok(Vec::new())
        }
        AcceptedRequest::Investigation(_) => Ok(Vec::new()),
    }
}
