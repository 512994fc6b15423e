//! Holding a debate on the command line: following it to its end, cancelling it at Ctrl-C, showing what came of it.

use std::io::{self, Write as _};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use debate_core::call::Tokens;
use debate_core::id::{DebateId, Seq};
use debate_core::prose::Texts;
use debate_core::stop::{Completeness, StopRule};
use debate_engine::{Control, Engine};

use crate::app_context::AppContext;
use crate::args::Options;
use crate::commands::{ACTOR, print};
use crate::exit::End;
use crate::follow::{Followed, Teller, follow};
use crate::lines::{Silence, Steps};
use crate::live::Live;
use crate::plain::one_line;
use crate::shown;
use crate::terminal::{Style, Terminal};

/// How a debate is shown that is held here.
#[derive(Debug, clap::Args)]
pub(crate) struct Holding {
    /// Print the result as JSON, and nothing else, on stdout
    #[arg(long)]
    json: bool,

    /// Show every text whole
    #[arg(long)]
    full: bool,

    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

impl Holding {
    /// Returns whether people follow the debate on stderr.
    pub(crate) fn shows_progress(&self) -> bool {
        !self.json && !self.quiet
    }

    /// Follows a debate that was just begun, or goes on behind an event, to its end, and shows its result.
    pub(crate) async fn hold(
        &self,
        options: &Options,
        app: AppContext,
        debate: DebateId,
        after: Seq,
    ) -> anyhow::Result<End> {
        let left = app.store.place().map(|_| {
            let store = options.store_flag();
            format!("debate {debate} is left as it is; debate resume {debate}{store} drives it on")
        });
        let interrupted = watch_interrupts(app.engine.clone(), debate, left);
        let mut teller = self.teller(options);
        let followed = follow(&app.engine, debate, after, true, &mut *teller).await;
        drop(teller);
        app.close().await;
        let followed = followed?;
        self.show(options, &followed)?;
        let is_void = matches!(followed.debate.completeness(), Completeness::Void { .. });
        self.hint(options, &app, (debate, is_void))?;
        if let Some(line) = silence(&followed) {
            writeln!(io::stderr(), "error: {line}")?;
        }
        let interrupted = interrupted.load(Ordering::Relaxed);
        Ok(end_of(&followed, interrupted))
    }

    fn teller(&self, options: &Options) -> Box<dyn Teller> {
        if self.quiet {
            Box::new(Silence)
        } else if Live::fits() {
            Box::new(Live::new(Terminal::stderr(options.ascii)))
        } else {
            Box::new(Steps(Box::new(io::stderr())))
        }
    }

    fn show(&self, options: &Options, followed: &Followed) -> anyhow::Result<()> {
        let debate = &followed.debate;
        if !self.json {
            if !self.quiet {
                writeln!(io::stderr())?;
            }
            let page = shown::page(debate, &followed.failures, Terminal::stdout(options.ascii), self.full);
            return Ok(print(&page)?);
        }
        print(&format!("{}\n", debate.result_json(Texts::Shown)))?;
        let terminal = Terminal::stderr(options.ascii);
        let say = |line: &str| writeln!(io::stderr(), "{}", terminal.ink(Style::Warning, line));
        if let Some(warning) = shown::simulated(debate) {
            say(warning)?;
        }
        if let Some(note) = debate.replacement_note() {
            say(&format!("MODEL REPLACED: {}", one_line(&note)))?;
        }
        let lacks = match debate.completeness() {
            Completeness::Full => None,
            Completeness::Partial { why, missing } if why.is_empty() => {
                Some(format!("missing: {}", missing.join(", ")))
            }
            Completeness::Void { why } | Completeness::Partial { why, .. } => Some(why.join("; ")),
        };
        if let Some(lacks) = lacks {
            let state = debate.completeness().as_str().to_uppercase();
            say(&format!("{state}: {}", one_line(&lacks)))?;
            followed.failures.lines().iter().take(3).try_for_each(|line| say(&format!("  {line}")))?;
        }
        Ok(())
    }

    /// Says where the debate is kept and what can be done with it.
    fn hint(&self, options: &Options, app: &AppContext, (id, is_void): (DebateId, bool)) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        let mut stderr = io::stderr().lock();
        match app.store.place() {
            None => writeln!(stderr, "\nDebate {id} was held in memory and is gone now."),
            Some(place) => {
                writeln!(stderr, "\nDebate {id} is kept in {place}:")?;
                let store = options.store_flag();
                if is_void {
                    writeln!(stderr, "  debate resume {id}{store}    asks again for what it lacks")?;
                }
                writeln!(stderr, "  debate show {id} --full{store}")?;
                writeln!(stderr, "  debate log {id}{store}")?;
                writeln!(stderr, "  debate verify {id}{store}")
            }
        }
    }
}

/// Cancels the debate at the first Ctrl-C, so that what there is can be shown; at the second says what is left, and leaves.
fn watch_interrupts(engine: Engine, debate: DebateId, left: Option<String>) -> Arc<AtomicBool> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_err() {
            return;
        }
        flag.store(true, Ordering::Relaxed);
        tracing::info!(%debate, "interrupted");
        let control = Control::Cancel { reason: "interrupted".to_owned() };
        let cancelled = engine.control(debate, control, ACTOR);
        tokio::spawn(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                // Nothing is left in a store in memory; and a closed stderr must not keep the process from ending.
                let _unread = left.map(|left| writeln!(io::stderr(), "\n{left}"));
                process::exit(End::Interrupted.code().into());
            }
        });
        if let Err(error) = cancelled.await {
            tracing::warn!(%debate, error = &error as &dyn std::error::Error, "cannot cancel");
        }
    });
    interrupted
}

/// Returns what happened and what to do where a debate is void because its model never answered at all.
fn silence(followed: &Followed) -> Option<String> {
    let debate = &followed.debate;
    let is_void = matches!(debate.completeness(), Completeness::Void { .. });
    if !is_void || debate.is_simulated() || debate.spend().known != Tokens::default() {
        return None;
    }
    let failure = followed.failures.commonest()?;
    let models = debate.models().iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    Some(one_line(&format!("{models} never answered: {failure}")))
}

fn end_of(followed: &Followed, interrupted: bool) -> End {
    let debate = &followed.debate;
    if interrupted && debate.stop_rule() == Some(StopRule::Cancelled) {
        return End::Interrupted;
    }
    match debate.completeness() {
        Completeness::Void { .. } => End::Failed,
        Completeness::Full | Completeness::Partial { .. } => End::Done,
    }
}
