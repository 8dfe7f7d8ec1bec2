//! [`JsonObject`]: writes a JSON object field by field, without holding it in memory.
//!
//! Invariant: the output is valid JSON if the caller ends every object that it begins. Characters
//! that could harm a terminal are escaped, so the output can be printed as it is.

use crate::escape::{write_base64, write_json_string};
use std::io::{self, Write};

/// A JSON object whose fields are being written.
#[derive(Debug)]
pub(crate) struct JsonObject<'a, W: Write> {
    out: &'a mut W,
    is_empty: bool,
}

impl<'a, W: Write> JsonObject<'a, W> {
    /// Writes the opening brace.
    pub(crate) fn begin(out: &'a mut W) -> io::Result<Self> {
        out.write_all(b"{")?;
        Ok(Self { out, is_empty: true })
    }

    /// Writes the name of a field; the caller writes its value.
    pub(crate) fn field(&mut self, name: &str) -> io::Result<&mut W> {
        self.out.write_all(if self.is_empty { b"\"" } else { b",\"" })?;
        self.is_empty = false;
        self.out.write_all(name.as_bytes())?;
        self.out.write_all(b"\":")?;
        Ok(self.out)
    }

    /// Writes a string field.
    pub(crate) fn text(&mut self, name: &str, text: &str) -> io::Result<()> {
        write_json_string(self.field(name)?, text.as_bytes())
    }

    /// Writes bytes as a string field. If they are not UTF-8, a second field `{name}_bytes` holds
    /// them in base64.
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

    /// Writes a number. Reports have many of them, so this avoids the slower formatting machinery.
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

    /// Writes a number or a boolean, whose display form is already JSON.
    pub(crate) fn plain(&mut self, name: &str, value: impl std::fmt::Display) -> io::Result<()> {
        write!(self.field(name)?, "{value}")
    }

    /// Writes the closing brace.
    pub(crate) fn end(self) -> io::Result<()> {
        self.out.write_all(b"}")
    }
}

/// Writes an array. `write` writes one element.
pub(crate) fn write_array<W: Write, T>(
    out: &mut W,
    elements: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut W, T) -> io::Result<()>,
) -> io::Result<()> {
    out.write_all(b"[")?;
    for (index, element) in elements.into_iter().enumerate() {
        // One line per element, so that line-based tools work on the output.
        out.write_all(if index == 0 { b"\n" } else { b",\n" })?;
        write(out, element)?;
    }
    out.write_all(b"]")
}

#[cfg(test)]
mod tests {
    use super::{JsonObject, write_array};
    use serde_json::{Value, json};

    #[test]
    fn a_parser_reads_objects_back() {
        let mut out = Vec::new();
        let mut object = JsonObject::begin(&mut out).expect("memory");
        object.text("a", "\"quoted\"\n").expect("memory");
        object.bytes("b", b"x\xff").expect("memory");
        object.bytes("c", b"plain").expect("memory");
        object.plain("d", 7).expect("memory");
        object.number("zero", 0).expect("memory");
        object.number("ten", 10).expect("memory");
        object.number("most", u64::MAX).expect("memory");
        object.plain("e", true).expect("memory");
        let field = object.field("f").expect("memory");
        write_array(field, [1, 2], |out, number| {
            let mut object = JsonObject::begin(out)?;
            object.plain("n", number)?;
            object.end()
        })
        .expect("memory");
        write_array(object.field("g").expect("memory"), [(); 0], |_, ()| Ok(())).expect("memory");
        object.end().expect("memory");
        let value: Value = serde_json::from_slice(&out).expect("valid JSON");
        let expected = json!({"a": "\"quoted\"\n", "b": "x\u{fffd}", "b_bytes": "eP8=",
            "c": "plain", "d": 7, "zero": 0, "ten": 10, "most": u64::MAX, "e": true,
            "f": [{"n": 1}, {"n": 2}], "g": []});
        assert_eq!(value, expected);
    }
}
