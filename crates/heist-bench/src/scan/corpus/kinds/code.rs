//! Tokens of code hosts, package registries, build services and infrastructure as code.

use super::super::alphabet::{base62_of, base64_url, bytes, crc32, draw, fill, uuid};
use super::{Form, SecretKind, Token};
use crate::walk::trees::random::Random;

pub(super) const KINDS: &[SecretKind] = &[
    SecretKind::made("github-classic", "github token", Form::Typical, |random| {
        checked(random, "ghp_")
    }),
    SecretKind::made("github-oauth", "github oauth token", Form::Typical, |random| {
        checked(random, "gho_")
    }),
    SecretKind::made("github-app", "github app token", Form::Typical, |random| {
        checked(random, "ghs_")
    }),
    SecretKind::typical("github-fine-grained", "github pat", "github_pat_11{A20}_{w59}"),
    SecretKind::typical("gitlab-personal", "gitlab token", "glpat-{b20}"),
    SecretKind::typical("gitlab-runner", "runner token", "glrt-{b20}"),
    SecretKind::typical("gitlab-trigger", "trigger token", "glptt-{h40}"),
    SecretKind::made("npm", "npm token", Form::Typical, |random| checked(random, "npm_")),
    SecretKind::made("pypi", "pypi token", Form::Typical, pypi),
    SecretKind::typical("rubygems", "rubygems api key", "rubygems_{h48}"),
    SecretKind::typical("crates-io", "cargo registry token", "cio{w32}"),
    SecretKind::typical("nuget", "nuget api key", "oy2{a43}"),
    SecretKind::typical("docker-hub", "docker password", "dckr_pat_{b27}"),
    SecretKind::typical("clojars", "clojars token", "CLOJARS_{a60}"),
    SecretKind::typical("artifactory", "artifactory api key", "AKCp{w69}"),
    SecretKind::typical("buildkite", "buildkite token", "bkua_{h40}"),
    SecretKind::typical("circleci", "circleci token", "CCIPAT_{w22}_{h40}"),
    SecretKind::typical("terraform-cloud", "tfe token", "{w14}.atlasv1.{w67}"),
    SecretKind::typical("pulumi", "pulumi access token", "pul-{h40}"),
    SecretKind::typical("vault-service", "vault token", "hvs.{b95}"),
    SecretKind::typical("doppler", "doppler token", "dp.pt.{w43}"),
    SecretKind::typical("sourcegraph", "sourcegraph token", "sgp_{h16}_{h40}"),
    SecretKind::typical("sonarqube", "sonar token", "squ_{h40}"),
    SecretKind::typical("postman", "postman api key", "PMAK-{h24}-{h34}"),
    SecretKind::typical("prefect", "prefect api key", "pnu_{w36}"),
    SecretKind::typical("infracost", "infracost api key", "ico-{w32}"),
    SecretKind::typical("readme", "readme api key", "rdme_{a70}"),
    SecretKind::typical("harness", "harness api key", "pat.{b22}.{h24}.{w20}"),
    SecretKind::typical("octopus-deploy", "octopus api key", "API-{A26}"),
];

/// Makes a token of thirty random characters and their CRC-32 in base 62.
fn checked(random: &mut Random, prefix: &str) -> Token {
    let body = draw(random, 'w', 30);
    Token::whole(format!("{prefix}{body}{}", base62_of(crc32(body.as_bytes()))))
}

/// Makes a macaroon: location, identifier, caveat and signature.
fn pypi(random: &mut Random) -> Token {
    let identifier = uuid(random);
    let caveat = fill(random, r#"[1,["project-{l6}"]]"#);
    let mut packet = vec![2, 1, 8];
    packet.extend_from_slice(b"pypi.org");
    packet.extend_from_slice(&[2, 36]);
    packet.extend_from_slice(identifier.as_bytes());
    packet.extend_from_slice(&[0, 2, caveat.len() as u8]);
    packet.extend_from_slice(caveat.as_bytes());
    packet.extend_from_slice(&[0, 0, 6, 32]);
    packet.extend_from_slice(&bytes(random, 32));
    Token::whole(format!("pypi-{}", base64_url(&packet)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_pypi_have_the_common_prefix() {
        let token = pypi(&mut Random::new(1));
        // The location is the same in all of them, and so is its encoding.
        let start = base64_url(b"\x02\x01\x08pypi.org\x02");
        assert!(token.text["pypi-".len()..].starts_with(&start[..start.len() - 1]));
    }

    #[test]
    fn the_checksum_is_over_the_thirty_characters() {
        let token = checked(&mut Random::new(1), "npm_").text;
        assert_eq!(token.len(), 40);
        assert_eq!(token[34..], base62_of(crc32(&token.as_bytes()[4..34])));
    }
}
