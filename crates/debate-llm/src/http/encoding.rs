//! Bodies that arrive compressed although the request did not ask for it.

use std::io::Write as _;

use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use http::header::{CONTENT_ENCODING, HeaderMap};

use super::decode::{clip_name, malformed};
use crate::ModelError;

/// How many compressed bytes are decoded before what came of them is looked at: they can grow a thousandfold.
const STEP_BYTES: usize = 1 << 10;

/// Decodes a body, piece by piece.
pub(super) enum Decompressor {
    /// It is not compressed.
    Plain,
    /// It is, as its first byte will tell: with a header of its own, or without.
    Deflate,
    Gzip(MultiGzDecoder<Vec<u8>>),
    Zlib(ZlibDecoder<Vec<u8>>),
    Raw(DeflateDecoder<Vec<u8>>),
}

impl Decompressor {
    /// Makes the decoder of a body with these headers.
    ///
    /// # Errors
    /// `Malformed` where the body is encoded in another way, which the error names.
    pub(super) fn new(headers: &HeaderMap) -> Result<Self, ModelError> {
        let Some(encoding) = headers.get(CONTENT_ENCODING) else { return Ok(Self::Plain) };
        let name = encoding.to_str().unwrap_or_default().trim().to_ascii_lowercase();
        match name.as_str() {
            "" | "identity" => Ok(Self::Plain),
            "gzip" | "x-gzip" => Ok(Self::Gzip(MultiGzDecoder::new(Vec::new()))),
            "deflate" => Ok(Self::Deflate),
            other => {
                let name = clip_name(other);
                Err(malformed(&format!("the response is encoded as {name:?}, which was not asked for")))
            }
        }
    }

    /// Decodes the next bytes of the body and hands on what they say, a bounded piece at a time.
    ///
    /// # Errors
    /// `Malformed` where they are not what they are said to be; what `take` says.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<(), ModelError>,
    ) -> Result<(), ModelError> {
        if let (Self::Deflate, Some(first)) = (&*self, bytes.first()) {
            // A header of zlib names the method 8; no block of raw deflate of any use begins so.
            *self = match first & 0x0f {
                8 => Self::Zlib(ZlibDecoder::new(Vec::new())),
                _ => Self::Raw(DeflateDecoder::new(Vec::new())),
            };
        }
        if let Self::Plain | Self::Deflate = self {
            return take(bytes);
        }
        for step in bytes.chunks(STEP_BYTES) {
            let said =
                self.decode(step).map_err(|_| malformed("the response is not compressed as it says"))?;
            take(&said)?;
        }
        Ok(())
    }

    fn decode(&mut self, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
        let said = match self {
            Self::Plain | Self::Deflate => return Ok(bytes.to_vec()),
            Self::Gzip(decoder) => {
                decoder.write_all(bytes)?;
                decoder.flush()?;
                decoder.get_mut()
            }
            Self::Zlib(decoder) => {
                decoder.write_all(bytes)?;
                decoder.flush()?;
                decoder.get_mut()
            }
            Self::Raw(decoder) => {
                decoder.write_all(bytes)?;
                decoder.flush()?;
                decoder.get_mut()
            }
        };
        Ok(std::mem::take(said))
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use http::HeaderValue;

    use super::*;

    fn decoded(encoding: &'static str, bytes: &[u8], size: usize) -> Result<Vec<u8>, String> {
        let headers = HeaderMap::from_iter([(CONTENT_ENCODING, HeaderValue::from_static(encoding))]);
        let mut decompressor = Decompressor::new(&headers).map_err(|error| error.to_string())?;
        let mut said = Vec::new();
        for piece in bytes.chunks(size) {
            let mut take = |piece: &[u8]| {
                said.extend_from_slice(piece);
                Ok(())
            };
            decompressor.push(piece, &mut take).map_err(|error| error.to_string())?;
        }
        Ok(said)
    }

    #[test]
    fn compressed_bodies_are_decoded_wherever_they_are_split() {
        let text = "data: {\"é\": 1}\n\n".repeat(300).into_bytes();
        let [mut gzip, mut zlib, mut raw] = [Vec::new(), Vec::new(), Vec::new()];
        let mut encoder = GzEncoder::new(&mut gzip, Compression::default());
        encoder.write_all(&text).unwrap();
        encoder.finish().unwrap();
        let mut encoder = ZlibEncoder::new(&mut zlib, Compression::default());
        encoder.write_all(&text).unwrap();
        encoder.finish().unwrap();
        let mut encoder = DeflateEncoder::new(&mut raw, Compression::default());
        encoder.write_all(&text).unwrap();
        encoder.finish().unwrap();
        for size in [1, 7, 100_000] {
            for (encoding, bytes) in [
                ("gzip", &gzip),
                ("X-GZIP", &gzip),
                ("deflate", &zlib),
                ("deflate", &raw),
                ("identity", &text),
                ("", &text),
            ] {
                assert_eq!(decoded(encoding, bytes, size).unwrap(), text, "{encoding} by {size}");
            }
        }
        let error = decoded("br", &text, 9).unwrap_err();
        assert!(error.contains("encoded as \"br\""), "{error}");
        let error = decoded("gzip", b"data: not at all", 9).unwrap_err();
        assert!(error.contains("not compressed as it says"), "{error}");
    }
}
