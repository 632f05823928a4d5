//! Colours, where somebody looks.

use std::fmt::{self, Display};
use std::io::IsTerminal;

use anstyle::{AnsiColor, Style};

/// Colours for one stream: none unless it is a terminal and `NO_COLOR` is unset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paint {
    coloured: bool,
}

impl Paint {
    /// Never colours.
    pub(crate) const PLAIN: Self = Self { coloured: false };

    /// For standard output.
    pub(crate) fn stdout() -> Self {
        Self::when(std::io::stdout().is_terminal())
    }

    /// For standard error.
    pub(crate) fn stderr() -> Self {
        Self::when(std::io::stderr().is_terminal())
    }

    fn when(terminal: bool) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        Self { coloured: terminal && !refused && !dumb }
    }

    pub(crate) fn error<T: Display>(self, text: T) -> Painted<T> {
        self.paint(AnsiColor::Red.on_default().bold(), text)
    }

    pub(crate) fn warning<T: Display>(self, text: T) -> Painted<T> {
        self.paint(AnsiColor::Yellow.on_default().bold(), text)
    }

    pub(crate) fn info<T: Display>(self, text: T) -> Painted<T> {
        self.paint(AnsiColor::Blue.on_default().bold(), text)
    }

    pub(crate) fn good<T: Display>(self, text: T) -> Painted<T> {
        self.paint(AnsiColor::Green.on_default(), text)
    }

    pub(crate) fn hint<T: Display>(self, text: T) -> Painted<T> {
        self.paint(AnsiColor::Cyan.on_default(), text)
    }

    pub(crate) fn strong<T: Display>(self, text: T) -> Painted<T> {
        self.paint(Style::new().bold(), text)
    }

    pub(crate) fn faint<T: Display>(self, text: T) -> Painted<T> {
        self.paint(Style::new().dimmed(), text)
    }

    fn paint<T>(self, style: Style, text: T) -> Painted<T> {
        Painted { style: if self.coloured { style } else { Style::new() }, text }
    }
}

/// A text in its colour. Width and alignment apply to the text alone.
pub(crate) struct Painted<T> {
    style: Style,
    text: T,
}

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.style)?;
        self.text.fmt(f)?;
        write!(f, "{:#}", self.style)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_appear_only_where_wanted_and_do_not_count_as_width() {
        assert_eq!(format!("[{:<6}]", Paint::PLAIN.error("bad")), "[bad   ]");
        assert_eq!(format!("[{:<6}]", Paint { coloured: true }.good("ok")), "[\u{1b}[32mok    \u{1b}[0m]");
    }
}
