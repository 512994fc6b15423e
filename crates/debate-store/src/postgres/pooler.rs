//! Finds a pooler that gives a connection to another client between two transactions, such as PgBouncer with
//! `pool_mode = transaction`: prepared statements, limits of a session and notifications get lost behind it.

use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _, raw_sql};

/// Tells marks of one process apart.
static MARKS: AtomicU32 = AtomicU32::new(0);

/// Returns whether what one connection has set is seen by another, which then is the same session of the server.
///
/// Asks without prepared statements, which such a pooler may not know.
///
/// # Errors
/// The server refuses; what it says is no proof of anything.
pub(super) async fn shares_sessions(
    connection: &mut PgConnection,
    options: &PgConnectOptions,
) -> Result<bool, sqlx::Error> {
    let mark = format!("{}-{}", std::process::id(), MARKS.fetch_add(1, Ordering::Relaxed));
    let set = format!("SELECT set_config('debate.mark', '{mark}', false)");
    raw_sql(AssertSqlSafe(set)).fetch_one(&mut *connection).await?;
    let mut other = options.connect().await?;
    // As long as its transaction lasts, it has the session that is free: of a pooler, the one that was just used.
    raw_sql("BEGIN").execute(&mut other).await?;
    let seen = raw_sql("SELECT current_setting('debate.mark', true)").fetch_one(&mut other).await?;
    let seen: Option<String> = seen.try_get(0)?;
    raw_sql("ROLLBACK").execute(&mut other).await?;
    other.close().await?;
    raw_sql("RESET debate.mark").execute(connection).await?;
    Ok(seen.is_some_and(|seen| seen == mark))
}
