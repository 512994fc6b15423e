//! The live view on a terminal: one row for each speaker, below them the calls, the time and the spend, what is settled
//! above.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

use console::Term;
use debate_core::envelope::Envelope;
use debate_core::event::CallAnswered;
use debate_core::formats::any::AnyDebate;
use debate_core::formats::investigation::config::RESERVED;
use debate_core::formats::prediction::fact::ArgumentScored;
use debate_core::id::{Role, Timestamp};
use debate_core::record::Body as _;
use debate_engine::{Chunk, Env};
use indicatif::{FormattedDuration, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::event_line::{EventLine, Severity};
use crate::follow::Teller;
use crate::logging;
use crate::page::thousands;
use crate::plain::one_line;
use crate::prices::dollars;
use crate::terminal::{Style, Terminal};

/// How often the clock moves while nothing happens.
const TICK: Duration = Duration::from_millis(120);
/// How much of what somebody is saying is kept for their row, in bytes.
const TAIL_BYTES_MAX: usize = 400;

/// The live view.
pub(crate) struct Live {
    terminal: Terminal,
    view: MultiProgress,
    total: ProgressBar,
    rows: BTreeMap<Role, Row>,
}

struct Row {
    bar: ProgressBar,
    /// The end of what is being said.
    saying: String,
    /// What was said last, for when its score comes.
    said: String,
}

impl Row {
    /// Shows an event of this speaker.
    fn tell(&mut self, kind: &str, text: String) {
        // A piece of an earlier attempt is not the beginning of this one.
        self.saying.clear();
        match kind {
            // What was said stays in view while its score is being waited for.
            CallAnswered::KIND => return,
            ArgumentScored::KIND if !self.said.is_empty() => {
                self.bar.set_message(format!("{text}; {}", self.said));
                return;
            }
            _ => {}
        }
        self.bar.set_message(text.clone());
        self.said = text;
    }
}

impl Live {
    /// Returns whether there is a terminal on stderr that can be drawn on.
    pub(crate) fn fits() -> bool {
        Term::stderr().is_term() && std::env::var("TERM").as_deref() != Ok("dumb")
    }

    /// Begins to draw on stderr.
    pub(crate) fn new(terminal: Terminal) -> Self {
        let view = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        logging::set_live_view(&view);
        let total = view.add(ProgressBar::new(0));
        let bar = if terminal.unicode {
            "{spinner} {bar:24} {pos}/{len} calls  {elapsed_precise}{prefix}  {wide_msg}"
        } else {
            "- {bar:24} {pos}/{len} calls  {elapsed_precise}{prefix}  {wide_msg}"
        };
        total.set_style(style(bar).progress_chars(terminal.or("█▉▊▋▌▍▎▏ ", "#- ")));
        total.enable_steady_tick(TICK);
        Self { terminal, view, total, rows: BTreeMap::new() }
    }

    /// Gives everybody who speaks a row, in their order.
    fn seat(&mut self, debate: &AnyDebate) {
        let (speakers, calls): (Vec<Role>, u64) = match debate {
            AnyDebate::Prediction(debate) => {
                (debate.config().roles.clone(), debate.config().calls_expected())
            }
            AnyDebate::Deliberation(debate) => {
                let config = debate.config();
                let speakers = config.participants.iter().chain(&config.orchestrator);
                (speakers.map(|speaker| speaker.name.clone()).collect(), config.calls_expected())
            }
            AnyDebate::Roundtable(debate) => {
                let config = debate.config();
                (config.agents.iter().map(|agent| agent.name.clone()).collect(), config.calls_expected())
            }
            AnyDebate::Review(debate) => {
                let pairs = debate.config().pairs.iter();
                let roles: BTreeSet<&Role> = pairs.flat_map(|pair| [&pair.role_a, &pair.role_b]).collect();
                (roles.into_iter().cloned().collect(), debate.config().calls_expected())
            }
            AnyDebate::Investigation(debate) => {
                let config = debate.config();
                let investigators = config.seats.iter().map(|seat| seat.investigator.clone());
                (investigators.chain(RESERVED.map(Role::from)).collect(), config.calls_expected())
            }
        };
        let width = speakers.iter().map(|role| role.as_str().len()).max().unwrap_or(0);
        self.total.set_length(calls);
        let since = between(debate.opened_at(), Env::real().now());
        self.total.set_elapsed(allowed(debate).map_or(since, |most| since.min(most)));
        for role in speakers {
            self.add_row(&role, width);
        }
    }

    fn add_row(&mut self, role: &Role, width: usize) {
        let bar = self.view.insert_before(&self.total, ProgressBar::new_spinner());
        bar.set_style(style("  {prefix}  {wide_msg}"));
        let name = format!("{:width$}", one_line(role.as_str()));
        bar.set_prefix(self.terminal.ink(Style::Bold, &name));
        bar.set_message("waits");
        self.rows.insert(role.clone(), Row { bar, saying: String::new(), said: String::new() });
    }

    fn say(&self, line: &str) -> io::Result<()> {
        self.view.println(line)
    }

    fn total(&self, debate: &AnyDebate) {
        let spend = debate.spend();
        let most = allowed(debate).map(|most| format!(" of {}", FormattedDuration(most)));
        self.total.set_prefix(most.unwrap_or_default());
        // Calls beyond those of a debate without faults: more is asked than was planned.
        self.total.set_length(self.total.length().unwrap_or(0).max(spend.calls));
        self.total.set_position(spend.calls);
        let phase = debate.phase().map(|(phase, round)| format!("round {round}: {}, ", one_line(phase)));
        let phase = phase.unwrap_or_default();
        let (input, output) = (thousands(spend.known.input), thousands(spend.known.output));
        let simulated = if debate.is_simulated() { "SIMULATED, " } else { "" };
        let cost = spend.cost.map(|cost| format!(", {}", dollars(cost.cost_micros))).unwrap_or_default();
        self.total.set_message(format!("{simulated}{phase}{input} tokens in, {output} out{cost}"));
    }
}

impl Teller for Live {
    fn event(&mut self, debate: &AnyDebate, envelope: &Envelope, line: &EventLine) -> io::Result<()> {
        if self.rows.is_empty() {
            self.seat(debate);
        }
        if let Some(row) = line.who.as_ref().and_then(|who| self.rows.get_mut(who)) {
            row.tell(&envelope.kind, one_line(&line.text));
        }
        match line.weight {
            Severity::Detail | Severity::Step => {}
            Severity::Trouble => self.say(&format!("  {}", one_line(&line.line())))?,
            Severity::Mark => self.say(&self.terminal.ink(Style::Bold, &one_line(&line.line())))?,
        }
        self.total(debate);
        Ok(())
    }

    fn chunk(&mut self, chunk: &Chunk) -> io::Result<()> {
        let Some(row) = self.rows.get_mut(&chunk.attempt.call.role) else { return Ok(()) };
        row.saying.push_str(&chunk.text);
        if row.saying.len() > TAIL_BYTES_MAX {
            row.saying =
                row.saying.split_off(row.saying.ceil_char_boundary(row.saying.len() - TAIL_BYTES_MAX));
        }
        // The end of it is what is new, so the row shows the end.
        let room = self.terminal.width.saturating_sub(24);
        let said = one_line(&row.saying);
        let skip = console::measure_text_width(&said).saturating_sub(room);
        row.bar.set_message(said.chars().skip(skip).collect::<String>());
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        for row in self.rows.values() {
            row.bar.finish_and_clear();
        }
        self.total.finish_and_clear();
        self.view.clear()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // A terminal that is given back must be clean, also after an error.
        let _ = self.finish();
    }
}

/// Returns the time that a debate may take in all; none where it has no deadline.
fn allowed(debate: &AnyDebate) -> Option<Duration> {
    debate.deadline().map(|deadline| between(debate.opened_at(), deadline))
}

/// Returns the time from one moment to another; none where that is the earlier one.
fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0))
}

fn style(template: &'static str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is one of the constants above")
}
