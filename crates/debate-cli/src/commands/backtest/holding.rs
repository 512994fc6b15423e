//! Holding the debates of a backtest: which there are already, and bringing the others to their end.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use debate_core::codec::Author;
use debate_core::command::DecideError;
use debate_core::debate::Lifecycle;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::backtest::{Question, Questions};
use debate_core::id::{DebateId, Digest};
use debate_engine::{Control, ControlError, Engine, Start};
use futures::StreamExt as _;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::app_context::AppContext;
use crate::commands::ACTOR;
use crate::exit::one_line;
use crate::plain;
use crate::terminal::Terminal;

/// How long a debate is waited for after its own deadline.
const PATIENCE: Duration = Duration::from_secs(4 * 3_600);

/// The debates of a backtest.
#[derive(Debug)]
pub(super) struct Plan {
    model: String,
    open: usize,
    debates: Vec<Planned>,
}

/// One debate.
#[derive(Debug)]
pub(super) struct Planned {
    /// What about.
    pub(super) question: Question,
    request_id: String,
    standing: Standing,
}

/// How far a debate is before the backtest begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    New,
    Cut(DebateId),
    Paused(DebateId),
    Concluded(DebateId),
}

/// What came of the debates that were reached, by their place in the plan.
#[derive(Debug)]
pub(super) struct Ended {
    /// The debates, or why there is none.
    pub(super) all: Vec<(usize, Result<DebateId, String>)>,
    /// Whether somebody pressed Ctrl-C.
    pub(super) interrupted: bool,
}

impl Plan {
    /// Looks which debates there are already.
    ///
    /// # Errors
    /// The store, or one of these debates, cannot be read.
    pub(super) async fn of(app: &AppContext, questions: Questions, run: &str) -> anyhow::Result<Self> {
        let (engine, open) = (&app.engine, questions.open);
        let mut debates = Vec::with_capacity(questions.resolved.len());
        for question in questions.resolved {
            let request_id = request_id(&question, engine.model_name(), run);
            let standing = match engine.store().find_request("", &request_id).await? {
                None => Standing::New,
                Some(owner) => {
                    let id = DebateId(owner.stream.id);
                    match engine.load::<Prediction>(id, None).await?.lifecycle() {
                        Lifecycle::Running => Standing::Cut(id),
                        Lifecycle::Paused { .. } => Standing::Paused(id),
                        Lifecycle::Concluded => Standing::Concluded(id),
                    }
                }
            };
            debates.push(Planned { question, request_id, standing });
        }
        Ok(Self { model: engine.model_name().to_owned(), open, debates })
    }

    /// Returns the model asked.
    pub(super) fn model(&self) -> &str {
        &self.model
    }

    /// Returns how many questions are left out because their answer is not known yet.
    pub(super) fn open(&self) -> usize {
        self.open
    }

    /// Returns all debates, in the order of the file.
    pub(super) fn debates(&self) -> &[Planned] {
        &self.debates
    }

    /// Returns the questions of which the debate has not concluded.
    pub(super) fn to_do(&self) -> Vec<&Question> {
        let open = self.debates.iter().filter(|planned| !matches!(planned.standing, Standing::Concluded(_)));
        open.map(|planned| &planned.question).collect()
    }

    /// Returns how many debates have concluded, were cut, and are new.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        self.debates.iter().fold((0, 0, 0), |(held, cut, new), planned| match planned.standing {
            Standing::Concluded(_) => (held + 1, cut, new),
            Standing::Cut(_) | Standing::Paused(_) => (held, cut + 1, new),
            Standing::New => (held, cut, new + 1),
        })
    }

    /// Brings all debates to their end, so many at once, and records what happened; stops at Ctrl-C.
    pub(super) async fn hold(&self, engine: &Engine, parallel: usize, progress: &Progress) -> Ended {
        let one = async |(place, planned): (usize, &Planned)| {
            let ended = planned.hold(engine).await.map_err(|error| one_line(&error));
            if !matches!(planned.standing, Standing::Concluded(_)) {
                progress.tell(&planned.question, &ended);
            }
            (place, ended)
        };
        let mut ended = Ended { all: Vec::with_capacity(self.debates.len()), interrupted: false };
        let each = futures::stream::iter(self.debates.iter().enumerate()).map(one);
        let mut each = std::pin::pin!(each.buffer_unordered(parallel));
        let mut interrupt = std::pin::pin!(interrupted());
        loop {
            tokio::select! {
                biased;
                () = &mut interrupt => {
                    ended.interrupted = true;
                    break;
                }
                next = each.next() => match next {
                    Some(next) => ended.all.push(next),
                    None => break,
                },
            }
        }
        ended.all.sort_by_key(|(place, _)| *place);
        ended
    }
}

/// Waits for Ctrl-C; forever if the process cannot listen for it.
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

impl Planned {
    /// Brings the debate to its end and records what happened.
    async fn hold(&self, engine: &Engine) -> anyhow::Result<DebateId> {
        let debate = match self.standing {
            Standing::New => engine.start(self.opening()).await?.debate,
            Standing::Cut(debate) => {
                engine.drive(debate).await?;
                debate
            }
            Standing::Paused(debate) => anyhow::bail!("debate {debate} is paused"),
            Standing::Concluded(debate) => debate,
        };
        let deadline = Duration::from_millis(self.question.request.limits.deadline_ms);
        anyhow::ensure!(
            engine.concluded(debate, deadline.saturating_add(PATIENCE)).await?,
            "debate {debate} does not end"
        );
        match engine.control(debate, Control::Resolve(self.question.resolved.clone()), ACTOR).await {
            Ok(()) | Err(ControlError::Refused(DecideError::Resolved(_))) => Ok(debate),
            Err(error) => Err(error.into()),
        }
    }

    fn opening(&self) -> Start<Prediction> {
        let request = self.question.request.clone();
        Start {
            config: request.config,
            brief: request.brief,
            limits: request.limits,
            request_digest: request.digest,
            request_id: Some(self.request_id.clone()),
            author: Author { tenant: String::new(), actor: ACTOR.to_owned(), trace: None },
        }
    }
}

/// Returns the id under which a question is debated: the same for the same question, rules, model, effort and run,
/// whatever else the file has.
fn request_id(question: &Question, model: &str, run: &str) -> String {
    let Question { id, request, .. } = question;
    let mut meant = format!("{id}\0{}\0{}\0{model}\0{run}", request.digest, request.config.seed);
    if let Some(effort) = request.config.models.effort.default {
        meant = format!("{meant}\0{}", effort.as_str());
    }
    format!("backtest-{}", Digest::of_text(&meant))
}

/// Tells how far the debates are: a bar on a terminal, lines elsewhere.
#[derive(Debug)]
pub(super) struct Progress {
    bar: ProgressBar,
    is_quiet: bool,
    all: usize,
    done: AtomicUsize,
}

impl Progress {
    /// Begins with nothing done.
    pub(super) fn begin(is_quiet: bool, all: usize, terminal: Terminal) -> anyhow::Result<Self> {
        let target = if is_quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(all as u64), target);
        let style =
            ProgressStyle::with_template("{bar:40} {pos}/{len} debates  {elapsed}  about {eta} left")?;
        bar.set_style(style.progress_chars(terminal.or("█▉▊▋▌▍▎▏ ", "#- ")));
        Ok(Self { bar, is_quiet, all, done: AtomicUsize::new(0) })
    }

    fn tell(&self, question: &Question, ended: &Result<DebateId, String>) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.bar.inc(1);
        let status = match ended {
            Ok(debate) => format!("debate {debate} has concluded"),
            Err(why) => why.clone(),
        };
        if !self.is_quiet && self.bar.is_hidden() {
            let line = plain::one_line(&format!("{done}/{} {}: {status}", self.all, question.id));
            // If stderr is closed, its reader wants no more lines.
            let _unread = writeln!(io::stderr(), "{line}");
        }
    }

    /// Takes the bar away.
    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use debate_core::formats::prediction::backtest::read;
    use debate_core::id::Timestamp;

    use super::*;

    #[test]
    fn k11_request_id_depends_on_question_rounds_model_and_run() {
        let line = r#"{"id": "q", "question": "Will it?", "outcomes": ["Yes", "No"], "resolution": "no"}"#;
        let question = |line: &str, rounds| read(line, rounds, Timestamp(0)).unwrap().resolved.remove(0);
        let id = |line: &str, rounds, model, run| request_id(&question(line, rounds), model, run);
        let first = id(line, None, "a:1", "");
        assert!(first.len() <= 128, "{first}");
        let corrected = line.replace("\"no\"}", "\"yes\", \"crowd\": {\"value\": 0.3}}");
        assert_eq!(first, id(&corrected, None, "a:1", ""));
        for other in [
            id(line, Some(1), "a:1", ""),
            id(line, None, "a:2", ""),
            id(line, None, "a:1", "again"),
            id(&line.replace("\"q\"", "\"r\""), None, "a:1", ""),
            id(&line.replace("Will", "When will"), None, "a:1", ""),
        ] {
            assert_ne!(first, other);
        }
    }
}
