//! Prices: the work that the parts of a search count as, in units of about a nanosecond.
//!
//! `heist-bench scan hostile` searches for texts whose work costs far more time than it counts as.
//! The prices are those of expensive text, so ordinary text takes less time than it counts as.
//!
//! Invariant: what counts is attached to a position of the object, and does not depend on which
//! other positions a chunk owns. So searches near a keyword, which several keywords share, have a
//! price for each keyword, and attempts to decode what turns out not to be text have none.

/// A literal that the prefilter found.
pub(super) const CANDIDATE: u64 = 15;

/// A run of letters and digits, or another place where a value may be: the search for its key.
pub(super) const RUN: u64 = 80;

/// To cut out what a rule sees from a position in decoded text.
pub(super) const SEEN: u64 = 80;

/// To try an expression at one position.
pub(super) const EXPRESSION: u64 = 70;

/// To read four bytes from there, of as many as the longest match has, up to a limit: the match
/// ends where other text does.
const READ_BYTES: u64 = 4;
const READ_BYTES_MAX: u64 = 512;

/// Returns the price of trying an expression whose longest match has this length.
pub(super) fn expression(longest: usize) -> u64 {
    EXPRESSION + (longest as u64).min(READ_BYTES_MAX) / READ_BYTES
}

/// To search for an expression in this many bytes costs one unit.
pub(super) const SEARCHED_BYTES: u64 = 2;

/// To run a parser.
pub(super) const PARSER: u64 = 60;

/// To run the parser of passwords, which looks back for the beginning of an element.
pub(super) const PASSWORD_PARSER: u64 = 500;

/// To run the parser of connection strings, which reads on from a key to the next.
pub(super) const CONNECTION_PARSER: u64 = 350;

/// To run the parser of private keys, which searches for the end of a key.
pub(super) const PRIVATE_KEY_PARSER: u64 = 900;

/// A keyword near which expressions are searched for. Where keywords are dense, they share the
/// searches.
pub(super) const KEYWORD: u64 = 300;

/// To find the value of a key that contains a keyword.
pub(super) const ASSIGNMENT: u64 = 250;

/// To look at the key of a value.
pub(super) const VALUE: u64 = 40;

/// To compare a value with a rule.
pub(super) const COMPARISON: u64 = 60;

/// To read what a literal far into a match requires around it, for each byte: such expressions have
/// many states.
pub(super) const FAR_BYTE: u64 = 8;

/// To examine the form of a value, for each byte.
pub(super) const VALUE_BYTE: u64 = 10;

/// To judge a candidate, and each of the bytes that the noise filter reads.
const JUDGEMENT: u64 = 150;
const JUDGED_BYTE: u64 = 15;
const JUDGED_BYTES_MAX: u64 = 192;

/// Returns the price of judging a secret of this length.
pub(super) fn judgement(length: usize) -> u64 {
    JUDGEMENT + JUDGED_BYTE * (length as u64).min(JUDGED_BYTES_MAX)
}

/// To turn a match into a finding: to copy the text around it, to compare it with other matches, to
/// make its excerpt and its fingerprint, and to report it.
pub(super) const MATCH: u64 = 2600;

/// To decode a byte, by encoding. Digits may be base64 in four ways, and hexadecimal in two.
pub(super) const DIGIT: u64 = 8;
pub(super) const ESCAPED: u64 = 10;
pub(super) const UTF16: u64 = 2;
