//! [`HandKind`]: which detectors are written by hand.

/// A detector that is written by hand. Rules name it (`detector = "jwt"`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HandKind {
    /// The value of an assignment whose key names a secret.
    GenericSecret,
    /// The value of an assignment whose key names a password.
    Password,
    /// `scheme://user:password@host`.
    UrlCredentials,
    /// A JSON web token, signed or encrypted.
    Jwt,
    /// A private key, in PEM, OpenSSH's, PGP's, PuTTY's or .NET's notation.
    PrivateKey,
    /// How to reach a database, a queue or a storage account, with a password or a key.
    ConnectionString,
}
