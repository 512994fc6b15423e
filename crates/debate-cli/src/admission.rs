//! The last word on a valid request before it is opened: what it names is loaded, and it must fit its prompts.

use std::path::Path;

use debate_core::formats::accept::AcceptedRequest;
use debate_core::formats::deliberation;
use debate_core::request::{Violation, Violations};
use debate_prompts::prediction::check_fits;

use crate::skills;

/// Admits a request, whoever brings it; returns what was left out of it, one line each.
///
/// # Errors
/// A prompt would be over its token budget even at its smallest (rule P15).
pub(crate) fn admit(
    request: &mut AcceptedRequest,
    skills_dir: Option<&Path>,
) -> Result<Vec<String>, Violations> {
    match request {
        AcceptedRequest::Prediction(accepted) => {
            check_fits(&accepted.config, &accepted.brief).map_err(|error| {
                let reason = error.to_string();
                Violation { field: "prediction_context".to_owned(), reason }
            })?;
            Ok(Vec::new())
        }
        AcceptedRequest::Deliberation(accepted) => {
            // What cannot be loaded is left out, and the log says so (rule D8).
            let (loaded, problems) = skills::load(skills_dir, &accepted.config.skills_wanted());
            deliberation::skills::admit(&mut accepted.config, &mut accepted.brief, loaded);
            Ok(problems)
        }
        AcceptedRequest::Investigation(_) => Ok(Vec::new()),
    }
}
