//! Rule files and single expressions: every field, both formats, and many kinds of mistakes.

/// Returns all of them as seeds.
pub(super) fn make() -> Vec<Vec<u8>> {
    let files = FILES.iter().map(|file| file.as_bytes().to_vec());
    let expressions = EXPRESSIONS.iter().map(|pattern| format!("/{pattern}").into_bytes());
    files.chain(expressions).collect()
}

const FILES: [&str; 14] = [
    r#"
title = "all fields"
[[rules]]
id = "house-token"
description = "a token of the house"
remedy = "make a new one"
regex = '''\bhouse_([a-z0-9]{32})\b'''
path = '''\.(env|toml)$'''
secretGroup = 1
entropy = 3.5
maxLength = 64
confidence = "high"
keywords = ["HOUSE_", "home"]
tags = ["house"]
examples = ["token = {secret}"]
counterExamples = ["house_short"]
generic = false
[[rules.allowlists]]
description = "made up"
condition = "AND"
paths = ['''tests?/''']
regexes = ['''house_0+''']
regexTarget = "match"
stopwords = ["example"]
"#,
    r#"
[[rules]]
id = "old-style"
regex = '(?i)(?:key|token)\s*[=:]\s*["'']?([\w-.]{20,40})'
keywords = ["key", "token"]
[rules.allowlist]
regexes = ["^0"]
commits = ["abc"]
[allowlist]
paths = ["vendor/"]
stopwords = ["test"]
"#,
    r#"
[extend]
useDefault = true
disabledRules = ["jwt", "no-such-rule"]
[[rules]]
id = "password"
entropy = 2
[[allowlists]]
targetRules = ["jwt"]
regexes = ["x"]
"#,
    "[[rules]]\nid = \"assigned\"\nassignment = '[a-f0-9]{40}'\nkeywords = [\"house\"]\nchecksum = \"github-crc32\"\n",
    "[[rules]]\nid = \"by-hand\"\ndetector = \"url-credentials\"\nconfidence = \"low\"\n",
    "[[rules]]\nid = \"file\"\npath = '(^|/)id_rsa$'\n",
    "[[rules]]\nid = \"two\"\nregex = 'a'\ndetector = \"jwt\"\n",
    "[[rules]]\nregex = 'a'\n",
    "[[rules]]\nid = \"large\"\nregex = '(?:[a-z]{1,500}[0-9]{1,500})'\n[[rules]]\nid = \"large\"\nregex = 'x*'\n",
    "[extend]\npath = \"../other.toml\"\nurl = \"https://acme.net/rules\"\n",
    "rules = [{ id = 'x', regex = '[', entropy = nan }, { id = 1 }]\n",
    "\u{FEFF}[[rules]]\r\nid = \"é\"\r\nregex = \"\"\"é+\\\\pL\"\"\"\r\nkeywords = [\"É\", \"\"]\r\nmaxLength = 0\r\n",
    "[[rules]]\nid = \"x\"\nregex = 'x'\nmaxLength = 9223372036854775807\nsecretGroup = 99\nentropy = inf\n",
    "",
];

const EXPRESSIONS: [&str; 20] = [
    r"\Q.*\E\Qa",
    r"\C\<\_\/\123\0\x80\xFF\x{10FFFF}",
    r"\pN\p{Greek}\P{^Greek}\PL",
    r"é(?i)É[é-ü]",
    r"{{a{,5}b{05}c{2}{3,4}",
    r"(?P<1st>a)(?<b>c)(?P<_>d)",
    r"[\w-.][a[b][a&&b][^]][]a]",
    r"[[:alpha:][:^digit:]]",
    r"(?i)(?:a|b|)(?s:.)(?U)a*?",
    r"\b(ab_[0-9a-zA-Z]{36})(?:['\s\x60;]|$)",
    r"(?i)[\w.-]{0,50}?(?:acme)(?:[ \t\w.-]{0,20})[\s'=]{0,3}([a-z0-9]{32})\b",
    r"^$|\A\z|\B",
    r"(((((((((a)))))))))*",
    r"(?:a{0,50}){0,50}",
    r"a**",
    r"[a-",
    r"(",
    r"\",
    r"(?u)\w[^\x00-\x7F]",
    r"[\Q]\E-a\x{e9}\pL\D]",
];
