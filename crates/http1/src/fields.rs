//! The fields of a head or trailer section: one text, and a list of where each name and value lies in it.

use crate::known::{Known, KnownSet};

/// A part of a head's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    /// Offsets are bounded by the head limit, which is below 2³²; beyond that a span is empty, never wrong.
    pub(crate) fn new(start: usize, end: usize) -> Self {
        match (u32::try_from(start), u32::try_from(end)) {
            (Ok(start), Ok(end)) => Self { start, end },
            _ => Self::default(),
        }
    }

    pub(crate) fn of(self, text: &[u8]) -> &[u8] {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    pub(crate) fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// One field line: `text[name.start..line_end]` is the whole line with its CRLF.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) name: Span,
    pub(crate) value: Span,
    pub(crate) line_end: u32,
    pub(crate) known: Option<Known>,
}

/// Field lines in order, with names in the case they came in.
///
/// Names compare without regard to case (RFC 9110 §5.1) and lookups do not allocate. [`Fields::clear`] keeps the
/// memory, so a connection that reuses its heads stops allocating after a few requests.
///
/// Values and names that are added must be valid (RFC 9110 §5.5); those that a parser of this crate or the `http`
/// crate accepted are.
#[derive(Debug, Clone, Default)]
pub struct Fields {
    pub(crate) text: Vec<u8>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) known: KnownSet,
}

impl Fields {
    /// No fields.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets all fields and keeps the memory.
    pub fn clear(&mut self) {
        self.text.clear();
        self.entries.clear();
        self.known = KnownSet::EMPTY;
    }

    /// The number of field lines.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no field line.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The known names that occur.
    #[must_use]
    pub fn known(&self) -> KnownSet {
        self.known
    }

    /// Whether a field of this known name occurs.
    #[must_use]
    pub fn has(&self, known: Known) -> bool {
        self.known.contains(known)
    }

    /// The value of the first line of a known name.
    #[must_use]
    pub fn known_value(&self, known: Known) -> Option<&[u8]> {
        self.known_values(known).next()
    }

    /// The values of a known name, in order.
    pub fn known_values(&self, known: Known) -> impl Iterator<Item = &[u8]> {
        let entries = if self.has(known) { self.entries.as_slice() } else { &[] };
        entries.iter().filter(move |e| e.known == Some(known)).map(|e| e.value.of(&self.text))
    }

    /// The value of the first line of this name.
    #[must_use]
    pub fn get(&self, name: &[u8]) -> Option<&[u8]> {
        self.get_all(name).next()
    }

    /// The values of this name, in order.
    pub fn get_all<'a, 'n>(&'a self, name: &'n [u8]) -> impl Iterator<Item = &'a [u8]> + use<'a, 'n> {
        let wanted = Wanted::new(name);
        let entries = if wanted.may_be_in(self.known) { self.entries.as_slice() } else { &[] };
        entries.iter().filter(move |e| wanted.is(e, &self.text)).map(|e| e.value.of(&self.text))
    }

    /// Name, value and known name of each line, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8], Option<Known>)> {
        self.entries.iter().map(|e| (e.name.of(&self.text), e.value.of(&self.text), e.known))
    }

    /// Adds a line at the end.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        let entry = self.append_line(name, value, Known::from_name(name));
        self.entries.push(entry);
    }

    /// Adds a line of a known name at the end.
    pub fn push_known(&mut self, known: Known, value: &[u8]) {
        let entry = self.append_line(known.name().as_bytes(), value, Some(known));
        self.entries.push(entry);
    }

    /// Makes `value` the only value of this name: the first line of it keeps its place, others go; without one, a
    /// line is added at the end.
    pub fn set(&mut self, name: &[u8], value: &[u8]) {
        let wanted = Wanted::new(name);
        let line = self.append_line(name, value, wanted.known);
        self.place(line, |e, text| wanted.is(e, text));
    }

    /// As [`Fields::set`] for Host, with a part of the text as value.
    pub(crate) fn set_host(&mut self, authority: Span) {
        let name = self.begin_line(b"Host");
        let start = self.text.len();
        self.append_again(authority);
        let line = self.end_line(name, start, Some(Known::Host));
        self.place(line, |e, _| e.known == Some(Known::Host));
    }

    /// Removes every line of this name; says whether there was one.
    pub fn remove(&mut self, name: &[u8]) -> bool {
        let wanted = Wanted::new(name);
        if !wanted.may_be_in(self.known) {
            return false;
        }
        let before = self.entries.len();
        let text = &self.text;
        self.entries.retain(|e| !wanted.is(e, text));
        if let Some(known) = wanted.known {
            self.known.remove(known);
        }
        self.entries.len() < before
    }

    /// Removes every line of a known name; says whether there was one.
    pub fn remove_known(&mut self, known: Known) -> bool {
        if !self.has(known) {
            return false;
        }
        self.entries.retain(|e| e.known != Some(known));
        self.known.remove(known);
        true
    }

    /// Removes every line of a name that becomes one of `known` when underscores become hyphens: to CGI and its heirs
    /// (RFC 3875 §4.1.18) both are the same variable.
    pub fn remove_aliases(&mut self, known: KnownSet) {
        let text = &self.text;
        self.entries.retain(|e| {
            let name = e.name.of(text);
            let alias = || Known::from_alias(name).is_some_and(|of| known.contains(of));
            !(e.known.is_none() && name.contains(&b'_') && alias())
        });
    }

    /// Joins the lines of Cookie into one with `; ` between, as HTTP/1 needs where HTTP/2 and 3 allow one line a
    /// cookie (RFC 9113 §8.2.3).
    pub fn join_cookies(&mut self) {
        let is_cookie = |e: &Entry| e.known == Some(Known::Cookie);
        if self.known_values(Known::Cookie).nth(1).is_none() {
            return;
        }
        let name = self.begin_line(Known::Cookie.name().as_bytes());
        let start = self.text.len();
        for at in 0..self.entries.len() {
            // An empty one adds nothing: at an end it would leave white space there, which HTTP/1 drops from values.
            let says = |e: &Entry| is_cookie(e) && !e.value.is_empty();
            let Some(cookie) = self.entries.get(at).copied().filter(says) else { continue };
            if self.text.len() > start {
                self.text.extend_from_slice(b"; ");
            }
            self.append_again(cookie.value);
        }
        let line = self.end_line(name, start, Some(Known::Cookie));
        self.place(line, |e, _| is_cookie(e));
    }

    /// Whether any line of `known`, read as a comma-separated list, holds `token` in any case.
    #[must_use]
    pub fn list_has(&self, known: Known, token: &[u8]) -> bool {
        self.known_values(known).flat_map(crate::syntax::list).any(|t| t.eq_ignore_ascii_case(token))
    }

    /// Appends bytes that are no field line, such as a rewritten path, to the text.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Span {
        let start = self.text.len();
        self.text.extend_from_slice(bytes);
        Span::new(start, self.text.len())
    }

    /// Appends a part of the text once more.
    fn append_again(&mut self, part: Span) {
        let range = part.start as usize..part.end as usize;
        if self.text.get(range.clone()).is_some() {
            self.text.extend_from_within(range);
        }
    }

    fn append_line(&mut self, name: &[u8], value: &[u8], known: Option<Known>) -> Entry {
        let name = self.begin_line(name);
        let start = self.text.len();
        self.text.extend_from_slice(value);
        self.end_line(name, start, known)
    }

    fn begin_line(&mut self, name: &[u8]) -> Span {
        let name = self.append(name);
        self.text.extend_from_slice(b": ");
        name
    }

    /// Ends a line whose value begins at `start`.
    fn end_line(&mut self, name: Span, start: usize, known: Option<Known>) -> Entry {
        let value = Span::new(start, self.text.len());
        self.text.extend_from_slice(b"\r\n");
        if let Some(known) = known {
            self.known.insert(known);
        }
        Entry { name, value, line_end: value.end.saturating_add(2), known }
    }

    /// Puts `line` where the first line that it `replaces` is, and removes the others; or at the end.
    fn place(&mut self, line: Entry, replaces: impl Fn(&Entry, &[u8]) -> bool) {
        let mut placed = false;
        let text = &self.text;
        self.entries.retain_mut(|e| {
            if !replaces(e, text) {
                return true;
            }
            if !placed {
                *e = line;
            }
            !std::mem::replace(&mut placed, true)
        });
        if !placed {
            self.entries.push(line);
        }
    }
}

/// A name that is looked for.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    name: &'a [u8],
    known: Option<Known>,
}

impl<'a> Wanted<'a> {
    fn new(name: &'a [u8]) -> Self {
        Self { name, known: Known::from_name(name) }
    }

    fn may_be_in(self, present: KnownSet) -> bool {
        self.known.is_none_or(|known| present.contains(known))
    }

    fn is(self, entry: &Entry, text: &[u8]) -> bool {
        match (self.known, entry.known) {
            (None, None) => entry.name.of(text).eq_ignore_ascii_case(self.name),
            (wanted, known) => wanted == known,
        }
    }
}
