//! Values that look like secrets but are not: hashes, identifiers, placeholders, public keys,
//! examples from manuals, tokens with a wrong checksum.
//!
//! The list also has a few disputed values, which count neither for nor against a tool.

use super::alphabet::{base64, bytes, crc32, draw, fill, pick};
use super::kinds::{cloud, keys};
use crate::walk::trees::random::Random;

/// How a look-alike is written into a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// As a value in any kind of file.
    Value,
    /// On several lines.
    Block,
    /// As a line of its own in a file of this name.
    Line(&'static str),
}

/// One kind of look-alike.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LookAlike {
    pub(crate) id: &'static str,
    /// Names that it is planted under, in words.
    pub(crate) names: &'static [&'static str],
    pub(crate) place: Placement,
    pub(crate) make: fn(&mut Random) -> String,
    /// Whether it is a matter of opinion if tools should report it.
    pub(crate) is_disputed: bool,
    /// How many are planted.
    pub(crate) count: usize,
}

/// Instances of a common kind. Chosen so that the corpus has about as many look-alikes as secrets.
const MANY: usize = 28;

/// Instances of a rare kind.
const FEW: usize = 8;

const fn value(
    id: &'static str,
    names: &'static [&'static str],
    make: fn(&mut Random) -> String,
) -> LookAlike {
    LookAlike { id, names, place: Placement::Value, make, is_disputed: false, count: MANY }
}

/// Defines a kind of which only a few are planted.
const fn rare(
    id: &'static str,
    names: &'static [&'static str],
    make: fn(&mut Random) -> String,
) -> LookAlike {
    LookAlike { count: FEW, ..value(id, names, make) }
}

const fn line(id: &'static str, file: &'static str, make: fn(&mut Random) -> String) -> LookAlike {
    LookAlike {
        id,
        names: &[],
        place: Placement::Line(file),
        make,
        is_disputed: false,
        count: MANY,
    }
}

const fn disputed(
    id: &'static str,
    names: &'static [&'static str],
    make: fn(&mut Random) -> String,
) -> LookAlike {
    LookAlike { id, names, place: Placement::Value, make, is_disputed: true, count: MANY }
}

/// All look-alikes, in a fixed order.
pub(crate) const ALL: &[LookAlike] = &[
    // Hashes and identifiers.
    value("commit", &["git commit", "revision"], |random| draw(random, 'h', 40)),
    value("digest", &["image digest", "content hash"], |random| fill(random, "sha256:{h64}")),
    value("md5", &["etag", "file checksum"], |random| draw(random, 'h', 32)),
    value("uuid", &["request id", "tenant id", "correlation id"], |random| fill(random, "{uuid}")),
    value("object-id", &["document id", "account id"], |random| draw(random, 'h', 24)),
    value("client-id", &["oauth client id", "application id"], |random| {
        fill(random, "{d12}-{a32}.apps.googleusercontent.com")
    }),
    value("resource-name", &["secret arn", "kms key id"], |random| {
        fill(random, "arn:aws:kms:eu-west-1:{d12}:key/{uuid}")
    }),
    value("secret-name", &["secret name", "password secret ref"], |random| {
        fill(random, "projects/corp-prod/secrets/{l8}-db-password/versions/latest")
    }),
    // Placeholders and references.
    value("placeholder", &["api key", "auth token", "db password", "client secret"], |random| {
        let text = pick(
            random,
            &[
                "YOUR_API_KEY_HERE",
                "<your-token>",
                "changeme",
                "REPLACE_ME",
                "xxxxxxxxxxxxxxxxxxxxxxxx",
                "insert-token-here",
                "your-secret-key-goes-here",
                "********",
                "TODO",
                "none",
                "dummy",
                "0123456789abcdef0123456789abcdef",
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                "not-a-real-key",
            ],
        );
        text.to_owned()
    }),
    value("reference", &["api key", "db password", "auth token", "secret key"], |random| {
        let name = draw(random, 'l', 7).to_uppercase();
        let form = pick(
            random,
            &[
                "${NAME_TOKEN}",
                "$NAME_PASSWORD",
                "{{ vault.NAME_secret }}",
                "%(NAME_password)s",
                "#{NAME_KEY}#",
                "$(NAME_API_KEY)",
                "vault:secret/data/NAME#password",
                "{{ .Values.NAME.token }}",
                "@Microsoft.KeyVault(SecretUri=https://corp.vault.azure.net/secrets/NAME/)",
            ],
        );
        form.replace("NAME", &name)
    }),
    value("masked-prefix", &["github token", "slack token", "openai api key"], |random| {
        let form = pick(
            random,
            &["ghp_{x36}", "xoxb-{x12}-{x12}-{x24}", "sk-{x48}", "glpat-{x20}", "AKIA{x16}"],
        );
        let mut text = form.to_owned();
        for count in [12, 16, 20, 24, 36, 48] {
            let with = pick(random, &["x", "X", "*"]).repeat(count);
            text = text.replace(&format!("{{x{count}}}"), &with);
        }
        text
    }),
    rare("manual-example", &["aws access key id"], |_| format!("AKIA{}", "IOSFODNN7EXAMPLE")),
    rare("manual-example-secret", &["aws secret access key"], |_| {
        format!("wJalrXUtnFEMI/K7MDENG/{}", "bPxRfiCYEXAMPLEKEY")
    }),
    value("short-prefix", &["ticket", "branch"], |random| {
        let form = pick(
            random,
            &["ghp_{w8}", "xoxb-{l6}", "sk-{l10}", "AKIA{t6}", "npm_{l9}", "hf_{l12}"],
        );
        fill(random, form)
    }),
    // Correct except for the checksum.
    rare("wrong-checksum-github", &["github token"], |random| wrong(random, "ghp_")),
    rare("wrong-checksum-npm", &["npm token"], |random| wrong(random, "npm_")),
    rare("wrong-checksum-grafana", &["grafana token"], |random| {
        let body = format!("glsa_{}", draw(random, 'w', 32));
        format!("{body}_{:08x}", !crc32(body.as_bytes()))
    }),
    // Public keys and ids.
    value("publishable-key", &["stripe publishable key"], |random| fill(random, "pk_live_51{w97}")),
    value("site-key", &["recaptcha site key"], |random| fill(random, "6L{b38}")),
    value("vapid-public", &["vapid public key"], |random| fill(random, "B{b86}")),
    rare("ssh-public", &["ssh public key"], |random| {
        fill(random, "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{B43} deploy@corp")
    }),
    LookAlike {
        id: "public-key",
        names: &["public key", "verification key"],
        place: Placement::Block,
        make: keys::public_rsa,
        is_disputed: false,
        count: FEW,
    },
    LookAlike {
        id: "certificate",
        names: &["ca bundle", "tls certificate"],
        place: Placement::Block,
        make: keys::certificate,
        is_disputed: false,
        count: FEW,
    },
    // Names and settings with words that rules look for.
    value("label", &["password", "password hint", "token help"], |random| {
        let text = pick(
            random,
            &[
                "Enter your password",
                "At least 12 characters",
                "Forgot your password?",
                "Passwords do not match",
                "Paste the token from your profile",
                "current-password",
                "new-password",
            ],
        );
        text.to_owned()
    }),
    value(
        "identifier",
        &["token provider", "secret resolver", "api key header", "auth class"],
        |random| {
            let text = pick(
                random,
                &[
                    "getAccessTokenFromRefreshTokenProvider",
                    "com.corp.auth.TokenAuthenticationFilter",
                    "X-Corp-Api-Key",
                    "corp.security.PasswordEncoderFactories",
                    "DefaultCredentialsProviderChain",
                    "customer_password_reset_requests",
                    "oauth2_refresh_token_rotation_enabled",
                    "AuthorizationCodeTokenEndpointFilter2Configurer",
                    "io.corp.keys.v1beta1.ApiKeyServiceImpl",
                ],
            );
            text.to_owned()
        },
    ),
    value("key-of-data", &["cache key", "primary key", "partition key", "sort key"], |random| {
        let text = pick(
            random,
            &[
                "orders:v2:customer-list",
                "customer_id",
                "tenant#region#2026-03",
                "user-profile-by-email",
                "invoice_line_items_pkey",
                "sessions/active/by-device",
            ],
        );
        text.to_owned()
    }),
    value(
        "token-settings",
        &["token type", "token url", "password policy", "secret rotation"],
        |random| {
            let text = pick(
                random,
                &[
                    "Bearer",
                    "https://auth.corp.internal/oauth2/v2.0/token",
                    "min-length-14-with-digits",
                    "every-90-days",
                    "RS256",
                    "client_credentials",
                    "/run/secrets/db_password",
                    "/etc/ssl/private/server.key",
                ],
            );
            text.to_owned()
        },
    ),
    value("url-without-password", &["database url", "redis url", "repository url"], |random| {
        let text = pick(
            random,
            &[
                "postgres://db.prod.internal:5432/orders",
                "redis://localhost:6379/0",
                "git@github.com:corp/orders.git",
                "https://deploy@git.corp.internal/orders.git",
                "amqp://mq.prod.internal/events",
                "postgres://app:${DB_PASSWORD}@db.prod.internal/orders",
                "https://api.corp.internal/v2/users/@me",
                "postgres://user:password@localhost:5432/db",
                "mongodb://<username>:<password>@cluster0.mongodb.net/",
            ],
        );
        text.to_owned()
    }),
    value("file-path", &["key file", "credentials path"], |random| {
        fill(random, "/var/lib/corp/keys/{l8}/2026/{l6}-service-account.json")
    }),
    value("package-version", &["image tag", "build id"], |random| {
        fill(random, "release-2026.3.{d2}-{h8}-{d10}")
    }),
    value("data-uri", &["logo", "icon"], |random| {
        format!("data:image/png;base64,iVBORw0KGgo{}", base64(&bytes(random, 120)))
    }),
    value("sentence", &["description", "secret santa note"], |random| {
        let text = pick(
            random,
            &[
                "Rotate the secret whenever a password token expires",
                "the key to good tokens is patience",
                "api keys are kept in the vault and never here",
                "password-less login for all internal users",
            ],
        );
        text.to_owned()
    }),
    // Lock files and code.
    line("lock-cargo", "Cargo.lock", |random| fill(random, "checksum = \"{h64}\"")),
    line("lock-npm", "package-lock.json", |random| {
        format!("      \"integrity\": \"sha512-{}\",", base64(&bytes(random, 64)))
    }),
    line("lock-yarn", "yarn.lock", |random| {
        format!("  integrity sha512-{}", base64(&bytes(random, 64)))
    }),
    line("lock-go", "go.sum", |random| {
        let name = draw(random, 'l', 8);
        format!("github.com/corp/{name} v1.4.2 h1:{}", base64(&bytes(random, 32)))
    }),
    line("lock-python", "requirements.txt", |random| fill(random, "    --hash=sha256:{h64} \\")),
    line("type-declaration", "web/types.ts", |random| {
        let text = pick(
            random,
            &[
                "  password: string;",
                "  accessToken?: string | null;",
                "  apiKey: process.env.API_KEY,",
                "  const token = await getAccessToken(request);",
                "  secretKey: config.get('secretKey'),",
                "  password: yup.string().min(12).required(),",
                "  token = localStorage.getItem('authToken');",
                "  if (password !== confirmPassword) return;",
                "  const apiKey = readSecret('partner/api-key');",
            ],
        );
        text.to_owned()
    }),
    line("code-python", "src/corp/security.py", |random| {
        let text = pick(
            random,
            &[
                "password = forms.CharField(widget=forms.PasswordInput)",
                "token = os.environ[\"CORP_TOKEN\"]",
                "api_key = settings.PARTNER_API_KEY",
                "secret = hashlib.sha256(payload).hexdigest()",
                "def rotate_password(user: User, password: str) -> None:",
                "assert response.json()[\"token\"] == token",
                "client_secret = vault.read(\"secret/data/oauth\")[\"client_secret\"]",
                "parser.add_argument(\"--password\", default=None, help=\"read from stdin\")",
            ],
        );
        text.to_owned()
    }),
    line("minified", "web/vendor.min.js", |random| {
        let (one, two) = (draw(random, 'w', 6), draw(random, 'h', 8));
        format!(
            "!function(e,t){{var n=t({one:?}),r=n.k||\"{two}\";e.exports=function(o){{return r[o]}}}}(this);"
        )
    }),
    line("style", "web/style.css", |random| {
        let (name, colour) = (draw(random, 'l', 6), draw(random, 'h', 6));
        format!(".token-{name}-password {{ color: #{colour} }}")
    }),
    line("access-log", "var/log/access.log", |random| {
        fill(random, "10.0.{d2}.{d2} GET /assets/app.{h20}.js?v={h16} 200 etag=\"{h32}\"")
    }),
    line("build-log", "var/log/build.log", |random| {
        fill(random, "[12:07:{d2}] layer sha256:{h64} pushed, trace {h32} span {h16}")
    }),
    // Disputed.
    disputed("stripe-test", &["stripe secret key"], |random| fill(random, "sk_test_51{w97}")),
    disputed("mapbox-public", &["mapbox token"], |random| cloud::mapbox(random, "pk")),
    LookAlike {
        id: "encrypted-private-key",
        names: &["private key"],
        place: Placement::Block,
        make: keys::encrypted,
        is_disputed: true,
        count: FEW,
    },
];

/// Makes a token of the right format with the checksum of another one.
fn wrong(random: &mut Random, prefix: &str) -> String {
    let body = draw(random, 'w', 30);
    let sum = super::alphabet::base62_of(!crc32(body.as_bytes()));
    format!("{prefix}{body}{sum}")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_differ_and_values_fit_their_placement() {
        let ids: HashSet<_> = ALL.iter().map(|one| one.id).collect();
        assert_eq!(ids.len(), ALL.len());
        let mut random = Random::new(1);
        for one in ALL {
            let text = (one.make)(&mut random);
            assert_eq!(text.contains('\n'), one.place == Placement::Block, "{}", one.id);
            assert_eq!(one.names.is_empty(), matches!(one.place, Placement::Line(_)), "{}", one.id);
        }
    }

    #[test]
    fn wrong_checksums_are_wrong() {
        let token = wrong(&mut Random::new(1), "ghp_");
        let right = super::super::alphabet::base62_of(crc32(&token.as_bytes()[4..34]));
        assert_ne!(token[34..], right);
    }
}
