//! What a failure of PostgreSQL means: whether anything can have been stored, and whether trying again may help.

use std::future::Future;
use std::time::{Duration, Instant};

/// The first pause before trying again; every further one is twice as long.
const PAUSE_FIRST: Duration = Duration::from_millis(5);

/// The longest pause before trying again.
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// What to do about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The place is taken or not yet reached; nothing was stored. Reading tells which.
    Refused,
    /// The server or the way to it was gone, or busy for a moment. What was asked for may have been done.
    Passing,
    /// It will fail again until somebody does something; nothing was stored.
    Lasting,
}

impl Fault {
    /// Returns what kind of failure this is.
    pub(super) fn of(error: &sqlx::Error) -> Self {
        let Some(error) = error.as_database_error() else {
            let is_ours = matches!(
                error,
                sqlx::Error::Configuration(_)
                    | sqlx::Error::PoolClosed
                    | sqlx::Error::Encode(_)
                    | sqlx::Error::Decode(_)
                    | sqlx::Error::ColumnDecode { .. }
                    | sqlx::Error::InvalidArgument(_)
            );
            return if is_ours { Self::Lasting } else { Self::Passing };
        };
        match error.code().as_deref().unwrap_or_default() {
            // A taken place; and ours, of refuse_hole(), refuse_archived() and archived_check().
            "23505" | "DB001" | "DB004" | "DB005" => Self::Refused,
            // Serialisation, deadlock, lock or statement timed out; too many connections; shut down, crashed,
            // starting, dropped while idle; read-only, as a server is that has not yet taken over from another.
            "40001" | "40P01" | "55P03" | "57014" | "53300" | "57P01" | "57P02" | "57P03" | "57P05"
            | "25006" => Self::Passing,
            code if code.starts_with("08") => Self::Passing,
            _ => Self::Lasting,
        }
    }
}

/// Tries with growing pauses until a deadline.
#[derive(Debug)]
pub(super) struct Patience {
    deadline: Instant,
    pause: Duration,
}

impl Patience {
    /// Starts now.
    pub(super) fn of(time: Duration) -> Self {
        Self { deadline: Instant::now() + time, pause: PAUSE_FIRST }
    }

    /// Waits a moment; returns whether there is time for another try.
    pub(super) async fn pause(&mut self) -> bool {
        if Instant::now() + self.pause > self.deadline {
            return false;
        }
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        true
    }
}

/// Waits for an answer, but not for ever: a connection that was cut in silence never gives one.
pub(super) async fn answer<T>(
    time: Duration,
    asked: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    match tokio::time::timeout(time, asked).await {
        Ok(answered) => answered,
        Err(_) => Err(sqlx::Error::Io(std::io::Error::from(std::io::ErrorKind::TimedOut))),
    }
}
