//! `debate token`: the tokens that let other services in.

use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Subcommand;
use debate_core::id::Timestamp;
use debate_grpc::tokens::{Scope, TokenEntry, TokenFile, TokenFileError, TokenLimits, TokenWishes};
use serde_json::{Value, json};

use super::print;
use crate::exit::{End, Failure};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// Make, list and revoke the tokens of clients
///
/// `debate serve --tokens FILE` reads the file again whenever it changes: a new token works with the next request, and a
/// revoked one ends with it, its open streams too. To replace a token, create one of the same name, hand it out, and revoke
/// the old one by its id.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate token create forecasts --file tokens.json --scope read --scope write
  debate token list --file tokens.json
  debate token revoke 3f9c0a71b2d4 --file tokens.json")]
pub(crate) struct Token {
    /// What to do.
    #[command(subcommand)]
    action: Action,
}

/// What can be done.
#[derive(Debug, Subcommand)]
enum Action {
    Create(Box<Create>),
    List(List),
    Revoke(Revoke),
}

/// Make a token and print it, once and never again
///
/// The file keeps a hash of it. Scopes: read sees debates, write starts and controls them, audit reads, checks and exports
/// logs, admin redacts and has all others.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate token create forecasts --file tokens.json --scope read --scope write
  debate token create auditor --file tokens.json --scope audit --expires-days 30
  debate token create team-b --file tokens.json --tenant b --scope write --format prediction --day-cost-micros-max 50000000")]
struct Create {
    /// Name of the client; the log has what it does under this name
    #[arg(value_name = "NAME")]
    name: String,

    #[command(flatten)]
    file: FileOption,

    /// What it may do: read, write, audit, admin; may be given again
    #[arg(long, value_name = "SCOPE", value_delimiter = ',', required = true)]
    scope: Vec<Scope>,

    /// Whose debates it sees and starts; tenants see nothing of one another
    #[arg(long, value_name = "TENANT", default_value = "")]
    tenant: String,

    /// A format that it may start; all unless given. May be given again
    #[arg(long, value_name = "FORMAT", value_delimiter = ',')]
    format: Vec<String>,

    /// Days after which it ends by itself
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    expires_days: Option<u32>,

    /// Requests in a minute
    #[arg(long, value_name = "NUMBER")]
    requests_per_minute: Option<NonZeroU32>,

    /// Requests at one time, streams included
    #[arg(long, value_name = "NUMBER")]
    requests_at_once: Option<NonZeroU32>,

    /// Debates that run at one time, those included that wait for their turn
    #[arg(long, value_name = "NUMBER")]
    debates_at_once: Option<NonZeroU32>,

    /// Bytes of one request
    #[arg(long, value_name = "BYTES")]
    request_bytes_max: Option<NonZeroU32>,

    /// What one debate may cost, in millionths of a US dollar; needs --prices on the server
    #[arg(long, value_name = "MICROS")]
    debate_cost_micros_max: Option<u64>,

    /// What all debates may cost that it starts, or goes on with, within 24 hours, in millionths of a US dollar; needs --prices on the server
    #[arg(long, value_name = "MICROS")]
    day_cost_micros_max: Option<u64>,

    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// List tokens: whose they are and what they may do
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate token list --file tokens.json
  debate token list --file tokens.json --json | jq '.tokens[].name'")]
struct List {
    #[command(flatten)]
    file: FileOption,

    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// Revoke a token, or all of a name
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate token revoke 3f9c0a71b2d4 --file tokens.json
  debate token revoke forecasts --file tokens.json")]
struct Revoke {
    /// Id of the token, or name of the client
    #[arg(value_name = "ID|NAME")]
    token: String,

    #[command(flatten)]
    file: FileOption,

    /// Print as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct FileOption {
    /// File of tokens; made where there is none
    #[arg(long, env = "DEBATE_TOKENS", value_name = "FILE")]
    file: PathBuf,
}

impl Token {
    /// Carries out the command.
    pub(crate) fn run(&self) -> anyhow::Result<End> {
        match &self.action {
            Action::Create(create) => create.run(),
            Action::List(list) => list.run(),
            Action::Revoke(revoke) => revoke.run(),
        }
    }
}

impl Create {
    fn run(&self) -> anyhow::Result<End> {
        let now = now();
        let wishes = TokenWishes {
            name: self.name.clone(),
            tenant: self.tenant.clone(),
            scopes: self.scope.iter().copied().collect(),
            formats: self.format.iter().cloned().collect(),
            limits: TokenLimits {
                requests_per_minute: self.requests_per_minute,
                requests_at_once: self.requests_at_once,
                debates_at_once: self.debates_at_once,
                request_bytes_max: self.request_bytes_max,
                debate_cost_micros_max: self.debate_cost_micros_max,
                day_cost_micros_max: self.day_cost_micros_max,
            },
            expires_at: self.expires_days.map(|days| Timestamp(now.0 + i64::from(days) * DAY_MS)),
        };
        let made = TokenFile::change(&self.file.file, |file| {
            let token = file.create(wishes, now)?;
            let entry = file.entries().last().map(shown).unwrap_or_default();
            Ok((token, entry))
        });
        let (token, mut entry) = made.map_err(failure)?;
        if self.json {
            entry["token"] = Value::from(token);
            print(&format!("{entry}\n"))?;
        } else {
            print(&format!("{token}\n"))?;
        }
        Ok(End::Done)
    }
}

impl List {
    fn run(&self) -> anyhow::Result<End> {
        let file = TokenFile::read(&self.file.file).map_err(failure)?;
        print_all(file.entries(), self.json)?;
        Ok(End::Done)
    }
}

impl Revoke {
    fn run(&self) -> anyhow::Result<End> {
        let gone = TokenFile::change(&self.file.file, |file| Ok(file.revoke(&self.token)));
        let gone = gone.map_err(failure)?;
        if gone.is_empty() {
            let text = format!("there is no token {:?} in {}", self.token, self.file.file.display());
            return Err(Failure::bad_input(text));
        }
        print_all(&gone, self.json)?;
        Ok(End::Done)
    }
}

fn print_all(entries: &[TokenEntry], as_json: bool) -> anyhow::Result<()> {
    if as_json {
        let tokens: Vec<Value> = entries.iter().map(shown).collect();
        print(&format!("{}\n", json!({ "tokens": tokens })))?;
        return Ok(());
    }
    let mut text = String::new();
    for entry in entries {
        let scopes: Vec<&str> = entry.scopes.iter().map(|scope| scope.as_str()).collect();
        write!(text, "{}  {}  {}", entry.id, entry.name, scopes.join(","))?;
        if !entry.tenant.is_empty() {
            write!(text, "  tenant {}", entry.tenant)?;
        }
        if !entry.formats.is_empty() {
            let formats: Vec<&str> = entry.formats.iter().map(String::as_str).collect();
            write!(text, "  formats {}", formats.join(","))?;
        }
        write!(text, "  since {}", entry.created_at)?;
        match entry.expires_at {
            Some(at) if at <= now() => writeln!(text, "  expired {at}")?,
            Some(at) => writeln!(text, "  until {at}")?,
            None => writeln!(text)?,
        }
    }
    print(&text)?;
    Ok(())
}

/// Returns what everybody may know of a token.
fn shown(entry: &TokenEntry) -> Value {
    json!({
        "id": entry.id,
        "name": entry.name,
        "tenant": entry.tenant,
        "scopes": entry.scopes,
        "formats": entry.formats,
        "limits": entry.limits,
        "created_at": entry.created_at.to_string(),
        "expires_at": entry.expires_at.map(|at| at.to_string()),
    })
}

fn failure(error: TokenFileError) -> anyhow::Error {
    match error {
        TokenFileError::Wishes(_)
        | TokenFileError::Content { .. }
        | TokenFileError::Exposed { .. }
        | TokenFileError::Read { .. }
        | TokenFileError::Owner { .. }
        | TokenFileError::Busy { .. } => {
            let error = anyhow::Error::from(error);
            Failure::bad_input(crate::exit::one_line(&error))
        }
        TokenFileError::Write { .. } | TokenFileError::Random => error.into(),
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
