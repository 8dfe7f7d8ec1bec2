//! Describes a value in one pass: its classes of characters and how often they change. Also
//! recognises forms that are never secrets, whatever their key.
//!
//! These checks are cheap and structural; dictionaries and statistics belong to the noise filter.

/// The number of characters of each class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ValueShape {
    pub(super) length: usize,
    pub(super) lower: usize,
    pub(super) upper: usize,
    pub(super) digits: usize,
    /// Characters that are neither letters nor digits.
    pub(super) others: usize,
    /// Hexadecimal digits, in one case.
    pub(super) hex: usize,
    /// How often the class changes from one character to the next.
    pub(super) changes: usize,
    /// Letters that look like words: three or more in lower case, perhaps with a first capital, or
    /// four or more capitals.
    pub(super) in_words: usize,
}

impl ValueShape {
    pub(super) fn of(value: &[u8]) -> Self {
        let mut shape = Self { length: value.len(), ..Self::default() };
        let (mut hex_lower, mut hex_upper) = (0, 0);
        let mut before = 0_u8;
        let mut word = LetterRun::default();
        for &byte in value {
            let class = match byte {
                b'a'..=b'z' => {
                    shape.lower += 1;
                    hex_lower += usize::from(byte <= b'f');
                    1
                }
                b'A'..=b'Z' => {
                    shape.upper += 1;
                    hex_upper += usize::from(byte <= b'F');
                    2
                }
                b'0'..=b'9' => {
                    shape.digits += 1;
                    3
                }
                _ => {
                    shape.others += 1;
                    4
                }
            };
            shape.changes += usize::from(before != 0 && class != before);
            word.push(byte, &mut shape.in_words);
            before = class;
        }
        word.push(0, &mut shape.in_words);
        shape.hex = shape.digits
            + if shape.upper == 0 {
                hex_lower
            } else if shape.lower == 0 {
                hex_upper
            } else {
                0
            };
        shape
    }

    pub(super) fn letters(&self) -> usize {
        self.lower + self.upper
    }

    /// Returns how many classes occur, of lower case, upper case, digits and other characters.
    pub(super) fn classes(&self) -> usize {
        [self.lower, self.upper, self.digits, self.others]
            .iter()
            .filter(|count| **count > 0)
            .count()
    }

    pub(super) fn is_hex(&self) -> bool {
        self.hex == self.length
    }

    /// Returns `true` for joined words with a few digits: `fooBar2`, `foo_bar_2`, `FOO-BAR`. In
    /// random text of both cases, four in ten letters look like words by chance. In one case only
    /// the number of digits decides: more than a quarter of random text.
    pub(super) fn is_wordy(&self) -> bool {
        if self.is_hex() {
            return false;
        }
        if self.lower == 0 || self.upper == 0 {
            return self.digits * 8 < self.length;
        }
        self.in_words * 10 >= self.length * 8 && self.digits * 8 <= self.length
    }
}

/// The letters of the current word so far.
#[derive(Clone, Copy, Debug, Default)]
struct LetterRun {
    capitals: usize,
    small: usize,
}

impl LetterRun {
    /// Adds a byte. Counts the letters of a word when it ends, at any byte except a letter.
    fn push(&mut self, byte: u8, in_words: &mut usize) {
        match byte {
            b'a'..=b'z' => {
                self.small += 1;
                return;
            }
            b'A'..=b'Z' if self.small == 0 => {
                self.capitals += 1;
                return;
            }
            _ => {}
        }
        let shouted = if self.capitals >= 4 { self.capitals } else { self.capitals.min(1) };
        if self.small + self.capitals.min(1) >= 3 {
            *in_words += self.small + shouted;
        } else if self.capitals >= 4 {
            *in_words += self.capitals;
        }
        *self = Self { capitals: usize::from(byte.is_ascii_uppercase()), small: 0 };
    }
}

/// Recognises `8-4-4-4-12` hexadecimal digits.
pub(super) fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Recognises text that a program fills in: `${...}`, `{{...}}`, `%s`, `<...>`, `$(...)`, `$NAME`,
/// `#{...}`.
pub(super) fn is_template(value: &[u8]) -> bool {
    let first = value.first().copied().unwrap_or_default();
    let last = value.last().copied().unwrap_or_default();
    let variable = first == b'$'
        && value.len() > 1
        && value[1..]
            .iter()
            .all(|&byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b':'))
        && !value[1].is_ascii_digit();
    variable
        || first == b'<' && last == b'>'
        || first == b'%' && last == b'%'
        || first == b'{' && last == b'}'
        || first == b'[' && last == b']'
        || first == b'_' && value.starts_with(b"__") && value.ends_with(b"__")
        || value.windows(2).any(|pair| {
            matches!(pair, b"${" | b"$(" | b"{{" | b"#{" | b"%{" | b"%(" | b"<%" | b"@{")
        })
        || has_conversion(value)
}

/// Recognises `%s`, `%d`, `%v`, `{}`, `{0}`, `{name}`.
fn has_conversion(value: &[u8]) -> bool {
    let percent = value
        .windows(2)
        .any(|pair| matches!(pair, b"%s" | b"%d" | b"%v" | b"%@" | b"%q" | b"%x" | b"{}"));
    percent && value.len() < 32 || value.windows(2).any(|pair| pair == b"{}") || {
        // A name in braces.
        value.iter().position(|&byte| byte == b'{').is_some_and(|open| {
            let inner = value[open + 1..]
                .iter()
                .take_while(|&&byte| byte.is_ascii_alphanumeric() || byte == b'_')
                .count();
            value.get(open + 1 + inner) == Some(&b'}')
        })
    }
}

/// Returns `true` if the value consists mostly of one character: stars, dots, `x`.
pub(super) fn is_masked(value: &[u8]) -> bool {
    let repeated = |byte: u8| value.iter().filter(|&&other| other == byte).count();
    [b'*', b'x', b'X', b'.', b'-', b'_', b'0', b'#', b'?']
        .iter()
        .any(|&byte| repeated(byte) * 2 > value.len())
        || value.first().is_some_and(|&byte| repeated(byte) == value.len())
}

/// Returns `true` for a path, a URL or a file name.
pub(super) fn is_path(value: &[u8]) -> bool {
    let rooted = [&b"/"[..], b"./", b"../", b"~/", b"C:", b"@/", b"file:", b"http:", b"https:"]
        .iter()
        .any(|begin| value.starts_with(begin));
    // Base64 may begin with a slash, but then it contains capitals and digits throughout.
    let shape = ValueShape::of(value);
    let segments = value.iter().filter(|&&byte| byte == b'/').count();
    rooted && (segments > 1 && shape.in_words * 2 >= shape.length || value.first() != Some(&b'/'))
        || value.windows(3).any(|part| part == b"://")
        || has_extension(value)
}

fn has_extension(value: &[u8]) -> bool {
    const EXTENSIONS: [&[u8]; 34] = [
        b"js", b"ts", b"rs", b"py", b"go", b"rb", b"c", b"h", b"cc", b"cpp", b"java", b"php",
        b"css", b"html", b"htm", b"json", b"xml", b"yml", b"yaml", b"toml", b"txt", b"md", b"pem",
        b"key", b"crt", b"png", b"jpg", b"svg", b"gif", b"com", b"org", b"net", b"io", b"zip",
    ];
    value
        .iter()
        .rposition(|&byte| byte == b'.')
        .is_some_and(|dot| EXTENSIONS.contains(&&value[dot + 1..]))
}

/// Recognises data by its first characters: images, fonts, archives, certificates and public keys
/// in base64.
pub(super) fn is_known_data(value: &[u8]) -> bool {
    [
        &b"iVBORw0KGgo"[..],
        b"/9j/4",
        b"R0lGOD",
        b"PHN2Zy",
        b"UklGR",
        b"AAABAA",
        b"d09GR",
        b"data:",
        b"H4sIA",
        b"UEsDB",
        b"MIIBIj",
        b"MIICIj",
        b"MFkwEwYHKoZIzj0",
        b"MHYwEAYHKoZIzj0",
        b"MCowBQYDK2V",
        b"AAAAB3NzaC1",
        b"AAAAC3NzaC1",
        b"AAAAE2Vj",
        b"PD94bW",
        b"JVBERi",
        b"sha256-",
        b"sha384-",
        b"sha512-",
        b"sha1-",
        b"sha256:",
        b"ssh-",
        b"arn:",
        b"urn:",
        b"AGFzbQ",
    ]
    .iter()
    .any(|begin| value.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        let shape = ValueShape::of(b"aB1-");
        assert_eq!((shape.lower, shape.upper, shape.digits, shape.others), (1, 1, 1, 1));
        assert_eq!((shape.changes, shape.classes(), shape.letters()), (3, 4, 2));
        assert!(ValueShape::of(b"0123abcdef").is_hex() && !ValueShape::of(b"0123abcdefA").is_hex());
        for wordy in
            ["fooBarAndMore2", "foo_bar_and_more_12", "SOME_LONG_CONSTANT_1", "com.example.Thing1"]
        {
            assert!(ValueShape::of(wordy.as_bytes()).is_wordy(), "{wordy}");
        }
        for random in ["k3Jd92lsKq0Zp4", "q7w2e9r4t1y8u3", "0f3a9b8c7d6e5f41"] {
            assert!(!ValueShape::of(random.as_bytes()).is_wordy(), "{random}");
        }
    }

    #[test]
    fn forms() {
        for template in [
            "${A}", "a${b}c", "{{ x }}", "<token>", "%s", "$(cat x)", "$NAME", "{name}", "__X__",
            "%TOKEN%",
        ] {
            assert!(is_template(template.as_bytes()), "{template}");
        }
        for plain in ["a$b1", "$2b$10$abc", "100%sure-this-is-a-longer-value-of-text", "a{b"] {
            assert!(!is_template(plain.as_bytes()), "{plain}");
        }
        for path in ["/etc/ssl/private/key", "./a", "https://x/y", "server.key", "a/b.json"] {
            assert!(is_path(path.as_bytes()), "{path}");
        }
        assert!(!is_path(b"a/B3+c9dQ"));
        assert!(
            is_masked(b"****abc")
                && is_masked(b"xxxxxxxx")
                && is_masked(b"aaaa")
                && !is_masked(b"axbxcd")
        );
        assert!(is_uuid(b"01234567-89ab-cdef-0123-456789abcdef") && !is_uuid(b"01234567-89ab"));
    }
}
