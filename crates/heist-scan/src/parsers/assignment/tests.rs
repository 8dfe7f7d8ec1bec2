//! Parses every notation from both sides, and checks that the two directions agree on any text.

use super::super::ParserKind;
use super::*;
use proptest::prelude::*;

fn window(text: &[u8], at: usize) -> Window<'_> {
    Window { text, at, begins_object: true, ends_object: true }
}

/// Checks that both directions find this key and value.
#[track_caller]
fn check(text: &str, expected: Option<(&str, &str)>) {
    let Some((key, value)) = expected else {
        for at in 0..text.len() {
            let found = from_key(&window(text.as_bytes(), at))
                .or_else(|| from_value(&window(text.as_bytes(), at)));
            assert_eq!(found, None, "{text} at {at}");
        }
        return;
    };
    check_agreement(text.as_bytes());
    let value_at = text.rfind(value).expect("the value is in the text");
    let found = from_value(&window(text.as_bytes(), value_at));
    let found = found.unwrap_or_else(|| panic!("nothing by the value: {text}"));
    assert_eq!((&text[found.key.clone()], &text[found.value.clone()]), (key, value), "{text}");
    let by_key = from_key(&window(text.as_bytes(), found.key.start));
    assert_eq!(by_key, Some(found), "{text}");
}

#[test]
fn every_notation() {
    let cases = [
        ("key = \"v-1\"", "key"),
        ("key='v-1'", "key"),
        ("key: v-1", "key"),
        ("  key:   v-1\n", "key"),
        ("\"key\": \"v-1\"", "key"),
        ("{\"a\":1,\"key\":\"v-1\"}", "key"),
        ("KEY=v-1", "KEY"),
        ("export KEY=v-1", "KEY"),
        ("key => \"v-1\"", "key"),
        (":key => 'v-1'", "key"),
        ("key := \"v-1\"", "key"),
        ("key ?= v-1", "key"),
        ("--key v-1", "key"),
        ("run --the-key v-1 --other x", "the-key"),
        ("--key=v-1", "key"),
        ("--key \"v-1\"", "key"),
        ("-Dkey=v-1", "Dkey"),
        ("<key>v-1</key>", "key"),
        ("<string name=\"key\">v-1</string>", "key"),
        ("<key>name</key>\n\t<string>v-1</string>", "name"),
        ("<a key=\"v-1\" b='c'>", "key"),
        ("<add key=\"name\" value=\"v-1\" />", "name"),
        ("- name: KEY\n  value: v-1\n", "KEY"),
        ("- name: KEY\n  value: \"v-1\"\n", "KEY"),
        ("{\"name\": \"KEY\", \"value\": \"v-1\"}", "KEY"),
        ("x.setKey(\"v-1\")", "x.setKey"),
        ("map.put(\"key\", \"v-1\")", "key"),
        ("os.environ[\"KEY\"] = \"v-1\"", "KEY"),
        ("os.environ.get('KEY', 'v-1')", "KEY"),
        ("env[KEY] = 'v-1'", "KEY"),
        ("Authorization: Bearer v-1", "Authorization"),
        ("curl -H \"Authorization: Bearer v-1\" x", "Authorization"),
        ("{\"Authorization\": \"Basic v-1\"}", "Authorization"),
        ("const KEY: &str = \"v-1\";", "KEY"),
        ("pub const KEY: &'static str = \"v-1\";", "KEY"),
        ("let key: Option<String> = Some(\"v-1\".to_owned());", "key"),
        ("key: String::from(\"v-1\"),", "key"),
        ("string key = \"v-1\";", "key"),
        ("std::string key{\"v-1\"};", "key"),
        ("std::string key(\"v-1\");", "key"),
        ("char key[] = \"v-1\";", "key"),
        ("char key[32] = \"v-1\";", "key"),
        ("var key string = \"v-1\"", "key"),
        ("Dim key As String = \"v-1\"", "key"),
        ("key: str = b\"v-1\"", "key"),
        ("key = r\"v-1\"", "key"),
        ("key = r#\"v-1\"#", "key"),
        ("key = f'v-1'", "key"),
        ("key = @\"v-1\";", "key"),
        ("key = `v-1`", "key"),
        ("key =\n    \"v-1\"", "key"),
        ("x = \"{\\\"key\\\": \\\"v-1\\\"}\"", "key"),
        ("const key = process.env.KEY || 'v-1'", "process.env.KEY"),
        ("key = os.getenv('KEY') or 'v-1'", "KEY"),
        ("#define KEY \"v-1\"", "KEY"),
        ("ENV KEY v-1\n", "KEY"),
        ("if key == \"v-1\" {", "key"),
        ("- \"KEY=v-1\"", "KEY"),
        ("https://host/?a=b&key=v-1&c=d", "key"),
        ("//registry/:_key=v-1", "_key"),
        ("$this->key = 'v-1';", "key"),
        ("key <- \"v-1\"", "key"),
    ];
    for (text, key) in cases {
        check(text, Some((key, "v-1")));
    }
}

#[test]
fn texts_that_are_not_assignments() {
    let cases = [
        "key | value-1",
        "the key is value-1",
        "key != \"value\"",
        "key: |\n  value",
        "\"value\"",
        "= value",
        "\"\": \"value\"",
        "key = \"\"",
        "key = call(x)",
        "key = \"open",
        "",
        "=",
        "\"",
    ];
    for text in cases {
        check(text, None);
    }
}

/// Generates texts from the parts of assignments.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let parts: Vec<&'static [u8]> = vec![
        b"key", b"value", b"name", b"A1", b"=", b":", b" ", b"\n", b"\"", b"'", b"\\", b"`", b">",
        b"<", b"</", b"(", b")", b"[", b"]", b",", b"--", b"-", b"Bearer", b"&", b"?", b"|", b"{",
        b"}", b"::", b"string", b"or", b"ENV", b"\xff", b".", b"$", b"Some", b"new", b"#", b"r",
        b";",
    ];
    prop::collection::vec(prop::sample::select(parts), 0..24).prop_map(|parts| parts.concat())
}

fn check_agreement(text: &[u8]) {
    for at in 0..text.len() {
        let Some(found) = from_key(&window(text, at)) else { continue };
        assert!(found.key.contains(&at) && found.value.end <= text.len());
        for at in found.value.clone() {
            let by_value = from_value(&window(text, at));
            assert_eq!(
                by_value.as_ref(),
                Some(&found),
                "{:?} at {at}",
                text.escape_ascii().to_string()
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn both_directions_agree(text in pieces()) {
        check_agreement(&text);
    }

    #[test]
    fn both_directions_agree_on_any_bytes(text in prop::collection::vec(any::<u8>(), 0..200)) {
        check_agreement(&text);
    }

    #[test]
    fn the_edges_of_a_window_are_not_edges_of_the_text(
        text in pieces(), begins in any::<bool>(), ends in any::<bool>(),
    ) {
        for at in 0..text.len() {
            let window = Window { text: &text, at, begins_object: begins, ends_object: ends };
            for found in [from_key(&window), from_value(&window)].into_iter().flatten() {
                prop_assert!(begins || found.key.start > 0);
                prop_assert!(ends || found.value.end < text.len());
            }
        }
    }
}

/// Returns how many bytes the searches for the ends of values may read, per byte of the text.
fn work(period: &str, looks: impl Fn(&Window<'_>)) -> usize {
    let text = period.repeat(20_000 / period.len());
    let text = text.as_bytes();
    value::MAY_LOOK_AT.set(0);
    for at in (0..text.len()).step_by(period.len()) {
        let (from, to) = (at.saturating_sub(1024), text.len().min(at + 1024));
        looks(&Window {
            text: &text[from..to],
            at: at - from,
            begins_object: from == 0,
            ends_object: to == text.len(),
        });
    }
    value::MAY_LOOK_AT.get() / text.len()
}

#[test]
fn text_full_of_keys_is_not_searched_again_at_each_key() {
    let password = |window: &Window<'_>| {
        ParserKind::Password.examine(window, &mut Vec::new());
    };
    let any_key = |window: &Window<'_>| drop(from_key(window));
    for (period, most) in [
        ("pwd=", 1),
        ("password=", 1),
        ("passwd:", 1),
        ("PASSWORD=$", 16),
        ("password= ", 16),
        ("Password=Server=a;", 16),
        ("password=jdbc:mysql://h/d?", 16),
    ] {
        let work = work(period, password);
        assert!(work <= most, "{period}: {work}");
    }
    for (period, most) in [("aws_secret_access_key=", 1), ("secret_key=$", 64), ("token: ", 80)] {
        let work = work(period, any_key);
        assert!(work <= most, "{period}: {work}");
    }
    // The counterpart: a key whose value may be a secret is searched once.
    assert!(work("password='a b c d e f g h i j k l' ", password) > 0);
}

#[test]
fn keys_as_values() {
    for (text, expected) in [
        ("a=b=c", Some("b")),
        ("a=b_1=c", Some("b_1")),
        ("a=b=", None),
        ("a=b==", None),
        ("a=b", None),
        ("a==b=c", None),
        ("a= b=c", None),
        ("a=\"b=c\"", None),
        ("", None),
    ] {
        let found = key_as_value(text.as_bytes());
        assert_eq!(found, expected.map(str::as_bytes), "{text}");
    }
}
