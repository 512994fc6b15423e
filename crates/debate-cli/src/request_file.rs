//! A request as it lies in a file, or comes on stdin.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use debate_core::format::Format as _;
use debate_core::formats::accept::{AcceptedRequest, accept_bytes_as};
use debate_core::formats::prediction::Prediction;
use debate_core::request::Violations;
use debate_core::request::sizes::REQUEST_BYTES_MAX;

use crate::admission::admit;
use crate::exit::Failure;
use crate::flags;
use crate::plain::one_line;

/// Where a request is; `-` is stdin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestFile<'a>(pub(crate) &'a Path);

impl RequestFile<'_> {
    /// Reads the request and admits it; what is left out of it is said on stderr.
    ///
    /// # Errors
    /// It cannot be read, or not be debated; every violation is named.
    pub(crate) fn read(
        self,
        skills_dir: Option<&Path>,
        offered: &[String],
    ) -> anyhow::Result<AcceptedRequest> {
        self.read_as(Prediction::NAME, skills_dir, offered)
    }

    /// Reads and admits a request that is of the format `unnamed` where it names none.
    ///
    /// # Errors
    /// As [`RequestFile::read`].
    pub(crate) fn read_as(
        self,
        unnamed: &str,
        skills_dir: Option<&Path>,
        offered: &[String],
    ) -> anyhow::Result<AcceptedRequest> {
        let refused = |violations: Violations| self.refused(&violations);
        let mut request = accept_bytes_as(unnamed, &self.bytes()?).map_err(refused)?;
        let flags = flags::of_environment().map_err(refused)?;
        for left_out in admit(&mut request, skills_dir, &flags, offered).map_err(refused)? {
            writeln!(io::stderr(), "warning: {}", one_line(&left_out))?;
        }
        Ok(request)
    }

    /// Builds the error of a request that cannot be debated.
    pub(crate) fn refused(self, violations: &Violations) -> anyhow::Error {
        let lines = violations.0.iter().map(|found| format!("\n  {}", one_line(&found.to_string())));
        Failure::bad_input(format!("{} cannot be debated:{}", self.name(), lines.collect::<String>()))
    }

    fn name(self) -> String {
        if self.is_stdin() { "stdin".to_owned() } else { self.0.display().to_string() }
    }

    fn is_stdin(self) -> bool {
        self.0 == Path::new("-")
    }

    fn bytes(self) -> anyhow::Result<Vec<u8>> {
        let name = self.name();
        let mut bytes = Vec::new();
        // One byte more than is allowed, so that too long a request is refused as such and not cut.
        let most = REQUEST_BYTES_MAX as u64 + 1;
        let read = if self.is_stdin() {
            io::stdin().lock().take(most).read_to_end(&mut bytes)
        } else {
            File::open(self.0).and_then(|file| file.take(most).read_to_end(&mut bytes))
        };
        read.map_err(|error| Failure::bad_input(format!("cannot read {name}: {error}")))?;
        if bytes.len() > REQUEST_BYTES_MAX {
            let text =
                format!("{name} cannot be debated:\n  request: has more than {REQUEST_BYTES_MAX} bytes");
            return Err(Failure::bad_input(text));
        }
        Ok(bytes)
    }
}
