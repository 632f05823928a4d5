//! Field sections without a dynamic table (RFC 9204): what clients may send us, and what we send.
//!
//! The crates that do this hand out only what they have made of it, in which repeated pseudo-fields are one.

mod huffman;
mod integer;
mod table;

pub(super) use table::write_field;

use self::integer::Reader;

/// Why a section is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Error {
    /// It is malformed, or refers to a dynamic table.
    Malformed,
    /// Its fields are larger than they may be, as RFC 9114 §4.2.2 counts them.
    TooLarge,
}

/// What a field counts beside its text, in bytes (RFC 9114 §4.2.2).
const OVERHEAD: usize = 32;

/// A section that was decoded: its fields, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Section {
    text: Vec<u8>,
    /// Where each field's name and value end.
    ends: Vec<(usize, usize)>,
}

impl Section {
    /// Decodes a section whose fields may have this many bytes in all.
    pub(super) fn decode(section: &[u8], limit: usize) -> Result<Section, Error> {
        let mut reader = Reader::new(section);
        let (_, required_inserts) = reader.integer(8)?;
        let (_, _base) = reader.integer(7)?;
        if required_inserts != 0 {
            return Err(Error::Malformed);
        }
        let mut decoded = Section::default();
        while !reader.is_empty() {
            decoded.field(&mut reader)?;
            if decoded.text.len() + decoded.ends.len() * OVERHEAD > limit {
                return Err(Error::TooLarge);
            }
        }
        Ok(decoded)
    }

    /// Reads one field line (RFC 9204 §4.5).
    fn field(&mut self, reader: &mut Reader<'_>) -> Result<(), Error> {
        match reader.first() {
            first if first & 0b1100_0000 == 0b1100_0000 => {
                let (name, value) = table::field(reader.integer(6)?.1).ok_or(Error::Malformed)?;
                self.text.extend_from_slice(name);
                let name_end = self.text.len();
                self.text.extend_from_slice(value);
                self.ends.push((name_end, self.text.len()));
                return Ok(());
            }
            first if first & 0b1101_0000 == 0b0101_0000 => {
                let (name, _) = table::field(reader.integer(4)?.1).ok_or(Error::Malformed)?;
                self.text.extend_from_slice(name);
            }
            first if first & 0b1110_0000 == 0b0010_0000 => reader.string(3, &mut self.text)?,
            _ => return Err(Error::Malformed),
        }
        let name_end = self.text.len();
        reader.string(7, &mut self.text)?;
        self.ends.push((name_end, self.text.len()));
        Ok(())
    }

    /// How many fields there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Names and values.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|(_, end)| *end));
        starts.zip(&self.ends).map(|(start, (name_end, end))| {
            let part = |from, to| self.text.get(from..to).unwrap_or_default();
            (part(start, *name_end), part(*name_end, *end))
        })
    }
}

/// The beginning of a section that refers to no dynamic table (RFC 9204 §4.5.1).
pub(super) const PREFIX: [u8; 2] = [0, 0];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decoded(section: &[u8]) -> Result<Vec<(String, String)>, Error> {
        let section = Section::decode(section, 4096)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(section.iter().map(|(name, value)| (text(name), text(value))).collect())
    }

    fn fields(fields: &[(&str, &str)]) -> Vec<(String, String)> {
        fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn field_lines_of_every_form_are_read() {
        // RFC 9204 §B.1
        assert_eq!(decoded(b"\x00\x00\x51\x0b/index.html"), Ok(fields(&[(":path", "/index.html")])));
        assert_eq!(
            decoded(&[0, 0, 0xd1, 0xff, 0x23]),
            Ok(fields(&[(":method", "GET"), ("x-frame-options", "sameorigin")]))
        );
        assert_eq!(decoded(b"\x00\x00\x56\x86\xa8\xeb\x10\x64\x9c\xbf"), Ok(fields(&[("date", "no-cache")])));
        assert_eq!(decoded(b"\x00\x00\x23abc\x01x"), Ok(fields(&[("abc", "x")])));
        assert_eq!(decoded(b"\x00\x00"), Ok(Vec::new()));
    }

    #[test]
    fn what_needs_a_dynamic_table_or_ends_early_is_malformed() {
        for section in [
            &b"\x01\x00"[..],
            b"\x00\x00\x80",
            b"\x00\x00\x10",
            b"\x00\x00\x00\x00",
            b"\x00\x00\x41\x00",
            b"\x00\x00\xff\x24",
            b"\x00\x00\x23ab",
            b"\x00\x00\x51\x05/",
            b"\x00",
            b"",
        ] {
            assert_eq!(decoded(section), Err(Error::Malformed), "{section:?}");
        }
    }

    #[test]
    fn a_section_over_the_limit_is_too_large() {
        let section = [&PREFIX[..], &[0xd1].repeat(200)].concat();
        assert_eq!(Section::decode(&section, 4096), Err(Error::TooLarge));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            given in prop::collection::vec(("[a-z:-]{1,20}|vary|:status|etag", "[ -~]{0,40}|origin|200|304"), 0..8)
        ) {
            let mut section = PREFIX.to_vec();
            for (name, value) in &given {
                write_field(&mut section, name.as_bytes(), value.as_bytes());
            }
            prop_assert_eq!(decoded(&section), Ok(given));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
            let _ = decoded(&[&PREFIX[..], &bytes].concat());
        }
    }
}
