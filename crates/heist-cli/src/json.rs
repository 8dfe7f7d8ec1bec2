//! [`Object`]: writes a JSON object field by field, without keeping it.
//!
//! Invariant: what is written is JSON if every object that is begun is ended. What a terminal must not see is
//! escaped, so output can be shown as it is.

use crate::escape::{write_base64, write_json_string};
use std::io::{self, Write};

/// An object that is being written.
#[derive(Debug)]
pub(crate) struct Object<'a, W: Write> {
    out: &'a mut W,
    is_empty: bool,
}

impl<'a, W: Write> Object<'a, W> {
    /// Begins an object.
    pub(crate) fn begin(out: &'a mut W) -> io::Result<Self> {
        out.write_all(b"{")?;
        Ok(Self { out, is_empty: true })
    }

    /// Begins a field; what it is, the caller writes.
    pub(crate) fn field(&mut self, name: &str) -> io::Result<&mut W> {
        self.out.write_all(if self.is_empty { b"\"" } else { b",\"" })?;
        self.is_empty = false;
        self.out.write_all(name.as_bytes())?;
        self.out.write_all(b"\":")?;
        Ok(self.out)
    }

    /// A field of text.
    pub(crate) fn text(&mut self, name: &str, text: &str) -> io::Result<()> {
        write_json_string(self.field(name)?, text.as_bytes())
    }

    /// A field of text from bytes; if they are not UTF-8, one of base64 follows.
    pub(crate) fn bytes(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        write_json_string(self.field(name)?, bytes)?;
        if std::str::from_utf8(bytes).is_ok() {
            return Ok(());
        }
        let out = self.field(&format!("{name}_bytes"))?;
        out.write_all(b"\"")?;
        write_base64(out, bytes)?;
        out.write_all(b"\"")
    }

    /// A number. (There are many of them, and formatting takes its time.)
    pub(crate) fn number(&mut self, name: &str, mut value: u64) -> io::Result<()> {
        let mut digits = [0; 20];
        let mut first = digits.len();
        loop {
            first -= 1;
            digits[first] = b'0' + (value % 10) as u8;
            value /= 10;
            if value == 0 {
                break;
            }
        }
        self.field(name)?.write_all(&digits[first..])
    }

    /// A number or a truth: what is the same in JSON as it is shown.
    pub(crate) fn plain(&mut self, name: &str, value: impl std::fmt::Display) -> io::Result<()> {
        write!(self.field(name)?, "{value}")
    }

    /// Ends the object.
    pub(crate) fn end(self) -> io::Result<()> {
        self.out.write_all(b"}")
    }
}

/// Writes an array; `write` writes an element.
pub(crate) fn array<W: Write, T>(
    out: &mut W,
    elements: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut W, T) -> io::Result<()>,
) -> io::Result<()> {
    out.write_all(b"[")?;
    for (index, element) in elements.into_iter().enumerate() {
        // A line for each, so that people can look at it with any tool.
        out.write_all(if index == 0 { b"\n" } else { b",\n" })?;
        write(out, element)?;
    }
    out.write_all(b"]")
}

#[cfg(test)]
mod tests {
    use super::{Object, array};
    use serde_json::{Value, json};

    #[test]
    fn objects_are_read_back_by_a_parser() {
        let mut out = Vec::new();
        let mut object = Object::begin(&mut out).expect("memory");
        object.text("a", "\"quoted\"\n").expect("memory");
        object.bytes("b", b"x\xff").expect("memory");
        object.bytes("c", b"plain").expect("memory");
        object.plain("d", 7).expect("memory");
        object.number("zero", 0).expect("memory");
        object.number("ten", 10).expect("memory");
        object.number("most", u64::MAX).expect("memory");
        object.plain("e", true).expect("memory");
        let field = object.field("f").expect("memory");
        array(field, [1, 2], |out, number| {
            let mut object = Object::begin(out)?;
            object.plain("n", number)?;
            object.end()
        })
        .expect("memory");
        array(object.field("g").expect("memory"), [(); 0], |_, ()| Ok(())).expect("memory");
        object.end().expect("memory");
        let value: Value = serde_json::from_slice(&out).expect("valid JSON");
        let expected = json!({"a": "\"quoted\"\n", "b": "x\u{fffd}", "b_bytes": "eP8=", "c": "plain", "d": 7, "zero": 0,
            "ten": 10, "most": u64::MAX, "e": true,
            "f": [{"n": 1}, {"n": 2}], "g": []});
        assert_eq!(value, expected);
    }
}
