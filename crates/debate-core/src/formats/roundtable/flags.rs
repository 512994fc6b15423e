//! Flags of roundtables (rule T9): each with its default, a variable of the environment and a field of the request, the
//! narrower one first; every value says where it came from.
//!
//! Nothing here reads an environment: it is handed over by the edge, which then calls [`Flags::admitted`].

mod resolved;
mod values;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value, json};

use super::mode::{Mode, Parallelization};
use crate::request::{Complaints, Field, Fields, Violation, Violations};
use values::FlagValue;
pub use values::{Action, CallCount, Closeness, Enforcement, Modes, RoundCount, Share};

/// How the variables of the environment begin.
pub const PREFIX: &str = "ROUNDTABLE_";

/// Where a value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// No source sets it.
    Default,
    /// A variable of the environment.
    Environment,
    /// The request.
    Session,
}

impl Source {
    /// Returns the name used on every interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Environment => "environment",
            Self::Session => "session",
        }
    }
}

/// A value with where it came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Where it came from.
    pub source: Source,
}

impl<T: Clone> Setting<T> {
    fn of(found: Option<T>, source: Source, default: T) -> Self {
        match found {
            Some(value) => Self { value, source },
            None => Self { value: default, source: Source::Default },
        }
    }

    /// Returns this setting, or the wider one if no source sets this one.
    fn or(&self, wider: &Self) -> Self {
        match self.source {
            Source::Default => wider.clone(),
            Source::Environment | Source::Session => self.clone(),
        }
    }
}

/// A flag for people: what it is called, what it is, where that came from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlagEntry {
    /// Its path below `flags` in a request.
    pub flag: &'static str,
    /// Its variable of the environment.
    pub variable: &'static str,
    /// Its value.
    pub value: Value,
    /// Where that came from.
    pub source: Source,
}

macro_rules! flags {
    ($($(#[doc = $doc:literal])+ $field:ident: $type:ty = $default:expr, $group:literal . $name:literal, $variable:literal;)+) => {
        /// The flags of one roundtable.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        pub struct Flags { $($(#[doc = $doc])+ pub $field: Setting<$type>),+ }

        /// The variables of the environment, in the order of the flags.
        pub const VARIABLES: &[&str] = &[$($variable),+];

        impl Flags {
            /// Reads flags of which every one is found at the field that `field` gives for it.
            fn read<'a>(field: impl Fn(&'static str, &'static str, &'static str) -> Field<'a>, source: Source) -> Self {
                Self { $($field: Setting::of(
                    <$type as FlagValue>::read(&field($group, $name, $variable)), source, $default,
                )),+ }
            }

            /// Returns these flags, and in the place of every default the wider one.
            #[must_use]
            pub fn under(&self, wider: &Self) -> Self {
                Self { $($field: self.$field.or(&wider.$field)),+ }
            }

            /// Returns every flag with its value and where that came from.
            #[must_use]
            pub fn entries(&self) -> Vec<FlagEntry> {
                vec![$(FlagEntry {
                    flag: concat!($group, ".", $name),
                    variable: $variable,
                    value: value(&self.$field.value),
                    source: self.$field.source,
                }),+]
            }

            /// Returns the JSON schema of flags as requests write them, with names in snake case.
            #[must_use]
            pub fn schema() -> Value {
                let mut groups = Map::new();
                $(
                    let group = groups.entry($group).or_insert_with(|| json!({ "type": "object", "properties": {} }));
                    let mut schema = <$type as FlagValue>::schema();
                    schema["description"] = concat!($($doc),+).trim().into();
                    group["properties"][$name] = schema;
                )+
                json!({ "type": "object", "properties": groups })
            }
        }

        /// The groups with their flags.
        const GROUPED: &[(&str, &str)] = &[$(($group, $name)),+];
    };
}

flags! {
    /// Whether sequential modes run side by side as far as their level lets them.
    parallel_enabled: bool = false,
        "sequential_parallelization"."enabled", "ROUNDTABLE_PARALLEL_ENABLED";
    /// How far; the mode's own level unless somebody says so.
    parallel_level: Parallelization = Parallelization::None,
        "sequential_parallelization"."level", "ROUNDTABLE_PARALLEL_LEVEL";
    /// The modes that this concerns; all sequential ones where the list is empty.
    parallel_modes: Modes = Modes::default(),
        "sequential_parallelization"."modes", "ROUNDTABLE_PARALLEL_MODES";
    /// Whether tools may be used at all.
    tools_enabled: bool = true,
        "tool_enforcement"."enabled", "ROUNDTABLE_TOOL_ENABLED";
    /// How strictly.
    tools_level: Enforcement = Enforcement::Normal,
        "tool_enforcement"."level", "ROUNDTABLE_TOOL_ENFORCEMENT";
    /// The fewest tool calls of a response that prompts ask for; the pattern's own unless somebody says so.
    tools_min_calls: CallCount = CallCount(1),
        "tool_enforcement"."min_calls", "ROUNDTABLE_TOOL_MIN_CALLS";
    /// The most tool calls of a response; the pattern's own unless somebody says so.
    tools_max_calls: CallCount = CallCount(6),
        "tool_enforcement"."max_calls", "ROUNDTABLE_TOOL_MAX_CALLS";
    /// Whether signs of agreeing too easily are looked for (rule T6).
    groupthink_enabled: bool = true,
        "groupthink_detection"."enabled", "ROUNDTABLE_GROUPTHINK_ENABLED";
    /// The level of agreement that is a sign.
    groupthink_threshold: Share = Share(0.9),
        "groupthink_detection"."threshold", "ROUNDTABLE_GROUPTHINK_THRESHOLD";
    /// What is done where enough signs are found.
    groupthink_action: Action = Action::Warn,
        "groupthink_detection"."action", "ROUNDTABLE_GROUPTHINK_ACTION";
    /// By what positions count as alike.
    groupthink_closeness: Closeness = Closeness::Agreement,
        "groupthink_detection"."closeness", "ROUNDTABLE_GROUPTHINK_CLOSENESS";
    /// Whether exit rules end the debate (rule T5).
    exit_enabled: bool = false,
        "exit_criteria"."enabled", "ROUNDTABLE_EXIT_ENABLED";
    /// Whether exit rules are recorded and not obeyed, enabled or not (rule K7).
    exit_shadow: bool = false,
        "exit_criteria"."shadow", "ROUNDTABLE_EXIT_SHADOW";
    /// The level of agreement at which the debate ends.
    exit_consensus: Share = Share(0.9),
        "exit_criteria"."consensus_threshold", "ROUNDTABLE_EXIT_CONSENSUS";
    /// For how many rounds no agent must have moved.
    exit_convergence_rounds: RoundCount = RoundCount(2),
        "exit_criteria"."convergence_rounds", "ROUNDTABLE_EXIT_CONVERGENCE_ROUNDS";
    /// How sure everybody must be.
    exit_confidence: Share = Share(0.85),
        "exit_criteria"."confidence_threshold", "ROUNDTABLE_EXIT_CONFIDENCE";
}

impl Default for Flags {
    fn default() -> Self {
        let (nothing, complaints) = (Value::Null, Complaints::default());
        let absent = Field::root(&nothing, &complaints).object(&[]);
        Self::read(|_, name, _| absent.field(name), Source::Default)
    }
}

impl Flags {
    /// Reads the flags of a request; both spellings of names are known, `min_calls` and `minCalls`.
    pub(super) fn of_session(flags: &Field<'_>) -> Self {
        let spellings = |names: &[&'static str]| {
            names.iter().flat_map(|name| [(*name).to_owned(), camel(name)]).collect::<Vec<String>>()
        };
        let groups: Vec<&str> = groups();
        let known = spellings(&groups);
        let found = flags.object(&known.iter().map(String::as_str).collect::<Vec<_>>());
        let read: Vec<(&str, Fields<'_>)> = groups
            .into_iter()
            .map(|group| {
                let names = GROUPED.iter().filter(|(of, _)| *of == group).map(|(_, name)| *name);
                let known = spellings(&names.collect::<Vec<_>>());
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                (group, found.either(group, &camel(group)).object(&known))
            })
            .collect();
        let field = |group: &'static str, name: &'static str, _: &'static str| {
            let (_, fields) = read.iter().find(|(of, _)| *of == group).expect("every group was read");
            fields.either(name, &camel(name))
        };
        Self::read(field, Source::Session)
    }

    /// Reads the flags of an environment from its variables that begin with [`PREFIX`]; others may be among them.
    ///
    /// # Errors
    /// Every variable that is no flag, or whose value does not parse, by its name.
    pub fn of_environment(variables: impl IntoIterator<Item = (String, String)>) -> Result<Self, Violations> {
        let complaints = Complaints::default();
        let mut document = Map::new();
        for (name, text) in variables.into_iter().filter(|(name, _)| name.starts_with(PREFIX)) {
            if VARIABLES.contains(&name.as_str()) {
                document.insert(name, value_of(&text));
            } else {
                complaints.add(&name, "is in the environment and no flag; `debate flags` lists them");
            }
        }
        let given = Value::Object(document);
        let fields = Fields::of_request(&given, VARIABLES, &complaints);
        let flags = Self::read(|_, _, variable| fields.field(variable), Source::Environment);
        complaints
            .finish(flags)
            .map_err(|Violations(all)| Violations(all.into_iter().map(with_source).collect()))
    }
}

fn groups() -> Vec<&'static str> {
    let mut groups: Vec<&str> = GROUPED.iter().map(|(group, _)| *group).collect();
    groups.dedup();
    groups
}

/// Returns a name in the spelling of the seed's interfaces: `min_calls` as `minCalls`.
fn camel(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |name, part| {
        let (initial, rest) = part.split_at(part.len().min(1));
        name + &initial.to_ascii_uppercase() + rest
    })
}

/// Returns the text of a variable as the request would write it.
fn value_of(text: &str) -> Value {
    let text = text.trim();
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => text.parse::<Number>().map_or_else(|_| Value::from(text), Value::Number),
    }
}

/// Adds to a violation that its value comes from the environment.
fn with_source(Violation { field, reason }: Violation) -> Violation {
    let reason = if reason.contains("environment") { reason } else { format!("{reason} (environment)") };
    Violation { field, reason }
}

/// Returns a value as requests write it.
fn value(of: &impl Serialize) -> Value {
    serde_json::to_value(of).expect("flags are words, numbers and lists of words")
}

/// Returns the modes that a list names.
fn modes(field: &Field<'_>) -> Vec<Mode> {
    field.items(Mode::ALL.len()).iter().filter_map(|item| item.choice(&Mode::ALL, Mode::as_str)).collect()
}

#[cfg(test)]
mod tests;
