//! Tests of the whole filter: which values it keeps, which it drops, and how often it errs.

use super::*;
use heist::rng::XorShift64;
use proptest::prelude::*;

fn judge(secret: &str, key: &str) -> NoiseVerdict {
    judge_in(secret, key, "src/main.rs", "")
}

fn judge_in(secret: &str, key: &str, path: &str, line: &str) -> NoiseVerdict {
    let context = NoiseContext { key: key.as_bytes(), line: line.as_bytes() };
    judge_at(&Noise::default(), secret.as_bytes(), &context, Path::new(path))
}

/// Applies the strict check and then the location, as the detector does.
fn judge_at(noise: &Noise, secret: &[u8], context: &NoiseContext<'_>, path: &Path) -> NoiseVerdict {
    match noise.judge_generic(secret, context) {
        NoiseVerdict::Keep => noise
            .made_up_path(path)
            .or_else(|| noise.unlikely_line(context.line))
            .map_or(NoiseVerdict::Keep, NoiseVerdict::Lower),
        verdict => verdict,
    }
}

fn judge_vendor(secret: &str) -> NoiseVerdict {
    Noise::default().judge_vendor(secret.as_bytes())
}

pub(super) const HEX: &str = "0123456789abcdef";
pub(super) const BASE36: &str = "0123456789abcdefghijklmnopqrstuvwxyz";
pub(super) const BASE62: &str = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
pub(super) const BASE64: &str = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/";
pub(super) const BASE64_URL: &str =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";

pub(super) fn random(alphabet: &str, len: usize, rng: &mut XorShift64) -> String {
    (0..len).map(|_| char::from(alphabet.as_bytes()[rng.below_usize(alphabet.len())])).collect()
}

pub(super) fn random_uuid(rng: &mut XorShift64) -> String {
    [8, 4, 4, 4, 12].map(|len| random(HEX, len, rng)).join("-")
}

#[test]
fn values_that_are_not_secrets_are_dropped() {
    for (key, secrets) in [
        (
            "api_key",
            &[
                "",
                "your-api-key-here",
                "YOUR_API_KEY",
                "changeme",
                "xxxxxxxxxxxxxxxxxxxx",
                "example-token-1234",
                "${API_KEY}",
                "{{ secrets.API_KEY }}",
                "<insert token>",
                "process.env.API_KEY",
                "getApiKeyFromConfig2",
                "abcdefghijklmnopqrstuvwxyz",
                "1234567890abcdef",
                "0123456789abcdef0123456789abcdef",
                "deadbeefdeadbeef",
                "a1b2c3d4e5f6a7b8c9d0",
                "aaaaaaaaaaaaaaaa",
                "this is some text 1",
                "user_access_token_v2",
                "AuthenticationTokenProvider",
                "https://host.tld/path1",
                "application/json",
                "server-key.pem",
                "com.company.product.SecretManager",
                "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAf",
                "qwertyuiopasdfgh",
            ][..],
        ),
        ("checksum", &["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"]),
        ("client_id", &["3f2b8c1e-9d4a-4e6f-8b7a-1c5d2e9f0a6b"]),
        (
            "password",
            &[
                "password",
                "none",
                "user_password",
                "newPassword",
                "Enter your password",
                "${DB_PASSWORD}",
                "********",
                "changeme",
            ],
        ),
    ] {
        for secret in secrets {
            assert!(
                matches!(judge(secret, key), NoiseVerdict::Drop(_)),
                "{key} = {secret}: {:?}",
                judge(secret, key)
            );
        }
    }
}

#[test]
fn doubtful_values_are_lowered() {
    for (key, secret) in [
        ("password", "password123"),
        ("password", "qwerty123"),
        ("password", "postgres"),
        ("password", "48151623"),
        ("token", "48151623421087314659"),
        ("token", "dGhpcyBpcyBvbmx5IHRleHQ"),
        ("token", "kqzvxwjtrplmnbgf"),
    ] {
        assert!(
            matches!(judge(secret, key), NoiseVerdict::Lower(_)),
            "{key} = {secret}: {:?}",
            judge(secret, key)
        );
    }
    let token = random(BASE62, 32, &mut XorShift64::new(3));
    for path in ["tests/a.rs", "README.md", "src/x_test.go"] {
        assert!(matches!(judge_in(&token, "token", path, ""), NoiseVerdict::Lower(_)), "{path}");
    }
    let digest = random(HEX, 40, &mut XorShift64::new(3));
    assert_eq!(
        judge_in(&digest, "token", "a", &format!("sha1: {digest}")),
        NoiseVerdict::Lower("a hash, by its line")
    );
}

#[test]
fn passwords_that_people_choose_are_kept() {
    for secret in [
        "Summer2023!",
        "hunter2",
        "P@ssw0rd!x",
        "Tr0ub4dor&3",
        "correct4Horse",
        "kX9#mQ2$",
        "letMe1n!now",
    ] {
        assert_eq!(judge(secret, "db_password"), NoiseVerdict::Keep, "{secret}");
    }
}

#[test]
fn random_tokens_in_a_vendors_format_are_kept() {
    let mut rng = XorShift64::new(17);
    for alphabet in [HEX, BASE36, BASE62, BASE64_URL] {
        let kept = (0..2_000)
            .filter(|_| {
                judge_vendor(&format!("tok_test_{}", random(alphabet, 36, &mut rng)))
                    == NoiseVerdict::Keep
            })
            .count();
        assert!(kept >= 1_999, "{kept} of 2,000 of {} characters", alphabet.len());
    }
    for secret in [
        "AKIAIOSFODNN7EXAMPLE",
        "tok_abcabcabcabcabcabcabcabc",
        "tok_1234567890abcdefghij",
        "tok_xxxxk3Qz9fVq3rT8",
    ] {
        assert!(matches!(judge_vendor(secret), NoiseVerdict::Lower(_)), "{secret}");
    }
    assert!(matches!(judge_vendor("tok_xxxxxxxxxxxxxxxxxxxx"), NoiseVerdict::Drop(_)));
}

#[test]
fn a_disabled_filter_keeps_everything() {
    let noise = Noise { enabled: false };
    let context = NoiseContext { key: b"", line: b"" };
    assert_eq!(noise.judge_generic(b"changeme", &context), NoiseVerdict::Keep);
    assert_eq!(noise.judge_vendor(b""), NoiseVerdict::Keep);
}

/// Returns identifiers as a program would contain them, made from parts in random order.
fn identifiers(rng: &mut XorShift64) -> Vec<String> {
    let parts = [
        "fetch",
        "quarterly",
        "invoice",
        "ledger",
        "kitchen",
        "sensor",
        "throttle",
        "bearer",
        "oauth",
        "grant",
        "tenant",
        "rotate",
        "vendor",
        "salary",
        "garden",
        "bridge",
        "harbour",
        "mapper",
        "widget",
        "spline",
        "texture",
        "voxel",
        "planner",
        "gateway",
        "ingress",
        "quota",
        "ledger",
        "customer",
        "payment",
        "refund",
        "legacy",
        "fallback",
    ];
    let capital = |part: &str| format!("{}{}", part[..1].to_uppercase(), &part[1..]);
    (0..1_000)
        .map(|at| {
            let picked: Vec<&str> =
                (0..3 + rng.below_usize(2)).map(|_| parts[rng.below_usize(parts.len())]).collect();
            let number = if at % 3 == 0 { rng.below(100).to_string() } else { String::new() };
            match at % 4 {
                0 => format!("{}{number}", picked.join("_")),
                1 => format!("{}{number}", picked.join("-").to_uppercase()),
                2 => format!(
                    "{}{number}",
                    picked.iter().map(|part| capital(part)).collect::<String>()
                ),
                _ => format!("{}{number}", picked.join(".")),
            }
        })
        .collect()
}

/// Returns every identifier of 16 characters and more in the sources of this workspace.
fn identifiers_of_the_workspace() -> Vec<String> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("..")];
    let mut found = std::collections::BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of the workspace").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && !path.ends_with("noise/tests.rs")
            {
                let text = std::fs::read_to_string(path).expect("a source file");
                let names = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                found.extend(
                    names
                        .filter(|name| {
                            name.len() >= 16 && name.contains(|c: char| c.is_ascii_alphabetic())
                        })
                        .map(String::from),
                );
            }
        }
    }
    found.into_iter().collect()
}

fn placeholders(rng: &mut XorShift64) -> Vec<String> {
    let fillers = [
        "your-{}-here",
        "<{}>",
        "${{{}}}",
        "INSERT_{}_HERE",
        "{}_EXAMPLE",
        "changeme-{}",
        "xxxx-{}",
        "dummy-{}-1234",
        "test_{}_123",
    ];
    let things =
        ["api-key", "token", "SECRET", "client_secret", "password", "access-token", "signing.key"];
    let mut found: Vec<String> = fillers
        .iter()
        .flat_map(|filler| things.map(|thing| filler.replacen("{}", thing, 1)))
        .collect();
    for _ in 0..300 {
        let len = 1 + rng.below_usize(5);
        found.push(random(BASE62, len, rng).repeat(24 / len + 1));
        let from = rng.below_usize(20);
        found.push(BASE36.chars().cycle().skip(from).take(20).collect());
        found.push(random(BASE36, 1, rng).repeat(16 + from));
    }
    found
}

/// Returns how many secrets the filter keeps, and some that it judges wrongly.
fn kept(secrets: &[String], wrong: Wrong) -> (usize, Vec<String>) {
    let mut kept = 0;
    let mut examples = Vec::new();
    for secret in secrets {
        let verdict = judge(secret, "service_value");
        let is_kept = verdict == NoiseVerdict::Keep;
        kept += usize::from(is_kept);
        if is_kept == (wrong == Wrong::Kept) && examples.len() < 40 {
            examples.push(format!("{secret}: {verdict:?}"));
        }
    }
    (kept, examples)
}

/// Which verdicts count as wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wrong {
    Kept,
    NotKept,
}

#[test]
fn random_tokens_are_kept_and_names_are_not() {
    let mut rng = XorShift64::new(2_024);
    let lens = [20, 24, 32, 40, 64];
    for (name, alphabet) in [
        ("hex", HEX),
        ("base62", BASE62),
        ("base64", BASE64),
        ("base64url", BASE64_URL),
        ("base36", BASE36),
    ] {
        let tokens: Vec<String> =
            (0..1_000).map(|at| random(alphabet, lens[at % lens.len()], &mut rng)).collect();
        let (kept, wrong) = kept(&tokens, Wrong::NotKept);
        eprintln!("{name}: {kept} of 1,000 are kept");
        assert!(kept >= 995, "{name}: {kept} of 1,000 are kept: {wrong:#?}");
    }
    let tokens: Vec<String> = (0..1_000).map(|_| random_uuid(&mut rng)).collect();
    let (kept_uuids, wrong) = kept(&tokens, Wrong::NotKept);
    assert!(kept_uuids >= 995, "UUIDs: {kept_uuids} of 1,000 are kept: {wrong:#?}");

    for (name, noise) in [
        ("identifiers", identifiers(&mut rng)),
        ("identifiers of the workspace", identifiers_of_the_workspace()),
        ("placeholders", placeholders(&mut rng)),
    ] {
        let (kept, wrong) = kept(&noise, Wrong::Kept);
        eprintln!("{name}: {kept} of {} are kept", noise.len());
        assert!(noise.len() >= 900, "{name}: only {}", noise.len());
        // Some of the workspace's words are random strings in its tests.
        assert!(kept * 50 <= noise.len(), "{name}: {kept} of {} are kept: {wrong:#?}", noise.len());
    }
}

/// Returns the shortest time per secret, in nanoseconds. The rounds are short, so that at least one
/// of them runs without an interruption.
fn least_time_ns(secrets: &[String], judge: impl Fn(&[u8]) -> NoiseVerdict) -> f64 {
    let round = |_| {
        let began = std::time::Instant::now();
        for secret in secrets {
            std::hint::black_box(judge(secret.as_bytes()));
        }
        began.elapsed().as_nanos() as f64 / secrets.len() as f64
    };
    (0..500).map(round).fold(f64::INFINITY, f64::min)
}

#[test]
#[ignore = "a measurement: run it alone, in release"]
fn a_verdict_takes_less_than_a_microsecond() {
    let mut rng = XorShift64::new(9);
    let line = "var a = {\"service\": \"b\", \"token\": \"c\"}; ".repeat(12);
    let noise = Noise::default();
    let path = Path::new("src/service/configuration/loader.rs");
    let context = NoiseContext { key: b"service_token", line: line.as_bytes() };
    for (name, secrets) in [
        ("base62", (0..50).map(|_| random(BASE62, 40, &mut rng)).collect::<Vec<_>>()),
        ("base64", (0..50).map(|_| random(BASE64, 40, &mut rng)).collect()),
        ("hex", (0..50).map(|_| random(HEX, 40, &mut rng)).collect()),
        ("identifiers", identifiers(&mut rng).into_iter().take(50).collect()),
    ] {
        let generic = least_time_ns(&secrets, |secret| judge_at(&noise, secret, &context, path));
        let vendor = least_time_ns(&secrets, |secret| noise.judge_vendor(secret));
        eprintln!("{name}: generic {generic:.0} ns, vendor {vendor:.0} ns");
        assert!((1.0..1_000.0).contains(&generic), "{name}: generic {generic:.0} ns");
        assert!((1.0..1_000.0).contains(&vendor), "{name}: vendor {vendor:.0} ns");
    }
}

proptest! {
    #[test]
    fn no_input_panics(
        secret in proptest::collection::vec(any::<u8>(), 0..300),
        key in proptest::collection::vec(any::<u8>(), 0..200),
        line in proptest::collection::vec(any::<u8>(), 0..700),
        path in "[ -~]{0,60}",
    ) {
        let noise = Noise::default();
        let context = NoiseContext { key: &key, line: &line };
        let _ = judge_at(&noise, &secret, &context, Path::new(&path));
        let _ = noise.judge_vendor(&secret);
    }

    #[test]
    fn no_printable_text_panics(secret in "[ -~]{0,80}", key in "[a-zA-Z_]{0,20}") {
        let context = NoiseContext { key: key.as_bytes(), line: secret.as_bytes() };
        let _ = Noise::default().judge_generic(secret.as_bytes(), &context);
        let _ = Noise::default().judge_vendor(secret.as_bytes());
    }

    #[test]
    fn bytes_beyond_the_limits_are_ignored(
        secret in "[a-zA-Z0-9]{192}",
        more in "[a-zA-Z0-9]{0,50}",
        key in "[a-z_]{128}",
        farther in "[a-z_]{0,50}",
    ) {
        let noise = Noise::default();
        let longer_key = format!("{farther}{key}");
        let context = NoiseContext { key: key.as_bytes(), line: b"" };
        let longer_context = NoiseContext { key: longer_key.as_bytes(), line: b"" };
        prop_assert_eq!(
            noise.judge_generic(secret.as_bytes(), &context),
            noise.judge_generic(format!("{secret}{more}").as_bytes(), &longer_context)
        );
    }
}
