//! A debate in lines: for people where there is no terminal to draw on, and as JSON for programs.

use std::io::{self, Write};

use debate_core::envelope::Envelope;
use debate_core::formats::any::AnyDebate;
use debate_engine::Chunk;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::event_line::{EventLine, Severity};
use crate::follow::Teller;
use crate::plain::one_line;

/// Where lines go.
pub(crate) type Sink = Box<dyn Write + Send>;

/// Says nothing.
#[derive(Debug)]
pub(crate) struct Silence;

impl Teller for Silence {
    fn event(&mut self, _: &AnyDebate, _: &Envelope, _: &EventLine) -> io::Result<()> {
        Ok(())
    }

    fn chunk(&mut self, _: &Chunk) -> io::Result<()> {
        Ok(())
    }
}

/// Plain lines: what happened, without book-keeping.
pub(crate) struct Steps(pub(crate) Sink);

impl Teller for Steps {
    fn event(&mut self, _: &AnyDebate, _: &Envelope, line: &EventLine) -> io::Result<()> {
        let indent = match line.weight {
            Severity::Detail => return Ok(()),
            Severity::Step | Severity::Trouble => "  ",
            Severity::Mark => "",
        };
        writeln!(self.0, "{indent}{}", one_line(&line.line()))
    }

    fn chunk(&mut self, _: &Chunk) -> io::Result<()> {
        Ok(())
    }
}

/// Plain lines of all events, each with its sequence number, and of live text between them.
pub(crate) struct Numbered(pub(crate) Sink);

impl Teller for Numbered {
    fn event(&mut self, _: &AnyDebate, envelope: &Envelope, line: &EventLine) -> io::Result<()> {
        writeln!(self.0, "{}", numbered(envelope, line))?;
        self.0.flush()
    }

    fn chunk(&mut self, chunk: &Chunk) -> io::Result<()> {
        let (call, number) = (&chunk.attempt.call, chunk.number);
        let line = format!("{call} piece {number}: {}", chunk.text);
        writeln!(self.0, "     ~  {}", one_line(&line))?;
        self.0.flush()
    }
}

/// Returns an event as a line of a log.
pub(crate) fn numbered(envelope: &Envelope, line: &EventLine) -> String {
    let (seq, at, kind) = (envelope.seq.0, envelope.at.to_string(), &envelope.kind);
    format!("{seq:>6}  {at}  {kind:<18}  {}", one_line(&line.line()))
}

/// One JSON object in each line: events as they are stored, pieces of live text as they come.
pub(crate) struct Json(pub(crate) Sink);

impl Teller for Json {
    fn event(&mut self, _: &AnyDebate, envelope: &Envelope, _: &EventLine) -> io::Result<()> {
        writeln!(self.0, "{}", json(envelope)?)?;
        self.0.flush()
    }

    fn chunk(&mut self, chunk: &Chunk) -> io::Result<()> {
        let piece = Piece {
            kind: "piece",
            call: chunk.attempt.call.to_string(),
            revision: chunk.attempt.revision,
            attempt: chunk.attempt.attempt,
            turn: chunk.attempt.turn,
            number: chunk.number,
            text: &chunk.text,
        };
        writeln!(self.0, "{}", serde_json::to_string(&piece)?)?;
        self.0.flush()
    }
}

#[derive(Serialize)]
struct Piece<'a> {
    kind: &'static str,
    call: String,
    revision: u32,
    attempt: u32,
    turn: u32,
    number: u32,
    text: &'a str,
}

/// An event as `--json` shows it; body and prose are the stored bytes.
#[derive(Serialize)]
struct Event<'a> {
    seq: u64,
    kind: &'a str,
    version: u16,
    at: String,
    debate: String,
    tenant: &'a str,
    actor: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<&'a str>,
    body: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    prose: Option<&'a RawValue>,
    redacted: bool,
    hash: String,
}

/// Returns an event as one line of JSON.
pub(crate) fn json(envelope: &Envelope) -> io::Result<String> {
    let prose = envelope.prose.as_ref().map(|prose| serde_json::from_str(&prose.text)).transpose()?;
    let event = Event {
        seq: envelope.seq.0,
        kind: &envelope.kind,
        version: envelope.version,
        at: envelope.at.to_string(),
        debate: envelope.stream.id.to_string(),
        tenant: &envelope.tenant,
        actor: &envelope.actor,
        trace: envelope.trace.as_deref(),
        body: serde_json::from_str(&envelope.body)?,
        prose,
        redacted: envelope.is_redacted(),
        hash: envelope.hash.to_string(),
    };
    Ok(serde_json::to_string(&event)?)
}

#[cfg(test)]
mod tests {
    use debate_core::event::AttemptRef;

    use super::*;

    #[test]
    fn k13_pieces_of_what_is_being_said_steer_no_terminal() {
        let (mut output, lines) = io::pipe().unwrap();
        let call = "argue/1/optimist\u{1b}]0;owned\u{7}\u{9b}31m/1".parse().unwrap();
        let attempt = AttemptRef { call, revision: 0, attempt: 1, turn: 1 };
        let text = "clear \u{1b}[2J and turn \u{202e}around\nin two lines".to_owned();
        Numbered(Box::new(lines)).chunk(&Chunk { attempt, number: 1, text }).unwrap();
        let mut line = String::new();
        io::Read::read_to_string(&mut output, &mut line).unwrap();
        assert!(line.starts_with("     ~  argue/1/optimist") && line.ends_with("in two lines\n"), "{line:?}");
        assert!(!line.trim_end().contains(|c: char| c.is_control() || c == '\u{202e}'), "{line:?}");
    }
}
