//! Lists of words, written as text.

/// Splits a text at white space into exactly `COUNT` words. The compiler checks the count.
pub(super) const fn split<const COUNT: usize>(text: &'static str) -> [&'static str; COUNT] {
    let bytes = text.as_bytes();
    let mut words = [""; COUNT];
    let (mut at, mut count) = (0, 0);
    while at < bytes.len() {
        if bytes[at].is_ascii_whitespace() {
            at += 1;
            continue;
        }
        let begin = at;
        while at < bytes.len() && !bytes[at].is_ascii_whitespace() {
            at += 1;
        }
        words[count] = text.split_at(at).0.split_at(begin).1;
        count += 1;
    }
    assert!(count == COUNT, "the list has fewer words than it says");
    words
}

/// Returns `true` if a word is in a list, ignoring ASCII case.
pub(super) fn is_one_of(word: &[u8], list: &[&str]) -> bool {
    list.iter()
        .any(|known| known.len() == word.len() && word.eq_ignore_ascii_case(known.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_split_at_white_space() {
        const WORDS: [&str; 3] = split(" one two\n    three ");
        assert_eq!(WORDS, ["one", "two", "three"]);
        assert!(is_one_of(b"TWO", &WORDS) && !is_one_of(b"tw", &WORDS) && !is_one_of(b"", &WORDS));
    }
}
