//! Reads what contenders print and decides whether it is right.
//!
//! Every contender prints in its own format; this module turns the output into [`Claim`]s about
//! quantities that the [`Reference`] knows. A claim about an unknown quantity is neither right nor
//! wrong. Outputs are read as streams, so a list of a million names is never in memory.

use std::collections::HashSet;
use std::io::{self, BufRead, BufReader, Read};

use super::floor::Totals;
use super::stopwatch::End;

/// What a printed number is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Quantity {
    /// Space on disk, hard links counted once.
    DiskBytes,
    /// The same rounded up to KiB, as `du` prints it.
    DiskKibibytes,
    /// The same without the root directory itself.
    DiskBytesBelowRoot,
    /// Lengths of files and directories, hard links counted once.
    ApparentBytes,
    /// Lengths of everything except directories.
    ApparentBytesOfFiles,
    /// All names below the root.
    Names,
    /// Regular files below the root.
    Files,
}

/// A number that a contender printed, and what it is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Claim {
    pub(crate) quantity: Quantity,
    pub(crate) value: u64,
}

impl Claim {
    fn new(quantity: Quantity, value: u64) -> Self {
        Self { quantity, value }
    }
}

/// The truth about a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reference {
    pub(crate) disk_bytes: u64,
    pub(crate) root_disk_bytes: u64,
    pub(crate) apparent_bytes: u64,
    /// `false` with GNU du 9.2 and later, which leaves out the lengths of directories.
    pub(crate) apparent_has_directories: bool,
    pub(crate) names: u64,
    pub(crate) files: u64,
}

impl Reference {
    fn value(&self, quantity: Quantity) -> Option<u64> {
        match quantity {
            Quantity::DiskBytes => Some(self.disk_bytes),
            Quantity::DiskKibibytes => Some(self.disk_bytes.div_ceil(1024)),
            Quantity::DiskBytesBelowRoot => Some(self.disk_bytes - self.root_disk_bytes),
            Quantity::ApparentBytes => self.apparent_has_directories.then_some(self.apparent_bytes),
            Quantity::ApparentBytesOfFiles => {
                (!self.apparent_has_directories).then_some(self.apparent_bytes)
            }
            Quantity::Names => Some(self.names),
            Quantity::Files => Some(self.files),
        }
    }
}

/// The result of comparing claims with the reference.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum AnswerCheck {
    Right,
    Wrong {
        says: u64,
        is: u64,
    },
    /// The output contained no claim.
    Silent,
}

impl AnswerCheck {
    pub(crate) fn of(claims: &[Claim], reference: &Reference) -> Self {
        if claims.is_empty() {
            return Self::Silent;
        }
        let wrong = claims.iter().find_map(|claim| {
            let is = reference.value(claim.quantity)?;
            (claim.value != is).then_some(Self::Wrong { says: claim.value, is })
        });
        wrong.unwrap_or(Self::Right)
    }

    pub(crate) fn show(self, end: End) -> String {
        let text = match self {
            Self::Right => "right".to_owned(),
            Self::Wrong { says, is } => format!("wrong: {says} instead of {is}"),
            Self::Silent => "no answer".to_owned(),
        };
        match end {
            End::Code(0) => text,
            End::Code(code) => format!("{text}; exit code {code}"),
            End::Signal(signal) => format!("{text}; killed by signal {signal}"),
            End::TimeLimit => format!("{text}; killed at the time limit"),
        }
    }
}

/// The output format of a contender.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum AnswerFormat {
    /// The floor's numbers, with sizes.
    TotalsWithSizes,
    /// The floor's numbers without sizes.
    TotalsOfNames,
    /// `KIBIBYTES<tab>PATH`
    Du,
    /// A line that starts with a number of bytes.
    Bytes,
    /// Lines that start with a number of bytes; the last one holds the sum of everything below the
    /// root.
    LastBytesBelowRoot,
    /// JSON with the total in `tree.size`.
    Pdu,
    /// JSON with a line for every file.
    Ncdu,
    /// `DEVICE INODE LINKS BLOCKS` for every file.
    Blocks,
    /// A zero byte after every name below the root.
    Names,
    /// A zero byte after every name of a regular file.
    Files,
}

impl AnswerFormat {
    /// Returns `true` if the output is so long that reading it would disturb the measurement.
    pub(crate) fn is_long(self) -> bool {
        matches!(
            self,
            Self::LastBytesBelowRoot | Self::Ncdu | Self::Blocks | Self::Names | Self::Files
        )
    }

    /// Reads the whole output. Returns no claims if it could not be understood.
    pub(crate) fn read(self, output: &mut dyn Read) -> io::Result<Vec<Claim>> {
        let mut output = BufReader::with_capacity(256 * 1024, output);
        Ok(match self {
            Self::TotalsWithSizes => totals(&read_text(&mut output)?, true),
            Self::TotalsOfNames => totals(&read_text(&mut output)?, false),
            Self::Du => one(Quantity::DiskKibibytes, leading_number(&read_text(&mut output)?)),
            Self::Bytes => one(Quantity::DiskBytes, leading_number(&read_text(&mut output)?)),
            Self::LastBytesBelowRoot => {
                one(Quantity::DiskBytesBelowRoot, leading_number(&last_line(&mut output)?))
            }
            Self::Pdu => one(Quantity::DiskBytes, pdu_total(&read_text(&mut output)?)),
            Self::Ncdu => one(Quantity::DiskBytes, sum_once(&mut output, ncdu_file)?),
            Self::Blocks => one(Quantity::DiskBytes, sum_once(&mut output, blocks_file)?),
            Self::Names => one(Quantity::Names, Some(count_zeros(&mut output)?)),
            Self::Files => one(Quantity::Files, Some(count_zeros(&mut output)?)),
        })
    }
}

fn one(quantity: Quantity, value: Option<u64>) -> Vec<Claim> {
    value.map(|value| Claim::new(quantity, value)).into_iter().collect()
}

/// Reads text. Paths in it may contain any bytes, and none of them matters.
fn read_text(output: &mut impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    output.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn totals(text: &str, with_sizes: bool) -> Vec<Claim> {
    let Some(totals) = Totals::from_line(text) else {
        return Vec::new();
    };
    let mut claims =
        vec![Claim::new(Quantity::Names, totals.names), Claim::new(Quantity::Files, totals.files)];
    if with_sizes {
        let of_files = totals.apparent_bytes - totals.directory_bytes;
        claims.push(Claim::new(Quantity::DiskBytes, totals.disk_bytes));
        claims.push(Claim::new(Quantity::ApparentBytes, totals.apparent_bytes));
        claims.push(Claim::new(Quantity::ApparentBytesOfFiles, of_files));
    }
    claims
}

fn leading_number(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let end = text.find(|symbol: char| !symbol.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// Returns the last line that is not empty.
fn last_line(output: &mut impl BufRead) -> io::Result<String> {
    let (mut line, mut last) = (Vec::new(), Vec::new());
    while output.read_until(b'\n', &mut line)? != 0 {
        if !line.trim_ascii().is_empty() {
            std::mem::swap(&mut line, &mut last);
        }
        line.clear();
    }
    Ok(String::from_utf8_lossy(&last).into_owned())
}

fn pdu_total(text: &str) -> Option<u64> {
    let json: serde_json::Value = serde_json::from_str(text).ok()?;
    json.get("tree")?.get("size")?.as_u64()
}

/// A file in a listing: bytes on disk, and its identity if it may be listed again.
type Listed = (u64, Option<(u64, u64)>);

/// Sums a listing of files, counting files with several names once. Returns `None` if it is empty.
fn sum_once(
    output: &mut impl BufRead,
    mut parse: impl FnMut(&[u8]) -> Option<Listed>,
) -> io::Result<Option<u64>> {
    let mut line = Vec::new();
    let mut met = HashSet::new();
    let mut sum = None;
    while output.read_until(b'\n', &mut line)? != 0 {
        if let Some((bytes, identity)) = parse(&line)
            && identity.is_none_or(|identity| met.insert(identity))
        {
            *sum.get_or_insert(0) += bytes;
        }
        line.clear();
    }
    Ok(sum)
}

/// Parses a file of ncdu's export. Quotes in names are escaped, so a quoted key is always a key.
/// Sizes of 0 are left out. All files are on one device.
fn ncdu_file(line: &[u8]) -> Option<Listed> {
    let number = |key: &[u8]| {
        let start = line.windows(key.len()).position(|window| window == key)? + key.len();
        let digits = line[start..].iter().take_while(|byte| byte.is_ascii_digit());
        Some(digits.fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
    };
    line.starts_with(b"{\"name\"")
        .then_some(())
        .or(line.starts_with(b"[{\"name\"").then_some(()))?;
    let identity = number(b"\"nlink\":").and_then(|_several| Some((0, number(b"\"ino\":")?)));
    Some((number(b"\"dsize\":").unwrap_or(0), identity))
}

fn blocks_file(line: &[u8]) -> Option<Listed> {
    let line = str::from_utf8(line).ok()?;
    let mut numbers = line.split_whitespace().map_while(|word| word.parse::<u64>().ok());
    let (device, inode) = (numbers.next()?, numbers.next()?);
    let (links, blocks) = (numbers.next()?, numbers.next()?);
    Some((blocks * 512, (links > 1).then_some((device, inode))))
}

fn count_zeros(output: &mut impl BufRead) -> io::Result<u64> {
    let mut count = 0;
    loop {
        let bytes = output.fill_buf()?;
        if bytes.is_empty() {
            return Ok(count);
        }
        count += bytes.iter().filter(|byte| **byte == 0).count() as u64;
        let read = bytes.len();
        output.consume(read);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(format: AnswerFormat, output: &[u8]) -> Vec<(Quantity, u64)> {
        let claims = format.read(&mut &*output).expect("memory can be read");
        claims.iter().map(|claim| (claim.quantity, claim.value)).collect()
    }

    #[test]
    fn lines_with_one_number_are_read() {
        let du = read(AnswerFormat::Du, b"484152\t/tmp/a \xff b 7\n");
        assert_eq!(du, [(Quantity::DiskKibibytes, 484_152)]);
        let bytes = [(Quantity::DiskBytes, 36_864)];
        assert_eq!(read(AnswerFormat::Bytes, b"36864\n"), bytes);
        assert_eq!(read(AnswerFormat::Bytes, b"    36864 t\n"), bytes);
        assert_eq!(read(AnswerFormat::Bytes, "36864B ┌── t\n".as_bytes()), bytes);
        let last =
            read(AnswerFormat::LastBytesBelowRoot, b"  8192 b k\n 32768 b a\n 40960 b total\n\n");
        assert_eq!(last, [(Quantity::DiskBytesBelowRoot, 40_960)]);
    }

    #[test]
    fn unknown_output_makes_no_claims() {
        for format in [
            AnswerFormat::TotalsWithSizes,
            AnswerFormat::Du,
            AnswerFormat::Bytes,
            AnswerFormat::Pdu,
            AnswerFormat::Ncdu,
            AnswerFormat::Blocks,
        ] {
            assert_eq!(read(format, b""), [], "{format:?}");
            assert_eq!(read(format, b"error: 12 things\n"), [], "{format:?}");
        }
    }

    #[test]
    fn the_total_of_pdu_is_the_size_of_the_tree() {
        let json = br#"{"schema-version":"1","unit":"bytes","tree":{"name":"/t","size":36864,"children":[]}}"#;
        assert_eq!(read(AnswerFormat::Pdu, json), [(Quantity::DiskBytes, 36_864)]);
    }

    #[test]
    fn listings_count_files_with_several_names_once() {
        let ncdu = br#"[1,2,{"progname":"ncdu","progver":"1.18","timestamp":1794823455},
[{"name":"/tmp/t","asize":4096,"dsize":4096,"dev":65024},
[{"name":"a \"dsize\":9","asize":4096,"dsize":4096},
{"name":"z","asize":20000,"dsize":20480},
{"name":"y","asize":3,"dsize":4096,"ino":10354725,"hlnkc":true,"nlink":2}],
{"name":"x","asize":3,"dsize":4096,"ino":10354725,"hlnkc":true,"nlink":2},
{"name":"l","asize":1,"notreg":true}]]"#;
        assert_eq!(read(AnswerFormat::Ncdu, ncdu), [(Quantity::DiskBytes, 32_768)]);
        let blocks = b"65024 1 3 8\n65024 5 2 8\n65024 7 1 0\n65024 5 2 8\n65025 5 2 8\n";
        assert_eq!(read(AnswerFormat::Blocks, blocks), [(Quantity::DiskBytes, 24 * 512)]);
    }

    #[test]
    fn names_are_counted_by_their_ends() {
        assert_eq!(read(AnswerFormat::Names, b"./a\0./b\n\0./c\0"), [(Quantity::Names, 3)]);
        assert_eq!(read(AnswerFormat::Files, b""), [(Quantity::Files, 0)]);
    }

    #[test]
    fn the_numbers_of_the_floor_are_parsed() {
        let totals = Totals {
            disk_bytes: 1,
            apparent_bytes: 20,
            directory_bytes: 3,
            names: 4,
            directories: 5,
            files: 6,
            errors: 7,
        };
        assert_eq!(Totals::from_line(&totals.line()), Some(totals));
        let names = read(AnswerFormat::TotalsOfNames, totals.line().as_bytes());
        assert_eq!(names, [(Quantity::Names, 4), (Quantity::Files, 6)]);
        let sizes = read(AnswerFormat::TotalsWithSizes, totals.line().as_bytes());
        assert!(sizes.contains(&(Quantity::ApparentBytesOfFiles, 17)), "{sizes:?}");
    }

    const REFERENCE: Reference = Reference {
        disk_bytes: 10_752,
        root_disk_bytes: 4_096,
        apparent_bytes: 9_000,
        apparent_has_directories: true,
        names: 12,
        files: 8,
    };

    #[test]
    fn one_wrong_number_makes_a_wrong_answer() {
        let verdict = |claims: &[(Quantity, u64)]| {
            let claims: Vec<_> =
                claims.iter().map(|(what, value)| Claim::new(*what, *value)).collect();
            AnswerCheck::of(&claims, &REFERENCE)
        };
        assert_eq!(verdict(&[(Quantity::DiskKibibytes, 11)]), AnswerCheck::Right);
        assert_eq!(verdict(&[(Quantity::DiskBytesBelowRoot, 6_656)]), AnswerCheck::Right);
        let wrong = verdict(&[(Quantity::Names, 12), (Quantity::Files, 9)]);
        assert_eq!(wrong, AnswerCheck::Wrong { says: 9, is: 8 });
        assert_eq!(verdict(&[]), AnswerCheck::Silent);
        // This reference does not know the quantity.
        assert_eq!(verdict(&[(Quantity::ApparentBytesOfFiles, 1)]), AnswerCheck::Right);
        assert_eq!(wrong.show(End::Code(1)), "wrong: 9 instead of 8; exit code 1");
        assert_eq!(AnswerCheck::Silent.show(End::Signal(11)), "no answer; killed by signal 11");
    }
}
