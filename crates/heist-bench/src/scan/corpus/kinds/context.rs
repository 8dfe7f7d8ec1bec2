//! Secrets without a recognizable format: passwords, credentials in URLs and headers, and keys that
//! only the variable's name identifies.

use super::super::alphabet::{base64, base64_url, bytes, draw, fill, pick, uuid};
use super::{Form, Partner, SecretKind, Token};
use crate::walk::trees::random::Random;

pub(super) const KINDS: &[SecretKind] = &[
    SecretKind::named("datadog-api-key", "datadog api key", "{h32}"),
    SecretKind::named("twilio-auth-token", "twilio auth token", "{h32}").after(Partner {
        id: "twilio-account-sid",
        name: "twilio account sid",
        form: "AC{h32}",
        is_secret: false,
    }),
    SecretKind::named("cloudflare-api-token", "cloudflare api token", "{b40}"),
    SecretKind::named("azure-devops-pat", "azure devops token", "{T52}"),
    SecretKind::named("algolia-admin", "algolia admin api key", "{h32}"),
    SecretKind::named("fastly", "fastly api token", "{b32}"),
    SecretKind::named("generic-api-key", "partner api key", "{w40}"),
    SecretKind::named("generic-secret", "session secret", "{h64}"),
    SecretKind::named("generic-token", "internal auth token", "{b43}"),
    SecretKind::named("client-secret", "oauth client secret", "{w32}"),
    SecretKind::named("encryption-key", "encryption key", "{B43}="),
    SecretKind::made("database-password", "db password", Form::Named, password),
    SecretKind::made("smtp-password", "smtp password", Form::Named, password),
    SecretKind::made("url-postgres", "database url", Form::Named, |random| {
        url(random, "postgres", "db.prod.internal:5432/orders")
    }),
    SecretKind::made("url-mongodb", "mongo uri", Form::Named, |random| {
        url(random, "mongodb+srv", "cluster0.ab1cd.mongodb.net/app?retryWrites=true")
    }),
    SecretKind::made("url-redis", "redis url", Form::Named, |random| {
        url(random, "redis", "cache.prod.internal:6379/0")
    }),
    SecretKind::made("url-amqp", "broker url", Form::Named, |random| {
        url(random, "amqps", "mq.prod.internal:5671/events")
    }),
    SecretKind::made("url-https", "package index", Form::Named, |random| {
        url(random, "https", "packages.corp.internal/simple")
    }),
    SecretKind::made("connection-string", "connection string", Form::Named, connection_string),
    SecretKind::made("jwt", "access token", Form::Typical, jwt),
    SecretKind::made("header-basic", "authorization", Form::Named, basic),
    SecretKind::made("header-bearer", "authorization", Form::Named, |random| {
        let secret = draw(random, 'b', 48);
        Token { text: format!("Bearer {secret}"), secret }
    }),
];

const WORDS: [&str; 16] = [
    "Falcon", "Harbor", "Winter", "Copper", "Mango", "Tunnel", "Velvet", "Orbit", "Saddle",
    "Pepper", "Glacier", "Walnut", "Ribbon", "Cactus", "Meadow", "Lantern",
];

/// Makes a password like those people invent (words, digits, a punctuation mark) or a generated
/// one.
fn password(random: &mut Random) -> Token {
    if random.below(3) == 0 {
        return Token::whole(fill(random, "{w9}-{w8}"));
    }
    let (first, second) = (pick(random, &WORDS), pick(random, &WORDS));
    let mark = pick(random, &["!", "-", "_", "+"]);
    Token::whole(format!("{first}{}{mark}{second}{}", draw(random, 'd', 2), draw(random, 'd', 3)))
}

fn url(random: &mut Random, scheme: &str, place: &str) -> Token {
    let user = pick(random, &["app", "svc_billing", "orders", "worker"]);
    let secret = draw(random, 'w', 18);
    Token { text: format!("{scheme}://{user}:{secret}@{place}"), secret }
}

fn connection_string(random: &mut Random) -> Token {
    let secret = password(random).secret;
    Token {
        text: format!(
            "Server=tcp:sql.prod.internal,1433;Database=crm;User Id=crm;Password={secret};Encrypt=True"
        ),
        secret,
    }
}

/// Makes a signed statement about a user.
fn jwt(random: &mut Random) -> Token {
    let header = base64_url(br#"{"alg":"HS256","typ":"JWT"}"#);
    let body = format!(
        r#"{{"sub":"{}","iss":"https://auth.corp.internal","iat":17{},"role":"admin"}}"#,
        uuid(random),
        draw(random, 'd', 8)
    );
    Token::whole(format!(
        "{header}.{}.{}",
        base64_url(body.as_bytes()),
        base64_url(&bytes(random, 32))
    ))
}

fn basic(random: &mut Random) -> Token {
    let secret = base64(format!("svc-deploy:{}", draw(random, 'w', 20)).as_bytes());
    Token { text: format!("Basic {secret}"), secret }
}
