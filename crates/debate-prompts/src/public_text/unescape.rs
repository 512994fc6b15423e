//! Decodes the escapes of a JSON text character by character.

/// Decodes escapes that may be split anywhere.
#[derive(Debug, Default)]
pub(super) struct Unescape {
    state: State,
    /// A high surrogate that waits for its low one.
    high: Option<u32>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Plain,
    Backslash,
    Hex {
        code: u32,
        digits: String,
    },
}

impl Unescape {
    /// Tells whether the next character belongs to an escape, so that a quote would not end the text.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self.state, State::Plain)
    }

    pub(super) fn push(&mut self, c: char, emit: &mut impl FnMut(char)) {
        match std::mem::take(&mut self.state) {
            State::Plain if c == '\\' => self.state = State::Backslash,
            State::Plain => self.plain(c, emit),
            State::Backslash => self.after_backslash(c, emit),
            State::Hex { code, mut digits } => {
                let Some(digit) = c.to_digit(16) else {
                    self.plain('\\', emit);
                    self.plain('u', emit);
                    digits.chars().for_each(|digit| self.plain(digit, emit));
                    return self.push(c, emit);
                };
                digits.push(c);
                let code = code * 16 + digit;
                if digits.len() == 4 {
                    self.unit(code, emit);
                } else {
                    self.state = State::Hex { code, digits };
                }
            }
        }
    }

    /// Ends the text; an escape that was cut off is left out.
    pub(super) fn finish(&mut self, emit: &mut impl FnMut(char)) {
        self.state = State::Plain;
        self.flush(emit);
    }

    fn after_backslash(&mut self, c: char, emit: &mut impl FnMut(char)) {
        let plain = match c {
            'u' => {
                self.state = State::Hex { code: 0, digits: String::new() };
                return;
            }
            '"' | '\\' | '/' | '\'' | '`' | '\n' => c,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            _ => {
                self.plain('\\', emit);
                c
            }
        };
        self.plain(plain, emit);
    }

    fn unit(&mut self, code: u32, emit: &mut impl FnMut(char)) {
        match (self.high.take(), code) {
            (Some(high), 0xDC00..0xE000) => {
                let code = 0x1_0000 + ((high - 0xD800) << 10) + (code - 0xDC00);
                emit(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            (high, code) => {
                if high.is_some() {
                    emit(char::REPLACEMENT_CHARACTER);
                }
                match char::from_u32(code) {
                    Some(c) => emit(c),
                    None if code < 0xDC00 => self.high = Some(code),
                    None => emit(char::REPLACEMENT_CHARACTER),
                }
            }
        }
    }

    fn plain(&mut self, c: char, emit: &mut impl FnMut(char)) {
        self.flush(emit);
        emit(c);
    }

    fn flush(&mut self, emit: &mut impl FnMut(char)) {
        if self.high.take().is_some() {
            emit(char::REPLACEMENT_CHARACTER);
        }
    }
}
