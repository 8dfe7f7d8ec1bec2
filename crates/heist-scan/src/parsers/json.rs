//! A strict reader for short texts that must be exactly one JSON object.
//!
//! It checks the whole text (RFC 8259, including UTF-8) and passes on the members of the outermost
//! object, raw: strings keep their quotes and escapes. It does not allocate, and it limits nesting.

/// The reader rejects deeper nesting.
const DEPTH_MAX: usize = 32;

/// Reads a text that is exactly one object, and calls `member` with each key (without its quotes)
/// and value (as it is written). Returns `None` if the text is not a JSON object.
pub(super) fn read_object<'a>(
    text: &'a [u8],
    mut member: impl FnMut(&'a [u8], &'a [u8]),
) -> Option<()> {
    std::str::from_utf8(text).ok()?;
    let mut reader = Reader { text, at: 0 };
    reader.space();
    if reader.peek()? != b'{' {
        return None;
    }
    reader.object(0, &mut |key, value| member(key, value))?;
    reader.space();
    (reader.at == text.len()).then_some(())
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

type Member<'m, 'a> = &'m mut dyn FnMut(&'a [u8], &'a [u8]);

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.space();
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn object(&mut self, depth: usize, member: Member<'_, 'a>) -> Option<()> {
        self.expect(b'{')?;
        self.space();
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(());
        }
        loop {
            self.space();
            let key_begin = self.at + 1;
            self.string()?;
            let key = &self.text[key_begin..self.at - 1];
            self.expect(b':')?;
            self.space();
            let begin = self.at;
            self.value(depth + 1)?;
            member(key, &self.text[begin..self.at]);
            self.space();
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        match self.peek()? {
            b'{' => self.object(depth, &mut |_, _| {}),
            b'[' => self.array(depth),
            b'"' => self.string(),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        }
    }

    fn array(&mut self, depth: usize) -> Option<()> {
        self.expect(b'[')?;
        self.space();
        if self.peek()? == b']' {
            self.at += 1;
            return Some(());
        }
        loop {
            self.space();
            self.value(depth + 1)?;
            self.space();
            match self.peek()? {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    fn string(&mut self) -> Option<()> {
        self.expect(b'"')?;
        loop {
            let byte = self.peek()?;
            self.at += 1;
            match byte {
                b'"' => return Some(()),
                b'\\' => {
                    let escaped = self.peek()?;
                    self.at += 1;
                    match escaped {
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                        b'u' => {
                            let digits = self.text.get(self.at..self.at + 4)?;
                            digits.iter().all(u8::is_ascii_hexdigit).then(|| self.at += 4)?;
                        }
                        _ => return None,
                    }
                }
                0..0x20 => return None,
                _ => {}
            }
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.text[self.at..].starts_with(word).then(|| self.at += word.len())
    }

    fn digits(&mut self) -> Option<()> {
        let begin = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > begin).then_some(())
    }

    fn number(&mut self) -> Option<()> {
        if self.peek()? == b'-' {
            self.at += 1;
        }
        let leading_zero = self.peek()? == b'0';
        let begin = self.at;
        self.digits()?;
        if leading_zero && self.at > begin + 1 {
            return None;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&[(&str, &str)]>) {
        let mut members = Vec::new();
        let read = read_object(text.as_bytes(), |key, value| {
            members.push((
                String::from_utf8(key.to_vec()).unwrap(),
                String::from_utf8(value.to_vec()).unwrap(),
            ));
        });
        assert_eq!(read.is_some(), expected.is_some(), "{text}");
        if let Some(expected) = expected {
            let members: Vec<_> =
                members.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            assert_eq!(members, expected, "{text}");
        }
    }

    #[test]
    fn objects() {
        check("{}", Some(&[]));
        check(" { } ", Some(&[]));
        check(
            r#"{"a":1,"b":[true,{"c":null}],"d":"e\n\u00e9"}"#,
            Some(&[("a", "1"), ("b", r#"[true,{"c":null}]"#), ("d", r#""e\n\u00e9""#)]),
        );
        check(r#"{"a":-1.5e+3}"#, Some(&[("a", "-1.5e+3")]));
    }

    #[test]
    fn texts_that_are_not_json_objects() {
        for text in [
            "",
            "[]",
            "1",
            "{",
            "{}x",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":01}",
            "{\"a\":1,}",
            "{'a':1}",
            "{\"a\":\"\n\"}",
            "{\"a\":\"\\x\"}",
        ] {
            check(text, None);
        }
        check(&format!("{{\"a\":{}{}}}", "[".repeat(100), "]".repeat(100)), None);
        assert_eq!(read_object(b"{\"a\":\"\xff\"}", |_, _| {}), None);
    }

    proptest! {
        #[test]
        fn any_text(text in "[{}\\[\\]\",:a0-9eu\\\\ .-]{0,40}") {
            let _ = read_object(text.as_bytes(), |_, _| {});
        }
    }
}
