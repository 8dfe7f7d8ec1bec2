//! Tokens of services: chat, mail, payments, project tracking, monitoring.

use super::super::alphabet::{base64, base64_url, bytes, crc32, draw};
use super::{Form, SecretKind, Token};
use crate::walk::trees::random::Random;

pub(super) const KINDS: &[SecretKind] = &[
    SecretKind::typical("slack-bot", "slack bot token", "xoxb-{d12}-{d13}-{w24}"),
    SecretKind::typical("slack-user", "slack token", "xoxp-{d12}-{d12}-{d13}-{h32}"),
    SecretKind::typical("slack-app", "slack app token", "xapp-1-A{A10}-{d13}-{h64}"),
    SecretKind::typical(
        "slack-webhook",
        "slack webhook url",
        "https://hooks.slack.com/services/T{A10}/B{A10}/{w24}",
    ),
    SecretKind::made("discord-bot", "discord token", Form::Typical, discord_bot),
    SecretKind::typical(
        "discord-webhook",
        "discord webhook url",
        "https://discord.com/api/webhooks/{d19}/{b68}",
    ),
    SecretKind::typical("telegram-bot", "telegram bot token", "7{d9}:AA{b33}"),
    SecretKind::typical("sendgrid", "sendgrid api key", "SG.{b22}.{b43}"),
    SecretKind::typical("mailgun", "mailgun api key", "key-{h32}"),
    SecretKind::typical("mailchimp", "mailchimp api key", "{h32}-us1{d1}"),
    SecretKind::typical("brevo", "sendinblue api key", "xkeysib-{h64}-{w16}"),
    SecretKind::typical("twilio-api-key", "twilio api key sid", "SK{h32}"),
    SecretKind::typical("stripe-live", "stripe secret key", "sk_live_51{w97}"),
    SecretKind::typical("stripe-restricted", "stripe restricted key", "rk_live_51{w97}"),
    SecretKind::typical("square-access", "square access token", "EAAA{b60}"),
    SecretKind::typical("square-secret", "square client secret", "sq0csp-{b43}"),
    SecretKind::typical("shopify-access", "shopify access token", "shpat_{h32}"),
    SecretKind::typical("shopify-shared", "shopify shared secret", "shpss_{h32}"),
    SecretKind::typical("shippo", "shippo api token", "shippo_live_{h40}"),
    SecretKind::typical("easypost", "easypost api key", "EZAK{w54}"),
    SecretKind::typical("duffel", "duffel access token", "duffel_live_{b43}"),
    SecretKind::typical("linear", "linear api key", "lin_api_{w40}"),
    SecretKind::typical("notion", "notion api key", "ntn_{d11}{w35}"),
    SecretKind::typical("figma", "figma token", "figd_{b40}"),
    SecretKind::typical("airtable", "airtable api key", "pat{w14}.{h64}"),
    SecretKind::typical("contentful", "contentful management token", "CFPAT-{b43}"),
    SecretKind::typical("typeform", "typeform token", "tfp_{b40}_{b18}"),
    SecretKind::typical("atlassian", "jira api token", "ATATT3xFfGF0{b171}={H8}"),
    SecretKind::typical("frame-io", "frameio token", "fio-u-{b64}"),
    SecretKind::typical("adafruit", "adafruit io key", "aio_{w28}"),
    SecretKind::made("grafana-service-account", "grafana token", Form::Typical, grafana),
    SecretKind::typical("new-relic-user", "new relic api key", "NRAK-{A27}"),
    SecretKind::typical("sentry-user", "sentry auth token", "sntryu_{h64}"),
    SecretKind::made("sentry-organization", "sentry auth token", Form::Typical, sentry),
    SecretKind::typical("dynatrace", "dynatrace api token", "dt0c01.{t24}.{t64}"),
];

/// Makes a token: the bot's number in base64, a time, and a signature.
fn discord_bot(random: &mut Random) -> Token {
    let number = format!("1{}", draw(random, 'd', 18));
    let (time, signature) = (draw(random, 'b', 6), draw(random, 'b', 38));
    Token::whole(format!("{}.{time}.{signature}", base64_url(number.as_bytes())))
}

/// Makes a token that ends with the CRC-32 of everything before it, lowest byte first.
fn grafana(random: &mut Random) -> Token {
    let body = format!("glsa_{}", draw(random, 'w', 32));
    let sum = crc32(body.as_bytes()).swap_bytes();
    Token::whole(format!("{body}_{sum:08x}"))
}

/// Makes a token: its purpose as JSON in base64, and the secret itself.
fn sentry(random: &mut Random) -> Token {
    let body = format!(
        r#"{{"iat":17{}.{},"url":"https://sentry.io","region_url":"https://us.sentry.io","org":"{}"}}"#,
        draw(random, 'd', 8),
        draw(random, 'd', 6),
        draw(random, 'l', 7)
    );
    let secret = base64(&bytes(random, 32));
    let secret = secret.trim_end_matches('=');
    Token::whole(format!("sntrys_{}_{secret}", base64(body.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_grafana_covers_its_prefix() {
        let token = grafana(&mut Random::new(1)).text;
        let (body, sum) = token.rsplit_once('_').expect("three parts");
        assert_eq!(body.len(), 37);
        let bytes = crc32(body.as_bytes()).to_le_bytes();
        assert_eq!(sum, bytes.map(|byte| format!("{byte:02x}")).concat());
    }
}
