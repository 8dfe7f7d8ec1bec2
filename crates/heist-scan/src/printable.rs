//! [`is_printable`]: which characters of untrusted text may reach a terminal.
//!
//! File names, excerpts, rule texts and messages all contain text that an attacker may have chosen.
//! Invariant: every character that controls a terminal, is invisible, or changes how the text
//! around it is shown is refused, in every part of heist, because this is the only list. Not
//! guaranteed: that different characters look different.

/// Returns `true` if a character is visible and shows only itself.
///
/// The others are control characters, line and paragraph separators, format characters (among them
/// those that change the direction of text), everything else that Unicode lets a program ignore
/// when it shows text (zero-width characters, fillers, variation selectors, tags), and characters
/// without a meaning of their own (private use, noncharacters). Spaces are printable.
///
/// # Examples
/// ```
/// use heist_scan::is_printable;
///
/// assert!(is_printable('a') && is_printable('é') && is_printable('日') && is_printable('🦀'));
/// assert!(!is_printable('\u{1b}'), "controls a terminal");
/// assert!(!is_printable('\u{202e}'), "reverses the text after it");
/// assert!(!is_printable('\u{ad}'), "a soft hyphen is invisible");
/// ```
#[must_use]
pub fn is_printable(character: char) -> bool {
    // The common case first.
    if matches!(character, ' '..='~') {
        return true;
    }
    !matches!(
        character,
        // Control characters.
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        // Soft hyphen, combining grapheme joiner, Arabic and Syriac marks.
        | '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
        | '\u{890}'..='\u{891}' | '\u{8e2}'
        // Hangul fillers, Khmer inherent vowels, Mongolian selectors.
        | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        // Zero-width characters, separators, directions, invisible operators.
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        // A filler, private use, noncharacters, variation selectors.
        | '\u{3164}' | '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}' | '\u{fe00}'..='\u{fe0f}'
        // The byte order mark, a filler, annotations.
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{fffe}'..='\u{ffff}'
        // Marks of Kaithi, Egyptian, shorthand and music.
        | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        // Tags and variation selectors; private use.
        | '\u{e0000}'..='\u{e0fff}' | '\u{f0000}'..
    ) && u32::from(character) & 0xfffe != 0xfffe
}

#[cfg(test)]
mod tests {
    use super::is_printable;
    use regex_automata::meta::Regex;

    #[test]
    fn the_list_equals_the_classes_of_unicode() {
        let class = r"\p{Cc}|\p{Cf}|\p{Co}|\p{Zl}|\p{Zp}|\p{Default_Ignorable_Code_Point}|\p{Noncharacter_Code_Point}";
        let refused = Regex::new(&format!("^(?:{class})$")).expect("it is valid");
        for character in '\0'..=char::MAX {
            let mut bytes = [0; 4];
            let expected = !refused.is_match(character.encode_utf8(&mut bytes).as_bytes());
            assert_eq!(is_printable(character), expected, "U+{:04X}", u32::from(character));
        }
    }
}
