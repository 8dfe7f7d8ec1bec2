//! [`Checksum`]: checks a secret against itself. It distinguishes real secrets from look-alikes
//! offline, without asking the vendor.
//!
//! | module | purpose |
//! |---|---|
//! | `digits` | fixed-width numbers in base 62, base 36 and base 32 |
//! | `crc` | schemes that end in a CRC-32: GitHub, npm, GitLab, Grafana, Confluent, Azure DevOps |
//! | `marvin` | Microsoft's identifiable keys: a signature, then a seeded 32-bit hash |
//! | `bech32` | age and Nostr |
//! | `stellar` | Stellar's secret seeds: base 32 and a CRC-16 |
//! | `base58` | Bitcoin's extended private keys and wallet import format |
//! | `sha256` | the hash that `base58` needs |
//! | `structure` | secrets without a checksum that are parsed completely instead: PyPI, Sentry, Discord |
//!
//! Invariants:
//! - `holds` depends only on its argument, accepts any bytes, and never panics;
//! - if `complete` returns a secret, `holds` is true for it, and it has the length and the alphabet
//!   of the input (except in `structure`, which writes a payload with its own length).
//!
//! Not guaranteed: that a secret whose checksum holds is valid, or ever was.

mod base58;
mod bech32;
mod crc;
mod digits;
mod marvin;
mod sha256;
mod stellar;
mod structure;

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

/// A way to check one kind of secret against itself.
///
/// ```
/// use heist_scan::Checksum;
///
/// let checksum: Checksum = "github-crc32".parse()?;
/// let token = format!("ghp_{}", "0".repeat(36));
/// assert!(!checksum.holds(token.as_bytes()));
/// let right = checksum.complete(token.as_bytes()).expect("it has the form of a token");
/// assert!(checksum.holds(&right));
/// # Ok::<(), heist_scan::UnknownChecksum>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Checksum {
    /// GitHub's tokens: six base 62 digits that are the CRC-32 of the text between the prefix and
    /// them.
    GithubCrc32,
    /// npm's tokens: the same scheme as GitHub's.
    NpmCrc32,
    /// GitLab's routable tokens: two base 36 digits for the length of the payload, then seven for
    /// the CRC-32 of everything before them.
    GitlabCrc32,
    /// Grafana's service account tokens: eight hexadecimal digits that are the CRC-32 of everything
    /// before them, low byte first.
    GrafanaCrc32,
    /// Confluent Cloud's secrets: six base 64 digits that are the CRC-32 of the text between the
    /// prefix and them, low byte first.
    ConfluentCrc32,
    /// Azure DevOps personal access tokens of 52 characters: a CRC-32 whose bytes are spread over
    /// the decoded token.
    AzureDevopsCrc32,
    /// Azure's identifiable keys: a signature of four characters, then a Marvin32 hash with a seed
    /// for each kind of key.
    AzureMarvin32,
    /// age's secret keys: Bech32.
    AgeBech32,
    /// Nostr's secret keys: Bech32.
    NostrBech32,
    /// Stellar's secret seeds: a version byte and a CRC-16.
    StellarCrc16,
    /// Bitcoin's private keys, extended or in wallet import format: a double SHA-256.
    BitcoinBase58,
    /// PyPI's tokens: a macaroon that is parsed down to its signature.
    PypiMacaroon,
    /// Sentry's organization tokens: a JSON payload.
    SentryPayload,
    /// Discord's bot tokens: the first part is the bot's numeric id in base 64.
    DiscordSnowflake,
}

impl Checksum {
    /// Every checksum, in the order of declaration.
    pub const ALL: [Self; 14] = [
        Self::GithubCrc32,
        Self::NpmCrc32,
        Self::GitlabCrc32,
        Self::GrafanaCrc32,
        Self::ConfluentCrc32,
        Self::AzureDevopsCrc32,
        Self::AzureMarvin32,
        Self::AgeBech32,
        Self::NostrBech32,
        Self::StellarCrc16,
        Self::BitcoinBase58,
        Self::PypiMacaroon,
        Self::SentryPayload,
        Self::DiscordSnowflake,
    ];

    /// Returns the name that rule files use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GithubCrc32 => "github-crc32",
            Self::NpmCrc32 => "npm-crc32",
            Self::GitlabCrc32 => "gitlab-crc32",
            Self::GrafanaCrc32 => "grafana-crc32",
            Self::ConfluentCrc32 => "confluent-crc32",
            Self::AzureDevopsCrc32 => "azure-devops-crc32",
            Self::AzureMarvin32 => "azure-marvin32",
            Self::AgeBech32 => "age-bech32",
            Self::NostrBech32 => "nostr-bech32",
            Self::StellarCrc16 => "stellar-crc16",
            Self::BitcoinBase58 => "bitcoin-base58",
            Self::PypiMacaroon => "pypi-macaroon",
            Self::SentryPayload => "sentry-payload",
            Self::DiscordSnowflake => "discord-snowflake",
        }
    }

    /// Returns `true` if the secret's checksum is right, and `false` if it is wrong or the text
    /// does not have the form of such a secret.
    #[must_use]
    pub fn holds(self, secret: &[u8]) -> bool {
        match self {
            Self::GithubCrc32 => crc::base62_holds(secret, crc::GITHUB),
            Self::NpmCrc32 => crc::base62_holds(secret, crc::NPM),
            Self::GitlabCrc32 => crc::gitlab_holds(secret),
            Self::GrafanaCrc32 => crc::grafana_holds(secret),
            Self::ConfluentCrc32 => crc::confluent_holds(secret),
            Self::AzureDevopsCrc32 => crc::azure_devops_holds(secret),
            Self::AzureMarvin32 => marvin::holds(secret),
            Self::AgeBech32 => bech32::holds(secret, bech32::AGE),
            Self::NostrBech32 => bech32::holds(secret, bech32::NOSTR),
            Self::StellarCrc16 => stellar::holds(secret),
            Self::BitcoinBase58 => base58::holds(secret),
            Self::PypiMacaroon => structure::pypi_holds(secret),
            Self::SentryPayload => structure::sentry_holds(secret),
            Self::DiscordSnowflake => structure::discord_holds(secret),
        }
    }

    /// Returns the secret with a corrected checksum, for generating samples. Returns `None` if the
    /// text does not have the form of such a secret.
    #[must_use]
    pub fn complete(self, secret: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::GithubCrc32 => crc::base62_complete(secret, crc::GITHUB),
            Self::NpmCrc32 => crc::base62_complete(secret, crc::NPM),
            Self::GitlabCrc32 => crc::gitlab_complete(secret),
            Self::GrafanaCrc32 => crc::grafana_complete(secret),
            Self::ConfluentCrc32 => crc::confluent_complete(secret),
            Self::AzureDevopsCrc32 => crc::azure_devops_complete(secret),
            Self::AzureMarvin32 => marvin::complete(secret),
            Self::AgeBech32 => bech32::complete(secret, bech32::AGE),
            Self::NostrBech32 => bech32::complete(secret, bech32::NOSTR),
            Self::StellarCrc16 => stellar::complete(secret),
            Self::BitcoinBase58 => base58::complete(secret),
            Self::PypiMacaroon => structure::pypi_complete(secret),
            Self::SentryPayload => structure::sentry_complete(secret),
            Self::DiscordSnowflake => structure::discord_complete(secret),
        }
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The error for a `checksum` name that heist does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownChecksum(pub String);

impl fmt::Display for UnknownChecksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a checksum; use one of:", self.0)?;
        for (index, checksum) in Checksum::ALL.iter().enumerate() {
            write!(f, "{} {checksum}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownChecksum {}

impl FromStr for Checksum {
    type Err = UnknownChecksum;

    fn from_str(text: &str) -> Result<Self, UnknownChecksum> {
        Self::ALL
            .into_iter()
            .find(|checksum| checksum.as_str() == text)
            .ok_or_else(|| UnknownChecksum(text.to_owned()))
    }
}
