//! Whatever bytes a file holds.

use portcullis_files::read;
use proptest::prelude::*;
use std::path::Path;

/// Bytes that are nearly resources: pieces of YAML, of objects, and of neither.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let pieces = vec![
        "apiVersion: v1\n",
        "kind: ConfigMap\n",
        "kind: List\n",
        "items:\n",
        "- ",
        "  ",
        "metadata: {name: a}\n",
        "metadata:\n  name: a\n",
        "data: {v: on}\n",
        "---\n",
        "...\n",
        "{",
        "}",
        "[",
        "]",
        ": ",
        ",",
        "\"",
        "'",
        "&a ",
        "*a",
        "<<: *a\n",
        "!!int ",
        "!!binary ",
        "|\n",
        ">-\n",
        "\t",
        "\n",
        "\r\n",
        "#",
        "%YAML 1.1\n",
        "\u{feff}",
        "\u{85}",
        "é",
        "\u{1F600}",
        "? ",
        "~",
        "{\"kind\": 1}",
        "0x",
        "\\ud83d",
    ];
    let piece = prop_oneof![
        8 => prop::sample::select(pieces).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..4),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// No bytes make reading panic, and every finding lies within the text.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in bytes()) {
        let loaded = read(Path::new("hostile.yaml"), &bytes);
        let lines = bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count() + 1;
        for diagnostic in &loaded.diagnostics {
            let Some(position) = &diagnostic.position else { panic!("{diagnostic} has no place") };
            prop_assert!(position.line >= 1 && position.line as usize <= lines + 1, "{} at {}", diagnostic, position);
            prop_assert!(position.column >= 1, "{} at {}", diagnostic, position);
        }
    }
}
