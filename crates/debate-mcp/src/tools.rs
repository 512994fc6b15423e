//! The tools: what each is called, takes and gives. Schemas and the reading of arguments follow from this table.

use std::ops::RangeInclusive;
use std::sync::{Arc, LazyLock};

use debate_core::formats::roundtable::request;
use debate_core::request::sizes::{FOCUS_CHARS_MAX, ROUNDS_ADDED, ROUNDTABLE_ROUNDS, whole_schema};
use debate_grpc::REQUEST_ID_CHARS_MAX;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

/// Characters of a name, an id or a token of a page.
const NAME_CHARS_MAX: usize = 200;
/// For how many seconds a tool waits at most, and unless it is asked for.
const WAIT_S: RangeInclusive<u64> = 0..=3_600;
/// For how many seconds a tool waits unless it is asked for: clients commonly give up after 60.
pub(crate) const WAIT_S_DEFAULT: u64 = 45;

/// The schemas of a request's fields.
static FIELDS: LazyLock<Value> = LazyLock::new(request::schema);

/// What a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Start,
    Continue,
    Consensus,
    Agents,
    List,
    Round,
    Response,
    Citations,
    Synthesize,
    Thoughts,
    Export,
    Control,
}

/// One tool.
pub(crate) struct Spec {
    pub(crate) act: Act,
    pub(crate) name: &'static str,
    /// Whether it changes anything, which needs the scope `write`; others need `read`.
    pub(crate) writes: bool,
    about: &'static str,
    pub(crate) inputs: &'static [Input],
    outputs: &'static [Output],
}

/// One argument.
pub(crate) struct Input {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) is_required: bool,
    about: &'static str,
}

/// What an argument may be.
pub(crate) enum Kind {
    /// A text of at least one character and at most so many.
    Text(usize),
    /// A client's id of a request.
    RequestId,
    /// A whole number.
    Whole(RangeInclusive<u64>),
    /// One of some words.
    Choice(&'static [&'static str]),
    /// A field of the request for a roundtable, by its name in snake case: the format reads it, and says what is wrong
    /// with it.
    Request(&'static str),
}

/// One field of what a tool gives: its name, its JSON type (with a question mark where it may be null), what it is.
type Output = (&'static str, &'static str, &'static str);

const DEBATE_ID: Input = Input {
    name: "debate_id",
    kind: Kind::Text(NAME_CHARS_MAX),
    is_required: true,
    about: "The roundtable, by the id that start_roundtable gave.",
};
const WAIT: Input = Input {
    name: "wait_s",
    kind: Kind::Whole(WAIT_S),
    is_required: false,
    about: "Seconds to wait for the end, 45 unless said otherwise; 0 returns at once. The roundtable goes on afterwards.",
};

const fn required(name: &'static str, kind: Kind, about: &'static str) -> Input {
    Input { name, kind, is_required: true, about }
}

const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Input {
    Input { name, kind, is_required: false, about }
}

const OF: Output = ("debate_id", "string", "The roundtable.");
const STATE: Output = ("state", "string", "running, paused or concluded.");
const STANDING: &[Output] = &[
    ("debate", "object", "What it is and where it stands: id, state, title, opened_at, spend and more."),
    (
        "result",
        "object",
        "Decision, agent responses, evidence without its rounds, metadata; as far as they are there yet.",
    ),
];

/// The tools, in the order in which they are listed.
pub(crate) const TOOLS: &[Spec] = &[
    Spec {
        act: Act::Start,
        name: "start_roundtable",
        writes: true,
        about: "Opens a roundtable: agents debate a topic over rounds. Waits for its end for a while and returns the \
                result as far as it is there; sends progress while it runs.",
        inputs: &[
            required("topic", Kind::Request("topic"), "What is debated."),
            required(
                "agents",
                Kind::Request("agents"),
                "Who sits at the table, in the order of speaking: names, or objects with name and perspective.",
            ),
            optional(
                "mode",
                Kind::Request("mode"),
                "How; collaborative unless said otherwise. See get_agents.",
            ),
            optional("rounds", Kind::Request("rounds"), "How many rounds; 3 unless said otherwise."),
            optional(
                "perspective_config",
                Kind::Request("perspective_config"),
                "For expert-panel: which perspectives there are, and who gets which.",
            ),
            optional(
                "perspectiveConfig",
                Kind::Request("perspective_config"),
                "The same as perspective_config; give one of them.",
            ),
            optional(
                "flags",
                Kind::Request("flags"),
                "Flags of this roundtable, over those of the environment; minCalls is the same as min_calls.",
            ),
            optional("sequential", Kind::Request("sequential"), "What shortens sequential modes."),
            optional(
                "tools",
                Kind::Request("tools"),
                "The tools that agents may ask for; none unless said otherwise.",
            ),
            optional(
                "native_web_search",
                Kind::Request("native_web_search"),
                "Whether the provider's own web search may be used.",
            ),
            optional(
                "nativeWebSearch",
                Kind::Request("native_web_search"),
                "The same as native_web_search; give one of them.",
            ),
            optional("options", Kind::Request("options"), "Seed, measure of similarity, models, limits."),
            optional(
                "request_id",
                Kind::RequestId,
                "An id of your own: the same start with the same id opens nothing new.",
            ),
            WAIT,
        ],
        outputs: STANDING,
    },
    Spec {
        act: Act::Continue,
        name: "continue_roundtable",
        writes: true,
        about: "Adds rounds to a roundtable that has concluded, with a question of their own if you like; its new \
                conclusion is added to the log; the old one stays.",
        inputs: &[
            DEBATE_ID,
            optional("rounds", Kind::Whole(ROUNDS_ADDED), "How many more; 1 unless said otherwise."),
            optional("focus", Kind::Text(FOCUS_CHARS_MAX), "The question that they are to deal with."),
            WAIT,
        ],
        outputs: STANDING,
    },
    Spec {
        act: Act::Control,
        name: "control_session",
        writes: true,
        about: "Pauses a roundtable (what was asked is still answered, nothing new is), resumes it (or drives a void one \
                again), or stops it for good with what there is.",
        inputs: &[
            DEBATE_ID,
            required("action", Kind::Choice(&["pause", "resume", "stop"]), "What to do."),
            optional("reason", Kind::Text(NAME_CHARS_MAX), "Why it is stopped, for the log."),
        ],
        outputs: STANDING,
    },
    Spec {
        act: Act::Consensus,
        name: "get_consensus",
        writes: false,
        about: "Tells how far the agents of a roundtable agree, after each round and in the end, and whether they agree \
                too easily.",
        inputs: &[DEBATE_ID],
        outputs: &[
            OF,
            STATE,
            (
                "decision",
                "object",
                "Consensus, agreement level, action, position, supporters, dissenters, missing, cautions.",
            ),
            ("rounds", "array", "For each round the agreement level and the camps."),
            (
                "groupthink",
                "object?",
                "The warning, its signs and what was done; null if it was not checked.",
            ),
            ("convergence_round", "integer?", "The first round after which no agent moved."),
        ],
    },
    Spec {
        act: Act::Agents,
        name: "get_agents",
        writes: false,
        about: "Tells who sits at a roundtable; without debate_id, in which modes and from which perspectives agents can \
                debate here, and which model is asked unless a request names others.",
        inputs: &[Input { is_required: false, ..DEBATE_ID }],
        outputs: &[
            ("debate_id", "string?", "The roundtable; null where none was named."),
            ("agents", "array", "Name, role, shown_as, models and rounds spoken of each agent."),
            ("modes", "array", "The modes."),
            ("perspectives", "array", "The perspectives of expert-panel."),
            ("default_model", "string", "The model that is asked unless a request names others."),
        ],
    },
    Spec {
        act: Act::List,
        name: "list_sessions",
        writes: false,
        about: "Lists roundtables, the newest first.",
        inputs: &[
            optional(
                "state",
                Kind::Choice(&["running", "paused", "concluded", "archived"]),
                "Only those in this state.",
            ),
            optional("page_size", Kind::Whole(1..=100), "How many; 50 unless said otherwise."),
            optional("page_token", Kind::Text(NAME_CHARS_MAX), "The next_page_token of the page before."),
        ],
        outputs: &[
            ("debates", "array", "What each is and where it stands."),
            ("next_page_token", "string?", "Asks for the next page; null on the last one."),
        ],
    },
    Spec {
        act: Act::Round,
        name: "get_round_details",
        writes: false,
        about: "Returns everything that was said in a round, and what the round came to.",
        inputs: &[DEBATE_ID, required("round", Kind::Whole(ROUNDTABLE_ROUNDS), "Which round, from 1.")],
        outputs: &[
            ("round", "integer", "Its number."),
            ("responses", "array", "What each agent said."),
            (
                "judgements",
                "array",
                "Agreement level, camps, overlap, who kept the position, signs of groupthink.",
            ),
        ],
    },
    Spec {
        act: Act::Response,
        name: "get_response_detail",
        writes: false,
        about: "Returns what one agent said, in one round or in all: stance, position, reasoning, confidence, citations.",
        inputs: &[
            DEBATE_ID,
            required("agent", Kind::Text(NAME_CHARS_MAX), "Whose."),
            optional(
                "round",
                Kind::Whole(ROUNDTABLE_ROUNDS),
                "In which round; all of them unless said otherwise.",
            ),
        ],
        outputs: &[OF, ("agent", "string", "Who."), ("responses", "array", "Each with its round, in order.")],
    },
    Spec {
        act: Act::Citations,
        name: "get_citations",
        writes: false,
        about: "Lists the sources that agents named, each with who named it in which round, and the pages that providers \
                searched for.",
        inputs: &[
            DEBATE_ID,
            optional("agent", Kind::Text(NAME_CHARS_MAX), "Only those that this agent named."),
            optional("round", Kind::Whole(ROUNDTABLE_ROUNDS), "Only those that were named in this round."),
        ],
        outputs: &[
            OF,
            ("citations", "array", "Source and named_by (agent and round), in the order of first mention."),
            (
                "web_sources",
                "array",
                "Pages that providers' own searches brought: agent, round, kind, url, title, cited_text.",
            ),
        ],
    },
    Spec {
        act: Act::Synthesize,
        name: "synthesize_debate",
        writes: false,
        about: "Sums a roundtable up from its log, without asking a model: decision, camps with their positions, who \
                moved when, sources, what speaks against trusting it.",
        inputs: &[DEBATE_ID],
        outputs: &[
            OF,
            STATE,
            ("topic", "string", "What was debated."),
            ("decision", "object", "What it came to, and what to do with it."),
            ("camps", "array", "Agents with the position of the first of them, the largest camp first."),
            (
                "moves",
                "array",
                "Agent, round, and the positions before and after, where an agent changed its own.",
            ),
            ("citation_count", "integer", "How many sources were named."),
            ("completeness", "object", "Whether anything is missing."),
        ],
    },
    Spec {
        act: Act::Thoughts,
        name: "get_thoughts",
        writes: false,
        about: "Follows one agent through the rounds: what it held and why, how sure it was, whom it answered, and where \
                it moved.",
        inputs: &[DEBATE_ID, required("agent", Kind::Text(NAME_CHARS_MAX), "Whose.")],
        outputs: &[
            OF,
            ("agent", "string", "Who."),
            ("role", "string?", "The part it plays."),
            ("thoughts", "array", "By round: position, reasoning, confidence, its change, refers_to, moved."),
        ],
    },
    Spec {
        act: Act::Export,
        name: "export_session",
        writes: false,
        about: "Returns the whole result of a roundtable as a Markdown document or as JSON.",
        inputs: &[
            DEBATE_ID,
            optional("format", Kind::Choice(&["markdown", "json"]), "markdown unless said otherwise."),
        ],
        outputs: &[OF, ("format", "string", "markdown or json."), ("document", "string", "The document.")],
    },
];

impl Spec {
    /// Returns the tool as clients see it.
    pub(crate) fn tool(&self) -> Tool {
        // Nothing is ever taken away; a roundtable that is stopped is over all the same.
        let annotations = ToolAnnotations::from_raw(
            None,
            Some(!self.writes),
            Some(self.act == Act::Control),
            Some(!self.writes),
            Some(matches!(self.act, Act::Start | Act::Continue)),
        );
        Tool::new(self.name, self.about, Arc::new(self.input_schema()))
            .with_raw_output_schema(Arc::new(self.output_schema()))
            .with_annotations(annotations)
    }

    fn input_schema(&self) -> JsonObject {
        let properties = self.inputs.iter().map(|input| (input.name.to_owned(), input.schema()));
        let required = self.inputs.iter().filter(|input| input.is_required).map(|input| input.name);
        let mut schema = object(properties.collect(), required.collect());
        schema.insert("additionalProperties".to_owned(), false.into());
        schema
    }

    fn output_schema(&self) -> JsonObject {
        let properties = self.outputs.iter().map(|(name, kind, about)| {
            let kind = match kind.strip_suffix('?') {
                Some(kind) => json!([kind, "null"]),
                None => json!(kind),
            };
            ((*name).to_owned(), json!({ "type": kind, "description": about }))
        });
        object(properties.collect(), self.outputs.iter().map(|(name, _, _)| *name).collect())
    }
}

impl Input {
    fn schema(&self) -> Value {
        let mut schema = match &self.kind {
            Kind::Text(chars_max) => json!({ "type": "string", "minLength": 1, "maxLength": chars_max }),
            Kind::RequestId => {
                json!({ "type": "string", "pattern": format!("^[!-~]{{1,{REQUEST_ID_CHARS_MAX}}}$") })
            }
            Kind::Whole(range) => whole_schema(range),
            Kind::Choice(words) => json!({ "type": "string", "enum": words }),
            Kind::Request(field) => FIELDS[*field].clone(),
        };
        schema["description"] = self.about.into();
        schema
    }
}

fn object(properties: Map<String, Value>, required: Vec<&str>) -> JsonObject {
    let mut schema = JsonObject::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema.insert("required".to_owned(), required.into());
    schema
}
