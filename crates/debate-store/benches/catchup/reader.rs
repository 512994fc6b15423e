//! A reader that is killed and resumed at random, and what it has stored.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// How long a reader lives from its first event on, in ms: the least, and how much more at most.
const LIFE_MS: (u64, u64) = (300, 2_700);

/// How long nothing may arrive, after all is written, before what is missing counts as lost.
const SILENCE_MAX: Duration = Duration::from_secs(20);

/// A command line.
pub(super) type CommandLine = Vec<String>;

/// What the readers of one run have in common.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) url: String,
    pub(super) writers: usize,
    /// The events written, and when the last of them was, once all writers have ended.
    written: Mutex<Option<(u64, Instant)>>,
}

impl Run {
    pub(super) fn new(url: String, writers: usize) -> Arc<Self> {
        Arc::new(Self { url, writers, written: Mutex::default() })
    }

    /// Tells the readers that so many events were written, and no more will be.
    pub(super) fn end(&self, events: u64) {
        *self.written.lock().unwrap_or_else(PoisonError::into_inner) = Some((events, Instant::now()));
    }

    fn written(&self) -> Option<(u64, Instant)> {
        *self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one reader has stored: the events it took in, and up to where, both at once.
#[derive(Debug)]
pub(super) struct Taken {
    cursor: String,
    /// Whether the events of each writer were seen.
    seen: Vec<Vec<bool>>,
    /// The last number seen of each writer.
    last: Vec<u64>,
    /// Events that arrived, each counted once.
    pub(super) events: u64,
    /// Events that arrived again.
    pub(super) doubled: u64,
    /// Stands for the order in which all of them arrived.
    pub(super) order: u64,
    /// When the first event arrived, and when one arrived behind a hole in its writer's.
    first: Option<Instant>,
    first_hole: Option<Instant>,
    pub(super) kills: u64,
    /// Events that were written and never arrived.
    pub(super) lost: u64,
}

impl Taken {
    fn new(writers: usize) -> Self {
        Self {
            cursor: "0".to_owned(),
            seen: vec![Vec::new(); writers],
            last: vec![0; writers],
            events: 0,
            doubled: 0,
            // The start of FNV-1a.
            order: 0xcbf2_9ce4_8422_2325,
            first: None,
            first_hole: None,
            kills: 0,
            lost: 0,
        }
    }

    /// Returns how long after the first event the first hole was seen.
    pub(super) fn caught_after(&self) -> Option<Duration> {
        Some(self.first_hole?.duration_since(self.first?))
    }

    fn take(&mut self, line: &str) -> Result<()> {
        let mut words = line.split(' ');
        let (Some(cursor), Some(writer), Some(number), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            bail!("a reader printed `{line}`");
        };
        let (writer, number): (usize, u64) = (writer.parse()?, number.parse()?);
        let seen = self.seen.get_mut(writer).context("an unknown writer")?;
        let index = usize::try_from(number).context("a large number")?;
        if seen.len() <= index {
            seen.resize(index + 1, false);
        }
        if std::mem::replace(&mut seen[index], true) {
            self.doubled += 1;
        } else {
            self.events += 1;
        }
        let now = Instant::now();
        self.first.get_or_insert(now);
        if number > self.last[writer] + 1 {
            self.first_hole.get_or_insert(now);
        }
        self.last[writer] = self.last[writer].max(number);
        for word in [writer as u64, number] {
            self.order = (self.order ^ word).wrapping_mul(0x0100_0000_01b3);
        }
        cursor.clone_into(&mut self.cursor);
        Ok(())
    }
}

/// Starts a reader again and again, each time from what it had stored, until it has everything or nothing comes any more.
pub(super) fn read(run: &Run, program: &CommandLine, mut odd: u64) -> Result<Taken> {
    let mut taken = Taken::new(run.writers);
    let mut heard = Instant::now();
    loop {
        // What is written later is no reason to be silent.
        if let Some((all, since)) = run.written()
            && (taken.events >= all || heard.max(since).elapsed() > SILENCE_MAX)
        {
            taken.lost = all.saturating_sub(taken.events);
            return Ok(taken);
        }
        odd = odd.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        live(
            run,
            program,
            Duration::from_millis(LIFE_MS.0 + (odd >> 33) % LIFE_MS.1),
            &mut taken,
            &mut heard,
        )?;
        taken.kills += 1;
    }
}

/// One life of a reader: takes in what it prints until it is killed.
fn live(
    run: &Run,
    program: &CommandLine,
    life: Duration,
    taken: &mut Taken,
    heard: &mut Instant,
) -> Result<()> {
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]).args(["read", &run.url, &taken.cursor]);
    let mut reader = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(reader.stdout.take().context("a reader has no output")?);
    let (began, has_begun) = mpsc::channel();
    let killer = thread::spawn(move || {
        // A life begins with what it first brings, for some programs take long to start.
        if has_begun.recv_timeout(SILENCE_MAX).is_ok() {
            thread::sleep(life);
        }
        let ended = reader.try_wait();
        // SIGKILL; what was printed before is still in the pipe.
        let killed = reader.kill().and_then(|()| reader.wait());
        (ended, killed)
    });
    let mut line = String::new();
    // A line cut short by the kill was not stored.
    while lines.read_line(&mut line)? > 0 && line.ends_with('\n') {
        let _ = began.send(());
        taken.take(line.trim_end())?;
        line.clear();
        *heard = Instant::now();
    }
    drop(lines);
    let Ok((ended, killed)) = killer.join() else { bail!("a reader cannot be killed") };
    killed?;
    if ended?.is_some() { bail!("a reader ended by itself") } else { Ok(()) }
}
