//! The command line: what holds for every command, and the list of commands.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{FalseyValueParser, NonEmptyStringValueParser};
use clap::{Parser, ValueEnum};
use debate_engine::{Hedge, Hedging, Settings};
use debate_llm::CallTime;
use debate_store::Durability;

use crate::commands::{Command, help};
use crate::model::{LimitsChoice, ModelChoice};
use crate::store::StoreChoice;
use crate::time_span;

/// The longest wait for a first token, unless set otherwise (rule K22).
const FIRST_TOKEN_TIMEOUT: &str = "600s";
/// The longest silence within an answer, unless set otherwise (rule K22).
const IDLE_TIMEOUT: &str = "60s";

const EXAMPLES: &str = "\
Examples:
  debate run examples/ice.json                    a whole debate, without key or server
  DEBATE_MODEL=openai:gpt-5-mini debate run examples/ice.json
  debate show @                                   the newest debate
  debate serve --listen 127.0.0.1:50051

debate COMMAND -h shows the help of a command, debate help TOPIC that of a topic:
request, formats, models, options, environment, exit-codes.";

/// The commands stand in groups, which clap has no means for.
const TEMPLATE: &str = "\
{about-with-newline}
{usage-heading} {usage}

{before-help}Options:
{options}{after-help}";

/// Structured debates between language models: run them, serve them, read and check their logs.
#[derive(Debug, Parser)]
#[command(
    name = "debate",
    version,
    max_term_width = 110,
    disable_help_subcommand = true,
    help_template = TEMPLATE,
    before_help = help::groups(),
    after_help = EXAMPLES
)]
pub(crate) struct Args {
    /// What holds for every command.
    #[command(flatten)]
    pub(crate) options: Options,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What holds for every command: settings, so each is read from the environment too.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Options {
    /// File of options in TOML, each under the name of its flag; what environment or flags say goes before it. See
    /// `debate config check`
    #[arg(long, global = true, hide_short_help = true, env = "DEBATE_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Where debates are kept: sqlite://PATH, postgres://USER@HOST/DATABASE, or memory
    ///
    /// Memory ends with the process. Keep a password of PostgreSQL in PGPASSWORD or ~/.pgpass.
    #[arg(
        long,
        global = true,
        env = "DEBATE_STORE",
        value_name = "STORE",
        default_value_t,
        hide_env_values = true
    )]
    pub(crate) store: StoreChoice,

    /// Folder of texts for prompts in place of the program's own, such as prediction/argue.txt; see `debate prompts list`
    #[arg(long, global = true, hide_short_help = true, env = "DEBATE_PROMPTS", value_name = "FOLDER")]
    pub(crate) prompts: Option<PathBuf>,

    /// Seconds for which other programs on the same PostgreSQL leave a debate alone after the one that drives it was last
    /// heard of
    #[arg(
        long,
        global = true, hide_short_help = true,
        env = "DEBATE_LEASE_SECONDS",
        value_name = "SECONDS",
        default_value_t = 10,
        value_parser = clap::value_parser!(u64).range(1..=600)
    )]
    pub(crate) lease_seconds: u64,

    /// When a stored event is safe: at once, or soon (a power cut may lose the last ones)
    #[arg(
        long,
        global = true, hide_short_help = true,
        env = "DEBATE_DURABILITY",
        value_name = "WHEN",
        value_enum,
        default_value_t = Safety::Full,
        hide_possible_values = false
    )]
    pub(crate) durability: Safety,

    /// Who debates, such as openai:NAME or anthropic:NAME; see `debate help models`
    ///
    /// One of simulated, simulated:KEY=VALUE,… (such as latency=200ms, malformed=0.1), anthropic:NAME, gemini:NAME,
    /// openai:NAME or openai-responses:NAME. Keys are read from ANTHROPIC_API_KEY, GEMINI_API_KEY and OPENAI_API_KEY alone,
    /// other addresses from ANTHROPIC_BASE_URL, GEMINI_BASE_URL and OPENAI_BASE_URL.
    #[arg(long, global = true, env = "DEBATE_MODEL", value_name = "MODEL", default_value = "simulated")]
    pub(crate) model: ModelChoice,

    /// Whether the command line itself names the model.
    #[arg(skip)]
    pub(crate) has_model_flag: bool,

    /// A further model that requests may name, written as for --model; may be given again
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        env = "DEBATE_OFFER",
        value_name = "MODEL",
        value_delimiter = ','
    )]
    pub(crate) offer: Vec<ModelChoice>,

    /// How much may be asked of a provider, all its models together: concurrency, requests_per_minute,
    /// tokens_per_minute, as in openai:concurrency=50,requests_per_minute=500; unlimited unless set. openai and
    /// openai-responses count apart although they share a key: divide an account's limits between them. May be given
    /// again for another provider; in the environment separated by ;
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        env = "DEBATE_PROVIDER_LIMITS",
        value_name = "PROVIDER:LIMITS",
        value_delimiter = ';'
    )]
    pub(crate) provider_limits: Vec<LimitsChoice>,

    /// File of what models cost: a JSON object that gives, by the name under which a model is recorded, US dollars for a
    /// million tokens, as in {"openai:gpt-5-mini": {"input": 0.25, "cached_input": 0.025, "output": 2}}. Without it no
    /// cost is known, and no request may limit its cost
    #[arg(long, global = true, hide_short_help = true, env = "DEBATE_PRICES", value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,

    /// Folder in which investigators may look things up, read-only: files, search, log and blame of git. What they quote
    /// is compared with it; without it their evidence stays unverified
    #[arg(long, global = true, hide_short_help = true, env = "DEBATE_WORKSPACE", value_name = "FOLDER")]
    pub(crate) workspace: Option<PathBuf>,

    /// Address of a search service for agents of a roundtable that may use search_web and fact_check; its key is read from
    /// DEBATE_SEARCH_KEY alone. Without it simulated models get simulated results, and real ones none
    #[arg(
        long,
        global = true, hide_short_help = true,
        env = "DEBATE_SEARCH_ENDPOINT",
        value_name = "URL",
        hide_env_values = true,
        value_parser = NonEmptyStringValueParser::new()
    )]
    pub(crate) search_endpoint: Option<String>,

    /// Address of an OpenAI-compatible server, such as http://localhost:11434/v1
    #[arg(
        long,
        global = true, hide_short_help = true,
        env = "OPENAI_BASE_URL",
        value_name = "URL",
        hide_env_values = true,
        value_parser = NonEmptyStringValueParser::new()
    )]
    pub(crate) openai_base_url: Option<String>,

    /// The most time for one request to a model once it has left, such as 5m; unlimited unless set
    #[arg(long, global = true, hide_short_help = true, env = "DEBATE_CALL_TIMEOUT", value_name = "TIME", value_parser = time_span::read)]
    pub(crate) call_timeout: Option<Duration>,

    /// The longest wait for the first token of an answer, thinking included
    #[arg(long, global = true, hide_short_help = true, env = "DEBATE_FIRST_TOKEN_TIMEOUT", value_name = "TIME", default_value = FIRST_TOKEN_TIMEOUT, value_parser = time_span::read)]
    pub(crate) first_token_timeout: Duration,

    /// The longest silence within an answer
    #[arg(long, global = true, hide_short_help = true, env = "DEBATE_IDLE_TIMEOUT", value_name = "TIME", default_value = IDLE_TIMEOUT, value_parser = time_span::read)]
    pub(crate) idle_timeout: Duration,

    /// Tokens that prompt and answer of a model may have together; asked of the server where it says so, unless set
    #[arg(long, global = true, hide_short_help = true, env = "DEBATE_CONTEXT_WINDOW", value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(512..))]
    pub(crate) context_window: Option<u32>,

    /// When a second request races one that others wait for: never, or after a percentile of its usual time
    #[arg(
        long,
        global = true, hide_short_help = true,
        env = "DEBATE_HEDGE",
        value_name = "WHEN",
        value_enum,
        default_value_t = Race::P95,
        hide_possible_values = false
    )]
    pub(crate) hedge: Race,

    /// The most second requests as a share of first ones, by number, tokens and money
    #[arg(long, global = true, hide_short_help = true, env = "DEBATE_HEDGE_SHARE", value_name = "SHARE", default_value = "0.08", value_parser = share)]
    pub(crate) hedge_share: f64,

    /// Seed of the simulated model and, in run, of the debate's own choices; wins over any other seed
    #[arg(long, global = true, hide_short_help = true, env = "DEBATE_SEED", value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,

    /// What is logged to stderr: off, error, warn, info, debug, trace, or a filter such as debate_store=debug
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        env = "DEBATE_LOG_LEVEL",
        value_name = "LEVEL",
        default_value = "warn"
    )]
    pub(crate) log_level: String,

    /// How log lines are written: for people, or as one JSON object each
    #[arg(
        long,
        global = true, hide_short_help = true,
        env = "DEBATE_LOG_FORMAT",
        value_name = "FORMAT",
        value_enum,
        default_value_t = LogFormat::Text,
        hide_possible_values = false
    )]
    pub(crate) log_format: LogFormat,

    /// Collector that is sent spans and measurements over OTLP (gRPC), such as http://localhost:4317; none unless set
    #[arg(
        long,
        global = true, hide_short_help = true,
        env = "OTEL_EXPORTER_OTLP_ENDPOINT",
        value_name = "URL",
        hide_env_values = true,
        value_parser = NonEmptyStringValueParser::new()
    )]
    pub(crate) otlp_endpoint: Option<String>,

    /// Send the collector what models are asked and what they answer, too
    #[arg(
        long,
        global = true, hide_short_help = true,
        env = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
        value_parser = FalseyValueParser::new()
    )]
    pub(crate) capture_content: bool,

    /// Draw with ASCII characters alone
    #[arg(long, global = true, hide_short_help = true, env = "DEBATE_ASCII", value_parser = FalseyValueParser::new())]
    pub(crate) ascii: bool,
}

impl Options {
    /// Returns how long a debate is left alone after its program was last heard of.
    pub(crate) fn lease(&self) -> Duration {
        Duration::from_secs(self.lease_seconds)
    }

    /// Returns the names of all models that requests may name.
    pub(crate) fn offered(&self) -> Vec<String> {
        std::iter::once(&self.model).chain(&self.offer).map(ModelChoice::name).collect()
    }

    /// Returns whether a program makes up all replies of all models.
    pub(crate) fn is_simulated(&self) -> bool {
        std::iter::once(&self.model).chain(&self.offer).all(ModelChoice::is_simulated)
    }

    /// Returns the flag that a suggested command needs to find this store; empty for the default store.
    pub(crate) fn store_flag(&self) -> String {
        if self.store == StoreChoice::default() {
            return String::new();
        }
        let store = self.store.to_string();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:".contains(c);
        // A shell would take anything else apart.
        if store.chars().all(is_plain) { format!(" --store {store}") } else { format!(" --store '{store}'") }
    }

    /// Returns the times of a call that are set, each with its flag; a default is as long as a deadline allows.
    pub(crate) fn call_time_set(&self) -> impl Iterator<Item = (&'static str, Duration)> {
        let set = |time: Duration, default| Some(time).filter(|time| time_span::read(default) != Ok(*time));
        let first_token = set(self.first_token_timeout, FIRST_TOKEN_TIMEOUT);
        let idle = set(self.idle_timeout, IDLE_TIMEOUT);
        let times = [
            self.call_timeout.map(|time| ("--call-timeout", time)),
            first_token.map(|time| ("--first-token-timeout", time)),
            idle.map(|time| ("--idle-timeout", time)),
        ];
        times.into_iter().flatten()
    }

    /// Returns the limits of the process that options of every command set.
    pub(crate) fn settings(&self) -> Settings {
        let (total, first_token, idle) = (self.call_timeout, self.first_token_timeout, self.idle_timeout);
        let call_time = CallTime { first_token, idle, total, give_up_at: None };
        Settings { hedging: self.hedging(), call_time, ..Settings::default() }
    }

    /// Returns how slow requests are raced.
    pub(crate) fn hedging(&self) -> Hedging {
        Hedging { after: self.hedge.into(), share_max: self.hedge_share, ..Hedging::default() }
    }
}

/// Reads a share, from 0 to 1.
fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "write a number from 0 to 1".to_owned())
}

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

/// When a second request races a first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Race {
    /// Never
    Off,
    /// After the 95th percentile
    P95,
    /// After the 75th percentile
    P75,
    /// The sooner, the later its debate is compared with others, and sooner where it is the only one waited for; only
    /// this mode keeps the promise of docs/benchmarks.md about the 99th percentile
    Adaptive,
}

impl From<Race> for Hedge {
    fn from(race: Race) -> Self {
        match race {
            Race::Off => Self::Off,
            Race::P95 => Self::P95,
            Race::P75 => Self::P75,
            Race::Adaptive => Self::Adaptive,
        }
    }
}

/// When an acknowledged event is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Safety {
    /// Every commit reaches the disk before it is acknowledged
    Full,
    /// A power cut may lose the last commits; a crash of the process loses none
    Normal,
}

impl From<Safety> for Durability {
    fn from(safety: Safety) -> Self {
        match safety {
            Safety::Full => Self::Full,
            Safety::Normal => Self::Relaxed,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    /// Returns the commands and those within them.
    fn all(command: &clap::Command) -> Vec<&clap::Command> {
        let subs = command.get_subcommands().filter(|sub| sub.get_name() != "help");
        subs.flat_map(|sub| std::iter::once(sub).chain(all(sub))).collect()
    }

    #[test]
    fn the_command_line_is_consistent_and_every_command_shows_examples() {
        let mut command = Args::command();
        command.build();
        command.clone().debug_assert();
        for sub in all(&command) {
            let after = sub.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(after.contains("Examples:\n  "), "{} shows no examples", sub.get_name());
            assert!(sub.get_about().is_some(), "{} does not say what it does", sub.get_name());
        }
    }

    #[test]
    fn settings_are_read_from_the_environment_and_what_a_command_does_is_not() {
        /// Places and keys that several commands need.
        const SHARED: [&str; 8] = [
            "DEBATE_ARCHIVE",
            "DEBATE_PROOF_FOLDER",
            "DEBATE_REVIEWERS_DIR",
            "DEBATE_SERVER",
            "DEBATE_SIGNING_KEY",
            "DEBATE_SKILLS_DIR",
            "DEBATE_TOKEN",
            "DEBATE_TOKENS",
        ];
        let command = Args::command();
        let is_read = |arg: &clap::Arg| arg.get_env().is_some();
        for arg in command.get_arguments().filter(|arg| arg.is_global_set()) {
            assert!(is_read(arg), "{}", arg.get_id());
        }
        for sub in all(&command).into_iter().filter(|sub| sub.get_name() != "serve") {
            for variable in
                sub.get_arguments().filter(|arg| !arg.is_global_set()).filter_map(clap::Arg::get_env)
            {
                let is_shared = SHARED.iter().any(|shared| variable == *shared);
                assert!(is_shared, "{} reads {}", sub.get_name(), variable.display());
            }
        }
    }
}
