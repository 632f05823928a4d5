//! Dates for answers that the proxy gives itself.

use std::cell::RefCell;

use jiff::Timestamp;

/// The time in the form of the Date field (RFC 9110 §5.6.7), rendered at most once a second.
pub(crate) fn http_date() -> String {
    thread_local! {
        static LAST: RefCell<(i64, String)> = const { RefCell::new((0, String::new())) };
    }
    let now = Timestamp::now();
    LAST.with_borrow_mut(|(second, text)| {
        if *second != now.as_second() || text.is_empty() {
            *second = now.as_second();
            *text = now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        }
        text.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_has_the_fixed_form_of_http() {
        let date = http_date();
        assert_eq!(date.len(), 29, "{date}");
        assert!(date.ends_with(" GMT"));
    }
}
