//! Cases as YAML tables: what is given, and what is then said and served.
//!
//! A person who knows the Gateway API and not this crate can say whether a case is right. How a case is
//! written is told in `cases/README.md`; `given` fills in what cases leave out.

use std::path::Path;

use crate::case::Case;

/// Every case of every file under `cases/` holds, from nothing and step by step.
#[test]
fn every_case_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let only = std::env::var("CASE").unwrap_or_default();
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    let (mut run, mut failures) = (0, Vec::new());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let cases = Case::read_all(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        for case in cases.iter().filter(|case| case.name.contains(&only)) {
            run += 1;
            failures
                .extend(case.run().into_iter().map(|failure| format!("{name}: {}: {failure}", case.name)));
        }
    }
    println!("{run} cases");
    assert!(run > 0, "no case is named so");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}
