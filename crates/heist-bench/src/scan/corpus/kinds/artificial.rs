//! Tokens of services for language models.

use super::SecretKind;

pub(super) const KINDS: &[SecretKind] = &[
    // The middle part is the same in all of these keys.
    SecretKind::typical("openai-legacy", "openai api key", "sk-{w20}T3BlbkFJ{w20}"),
    SecretKind::typical("openai-project", "openai api key", "sk-proj-{b74}T3BlbkFJ{b74}"),
    SecretKind::typical("anthropic", "anthropic api key", "sk-ant-api03-{b93}AA"),
    SecretKind::typical("hugging-face", "hf token", "hf_{c34}"),
    SecretKind::typical("replicate", "replicate api token", "r8_{w37}"),
    SecretKind::typical("perplexity", "perplexity api key", "pplx-{w48}"),
    SecretKind::typical("groq", "groq api key", "gsk_{w52}"),
    SecretKind::typical("xai", "xai api key", "xai-{w80}"),
    SecretKind::typical("open-router", "openrouter api key", "sk-or-v1-{h64}"),
    SecretKind::typical("langsmith", "langsmith api key", "lsv2_pt_{h32}_{h10}"),
];
