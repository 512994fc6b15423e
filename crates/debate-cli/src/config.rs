//! One configuration: a file, over it the environment, over that the flags (`--config`). Every value of the file has
//! the name of its flag, and means what it means there.

mod file;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::Path;

use clap::builder::ValueParser;
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory as _, FromArgMatches as _, Parser as _};
use debate_store::MaskedAddress;

use self::file::{ConfigFile, Entry, Given};
use crate::args::Args;
use crate::exit::Failure;
use crate::plain::one_line;
use crate::store::StoreChoice;

/// The command whose options a file sets, in addition to those of every command.
const SERVE: &str = "serve";
/// The option that names the file, and so cannot be in it.
const CONFIG: &str = "config";

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// It is built in.
    Default,
    /// A line of the file.
    File(String),
    /// A variable of the environment.
    Environment(String),
    /// The command line.
    Flag(String),
}

impl Source {
    /// Returns which of the four it is.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::File(_) => "file",
            Self::Environment(_) => "environment",
            Self::Flag(_) => "flag",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(place) => f.write_str(place),
            Self::Environment(variable) => f.write_str(variable),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// One option as it holds.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The name of its flag.
    pub(crate) name: String,
    /// The variable of the environment that sets it.
    pub(crate) variable: String,
    /// Its value, without what is secret; nothing where it is not set.
    pub(crate) value: Option<String>,
    /// Where it comes from.
    pub(crate) source: Source,
}

/// Reads a command line with the configuration file that it or the environment names. Ends the process where help is
/// asked for, or the command line itself cannot be read.
///
/// # Errors
/// The file cannot be read, or there are options, in whatever place, that are unknown or whose values are wrong: all of them.
pub(crate) fn parse(argv: &[OsString]) -> anyhow::Result<Args> {
    let named =
        unchecked(Args::command()).try_get_matches_from(argv).unwrap_or_else(|error| unread(argv, &error));
    let file = named.get_one::<OsString>(CONFIG).map(|path| ConfigFile::read(Path::new(path))).transpose()?;
    check(file.as_ref(), &named)?;
    let matches = fed(Args::command(), file.as_ref()).get_matches_from(argv);
    let mut args = Args::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    args.options.has_model_flag = matches.value_source("model") == Some(ValueSource::CommandLine);
    Ok(args)
}

/// Ends the process with the help or error that `Args` give for a command line that cannot be read. If `Args` reject a
/// value first, ends it with `error` instead, because the value may be secret and their error would print it.
fn unread(argv: &[OsString], error: &clap::Error) -> ! {
    match Args::try_parse_from(argv) {
        Err(typed) if typed.kind() == error.kind() => typed.exit(),
        Ok(_) | Err(_) => error.exit(),
    }
}

/// Returns the arguments with which a server would run, and all options that it may be given.
///
/// # Errors
/// As [`parse`].
pub(crate) fn of_server(file: Option<&Path>, argv: &[OsString]) -> anyhow::Result<(Args, Vec<Setting>)> {
    let given = unchecked(Args::command()).get_matches_from(argv);
    let named = given.get_one::<OsString>(CONFIG).map(Path::new);
    let file = file.or(named).map(ConfigFile::read).transpose()?;
    let command = Args::command();
    let argv: Vec<OsString> =
        ["debate", SERVE].into_iter().map(OsString::from).chain(flags(&command, &given)).collect();
    let raw = unchecked(command.clone()).get_matches_from(&argv);
    check(file.as_ref(), &raw)?;
    let matches = fed(command.clone(), file.as_ref()).get_matches_from(&argv);
    let of_serve = matches.subcommand_matches(SERVE);
    let settings = options(&command).filter_map(|arg| Some(setting(arg, of_serve?, file.as_ref()))).collect();
    Ok((Args::from_arg_matches(&matches)?, settings))
}

/// Returns the options that a file may set, those of every command first.
fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    let of_serve = command.find_subcommand(SERVE).into_iter().flat_map(Command::get_arguments);
    let all = command.get_arguments().filter(|arg| arg.is_global_set()).chain(of_serve);
    all.filter(|arg| arg.get_long().is_some() && arg.get_id() != CONFIG)
}

fn name(arg: &Arg) -> &str {
    arg.get_long().unwrap_or_default()
}

/// Makes every value an unparsed text, so that all wrong values are found and not only the first.
fn unchecked(command: Command) -> Command {
    let text = |arg: Arg| {
        if arg.get_action().takes_values() { arg.value_parser(ValueParser::os_string()) } else { arg }
    };
    command.mut_args(text).mut_subcommands(unchecked)
}

/// Makes the file's values the defaults of their options.
fn fed(command: Command, file: Option<&ConfigFile>) -> Command {
    let Some(file) = file else { return command };
    let feed = |arg: Arg| match file.entry(name(&arg)) {
        Some(entry) if arg.get_id() != CONFIG => arg.default_values(entry.given.texts()),
        Some(_) | None => arg,
    };
    command
        .mut_args(|arg| if arg.is_global_set() { feed(arg) } else { arg })
        .mut_subcommand(SERVE, |serve| serve.mut_args(feed))
}

/// Checks all values of the file, and those of environment and flags that the command takes.
fn check(file: Option<&ConfigFile>, given: &ArgMatches) -> anyhow::Result<()> {
    let command = Args::command();
    let mut faults = Vec::new();
    for entry in file.into_iter().flat_map(|file| &file.entries) {
        let arg = options(&command).find(|arg| name(arg) == entry.name);
        let reasons = arg.map_or_else(|| vec![unknown(&command, &entry.name)], |arg| of_file(arg, entry));
        let place = &entry.place;
        faults.extend(reasons.into_iter().map(|reason| format!("{} ({place}): {reason}", entry.name)));
    }
    // Options of every command are known at the command itself too.
    let within = given.subcommand().map_or(given, |(_, within)| within);
    let is_serve = given.subcommand_name() == Some(SERVE);
    for arg in options(&command).filter(|arg| is_serve || arg.is_global_set()) {
        let source = source(arg, within, None);
        if matches!(source, Source::Environment(_) | Source::Flag(_)) && arg.get_action().takes_values() {
            let values = within.get_raw(arg.get_id().as_str()).into_iter().flatten();
            let reasons = values.filter_map(|value| refused(arg, value));
            faults.extend(reasons.map(|reason| format!("{} ({source}): {reason}", name(arg))));
        }
    }
    match &faults[..] {
        [] => Ok(()),
        [fault] => Err(Failure::bad_input(fault.as_str())),
        [..] => Err(Failure::bad_input(format!("these options cannot be used:\n  {}", faults.join("\n  ")))),
    }
}

fn unknown(command: &Command, name: &str) -> String {
    let dashed = name.replace('_', "-");
    if dashed != name && options(command).any(|arg| self::name(arg) == dashed) {
        return format!("there is no such option; write {dashed}");
    }
    "there is no such option of serve or of every command".to_owned()
}

/// Returns why a value of the file cannot be used, if that is so.
fn of_file(arg: &Arg, entry: &Entry) -> Vec<String> {
    let takes_values = arg.get_action().takes_values();
    match &entry.given {
        Given::Nothing(what) => vec![format!("{what} is no value of an option")],
        Given::Switch(_) if takes_values => vec!["write a text or number".to_owned()],
        Given::Switch(_) => Vec::new(),
        Given::One(_) | Given::List(_) if !takes_values => vec!["write true or false".to_owned()],
        Given::List(_) if arg.get_value_delimiter().is_none() => {
            vec!["write one value, not a list".to_owned()]
        }
        Given::One(text) => refused(arg, text.as_ref()).into_iter().collect(),
        Given::List(texts) => texts.iter().filter_map(|text| refused(arg, text.as_ref())).collect(),
    }
}

/// Returns why an option does not take a value, if it does not, and the value, unless it is secret or may hold a login.
fn refused(arg: &Arg, value: &OsStr) -> Option<String> {
    if value.is_empty() {
        return Some("it is empty".to_owned());
    }
    let reason = reason(arg, value)?;
    match masked(arg, &value.to_string_lossy()) {
        Some(shown) if !reason.contains(&*shown) => Some(format!("{reason}; it is {shown:?}")),
        Some(_) | None => Some(reason),
    }
}

fn reason(arg: &Arg, value: &OsStr) -> Option<String> {
    let mut written = OsString::from(format!("--{}=", name(arg)));
    written.push(value);
    let alone = arg.clone().env(None::<&'static str>);
    let command = Command::new(SERVE).no_binary_name(true).disable_help_flag(true).arg(alone);
    let error = command.try_get_matches_from([written]).err()?;
    if let Some(ContextValue::Strings(valid)) = error.get(ContextKind::ValidValue) {
        return Some(format!("write one of {}", valid.join(", ")));
    }
    let source = std::error::Error::source(&error).map(ToString::to_string);
    Some(one_line(&source.unwrap_or_else(|| error.kind().to_string())))
}

fn source(arg: &Arg, matches: &ArgMatches, file: Option<&ConfigFile>) -> Source {
    match matches.value_source(arg.get_id().as_str()) {
        Some(ValueSource::CommandLine) => Source::Flag(format!("--{}", name(arg))),
        Some(ValueSource::EnvVariable) => Source::Environment(variable(arg)),
        Some(_) | None => file
            .and_then(|file| file.entry(name(arg)))
            .map_or(Source::Default, |entry| Source::File(entry.place.clone())),
    }
}

fn variable(arg: &Arg) -> String {
    arg.get_env().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn setting(arg: &Arg, matches: &ArgMatches, file: Option<&ConfigFile>) -> Setting {
    let id = arg.get_id().as_str();
    let value = if arg.get_action().takes_values() {
        let values = matches.get_raw(id).into_iter().flatten();
        let shown: Vec<String> = values
            .map(|value| masked(arg, &value.to_string_lossy()).unwrap_or_else(|| "(set)".to_owned()))
            .collect();
        (!shown.is_empty()).then(|| shown.join(", "))
    } else {
        Some(matches.get_flag(id).to_string())
    };
    Setting { name: name(arg).to_owned(), variable: variable(arg), value, source: source(arg, matches, file) }
}

/// Returns the flags of every command that a command line gives, as they are written.
fn flags(command: &Command, given: &ArgMatches) -> Vec<OsString> {
    let mut written = Vec::new();
    for arg in options(command).filter(|arg| arg.is_global_set()) {
        let id = arg.get_id().as_str();
        if given.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        if !arg.get_action().takes_values() {
            written.push(OsString::from(format!("--{}", name(arg))));
            continue;
        }
        for value in given.get_raw(id).into_iter().flatten() {
            let mut flag = OsString::from(format!("--{}=", name(arg)));
            flag.push(value);
            written.push(flag);
        }
    }
    written
}

/// Returns a value without what is secret: of an address its login and its query, and everything of a token and of what is
/// hidden in help and no address, unless it is a store's and looks like the path of a file.
fn masked(arg: &Arg, value: &str) -> Option<String> {
    let id = arg.get_id().as_str();
    if let ("store", Ok(store)) = (id, value.parse::<StoreChoice>()) {
        return Some(store.to_string());
    }
    let is_shown = match id {
        "token" => return None,
        _ if value.contains("://") => return without_login(value),
        "store" => value.chars().all(|c| c.is_ascii_alphanumeric() || "_.-/".contains(c)),
        _ => !arg.is_hide_env_values_set(),
    };
    is_shown.then(|| value.to_owned())
}

/// Returns an address without its login and its query; nothing where what stands before its `://` is no scheme and may be a
/// login.
pub(crate) fn without_login(address: &str) -> Option<String> {
    let is_of_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let (scheme, rest) = address.split_once("://")?;
    let shown = MaskedAddress::of(rest);
    scheme.chars().all(is_of_scheme).then(|| format!("{scheme}://{}", shown.place()))
}
