//! Baselines, `.gitleaksignore` files and ignore files: every field and every kind of mistake.

/// Returns the seeds of the target `baseline`.
pub(super) fn baselines() -> Vec<Vec<u8>> {
    let key = "00112233445566778899aabbccddeeff".repeat(2);
    let texts = [
        "version = 2\nkey = \"{key}\"\nsecrets = [\n]\n",
        "# Known secrets.\nversion = 2\nkey = \"{key}\" # heist:allow\nsecrets = [\n\
         \x20 { fingerprint = \"{id}\", rule = \"jwt\", places = [\"src/a.rs:12\", \"b:1\"] },\n]\n",
        "version = 2\nkey = \"{key}\"\nsecrets = [{ fingerprint = \"{id}\", more = true, \
         reason = \"test account\", until = \"2027-01-31\" }]",
        "version = 1\nkey = \"{key}\"\nsecrets = [{ fingerprint = \"{id}\", rule = 'x', place = 'a:1' }]",
        "version = 2\nkey = \"{key}\"\n[[secrets]]\nversion1 = \"{id}\"\nplaces = [\"\\u001b[2J\\n:1\"]\n",
        "version = 2\nkey = \"{key}\"\n[[secrets]]\nfingerprint = \"{id}\"\n[[secrets]]\nfingerprint = \"{id}\"\n",
        "version = 3\nkey = \"{key}\"\n",
        "version = 2\nkey = \"0\"\n",
        "version = 2\nkey = \"{key}\"\nsecrets = [{ rule = 'x' }]",
        "version = 2\nkey = \"{key}\"\nsecrets = [{ fingerprint = \"{id}\", until = 'soon' }]",
        "version = 2\nkey = \"{key}\"\nunknown = 1\n",
        "version = 2\nkey = \"{key}\"\nsecrets = [{ fingerprint = '0' }]",
        "a place with \"quotes\", \\ backslashes,\ttabs,\r\n lines and \u{202e}directions",
        "",
    ];
    let fill = |text: &str| text.replace("{key}", &key).replace("{id}", &key[..32]).into_bytes();
    texts.into_iter().map(fill).collect()
}

/// Returns the seeds of the target `gitleaksignore`.
pub(super) fn gitleaksignores() -> Vec<Vec<u8>> {
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let texts = [
        "config/test.env:generic-api-key:12\n",
        "# a comment\n\n  ./a b.txt:jwt:1  \r\n",
        "with:colon:aws-access-key-id:3\nwith:colon:aws-access-key-id:3",
        "{commit}:src/a.py:password:6\n",
        "{commit}{commit}:a:b:1",
        "no place\na:b\n:rule:1\nx:rule:-1\nx::1\n",
        "a:rule:18446744073709551615\na:rule:18446744073709551616",
        "a:rule:+1\na:rule:01\na:rule:1 ",
        "./:rule:1\n././a:rule:1",
        "\u{feff}a:rule:1\n",
        "ä/ö:rülé:7\n",
        ":::\n::1\n:a:1\n",
        "",
    ];
    let mut seeds: Vec<Vec<u8>> =
        texts.iter().map(|text| text.replace("{commit}", commit).into_bytes()).collect();
    seeds.push(b"a\xff:rule:1\n\xfe:\xff:2".to_vec());
    seeds
}

/// Returns the seeds of the target `ignore_file`.
pub(super) fn ignore_files() -> Vec<Vec<u8>> {
    let texts: [&[u8]; 16] = [
        b"*.log\ntarget/\n",
        b"/a\n!dir/a\0*\n!a\n",
        b"dir/**/a\n**/deep\n",
        b"# a comment\n\\#a\n\\!a\na  \na\\ \n",
        b"[x]\n\\[x]\n[!x]\n[a-\n[",
        b"{a,b.log}\n{a\n}\n",
        b"*\0!*\0!a\n",
        b"!a\n!\n!!a\n",
        b"/\n//\n/*\n/**\n**/\n**\n",
        "große\nä\n?\n".as_bytes(),
        b"\xef\xbb\xbfa\r\n.hidden\r\n",
        b"\xff\xfe\na\n",
        b"c d\nc\\ d\nc?d\n",
        b"a/\ndir\ndir/\n\0deep/er\n\0er/\n",
        b".*\n!.hidden\n",
        b"",
    ];
    texts.iter().map(|text| text.to_vec()).collect()
}
