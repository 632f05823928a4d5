//! A second reader of chunked bodies, written from RFC 9112 §7.1 for being obviously right: it sees the whole input
//! at once and takes it apart line by line.

/// What a whole input is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A body, its trailers as `name: value`, and how many bytes it took.
    Whole { data: Vec<u8>, trailers: Vec<(Vec<u8>, Vec<u8>)>, used: usize },
    /// The beginning of a body; with the data in it.
    Partial { data: Vec<u8> },
    /// No body begins like this.
    Wrong,
}

/// The default limits, said again.
const EXTENSIONS: usize = 256;
const TOTAL_EXTENSIONS: usize = 16 * 1024;
const TRAILER_FIELDS: usize = 256;
const TRAILER_BLOCK: usize = 64 * 1024;

/// Fields that are no trailers, of those that the tests use.
pub(crate) const DROPPED: [&str; 4] = ["content-length", "transfer-encoding", "host", "vary"];

pub(crate) fn decode(input: &[u8]) -> Outcome {
    let (mut rest, mut data, mut extensions) = (input, Vec::new(), 0);
    loop {
        let Some((line, after)) = split_line(rest) else { return Outcome::Partial { data } };
        let Some((size, extension)) = chunk_line(line) else { return Outcome::Wrong };
        extensions += extension;
        if extension > EXTENSIONS || extensions > TOTAL_EXTENSIONS {
            return Outcome::Wrong;
        }
        if size == 0 {
            return trailers(input.len() - after.len(), after, data);
        }
        let here = usize::try_from(size).map_or(after.len(), |size| size.min(after.len()));
        data.extend_from_slice(&after[..here]);
        match &after[here..] {
            [] | [b'\r'] => return Outcome::Partial { data },
            [b'\r', b'\n', next @ ..] => rest = next,
            _ => return Outcome::Wrong,
        }
    }
}

/// Splits at the first CRLF.
fn split_line(input: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = input.windows(2).position(|pair| pair == b"\r\n")?;
    Some((&input[..at], &input[at + 2..]))
}

/// `1*16HEXDIG [ BWS ";" *( HTAB / SP / VCHAR / obs-text ) ]`: the size and the length of the rest.
fn chunk_line(line: &[u8]) -> Option<(u64, usize)> {
    let digits = line.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    let (digits, extension) = line.split_at(digits);
    if digits.len() > 16 {
        return None;
    }
    let size = u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    let trimmed: Vec<u8> = extension.iter().copied().skip_while(|b| b" \t".contains(b)).collect();
    let fine = extension.is_empty() || trimmed.first() == Some(&b';') && trimmed.iter().all(|&b| is_text(b));
    fine.then_some((size, extension.len()))
}

fn is_text(b: u8) -> bool {
    matches!(b, b'\t' | b' '..=b'~' | 0x80..)
}

fn trailers(mut used: usize, mut rest: &[u8], data: Vec<u8>) -> Outcome {
    let (start, mut trailers, mut count) = (used, Vec::new(), 0);
    loop {
        let Some((line, after)) = split_line(rest) else {
            return if used + rest.len() - start >= TRAILER_BLOCK {
                Outcome::Wrong
            } else {
                Outcome::Partial { data }
            };
        };
        used += line.len() + 2;
        rest = after;
        if used - start > TRAILER_BLOCK {
            return Outcome::Wrong;
        }
        if line.is_empty() {
            return Outcome::Whole { data, trailers, used };
        }
        count += 1;
        let Some((name, value)) = field(line).filter(|_| count <= TRAILER_FIELDS) else {
            return Outcome::Wrong;
        };
        if !DROPPED.contains(&name.to_ascii_lowercase().as_str()) {
            trailers.push((name.into_bytes(), value));
        }
    }
}

fn field(line: &[u8]) -> Option<(String, Vec<u8>)> {
    let colon = line.iter().position(|&b| b == b':')?;
    let name = std::str::from_utf8(&line[..colon]).ok()?;
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    let value = &line[colon + 1..];
    if name.is_empty() || !name.chars().all(token) || !value.iter().all(|&b| is_text(b)) {
        return None;
    }
    let blank = |b: &u8| b" \t".contains(b);
    let start = value.iter().position(|b| !blank(b)).unwrap_or(value.len());
    let end = value.iter().rposition(|b| !blank(b)).map_or(start, |at| at + 1);
    Some((name.to_owned(), value[start..end].to_vec()))
}
