//! Describes a value in one pass: its classes of characters and how often they change. Also
//! recognises forms that are never secrets, whatever their key.
//!
//! These checks are cheap and structural; dictionaries and statistics belong to the noise filter.

/// The class of a byte: a lower case letter, an upper case letter, a digit, or anything else. A
/// table, because random text makes branches unpredictable.
const CLASSES: [u8; 256] = {
    let mut classes = [OTHER; 256];
    let mut byte = 0;
    while byte < 0x80 {
        classes[byte] = match byte as u8 {
            b'a'..=b'f' => LOWER | HEX,
            b'g'..=b'z' => LOWER,
            b'A'..=b'F' => UPPER | HEX,
            b'G'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            _ => OTHER,
        };
        byte += 1;
    }
    classes
};

const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const OTHER: u8 = 8;
/// Set beside the class of a letter that is a hexadecimal digit.
const HEX: u8 = 16;

/// A value, and the number of its characters of each class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ValueShape<'a> {
    value: &'a [u8],
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
}

impl<'a> ValueShape<'a> {
    pub(super) fn of(value: &'a [u8]) -> Self {
        let mut shape = Self { value, length: value.len(), ..Self::default() };
        let mut hex_letters = 0;
        let mut before = value.first().map_or(0, |&byte| CLASSES[usize::from(byte)] & !HEX);
        for &byte in value {
            let class = CLASSES[usize::from(byte)];
            hex_letters += usize::from(class & HEX != 0);
            let class = class & !HEX;
            shape.lower += usize::from(class == LOWER);
            shape.upper += usize::from(class == UPPER);
            shape.digits += usize::from(class == DIGIT);
            shape.changes += usize::from(class != before);
            before = class;
        }
        shape.others = shape.length - shape.letters() - shape.digits;
        let has_one_case = shape.upper == 0 || shape.lower == 0;
        shape.hex = shape.digits + if has_one_case { hex_letters } else { 0 };
        shape
    }

    /// Returns the number of letters that look like words: three or more in lower case, perhaps
    /// with a first capital, or four or more capitals. Takes longer than everything else about a
    /// shape, and few values need it.
    pub(super) fn in_words(&self) -> usize {
        let (mut in_words, mut word) = (0, LetterRun::default());
        self.value.iter().for_each(|&byte| word.push(byte, &mut in_words));
        word.push(0, &mut in_words);
        in_words
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

    /// Returns `true` if the value consists mostly of one character: stars, dots, `x`.
    pub(super) fn is_masked(&self) -> bool {
        let Self { value, length, lower, upper, digits, others, .. } = *self;
        let repeated = |byte: u8| value.iter().filter(|&&other| other == byte).count();
        // Most values have too few characters of a class for one of them to be the most common.
        let has_most = |count: usize, bytes: &[u8]| {
            count * 2 > length && bytes.iter().any(|&byte| repeated(byte) * 2 > length)
        };
        has_most(others, b"*.-_#?")
            || has_most(lower, b"x")
            || has_most(upper, b"X")
            || has_most(digits, b"0")
            || value.first().is_some_and(|&byte| value.iter().all(|&other| other == byte))
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
        self.digits * 8 <= self.length && self.in_words() * 10 >= self.length * 8
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

/// Returns `true` for a path, a URL or a file name.
pub(super) fn is_path(value: &[u8]) -> bool {
    let rooted = [&b"/"[..], b"./", b"../", b"~/", b"C:", b"@/", b"file:", b"http:", b"https:"]
        .iter()
        .any(|begin| value.starts_with(begin));
    // Base64 may begin with a slash, but then it contains capitals and digits throughout.
    let has_words = || {
        value.iter().filter(|&&byte| byte == b'/').count() > 1
            && ValueShape::of(value).in_words() * 2 >= value.len()
    };
    rooted && (value.first() != Some(&b'/') || has_words())
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
        for (value, masked) in [
            ("****abc", true),
            ("xxxxxxxx", true),
            ("aaaa", true),
            ("X1XX", true),
            ("1000", true),
            ("axbxcd", false),
            ("A-0x", false),
            ("", false),
        ] {
            let value = value.as_bytes();
            assert_eq!(ValueShape::of(value).is_masked(), masked);
        }
        assert!(is_uuid(b"01234567-89ab-cdef-0123-456789abcdef") && !is_uuid(b"01234567-89ab"));
    }
}
