//! How the process ends: its exit codes, and which error means which.

use std::fmt;
use std::io;
use std::process::ExitCode;

use debate_core::command::DecideError;
use debate_core::policy::proposal_log::AcceptError;
use debate_core::request::Violations;
use debate_engine::{
    ControlError, FolderError, ForkError, LoadError, PolicyError, RedactionError, SentPromptError,
    StartError, WatchError,
};
use debate_llm::ConfigError;
use debate_store::{ArchiveError, ConnectError, OpenError, ReadError};

use crate::plain;

/// What an entry of a list of faults begins with.
const ENTRY: &str = "\n  ";

/// The exit codes, as `--help` lists them.
pub(crate) const CODES: &str = "\
Exit codes:
  0    done
  1    the debate is void, or something failed that no other code names
  2    bad input: a request, file or option that cannot be used
  3    there is no such debate
  4    a check failed: verify, checkpoint, import or golden found a fault, or bench scenarios a reason to roll back
  5    the store or the model cannot be used
  130  interrupted";

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// All went well.
    Done,
    /// The debate is void.
    Failed,
    /// A request, file or option cannot be used.
    BadInput,
    /// There is no such debate.
    NotFound,
    /// A check found a fault.
    Fault,
    /// The store or the model cannot be used.
    Unavailable,
    /// Somebody pressed Ctrl-C.
    Interrupted,
}

impl End {
    /// Returns the number that the shell sees.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::BadInput => 2,
            Self::NotFound => 3,
            Self::Fault => 4,
            Self::Unavailable => 5,
            Self::Interrupted => 130,
        }
    }
}

impl From<End> for ExitCode {
    fn from(end: End) -> Self {
        Self::from(end.code())
    }
}

/// An error that says itself how the process ends.
#[derive(Debug)]
pub(crate) struct Failure {
    /// How.
    pub(crate) end: End,
    /// What a person reads.
    pub(crate) text: String,
}

impl Failure {
    /// Builds the error of input that cannot be used.
    pub(crate) fn bad_input(text: impl Into<String>) -> anyhow::Error {
        Self { end: End::BadInput, text: text.into() }.into()
    }

    /// Builds the error of a debate that is not there.
    pub(crate) fn not_found(text: impl Into<String>) -> anyhow::Error {
        Self { end: End::NotFound, text: text.into() }.into()
    }

    /// Builds the error of something that is not what was signed or written.
    pub(crate) fn fault(text: impl Into<String>) -> anyhow::Error {
        Self { end: End::Fault, text: text.into() }.into()
    }

    /// Builds the error of a store or model that cannot be used.
    pub(crate) fn unavailable(text: impl Into<String>) -> anyhow::Error {
        Self { end: End::Unavailable, text: text.into() }.into()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}

/// Returns how the process ends after an error; the outermost cause that is known decides.
pub(crate) fn end_of(error: &anyhow::Error) -> End {
    error.chain().find_map(known).unwrap_or(End::Failed)
}

fn known(error: &(dyn std::error::Error + 'static)) -> Option<End> {
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return Some(failure.end);
    }
    if let Some(error) = error.downcast_ref::<io::Error>() {
        // The reader of our output, such as `head`, has read enough.
        return (error.kind() == io::ErrorKind::BrokenPipe).then_some(End::Done);
    }
    if error.is::<Violations>() {
        return Some(End::BadInput);
    }
    let is_unavailable = error.is::<OpenError>()
        || error.is::<ConnectError>()
        || error.is::<ReadError>()
        || error.is::<ConfigError>();
    if is_unavailable {
        return Some(End::Unavailable);
    }
    if let Some(error) = error.downcast_ref::<LoadError>() {
        return Some(match error {
            LoadError::NotFound(_) | LoadError::Archived { .. } => End::NotFound,
            LoadError::Read(_) => End::Unavailable,
            LoadError::Format { .. }
            | LoadError::Parent { .. }
            | LoadError::TooDeep(_)
            | LoadError::Decode { .. }
            | LoadError::Replay { .. } => End::Failed,
        });
    }
    if let Some(error) = error.downcast_ref::<ForkError>() {
        return of_fork(error);
    }
    if let Some(error) = error.downcast_ref::<WatchError>() {
        return Some(match error {
            WatchError::NotFound(_) | WatchError::Archived { .. } => End::NotFound,
            WatchError::BeyondHead { .. } => End::BadInput,
            WatchError::Read(_) => End::Unavailable,
        });
    }
    if let Some(error) = error.downcast_ref::<ControlError>() {
        return of_control(error);
    }
    if let Some(error) = error.downcast_ref::<RedactionError>() {
        return match error {
            RedactionError::Load(LoadError::NotFound(_) | LoadError::Archived { .. }) => Some(End::NotFound),
            RedactionError::Load(_) | RedactionError::Record(_) | RedactionError::Delete(_) => None,
            RedactionError::Refused(_) | RedactionError::NoProse(_) => Some(End::BadInput),
        };
    }
    if let Some(SentPromptError::NoRequest { .. }) = error.downcast_ref::<SentPromptError>() {
        return Some(End::BadInput);
    }
    if error.is::<FolderError>() {
        return Some(End::BadInput);
    }
    if let Some(error) = error.downcast_ref::<PolicyError>() {
        return of_policy(error);
    }
    if let Some(error) = error.downcast_ref::<ArchiveError>() {
        return Some(of_archive(error));
    }
    if let Some(StartError::Store(_) | StartError::Leases(_)) = error.downcast_ref::<StartError>() {
        return Some(End::Unavailable);
    }
    None
}

fn of_control(error: &ControlError) -> Option<End> {
    match error {
        ControlError::Load(LoadError::NotFound(_) | LoadError::Archived { .. }) => Some(End::NotFound),
        ControlError::Refused(
            DecideError::UnknownOutcome(_)
            | DecideError::StillToCome(_)
            | DecideError::Market { .. }
            | DecideError::NotVoid
            | DecideError::NotContinuable(_)
            | DecideError::NotFocusable,
        )
        | ControlError::Unoffered(_) => Some(End::BadInput),
        ControlError::Load(_)
        | ControlError::Refused(_)
        | ControlError::Busy { .. }
        | ControlError::Record(_)
        | ControlError::Unsettled(_) => None,
    }
}

fn of_policy(error: &PolicyError) -> Option<End> {
    match error {
        PolicyError::Accept(AcceptError::NoProposal | AcceptError::NotFound(_) | AcceptError::NotMade(_)) => {
            Some(End::NotFound)
        }
        PolicyError::Accept(AcceptError::Accepted { .. })
        | PolicyError::Unwritten { .. }
        | PolicyError::TooFew { .. }
        | PolicyError::NotNeeded { .. }
        | PolicyError::Folder(_)
        | PolicyError::Prompt(_) => Some(End::BadInput),
        PolicyError::Read(_)
        | PolicyError::Append(_)
        | PolicyError::Model { .. }
        | PolicyError::Raced { .. } => Some(End::Unavailable),
        PolicyError::Load(_) | PolicyError::Log(_) => None,
    }
}

fn of_fork(error: &ForkError) -> Option<End> {
    match error {
        ForkError::Load(LoadError::NotFound(_) | LoadError::Archived { .. }) => Some(End::NotFound),
        ForkError::NoEvent { .. } | ForkError::Refused(_) | ForkError::Invalid(_) => Some(End::BadInput),
        ForkError::Load(LoadError::Read(_)) | ForkError::Store(_) | ForkError::Leases(_) => {
            Some(End::Unavailable)
        }
        ForkError::Load(_) | ForkError::Redacted(_) | ForkError::Busy { .. } | ForkError::ShutDown => None,
    }
}

fn of_archive(error: &ArchiveError) -> End {
    match error {
        ArchiveError::NotFound(_) => End::NotFound,
        ArchiveError::Moved { .. }
        | ArchiveError::Unfinished(_)
        | ArchiveError::Elsewhere { .. }
        | ArchiveError::NotArchived(_) => End::BadInput,
        ArchiveError::OtherEvents(_) | ArchiveError::Chain(_) => End::Fault,
        ArchiveError::Backend { .. } | ArchiveError::Closed => End::Unavailable,
    }
}

/// Returns an error with its causes on one line, nothing said twice, and safe for a terminal, for causes have words of
/// providers, servers and files. Lists of faults stay below it, indented.
pub(crate) fn one_line(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain() {
        let text = cause.to_string();
        if line.contains(&text) {
            continue;
        }
        if !line.is_empty() {
            line.push_str(": ");
        }
        line.push_str(&text);
    }
    line.split(ENTRY).map(plain::one_line).collect::<Vec<_>>().join(ENTRY)
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;
    use debate_core::id::DebateId;
    use debate_llm::Provider;

    use super::*;

    #[test]
    fn the_known_cause_decides_how_the_process_ends() {
        let unknown: DebateId = "00000000-0000-4000-8000-000000000000".parse().unwrap();
        let pipe = io::Error::from(io::ErrorKind::BrokenPipe);
        for (error, end) in [
            (anyhow::anyhow!("anything"), End::Failed),
            (Failure::bad_input("x"), End::BadInput),
            (anyhow::Error::new(LoadError::NotFound(unknown)), End::NotFound),
            (anyhow::Error::new(WatchError::NotFound(unknown)), End::NotFound),
            (anyhow::Error::new(ConfigError::MissingKey { provider: Provider::Gemini }), End::Unavailable),
            (anyhow::Error::new(pipe), End::Done),
        ] {
            let wrapped = Err::<(), _>(error).context("cannot go on").unwrap_err();
            assert_eq!(end_of(&wrapped), end, "{wrapped:#}");
        }
    }

    #[test]
    fn causes_stand_on_one_line_and_nothing_is_said_twice() {
        let error = Err::<(), _>(Failure::bad_input("it is empty")).context("cannot read x").unwrap_err();
        assert_eq!(one_line(&error), "cannot read x: it is empty");
        let error = Err::<(), _>(anyhow::anyhow!("gone")).context("gone").unwrap_err();
        assert_eq!(one_line(&error), "gone");
        let error = Failure::bad_input("x cannot be debated:\n  topic: is missing\n  rounds: is missing");
        assert_eq!(one_line(&error), error.to_string(), "lists of faults stay lists");
    }

    #[test]
    fn k13_words_in_an_error_begin_no_line_and_steer_no_terminal() {
        let odd = "a\nerror: b\r\n\tc\x1b[2J\u{9b}31m\u{202e}d\n  \ne";
        for error in [anyhow::anyhow!(odd), Failure::fault(odd), anyhow::anyhow!(odd).context("cannot go on")]
        {
            let line = one_line(&error);
            assert!(line.ends_with("a error: b c\u{fffd}[2J\u{fffd}31m\u{fffd}d\n  e"), "{line:?}");
        }
    }
}
