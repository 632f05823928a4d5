//! "Did you mean": the nearest of several names.

/// The name nearest to `written`, if one is near enough to be meant; of equally near ones the first by alphabet.
pub fn nearest<'a>(written: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    nearest_within(written.chars().count() / 3 + 1, written, names)
}

/// The name nearest to `written`, if at most `far` characters of it differ; capitals do not.
pub(crate) fn nearest_within<'a>(
    far: usize,
    written: &str,
    names: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let folded = written.to_lowercase();
    names
        .map(|name| (strsim::osa_distance(&folded, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= far)
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name_and_another_word_finds_none() {
        let names = ["hostname", "port", "protocol", "tls"];
        let near = |written| nearest(written, names.into_iter());
        assert_eq!(near("hostnames"), Some("hostname"));
        assert_eq!(near("Protocol"), Some("protocol"));
        assert_eq!(near("prot"), Some("port"));
        assert_eq!(near("backendRefs"), None);
    }
}
