//! The debates of a whole run: every format and mode, then two with a fault: roundtables, of which so small a model reads
//! nearly all calls, so that what is lost is lost to the fault.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// What happens to a debate while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// The model server is killed and comes back.
    Outage,
    /// The process that runs the debate is killed, and the debate is resumed.
    Interrupt,
}

/// One debate of the plan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Planned {
    /// Its name in reports and file names.
    pub(crate) name: &'static str,
    /// The request in `examples/`.
    example: &'static str,
    /// Fields of the request with another value; `null` leaves the field out.
    edits: &'static [(&'static str, Option<&'static str>)],
    pub(crate) fault: Fault,
}

const fn planned(name: &'static str, example: &'static str) -> Planned {
    Planned { name, example, edits: &[], fault: Fault::None }
}

/// Every format and mode once. The expert panel has no search endpoint, so its agents get no tools.
const PLAN: [Planned; 15] = [
    planned("prediction", "rates"),
    planned("deliberation strong", "deliberation"),
    Planned { edits: &[("mode", Some("weak"))], ..planned("deliberation weak", "deliberation") },
    planned("roundtable adversarial", "roundtable-adversarial"),
    planned("roundtable collaborative", "roundtable-collaborative"),
    planned("roundtable delphi", "roundtable-delphi"),
    planned("roundtable devils-advocate", "roundtable-devils-advocate"),
    Planned { edits: &[("tools", None)], ..planned("roundtable expert-panel", "roundtable-expert-panel") },
    planned("roundtable red-team-blue-team", "roundtable-red-team-blue-team"),
    planned("roundtable socratic", "roundtable-socratic"),
    planned("review", "review"),
    planned("investigation leap second", "leap_second"),
    planned("investigation 500 miles", "five_hundred_miles"),
    Planned { fault: Fault::Outage, ..planned("roundtable delphi, outage", "roundtable-delphi") },
    Planned { fault: Fault::Interrupt, ..planned("roundtable delphi, interrupt", "roundtable-delphi") },
];

/// The most tokens of an answer in formats whose own limits are made for large models.
const OUTPUT_TOKENS: u32 = 600;

/// Attempts at a call of a prediction.
const ATTEMPTS: u32 = 5;

/// The debates of a quick run.
const QUICK: [&str; 2] = ["prediction", "roundtable devils-advocate"];

/// Which debates of the plan are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Whole,
    Quick,
    /// The debates with this fault alone.
    Faulty(Fault),
}

impl Extent {
    /// Returns the debates, in the order in which they run.
    pub(crate) fn debates(self) -> Vec<Planned> {
        let takes = |planned: &Planned| match self {
            Self::Whole => true,
            Self::Quick => QUICK.contains(&planned.name),
            Self::Faulty(fault) => planned.fault == fault,
        };
        PLAN.into_iter().filter(takes).collect()
    }
}

impl Planned {
    /// Returns the name without spaces and punctuation, for files.
    pub(crate) fn slug(&self) -> String {
        self.name.split(|letter: char| !letter.is_alphanumeric()).filter(|part| !part.is_empty()).fold(
            String::new(),
            |slug, part| if slug.is_empty() { part.to_owned() } else { format!("{slug}-{part}") },
        )
    }

    /// Returns the kinds of call whose limits are made for large models: a small one goes on to the limit.
    fn long_kinds(&self) -> &'static [&'static str] {
        match self.name.split(' ').next().unwrap_or_default() {
            "deliberation" => &["initial", "rebuttal", "revised", "consensus"],
            "roundtable" => &["respond", "repoll"],
            "investigation" => &["propose", "report", "challenge", "respond", "status", "verdict", "convey"],
            _ => &[],
        }
    }

    /// Returns the request with this debate's edits, its deadline and its limits of output.
    ///
    /// # Errors
    ///
    /// When the example cannot be read.
    pub(crate) fn request(&self, root: &Path, deadline_ms: u64) -> Result<Value> {
        let path = root.join("examples").join(self.example).with_extension("json");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut request: Value =
            serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))?;
        let fields = request.as_object_mut().context("a request is a JSON object")?;
        for (field, value) in self.edits {
            match value {
                Some(value) => fields.insert((*field).to_owned(), json!(value)),
                None => fields.remove(*field),
            };
        }
        request["options"]["limits"]["deadline_ms"] = json!(deadline_ms);
        if self.name.starts_with("prediction") {
            // Small models have small windows.
            request["options"]["preset"] = json!("contract");
            // Half of the forecasts of so small a model are no probabilities.
            request["options"]["limits"]["attempts_max"] = json!(ATTEMPTS);
        }
        for kind in self.long_kinds() {
            request["options"]["output_tokens"][*kind] = json!(OUTPUT_TOKENS);
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_get_the_edits_and_the_deadline() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for planned in Extent::Whole.debates() {
            let request = planned.request(&root, 5_000).unwrap();
            assert_eq!(request["options"]["limits"]["deadline_ms"], 5_000, "{}", planned.name);
            assert!(request.get("tools").is_none(), "{}", planned.name);
        }
        let weak = PLAN.iter().find(|planned| planned.name == "deliberation weak").unwrap();
        assert_eq!(weak.request(&root, 1).unwrap()["mode"], "weak");
    }

    #[test]
    fn plan_names_give_distinct_files() {
        let mut slugs: Vec<_> = PLAN.iter().map(Planned::slug).collect();
        assert_eq!(slugs[13], "roundtable-delphi-outage");
        slugs.sort_unstable();
        slugs.dedup();
        assert_eq!(slugs.len(), PLAN.len());
    }

    #[test]
    fn quick_run_has_one_prediction_and_one_roundtable() {
        let names: Vec<_> = Extent::Quick.debates().iter().map(|planned| planned.name).collect();
        assert_eq!(names, QUICK);
    }
}
