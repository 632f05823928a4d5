//! CORS preflight requests: they ask about another request, whose rule answers them.

use crate::HeaderSource;

/// What a preflight request announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preflight<'h> {
    /// The method of the request to come.
    pub method: &'h str,
    /// The names of its headers that are worth a question, in a list with commas; empty if there are none.
    pub headers: &'h [u8],
}

impl<'h> Preflight<'h> {
    /// What a request announces, if it is a preflight request: OPTIONS with Origin and
    /// Access-Control-Request-Method.
    ///
    /// Source: Fetch standard, "CORS-preflight request".
    #[must_use]
    pub fn of<H: HeaderSource + ?Sized>(method: &str, headers: &'h H) -> Option<Preflight<'h>> {
        let first = |name: &'static str| headers.values(name).next();
        if method != "OPTIONS" || first("origin").is_none() {
            return None;
        }
        let method = std::str::from_utf8(first("access-control-request-method")?).ok()?;
        Some(Preflight { method, headers: first("access-control-request-headers").unwrap_or_default() })
    }

    /// Whether the request to come will have a header of this name, in whatever case.
    pub(crate) fn promises(&self, name: &str) -> bool {
        let names = self.headers.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        names.into_iter().any(|promised| promised.eq_ignore_ascii_case(name.as_bytes()))
    }
}
