//! YAML and what is made of it: no bytes make reading panic, and every finding lies within the text.

use std::path::Path;

pub(crate) fn run(bytes: &[u8]) {
    let loaded = portcullis_files::read(Path::new("fuzz.yaml"), bytes);
    let lines = bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count() + 1;
    for diagnostic in &loaded.diagnostics {
        let position = diagnostic.position.as_ref().expect("every finding in a file has a place");
        assert!(position.line >= 1 && position.line as usize <= lines + 1, "{diagnostic} at {position}");
        assert!(position.column >= 1, "{diagnostic} at {position}");
    }
}
