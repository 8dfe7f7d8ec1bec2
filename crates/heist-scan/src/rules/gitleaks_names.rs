//! Maps the names of gitleaks' default rules to heist's names where the two differ. Users' files
//! refer to rules by gitleaks' names: to disable them, to change them, or to allow what they find.
//!
//! Invariant: the table is sorted, because lookups use binary search.
//!
//! Not guaranteed: that heist's rule finds exactly the same secrets as gitleaks' rule. Both are for
//! the same kind of secret.

/// gitleaks' name, and heist's rules for the same kind of secret.
const NAMES: [(&str, &[&str]); 102] = [
    ("1password-secret-key", &["onepassword-secret-key"]),
    ("1password-service-account-token", &["onepassword-service-token"]),
    ("airtable-api-key", &["airtable-legacy-key"]),
    ("airtable-personnal-access-token", &["airtable-personal-token"]),
    ("algolia-api-key", &["algolia-admin-key"]),
    ("alibaba-secret-key", &["alibaba-access-key-secret"]),
    ("anthropic-admin-api-key", &["anthropic-admin-key"]),
    ("artifactory-api-key", &["jfrog-api-key"]),
    ("artifactory-reference-token", &["jfrog-reference-token"]),
    ("aws-access-token", &["aws-access-key-id"]),
    ("aws-amazon-bedrock-api-key-long-lived", &["aws-bedrock-api-key"]),
    ("aws-amazon-bedrock-api-key-short-lived", &["aws-bedrock-short-term-key"]),
    ("azure-ad-client-secret", &["azure-entra-client-secret"]),
    ("clickhouse-cloud-api-secret-key", &["clickhouse-cloud-key-secret"]),
    ("clojars-api-token", &["clojars-token"]),
    ("cloudflare-api-key", &["cloudflare-legacy-token", "cloudflare-user-token"]),
    ("cloudflare-global-api-key", &["cloudflare-legacy-global-key", "cloudflare-global-key"]),
    ("codecov-access-token", &["codecov-token"]),
    ("cohere-api-token", &["cohere-api-key"]),
    ("confluent-secret-key", &["confluent-legacy-api-secret", "confluent-api-secret"]),
    ("contentful-delivery-api-token", &["contentful-delivery-token"]),
    ("curl-auth-header", &["http-basic-authorization"]),
    ("curl-auth-user", &["curl-user-password"]),
    ("databricks-api-token", &["databricks-token"]),
    ("datadog-access-token", &["datadog-api-key", "datadog-application-key"]),
    ("digitalocean-access-token", &["digitalocean-oauth-token"]),
    ("digitalocean-pat", &["digitalocean-personal-token"]),
    ("discord-api-token", &["discord-bot-token"]),
    ("doppler-api-token", &["doppler-token"]),
    ("droneci-access-token", &["drone-ci-token"]),
    ("dropbox-short-lived-api-token", &["dropbox-short-lived-token"]),
    ("duffel-api-token", &["duffel-access-token"]),
    ("easypost-api-token", &["easypost-api-key"]),
    ("facebook-page-access-token", &["facebook-access-token"]),
    ("facebook-secret", &["facebook-app-secret"]),
    ("frameio-api-token", &["frameio-token"]),
    ("generic-api-key", &["generic-secret", "password"]),
    ("github-app-token", &["github-user-to-server-token", "github-server-token"]),
    ("github-fine-grained-pat", &["github-fine-grained-token"]),
    ("github-oauth", &["github-oauth-token"]),
    ("github-pat", &["github-personal-token"]),
    ("gitlab-cicd-job-token", &["gitlab-ci-job-token"]),
    ("gitlab-feature-flag-client-token", &["gitlab-feature-flags-token"]),
    ("gitlab-kubernetes-agent-token", &["gitlab-agent-token"]),
    ("gitlab-oauth-app-secret", &["gitlab-oauth-secret"]),
    ("gitlab-pat", &["gitlab-personal-token"]),
    ("gitlab-pat-routable", &["gitlab-routable-token"]),
    ("gitlab-ptt", &["gitlab-trigger-token"]),
    ("gitlab-rrt", &["gitlab-registration-token"]),
    ("gitlab-runner-authentication-token", &["gitlab-runner-token"]),
    ("gitlab-runner-authentication-token-routable", &["gitlab-routable-runner-token"]),
    ("gocardless-api-token", &["gocardless-access-token"]),
    ("grafana-api-key", &["grafana-legacy-api-key"]),
    ("grafana-cloud-api-token", &["grafana-cloud-token"]),
    ("harness-api-key", &["harness-token"]),
    ("hashicorp-tf-api-token", &["terraform-cloud-token"]),
    ("heroku-api-key-v2", &["heroku-api-key"]),
    ("hubspot-api-key", &["hubspot-legacy-api-key"]),
    ("huggingface-access-token", &["huggingface-token"]),
    ("huggingface-organization-api-token", &["huggingface-organization-token"]),
    ("intercom-api-key", &["intercom-access-token"]),
    ("jwt-base64", &["jwt"]),
    ("launchdarkly-access-token", &["launchdarkly-key"]),
    ("mailgun-private-api-token", &["mailgun-api-key"]),
    ("new-relic-user-api-key", &["new-relic-user-key"]),
    ("notion-api-token", &["notion-token"]),
    ("nuget-config-password", &["nuget-clear-text-password"]),
    ("octopus-deploy-api-key", &["octopus-deploy-key"]),
    ("okta-access-token", &["okta-api-token"]),
    ("plaid-api-token", &["plaid-access-token"]),
    ("plaid-secret-key", &["plaid-secret"]),
    ("planetscale-api-token", &["planetscale-token"]),
    ("postman-api-token", &["postman-api-key"]),
    ("prefect-api-token", &["prefect-api-key"]),
    ("pulumi-api-token", &["pulumi-access-token"]),
    ("pypi-upload-token", &["pypi-token"]),
    ("rapidapi-access-token", &["rapidapi-key"]),
    ("readme-api-token", &["readme-api-key"]),
    ("rubygems-api-token", &["rubygems-api-key"]),
    ("sendgrid-api-token", &["sendgrid-api-key"]),
    ("sendinblue-api-token", &["brevo-api-key"]),
    ("sentry-access-token", &["sentry-legacy-token"]),
    ("sentry-org-token", &["sentry-organization-token"]),
    ("shippo-api-token", &["shippo-token"]),
    ("shopify-custom-access-token", &["shopify-access-token"]),
    ("shopify-private-app-access-token", &["shopify-access-token"]),
    ("slack-config-access-token", &["slack-configuration-token"]),
    ("slack-config-refresh-token", &["slack-configuration-token"]),
    ("slack-legacy-bot-token", &["slack-legacy-token", "slack-bot-token"]),
    ("snyk-api-token", &["snyk-token"]),
    ("sonar-api-token", &["sonar-token"]),
    ("sourcegraph-access-token", &["sourcegraph-token"]),
    ("stripe-access-token", &["stripe-secret-key", "stripe-restricted-key", "stripe-test-key"]),
    ("sumologic-access-token", &["sumologic-access-key"]),
    ("telegram-bot-api-token", &["telegram-bot-token"]),
    ("trello-access-token", &["trello-token"]),
    ("twitch-api-token", &["twitch-client-secret"]),
    ("typeform-api-token", &["typeform-token"]),
    ("yandex-access-token", &["yandex-iam-token"]),
    ("yandex-api-key", &["yandex-cloud-api-key"]),
    ("yandex-aws-access-token", &["yandex-cloud-static-secret"]),
    ("zendesk-secret-key", &["zendesk-api-token"]),
];

/// Returns heist's rules for the secrets that a gitleaks rule finds, if their names differ. The
/// rules need not be part of the rule set in use.
///
/// ```
/// assert_eq!(heist_scan::rules::our_names("generic-api-key"), ["generic-secret", "password"]);
/// assert!(heist_scan::rules::our_names("private-key").is_empty());
/// ```
#[must_use]
pub fn our_names(theirs: &str) -> &'static [&'static str] {
    NAMES.binary_search_by_key(&theirs, |(theirs, _)| theirs).map_or(&[], |at| NAMES[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::RuleSet;

    #[test]
    fn the_table_is_sorted_and_names_existing_rules() {
        assert!(NAMES.is_sorted_by(|(before, _), (after, _)| before < after));
        let rules = RuleSet::builtin().rules;
        let exists = |name: &str| rules.iter().any(|rule| rule.id == name);
        for (theirs, ours) in NAMES {
            assert!(!exists(theirs), "{theirs} needs no other name");
            assert!(ours.iter().all(|our| exists(our)), "{theirs}: {ours:?}");
        }
    }
}
