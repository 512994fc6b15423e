//! Errors that the page gets when something cannot be shown. Internal causes are logged here and never sent.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use debate_core::formats::any::AnyReplayError;
use debate_core::id::{DebateId, Seq};
use debate_engine::{LoadError, SentPromptError, WatchError};
use debate_store::{Position, ReadError};
use serde_json::json;

use crate::assets::guards;

/// Something that is not shown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// A part of the address or of what was asked for is wrong.
    #[error("{field}: {reason}")]
    Field {
        /// Which part.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no such debate.
    #[error("there is no debate {0}")]
    NotFound(DebateId),
    /// The debate was moved into an archive.
    #[error("debate {debate} is archived in {bundle}; it can be looked at once it is restored")]
    Archived {
        /// Which debate.
        debate: DebateId,
        /// The bundle's name.
        bundle: String,
    },
    /// The debate has no such event yet.
    #[error("debate {debate} is at event {head}; there is no event {asked}")]
    NoEvent {
        /// Which debate.
        debate: DebateId,
        /// The event asked for.
        asked: Seq,
        /// Where the debate is.
        head: Seq,
    },
    /// The stored log does not hold together.
    #[error(
        "the log of debate {0} does not hold together; its check says where, and its bundle has its events"
    )]
    Corrupt(DebateId),
    /// An event of the store cannot be read.
    #[error("the event at position {0} of the store cannot be read; the check of its log says why")]
    CorruptEvent(Position),
    /// The debate is of a format that this program does not know.
    #[error("format {0:?} is not known here")]
    Format(String),
    /// The store is not to be had just now.
    #[error("the store cannot be read just now; try again")]
    Unavailable,
    /// A defect of this program.
    #[error("something went wrong here; it is logged")]
    Defect,
}

impl Refused {
    /// Refuses a log that was read and does not fold.
    pub(crate) fn of_replay(debate: DebateId, error: &AnyReplayError) -> Self {
        tracing::error!(%debate, error = error as &dyn std::error::Error, "a log does not fold");
        Self::Corrupt(debate)
    }

    /// Refuses a prompt that cannot be looked for.
    pub(crate) fn of_prompt(debate: DebateId, error: SentPromptError) -> Self {
        match error {
            SentPromptError::NoRequest { .. } => Self::Field { field: "seq", reason: error.to_string() },
            SentPromptError::Format(format) => Self::Format(format),
            SentPromptError::Replay(error) => Self::of_replay(debate, &error),
        }
    }

    /// Refuses because of something that cannot happen.
    pub(crate) fn defect(error: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!(error, "a defect of this program");
        Self::Defect
    }

    const fn status(&self) -> StatusCode {
        match self {
            Self::Field { .. } => StatusCode::BAD_REQUEST,
            Self::NotFound(_) | Self::NoEvent { .. } => StatusCode::NOT_FOUND,
            Self::Archived { .. } => StatusCode::GONE,
            Self::Corrupt(_) | Self::CorruptEvent(_) | Self::Format(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Defect => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl From<ReadError> for Refused {
    fn from(error: ReadError) -> Self {
        tracing::error!(error = &error as &dyn std::error::Error, "the store cannot be read");
        match error {
            ReadError::Corrupt { position, .. } => Self::CorruptEvent(position),
            ReadError::Backend { .. } | ReadError::Closed => Self::Unavailable,
        }
    }
}

impl From<LoadError> for Refused {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::NotFound(debate) => Self::NotFound(debate),
            LoadError::Archived { debate, bundle } => Self::Archived { debate, bundle },
            LoadError::Format { format, .. } => Self::Format(format),
            LoadError::Read(error) => error.into(),
            LoadError::Decode { debate, .. }
            | LoadError::Replay { debate, .. }
            | LoadError::Parent { debate, .. }
            | LoadError::TooDeep(debate) => {
                tracing::error!(%debate, error = &error as &dyn std::error::Error, "a log does not fold");
                Self::Corrupt(debate)
            }
        }
    }
}

impl From<WatchError> for Refused {
    fn from(error: WatchError) -> Self {
        match error {
            WatchError::NotFound(debate) => Self::NotFound(debate),
            WatchError::Archived { debate, bundle } => Self::Archived { debate, bundle },
            WatchError::BeyondHead { debate, after, head } => Self::NoEvent { debate, asked: after, head },
            WatchError::Read(error) => error.into(),
        }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = self.status();
        let problem = json!({ "status": status.as_u16(), "detail": self.to_string() });
        let content_type = [(header::CONTENT_TYPE, "application/problem+json")];
        (status, guards(), content_type, problem.to_string()).into_response()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::body::to_bytes;
    use debate_core::debate::ReplayError;

    use super::*;

    #[tokio::test]
    async fn causes_inside_the_house_are_in_the_log_and_in_no_answer_of_the_page() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let logging = tracing_subscriber::fmt().with_writer(Arc::new(log.reopen().unwrap())).finish();
        let _listening = tracing::subscriber::set_default(logging);
        let cause = || std::io::Error::other("password sesame at /srv");
        let corrupt = LoadError::Read(ReadError::backend(cause()));
        let debate: DebateId = "00000000-0000-4000-8000-000000000000".parse().unwrap();
        let unfit = ReadError::Corrupt { position: Position(7), what: "sesame".to_owned() };
        assert_eq!(Refused::from(unfit.clone()).status(), StatusCode::UNPROCESSABLE_ENTITY);
        for refused in [
            ReadError::backend(cause()).into(),
            corrupt.into(),
            Refused::defect(&cause()),
            WatchError::Read(ReadError::backend(cause())).into(),
            LoadError::Replay { debate, source: ReplayError::NotOpened("sesame") }.into(),
            Refused::of_replay(debate, &AnyReplayError::Format { kind: "sesame".to_owned() }),
            Refused::of_prompt(
                debate,
                SentPromptError::Replay(AnyReplayError::Format { kind: "sesame".to_owned() }),
            ),
        ] {
            let body = to_bytes(refused.into_response().into_body(), usize::MAX).await.unwrap();
            let body = String::from_utf8(body.to_vec()).unwrap();
            assert!(body.contains("detail") && !body.contains("sesame"), "{body}");
        }
        let logged = std::fs::read_to_string(log.path()).unwrap();
        let causes = logged.lines().filter(|line| line.contains("ERROR") && line.contains("sesame"));
        assert_eq!(causes.count(), 8, "{logged}");
    }
}
