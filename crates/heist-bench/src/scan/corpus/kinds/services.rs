//! Tokens of services: chat, mail, payments, project tracking, monitoring.

use super::super::alphabet::{base64, base64_url, bytes, crc32, draw};
use super::{Form, Kind, Token};
use crate::walk::trees::random::Random;

pub(super) const KINDS: &[Kind] = &[
    Kind::typical("slack-bot", "slack bot token", "xoxb-{d12}-{d13}-{w24}"),
    Kind::typical("slack-user", "slack token", "xoxp-{d12}-{d12}-{d13}-{h32}"),
    Kind::typical("slack-app", "slack app token", "xapp-1-A{A10}-{d13}-{h64}"),
    Kind::typical(
        "slack-webhook",
        "slack webhook url",
        "https://hooks.slack.com/services/T{A10}/B{A10}/{w24}",
    ),
    Kind::made("discord-bot", "discord token", Form::Typical, discord_bot),
    Kind::typical(
        "discord-webhook",
        "discord webhook url",
        "https://discord.com/api/webhooks/{d19}/{b68}",
    ),
    Kind::typical("telegram-bot", "telegram bot token", "7{d9}:AA{b33}"),
    Kind::typical("sendgrid", "sendgrid api key", "SG.{b22}.{b43}"),
    Kind::typical("mailgun", "mailgun api key", "key-{h32}"),
    Kind::typical("mailchimp", "mailchimp api key", "{h32}-us1{d1}"),
    Kind::typical("brevo", "sendinblue api key", "xkeysib-{h64}-{w16}"),
    Kind::typical("twilio-api-key", "twilio api key sid", "SK{h32}"),
    Kind::typical("stripe-live", "stripe secret key", "sk_live_51{w97}"),
    Kind::typical("stripe-restricted", "stripe restricted key", "rk_live_51{w97}"),
    Kind::typical("square-access", "square access token", "EAAA{b60}"),
    Kind::typical("square-secret", "square client secret", "sq0csp-{b43}"),
    Kind::typical("shopify-access", "shopify access token", "shpat_{h32}"),
    Kind::typical("shopify-shared", "shopify shared secret", "shpss_{h32}"),
    Kind::typical("shippo", "shippo api token", "shippo_live_{h40}"),
    Kind::typical("easypost", "easypost api key", "EZAK{w54}"),
    Kind::typical("duffel", "duffel access token", "duffel_live_{b43}"),
    Kind::typical("linear", "linear api key", "lin_api_{w40}"),
    Kind::typical("notion", "notion api key", "ntn_{d11}{w35}"),
    Kind::typical("figma", "figma token", "figd_{b40}"),
    Kind::typical("airtable", "airtable api key", "pat{w14}.{h64}"),
    Kind::typical("contentful", "contentful management token", "CFPAT-{b43}"),
    Kind::typical("typeform", "typeform token", "tfp_{b40}_{b18}"),
    Kind::typical("atlassian", "jira api token", "ATATT3xFfGF0{b171}={H8}"),
    Kind::typical("frame-io", "frameio token", "fio-u-{b64}"),
    Kind::typical("adafruit", "adafruit io key", "aio_{w28}"),
    Kind::made("grafana-service-account", "grafana token", Form::Typical, grafana),
    Kind::typical("new-relic-user", "new relic api key", "NRAK-{A27}"),
    Kind::typical("sentry-user", "sentry auth token", "sntryu_{h64}"),
    Kind::made("sentry-organization", "sentry auth token", Form::Typical, sentry),
    Kind::typical("dynatrace", "dynatrace api token", "dt0c01.{t24}.{t64}"),
];

/// The bot's number in base64, a time, and a signature.
fn discord_bot(random: &mut Random) -> Token {
    let number = format!("1{}", draw(random, 'd', 18));
    let (time, signature) = (draw(random, 'b', 6), draw(random, 'b', 38));
    Token::whole(format!("{}.{time}.{signature}", base64_url(number.as_bytes())))
}

/// The CRC-32 of everything before it, its lowest byte first.
fn grafana(random: &mut Random) -> Token {
    let body = format!("glsa_{}", draw(random, 'w', 32));
    let sum = crc32(body.as_bytes()).swap_bytes();
    Token::whole(format!("{body}_{sum:08x}"))
}

/// What the token is for, as JSON in base64, and the secret itself.
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
    fn the_checksum_of_grafana_is_over_its_prefix_too() {
        let token = grafana(&mut Random::new(1)).text;
        let (body, sum) = token.rsplit_once('_').expect("three parts");
        assert_eq!(body.len(), 37);
        let bytes = crc32(body.as_bytes()).to_le_bytes();
        assert_eq!(sum, bytes.map(|byte| format!("{byte:02x}")).concat());
    }
}
