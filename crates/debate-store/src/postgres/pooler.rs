//! Finds a pooler that gives a connection to another client between two transactions, such as PgBouncer with
//! `pool_mode = transaction`: prepared statements, limits of a session and notifications get lost behind it.

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions as _, Connection as _, Row as _, raw_sql};

/// Returns whether two open connections share one server process. Only a pooler does that: it gives the process that
/// was used last to the next client.
///
/// Asks without prepared statements, which such a pooler may not know.
///
/// # Errors
/// The server refuses; what it says is no proof of anything.
pub(super) async fn shares_sessions(
    connection: &mut PgConnection,
    options: &PgConnectOptions,
) -> Result<bool, sqlx::Error> {
    let first = process_of(connection).await?;
    let mut other = options.connect().await?;
    let second = process_of(&mut other).await?;
    other.close().await?;
    Ok(first == second)
}

async fn process_of(connection: &mut PgConnection) -> Result<i32, sqlx::Error> {
    raw_sql("SELECT pg_backend_pid()").fetch_one(connection).await?.try_get(0)
}
