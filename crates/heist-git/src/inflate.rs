//! Inflating zlib streams into buffers of a known size.
//!
//! A stream must end exactly where its object ends: one byte more or less is an error. An error
//! leaves the decoder ready for the next stream.

use crate::problem::ObjectError;
use sirocco::Format;
use sirocco::inflate::{Decoder, Error, Scanner};
use std::io;

/// Deflate cannot expand its input by more than this factor: a match of 258 bytes takes at least
/// two bits, so it is a little less.
const EXPANSION_MAX: u64 = 1032;

const WRONG_SIZE: ObjectError =
    ObjectError::Corrupt("its inflated size is not what its header states");

/// Returns `false` if no `compressed` bytes inflate to `size`. Whatever a header states, a buffer
/// is only allocated for what the bytes that are there can become.
pub(crate) fn can_inflate_to(compressed: u64, size: u64) -> bool {
    size <= compressed.saturating_mul(EXPANSION_MAX)
}

/// A decoder, to be used for many streams.
#[derive(Debug)]
pub(crate) struct Inflater {
    decoder: Box<Decoder>,
}

impl Inflater {
    pub(crate) fn new() -> Self {
        Self { decoder: Box::new(Decoder::new(Format::Zlib)) }
    }

    /// Inflates the stream at the start of `input`, all of which is there, into exactly `out`.
    /// Returns the length of the stream.
    pub(crate) fn whole(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize, ObjectError> {
        self.decoder.reset();
        let size = out.len();
        match self.decoder.decompress(input, out, true) {
            Ok(progress) if progress.done && progress.output.len() == size => Ok(progress.consumed),
            Ok(_) => Err(WRONG_SIZE),
            Err(error) => Err(corrupt(error)),
        }
    }

    /// Inflates the stream that `read` yields piece by piece into exactly `out`. `read` returns 0
    /// at the end. Returns the length of the stream.
    pub(crate) fn pieces(
        &mut self,
        piece: &mut [u8],
        mut read: impl FnMut(&mut [u8]) -> io::Result<usize>,
        out: &mut [u8],
    ) -> Result<u64, ObjectError> {
        self.decoder.reset();
        let mut written = 0;
        loop {
            let filled = read(piece)?;
            let mut input = &piece[..filled];
            loop {
                match self.decoder.decompress(input, out, filled == 0) {
                    Ok(progress) => {
                        written += progress.output.len();
                        if progress.done {
                            return if written == out.len() {
                                Ok(self.decoder.total_in())
                            } else {
                                Err(WRONG_SIZE)
                            };
                        }
                        if progress.full && progress.consumed == 0 && progress.output.is_empty() {
                            return Err(WRONG_SIZE);
                        }
                        input = &input[progress.consumed..];
                    }
                    Err(error) => return Err(corrupt(error)),
                }
                if input.is_empty() {
                    break;
                }
            }
            if filled == 0 {
                return Err(corrupt(Error::Truncated));
            }
        }
    }

    /// Inflates the beginning of a stream into `out`, until `out` is full or the stream ends.
    /// Returns the number of bytes written.
    pub(crate) fn beginning(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize, ObjectError> {
        self.decoder.reset();
        let written = match self.decoder.decompress(input, out, false) {
            Ok(progress) => progress.output.len(),
            Err(error) => return Err(corrupt(error)),
        };
        Ok(written)
    }
}

/// Finds the end of a stream, to walk a pack that has no index.
#[derive(Debug)]
pub(crate) struct StreamScanner {
    scanner: Box<Scanner>,
}

impl StreamScanner {
    pub(crate) fn new() -> Self {
        Self { scanner: Box::new(Scanner::new(Format::Zlib)) }
    }

    /// Begins a new stream.
    pub(crate) fn begin(&mut self) {
        self.scanner.reset();
    }

    /// Reads on. Returns the number of bytes up to the end, if the stream ends here.
    pub(crate) fn scan(&mut self, input: &[u8], last: bool) -> Result<Option<usize>, ObjectError> {
        self.scanner.scan(input, last).map_err(corrupt)
    }
}

fn corrupt(error: Error) -> ObjectError {
    ObjectError::Corrupt(match error {
        Error::ChecksumMismatch => "the checksum of its compressed data is wrong",
        Error::Truncated => "its compressed data ends early",
        Error::InsufficientSpace | Error::BufferFull => {
            "its inflated size is not what its header states"
        }
        _ => "its compressed data is invalid",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sirocco::deflate::Level;

    fn deflated(content: &[u8]) -> Vec<u8> {
        sirocco::compress(Format::Zlib, Level::DEFAULT, content)
    }

    fn in_pieces(stream: &[u8], size: usize, piece: usize) -> Result<Vec<u8>, ObjectError> {
        let mut out = vec![0; size];
        let mut rest = stream;
        let read = |buffer: &mut [u8]| io::Read::read(&mut rest, buffer);
        let len = Inflater::new().pieces(&mut vec![0; piece], read, &mut out)?;
        assert!(len <= stream.len() as u64);
        Ok(out)
    }

    #[test]
    fn only_the_exact_size_is_right() {
        for len in [0, 1, 7, 300, 70_000] {
            let content: Vec<u8> = (0..len).map(|n: usize| (n * n / 7 % 251) as u8).collect();
            let mut stream = deflated(&content);
            let stream_len = stream.len();
            stream.extend_from_slice(b"another");
            let mut inflater = Inflater::new();
            for size in [len, len + 1, len.saturating_sub(1), 0, 2 * len] {
                let mut out = vec![0; size];
                let whole = inflater.whole(&stream, &mut out);
                for piece in [1, 2, 100, 1 << 20] {
                    let pieces = in_pieces(&stream, size, piece);
                    assert_eq!(pieces.is_ok(), size == len, "{size} of {len} in {piece}");
                }
                assert_eq!(whole.is_ok(), size == len, "{size} of {len}");
                if size == len {
                    assert_eq!(whole, Ok(stream_len));
                    assert_eq!(out, content);
                }
            }
            let mut scanner = StreamScanner::new();
            assert_eq!(scanner.scan(&stream, true), Ok(Some(stream_len)));
        }
    }

    #[test]
    fn streams_that_are_cut_are_corrupt() {
        let stream = deflated(&b"all work and no play ".repeat(50));
        let mut inflater = Inflater::new();
        let mut out = vec![0; 21 * 50];
        for cut in 0..stream.len() {
            assert!(inflater.whole(&stream[..cut], &mut out).is_err());
            assert!(in_pieces(&stream[..cut], 21 * 50, 3).is_err());
        }
        assert!(inflater.whole(&stream, &mut out).is_ok());
    }
}
