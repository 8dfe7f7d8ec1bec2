//! The built-in rules: the files in `data/`, in this order. This is the only list of them.
//!
//! The files have the same format as users' files. To keep the start fast, heist does not validate
//! them when it reads them; the tests do.

/// The name and the text of each file.
pub(super) const FILES: [(&str, &str); 15] = [
    ("code-hosting.toml", include_str!("data/code-hosting.toml")),
    ("cloud.toml", include_str!("data/cloud.toml")),
    ("hosting.toml", include_str!("data/hosting.toml")),
    ("packages.toml", include_str!("data/packages.toml")),
    ("ci.toml", include_str!("data/ci.toml")),
    ("identity.toml", include_str!("data/identity.toml")),
    ("crypto-keys.toml", include_str!("data/crypto-keys.toml")),
    ("databases.toml", include_str!("data/databases.toml")),
    ("payments.toml", include_str!("data/payments.toml")),
    ("messaging.toml", include_str!("data/messaging.toml")),
    ("ai.toml", include_str!("data/ai.toml")),
    ("monitoring.toml", include_str!("data/monitoring.toml")),
    ("saas.toml", include_str!("data/saas.toml")),
    ("files.toml", include_str!("data/files.toml")),
    ("parsers.toml", include_str!("data/parsers.toml")),
];
