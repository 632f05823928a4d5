//! Names and label values that are derived from longer names.

use std::fmt::Write;
use std::net::IpAddr;

use sha2::{Digest, Sha256};

/// What names of Services and values of labels may have, in bytes.
const MAX: usize = 63;

/// The names that the Service of a Gateway may have, the preferred one first: `<gateway>-<class>` (GEP-1762), and
/// the same with a hash of both, for when that is no name of a Service or belongs to somebody else.
pub(super) fn service(gateway: &str, class: &str) -> Vec<String> {
    let plain = format!("{gateway}-{class}");
    let changed =
        plain.contains('.') || plain.len() > MAX || !plain.starts_with(|c: char| c.is_ascii_lowercase());
    let mut words = plain.replace('.', "-");
    if !words.starts_with(|c: char| c.is_ascii_lowercase()) {
        words.insert_str(0, "gateway-");
    }
    let hashed = with_hash(&words, &format!("{gateway}/{class}"));
    if changed { vec![hashed] } else { vec![plain, hashed] }
}

/// The name of a Service beside another one, for an address of its own.
pub(super) fn with_address(service: &str, ip: IpAddr) -> String {
    with_hash(service, &format!("{service}/{ip}"))
}

/// A name as the value of a label: as it is, or cut and ending in a hash.
pub(super) fn label(name: &str) -> String {
    if name.len() <= MAX { name.to_owned() } else { with_hash(name, name) }
}

fn with_hash(words: &str, whole: &str) -> String {
    let digest = Sha256::digest(whole.as_bytes());
    let mut hash = String::with_capacity(8);
    for byte in digest.iter().take(4) {
        // Writing to a String cannot fail.
        let _ = write!(hash, "{byte:02x}");
    }
    let mut end = words.len().min(MAX - 1 - hash.len());
    while !words.is_char_boundary(end) {
        end -= 1;
    }
    let cut = words.get(..end).unwrap_or_default().trim_end_matches(['-', '.', '_']);
    format!("{cut}-{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_fits_is_kept_and_any_other_is_cut_and_hashed() {
        let first = |gateway: &str, class| service(gateway, class).swap_remove(0);
        assert_eq!(first("web", "portcullis"), "web-portcullis");
        assert_eq!(first("web.example", "portcullis"), "web-example-portcullis-c21a9659");
        assert_eq!(first("0web", "portcullis"), "gateway-0web-portcullis-c70e61bc");
        let long = "a".repeat(253);
        let name = first(&long, "portcullis");
        assert_eq!((name.len(), name.starts_with(&"a".repeat(54))), (63, true));
        assert_ne!(name, first(&"a".repeat(252), "portcullis"));
        assert_eq!(
            service("web", "portcullis").len(),
            2,
            "the second is for when the first is somebody else's"
        );
    }

    #[test]
    fn a_label_ends_at_63_characters() {
        assert_eq!(label("web.example"), "web.example");
        let dotted = format!("{}.{}", "a".repeat(53), "b".repeat(60));
        assert_eq!(label(&dotted).len(), 53 + 9, "no dash follows a dot");
    }
}
