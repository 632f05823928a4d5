//! Errors of the operating system in words of their own: without Rust's `(os error 13)`.

use std::io::Error;

/// What went wrong, as a part of a sentence.
pub fn io_words(error: &Error) -> String {
    without_number(&error.to_string())
}

/// A text without the number of an error of the operating system, its first letter small.
fn without_number(text: &str) -> String {
    let text = match text.split_once(" (os error ") {
        Some((words, _)) => words,
        None => text,
    };
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_told_without_its_number() {
        assert_eq!(io_words(&Error::from_raw_os_error(13)), "permission denied");
        assert_eq!(io_words(&Error::from_raw_os_error(21)), "is a directory");
        assert_eq!(io_words(&Error::other("the disk sleeps")), "the disk sleeps");
    }
}
