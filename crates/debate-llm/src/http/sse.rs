//! Server-sent events, cut from bytes as they come; of each event only its data.

/// Cuts a byte stream into the data of its events, wherever the stream is split.
///
/// Comments and the fields `event`, `id` and `retry` are skipped. Line ends are LF, CR LF or CR.
#[derive(Debug, Default)]
pub(super) struct EventData {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    after_cr: bool,
    after_first_line: bool,
}

impl EventData {
    /// Takes the next bytes and hands each event that is now complete to `event`, until it fails.
    pub(super) fn push<E>(
        &mut self,
        mut bytes: &[u8],
        event: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) else {
                self.line.extend_from_slice(bytes);
                return Ok(());
            };
            self.after_cr = bytes[end] == b'\r';
            if self.line.is_empty() {
                self.end_line(&bytes[..end], event)?;
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(&bytes[..end]);
                self.end_line(&line, event)?;
            }
            bytes = &bytes[end + 1..];
        }
        Ok(())
    }

    /// Hands over what is left when the stream has ended without a last blank line.
    pub(super) fn finish<E>(&mut self, event: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.end_line(&line, event)?;
        }
        self.end_line(b"", event)
    }

    fn end_line<E>(&mut self, line: &[u8], event: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let is_first = !std::mem::replace(&mut self.after_first_line, true);
        let line = if is_first { line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line) } else { line };
        if line.is_empty() {
            if std::mem::take(&mut self.has_data) {
                // Its memory serves the next event too.
                let taken = event(&self.data);
                self.data.clear();
                return taken;
            }
            return Ok(());
        }
        let value = match line.strip_prefix(b"data") {
            Some([]) => &[],
            Some([b':', b' ', value @ ..] | [b':', value @ ..]) => value,
            Some(_) | None => return Ok(()),
        };
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(pieces: &[&[u8]]) -> Vec<String> {
        let mut seen = Vec::new();
        let mut cut = EventData::default();
        let mut event = |data: &[u8]| {
            seen.push(String::from_utf8(data.to_vec()).unwrap());
            Ok::<(), ()>(())
        };
        for piece in pieces {
            cut.push(piece, &mut event).unwrap();
        }
        cut.finish(&mut event).unwrap();
        seen
    }

    #[test]
    fn events_are_cut_alike_at_every_split_and_with_every_line_end() {
        let lf = "\u{feff}: comment\nevent: x\ndata: é1\n\ndata:2\ndata\ndata: 3\nid: 4\n\n\ndatax: no\ndata:  [é]";
        let want = ["é1", "2\n\n3", " [é]"];
        for text in [lf.to_owned(), lf.replace('\n', "\r\n"), lf.replace('\n', "\r")] {
            let bytes = text.as_bytes();
            for at in 0..=bytes.len() {
                assert_eq!(events(&[&bytes[..at], &bytes[at..]]), want, "{text:?} at {at}");
            }
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(events(&single), want, "{text:?} byte by byte");
        }
    }
}
