//! Values of telling names, in many notations.

use heist::rng::XorShift64;

/// Names that tell of a secret.
pub(crate) const KEYS: [&str; 18] = [
    "password",
    "DB_PASSWORD",
    "apiToken",
    "secret_key",
    "auth",
    "client-secret",
    "access_token",
    "userPwd",
    "credentials",
    "passphrase",
    "AWS_SECRET_ACCESS_KEY",
    "session_key",
    "private.key",
    "PASS",
    "authorization",
    "bearer_token",
    "jwt",
    "signingKey",
];

/// Notations for values without white space and brackets, of a name `K` and a value `V`.
const PLAIN: [&str; 24] = [
    "K=V",
    "K = V",
    "K: V",
    "K:V",
    "export K=V",
    "--K V",
    "--K=V",
    "?a=b&K=V&c=d",
    "<K>V</K>",
    "K:\n  V",
    "K:\n  - V\n",
    "- name: K\n  value: V\n",
    "<key>K</key><string>V</string>",
    "K: [V, other]",
    "K -> V",
    "K := V",
    "K => V",
    "set K=V",
    "K: !!str V",
    "Authorization: Bearer V",
    "K=V other=words",
    "K%3DV",
    "K: |\n  V\n",
    "x.K=V;",
];

/// Notations for values in quotes.
const QUOTED: [&str; 26] = [
    "K=\"V\"",
    "K = 'V'",
    "\"K\": \"V\"",
    "\"K\":\"V\"",
    "'K' => 'V'",
    "K := \"V\"",
    "K: \"V\"",
    "{\"K\": \"V\"}",
    "set(\"K\", \"V\")",
    "(\"K\", \"V\")",
    "\\\"K\\\": \\\"V\\\"",
    "<add key=\"K\" value=\"V\"/>",
    "K: [\"a\", \"V\"]",
    "K = get(\"x\") or \"V\"",
    "let K: &str = \"V\";",
    "set_K(\"V\")",
    "&quot;K&quot;:&quot;V&quot;",
    "K=b\"V\"",
    "K = r#\"V\"#",
    "K[\"K\"] = \"V\"",
    "{name: \"K\", value: \"V\"}",
    "K = `V`",
    "K: str = \"V\"",
    "K = x + \"V\"",
    "\"K\" : { \"x\": \"V\" }",
    "K = \"\"\"V\"\"\"",
];

/// A value.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) text: String,
    /// Whether it needs no quotes.
    pub(crate) is_plain: bool,
}

fn drawn(alphabet: &[u8], length: usize, rng: &mut XorShift64) -> String {
    (0..length).map(|_| char::from(alphabet[rng.below_usize(alphabet.len())])).collect()
}

/// Returns a random value: a password, digits, or words.
pub(crate) fn value(rng: &mut XorShift64) -> Value {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let length = 8 + rng.below_usize(24);
    let (text, is_plain) = match rng.below(8) {
        0 => (drawn(b"0123456789abcdef", [16, 32, 40, 64][rng.below_usize(4)], rng), true),
        1 => (drawn(LETTERS, length, rng), true),
        2 => {
            let hex = |count, rng: &mut _| drawn(b"0123456789abcdef", count, rng);
            let parts = [8, 4, 4, 4, 12].map(|count| hex(count, rng));
            (parts.join("-"), true)
        }
        3 => (drawn(b"abcdefghijklmnopqrstuvwxyz", length, rng), true),
        4 => (drawn(b"abcxyzABCXYZ0123456789!#$%^*?~@+-_.", length, rng), true),
        5 => (drawn(b"abcxyzABCXYZ0123456789 !#$%^*?~@+-_.&;,(){}[]|=:<>", length, rng), false),
        6 => (drawn(b"0123456789", length, rng), true),
        _ => {
            let words = (0..4).map(|_| drawn(b"bcdfgaeioulmnrst", 3 + rng.below_usize(6), rng));
            (words.collect::<Vec<_>>().join(" "), false)
        }
    };
    // A sign or space at an end may belong to the notation.
    let (first, last) = (drawn(LETTERS, 1, rng), drawn(LETTERS, 1, rng));
    Value { text: format!("{first}{text}{last}"), is_plain }
}

/// Writes a value behind a telling name.
pub(crate) fn in_notation(value: &Value, rng: &mut XorShift64) -> String {
    let key = KEYS[rng.below_usize(KEYS.len())];
    let notation = if value.is_plain && rng.below(2) == 0 {
        PLAIN[rng.below_usize(PLAIN.len())]
    } else {
        QUOTED[rng.below_usize(QUOTED.len())]
    };
    let mut text = String::new();
    for part in notation.chars() {
        match part {
            'K' => text.push_str(key),
            'V' => text.push_str(&value.text),
            other => text.push(other),
        }
    }
    text
}

/// Writes a password in a URL, and returns both.
pub(crate) fn in_a_url(password: &str, rng: &mut XorShift64) -> (String, String) {
    let keep = |c: &char| c.is_ascii_alphanumeric() || "!$*+-_.~".contains(*c);
    let password: String = password.chars().filter(keep).collect();
    let scheme = ["https", "postgres", "amqp", "redis"][rng.below_usize(4)];
    (format!("{scheme}://user:{password}@db.example.org:5432/app"), password)
}
