//! Tokens of services for language models.

use super::Kind;

pub(super) const KINDS: &[Kind] = &[
    // The middle is the same in all of them.
    Kind::typical("openai-legacy", "openai api key", "sk-{w20}T3BlbkFJ{w20}"),
    Kind::typical("openai-project", "openai api key", "sk-proj-{b74}T3BlbkFJ{b74}"),
    Kind::typical("anthropic", "anthropic api key", "sk-ant-api03-{b93}AA"),
    Kind::typical("hugging-face", "hf token", "hf_{c34}"),
    Kind::typical("replicate", "replicate api token", "r8_{w37}"),
    Kind::typical("perplexity", "perplexity api key", "pplx-{w48}"),
    Kind::typical("groq", "groq api key", "gsk_{w52}"),
    Kind::typical("xai", "xai api key", "xai-{w80}"),
    Kind::typical("open-router", "openrouter api key", "sk-or-v1-{h64}"),
    Kind::typical("langsmith", "langsmith api key", "lsv2_pt_{h32}_{h10}"),
];
