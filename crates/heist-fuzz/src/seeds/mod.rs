//! Generates seeds: inputs that give the code under test something to do. Their secrets are random
//! and generated from the rules, so that no source file contains one.
//!
//! Invariant: the same rules give the same seeds.

mod encode;
pub mod git;
mod rule_files;
mod suppressions;

use encode::{base64, hex, json_escaped, url_escaped, utf16, wrapped};
use heist::rng::XorShift64;
use heist_scan::rules::{ParserKind, Pattern, Rule, RuleSet, Sampler};

/// The number of built-in rules with an example among the seeds for the whole detector.
const RULES_SAMPLED: usize = 28;

/// Generates the seeds of a target. Returns none if there is no such target.
#[must_use]
pub fn make(target: &str) -> Vec<Vec<u8>> {
    let mut rng = XorShift64::new(0x5EED);
    match target {
        "rules_loader" => rule_files::make(),
        "parser_generic_secret" => for_parser(ParserKind::GenericSecret, &GENERIC, &mut rng),
        "parser_password" => for_parser(ParserKind::Password, &PASSWORD, &mut rng),
        "parser_url_credentials" => for_parser(ParserKind::UrlCredentials, &URL, &mut rng),
        "parser_jwt" => for_parser(ParserKind::Jwt, &JWT, &mut rng),
        "parser_private_key" => for_parser(ParserKind::PrivateKey, &PRIVATE_KEY, &mut rng),
        "parser_connection_string" => {
            for_parser(ParserKind::ConnectionString, &CONNECTION, &mut rng)
        }
        "decoders" => decoders(&mut rng),
        "detector" => detector(&mut rng),
        "baseline" => suppressions::baselines(),
        "gitleaksignore" => suppressions::gitleaksignores(),
        "ignore_file" => suppressions::ignore_files(),
        "git_pack" => git::packs(),
        "git_index" => git::indexes(),
        "git_midx" => git::multi_pack_indexes(),
        "git_commit_graph" => git::commit_graphs(),
        "git_inflate" => git::streams(),
        _ => Vec::new(),
    }
}

/// No padding, no cuts, and no switches.
const PLAIN: [u8; 8] = [0; 8];

/// Padding before and after, cuts, and switches.
const CHOSEN: [[u8; 8]; 4] = [
    [12, 138, 138, 3, 40, 90, 170, 9],
    [2, 130, 132, 1, 9, 0, 200, 1],
    [0, 228, 208, 6, 7, 0, 255, 16],
    [13, 193, 228, 2, 128, 0, 16, 16],
];

/// The indexes of the fillers that consist of encoded text.
const LONG_HEX: u8 = 4;
const LONG_URL: u8 = 6;
const LONG_JSON: u8 = 8;
const LONG_BASE64: u8 = 9;
const LONG_UTF16: u8 = 10;

fn seed(choices: [u8; 8], text: &[u8]) -> Vec<u8> {
    [&choices, text].concat()
}

// The placeholders `{dashes}` and `{}` (which stands for nothing) keep scanners from finding
// secrets in this file.

const GENERIC: [&str; 14] = [
    "api_key = \"{secret}\"",
    "{\"clientSecret\": \"{secret}\", \"other\": 1}",
    "export ACCESS_TOKEN={secret}\n",
    "<add key=\"ApiSecret\" value=\"{secret}\"/>",
    "curl -H 'X-Api-Key: {secret}' https://api.acme.net/",
    "client = Client(token='{secret}', retries=3)",
    "secret_key: {secret} # of the shop",
    "auth.token := `{secret}`;",
    "--api-key={secret} --verbose",
    "config[\"secret\"] => '{secret}'",
    "<secret>{secret}</secret>",
    "sha256_token = 0123456789abcdef0123456789abcdef",
    "token = token_from_environment_12(\"a1b2c3d4e5f6\")",
    "key=\"",
];

const PASSWORD: [&str; 12] = [
    "password: \"{secret}\"",
    "DB_PASSWORD={secret}\n",
    "spring.datasource.password={secret}",
    "mysql -u root --password={secret} shop",
    "<password>{secret}</password>",
    "{\"user\": \"app\", \"passwd\": \"{secret}\"}",
    "PGPASSWORD='{secret}' psql",
    "admin_pass = '{secret}'",
    "pwd: ${PASSWORD:-{secret}}",
    "passphrase => \"{secret}\",",
    "password = getpass(\"Password: \")",
    "_pass",
];

const URL: [&str; 12] = [
    "postgres://app:{secret}@db.acme.net:5432/shop",
    "https://user:{secret}@[2001:db8::1]/path?query#part",
    "url = \"amqps://app:{secret}@queue\"",
    "redis://:{secret}@cache:6379/0",
    "mongodb+srv://app:{secret}@a.net,b.net/db?retryWrites=true",
    "git clone https://{secret}@code.acme.net/a/b.git",
    "ftp://user:p%40ss%2F{secret}@host",
    "http://user:${PASSWORD}@host/",
    "jdbc:oracle:thin:app/{secret}@//db:1521/shop",
    "://:@",
    "a://b:c://d:e@f@g",
    "sftp://user:{secret}@",
];

const JWT: [&str; 8] = [
    "Authorization: Bearer {secret}",
    "id_token = \"{secret}\"",
    "{secret}",
    "{\"token\":\"{secret}\"}.{secret}",
    "eyJ.eyJ.",
    "ey{}JhbGciOiJub25lIn0.ey{}JzdWIiOiJhIn0.",
    "xeyJ{secret}",
    "Cookie: session={secret}; path=/",
];

const PRIVATE_KEY: [&str; 10] = [
    "{secret}",
    "key: |\n{secret}\n",
    "key = \"\"\"{secret}\"\"\"",
    "{dashes}BEGIN RSA PRIVATE KEY{dashes}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n\
     {dashes}END RSA PRIVATE KEY{dashes}",
    "{dashes}BEGIN OPENSSH PRIVATE KEY{dashes}\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAAB\n\
     {dashes}END OPENSSH PRIVATE KEY{dashes}",
    "{dashes}BEGIN PGP PRIVATE KEY BLOCK{dashes}\nVersion: 1\n\nlQOYBF0AAAABCAC7\n=abcd\n\
     {dashes}END PGP PRIVATE KEY BLOCK{dashes}",
    "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: a\nPublic-Lines: 1\nAAAA\nPrivate-Lines: 1\n\
     AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\nPrivate-MAC: 0000000000000000000000000000000000000000\n",
    "<RSA{}KeyValue><Modulus>AQAB</Modulus><Exponent>AQAB</Exponent><D>AQAB</D></RSAKeyValue>",
    "{dashes}BEGIN PRIVATE KEY{dashes}",
    "{dashes}BEGIN EC PRIVATE KEY{dashes}\\n\
     MHcCAQEEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAoAoGCCqGSM49\\n{dashes}END EC PRIVATE KEY{dashes}",
];

const CONNECTION: [&str; 10] = [
    "Server=db.acme.net;Database=shop;User Id=app;Password={secret};",
    "\"Data Source=db;Initial Catalog=shop;uid=app;pwd={secret}\"",
    "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={secret}==;EndpointSuffix=core.acme.net",
    "Endpoint=sb://shop.acme.net/;SharedAccessKeyName=Root;SharedAccessKey={secret}=",
    "host=db port=5432 dbname=shop user=app password={secret} sslmode=require",
    "jdbc:mysql://db:3306/shop?user=app&password={secret}&useSSL=true",
    "jdbc:sqlserver://db;user=app;password={{secret}};encrypt=true",
    "Driver={ODBC};Server=db;Uid=app;Pwd='{secret}';",
    "password=",
    "Server=(local);Password=%PASSWORD%;pwd=;PWD=<password>",
];

/// Fills each template with a random secret; every second one also appears with padding and cuts.
fn for_parser(kind: ParserKind, templates: &[&str], rng: &mut XorShift64) -> Vec<Vec<u8>> {
    let sampler = Sampler::new(&Rule::new("seeds", Pattern::Parser(kind)));
    let sampler = sampler.expect("every detector has a sampler");
    let mut seeds = Vec::new();
    for (number, template) in templates.iter().enumerate() {
        let secret = sampler.secret(rng).expect("every detector has samples");
        let text = template
            .replace("{}", "")
            .replace("{dashes}", "-----")
            .replace("{secret}", &secret)
            .into_bytes();
        seeds.push(seed(PLAIN, &text));
        if number % 2 == 0 {
            seeds.push(seed(CHOSEN[number / 2 % CHOSEN.len()], &text));
        }
    }
    seeds
}

fn decoders(rng: &mut XorShift64) -> Vec<Vec<u8>> {
    let secret: String = (0..24).map(|_| char::from(b'a' + rng.below(26) as u8)).collect();
    let text = format!("user: app\r\nkey: \"{secret}\" # größer, пароль\n");
    let text = text.as_bytes();
    let long = text.repeat(5);
    let texts = [
        base64(text),
        format!("key = \"{}==\"", base64(text)),
        wrapped(&base64(&long), "\n"),
        wrapped(&base64(&long), "\r\n    "),
        base64(&long).replace('+', "-").replace('/', "_"),
        hex(text),
        format!("0x{}", hex(text).to_uppercase()),
        format!("f{}", hex(&long)),
        url_escaped(text),
        format!("https://acme.net/?q={}&r=%", url_escaped(text)),
        json_escaped(text),
        format!("{{\"a\": \"{}\\\\\"}}", json_escaped(text)),
        "\\u00e9\\ud83d\\ude00\\ud83d\\u{1F600}\\x41\\n\\/\\u00".to_owned(),
        "%E2%82%AC%2e%2E%%41%4".to_owned(),
        "\\\\\\\\u0041\\\\u0042\\u0043".to_owned(),
        String::new(),
    ];
    let mut seeds: Vec<_> = texts.iter().map(|text| seed(PLAIN, text.as_bytes())).collect();
    for (number, text) in texts.iter().enumerate() {
        seeds.push(seed(CHOSEN[number % CHOSEN.len()], text.as_bytes()));
    }
    seeds.push(seed(PLAIN, &utf16(text, false)));
    seeds.push(seed(PLAIN, &utf16(text, true)));
    seeds
}

/// Returns examples of evenly selected rules: plain, encoded, and with padding.
fn detector(rng: &mut XorShift64) -> Vec<Vec<u8>> {
    let rules = RuleSet::builtin().rules;
    let mut seeds = Vec::new();
    let sampled = rules.iter().step_by((rules.len() / RULES_SAMPLED).max(1));
    for (number, rule) in sampled.enumerate() {
        let example = rule.examples.first().map_or("", String::as_str);
        let expanded = Sampler::new(rule).and_then(|sampler| sampler.expand(example, rng));
        let Some(text) = expanded.map(|expanded| expanded.text.into_bytes()) else { continue };
        // The scanner decodes long encoded text in pieces. To cover that, some examples follow 13
        // KiB of text in the same encoding, with the first cut soon after the beginning of a piece
        // and long before the secret.
        let (filler, written) = match number % 10 {
            5 => (Some(LONG_BASE64), base64(&text).into_bytes()),
            6 => (Some(LONG_HEX), hex(&text).into_bytes()),
            7 => (Some(LONG_URL), url_escaped(&text).into_bytes()),
            8 => (Some(LONG_JSON), json_escaped(&text).into_bytes()),
            9 => (Some(LONG_UTF16), utf16(&text, false)),
            _ => (None, text),
        };
        if let Some(filler) = filler {
            seeds.push(seed([filler, 232, 180, 0, 40, 90, 170, 17], &written));
        }
        let choices = if number % 3 == 0 { CHOSEN[number / 3 % CHOSEN.len()] } else { PLAIN };
        seeds.push(seed(choices, &written));
    }
    for text in ["1234-56789-012345", "keyword: 0123456789ABCDEF01234567", ""] {
        seeds.push(seed(CHOSEN[1], text.as_bytes()));
    }
    seeds
}
