//! Tokens of cloud and hosting providers, networks and databases.

use super::super::alphabet::{base64, base64_url, bech32, bytes, draw};
use super::{Form, Partner, SecretKind, Token};
use crate::walk::trees::random::Random;

pub(super) const KINDS: &[SecretKind] = &[
    SecretKind::named("aws-secret-access-key", "aws secret access key", "{B40}").after(Partner {
        id: "aws-access-key-id",
        name: "aws access key id",
        form: "AKIA{t16}",
        is_secret: true,
    }),
    SecretKind::typical("google-api-key", "google api key", "AIzaSy{b33}"),
    SecretKind::typical("google-client-secret", "google client secret", "GOCSPX-{b28}"),
    SecretKind::typical("google-access-token", "google access token", "ya29.{b180}"),
    SecretKind::made(
        "azure-storage-key",
        "azure storage connection string",
        Form::Typical,
        azure_storage,
    ),
    SecretKind::typical("azure-client-secret", "azure client secret", "{w3}8Q~{w34}"),
    SecretKind::typical("digitalocean", "digitalocean token", "dop_v1_{h64}"),
    SecretKind::typical("heroku", "heroku api key", "HRKU-AA{b58}"),
    SecretKind::named("alibaba-secret", "alibaba access key secret", "{w30}").after(Partner {
        id: "alibaba-access-key-id",
        name: "alibaba access key id",
        form: "LTAI5t{w18}",
        is_secret: true,
    }),
    SecretKind::named("tencent-secret", "tencent secret key", "{w32}").after(Partner {
        id: "tencent-secret-id",
        name: "tencent secret id",
        form: "AKID{w32}",
        is_secret: true,
    }),
    SecretKind::typical("fly-io", "fly api token", "fo1_{b43}"),
    SecretKind::typical("netlify", "netlify auth token", "nfp_{w36}"),
    SecretKind::typical("planetscale", "planetscale password", "pscale_pw_{b43}"),
    SecretKind::typical("supabase", "supabase access token", "sbp_{h40}"),
    SecretKind::typical("databricks", "databricks token", "dapi{h32}"),
    SecretKind::typical("cloudflare-origin-ca", "cloudflare origin ca key", "v1.0-{h24}-{h146}"),
    SecretKind::typical("tailscale", "tailscale auth key", "tskey-auth-k{w10}CNTRL-{w32}"),
    SecretKind::made("mapbox-secret", "mapbox token", Form::Typical, |random| {
        Token::whole(mapbox(random, "sk"))
    }),
    SecretKind::typical("dropbox-short-lived", "dropbox token", "sl.u.{b140}"),
    SecretKind::made("age", "age key", Form::Typical, age),
    SecretKind::made("1password-secret-key", "op secret key", Form::Typical, one_password),
];

/// Makes a connection string as the portal shows it: a key of 64 bytes among other fields.
fn azure_storage(random: &mut Random) -> Token {
    let account = draw(random, 'l', 11);
    let key = base64(&bytes(random, 64));
    Token {
        text: format!(
            "DefaultEndpointsProtocol=https;AccountName={account};AccountKey={key};\
             EndpointSuffix=core.windows.net"
        ),
        secret: key,
    }
}

/// Makes an X25519 identity.
fn age(random: &mut Random) -> Token {
    Token::whole(bech32("age-secret-key-", &bytes(random, 32)).to_uppercase())
}

/// Makes a token: its owner and key id as JSON in base64, and a signature. `kind` is `sk` for a
/// secret token and `pk` for a public one.
pub(crate) fn mapbox(random: &mut Random, kind: &str) -> String {
    let (user, key) = (draw(random, 'l', 9), draw(random, 'a', 23));
    let body = base64_url(format!(r#"{{"u":"{user}","a":"cl{key}"}}"#).as_bytes());
    format!("{kind}.{body}.{}", draw(random, 'b', 22))
}

fn one_password(random: &mut Random) -> Token {
    let groups = [6, 11, 5, 5, 5].map(|count| draw(random, 'A', count));
    Token::whole(format!("A3-{}", groups.join("-")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_as_long_as_published() {
        let token = age(&mut Random::new(1)).text;
        assert_eq!(token.len(), 74);
        assert!(token.starts_with(concat!("AGE-SECRET", "-KEY-1")));
    }
}
