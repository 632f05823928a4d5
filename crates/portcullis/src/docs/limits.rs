//! The reference of limits.

use std::fmt::Write;
use std::time::Duration;

use portcullis_proxy::{LimitValue, Limits};

pub(super) fn page() -> String {
    let mut page = String::from(
        "# Limits and timeouts\n\n<!-- Generated from the source by `cargo xtask docs`. -->\n\n\
         `portcullis run --limit NAME=VALUE` sets each of these, as in `--limit head-timeout=5s`. Times are written\n\
         `500ms`, `10s`, `2m`; sizes in bytes, or with `Ki`, `Mi`, `Gi`. Every refusal is counted by its reason in\n\
         `/metrics`.\n\n| limit | default | what it bounds, and why by this much |\n|---|---|---|\n",
    );
    for limit in Limits::table() {
        let range = limit.range.map_or_else(String::new, |(least, most)| format!(" From {least} to {most}."));
        let _ = writeln!(page, "| `{}` | {} | {}{range} |", limit.name, value(limit.default), limit.reason);
    }
    page
}

fn value(value: LimitValue) -> String {
    match value {
        LimitValue::Time(Duration::ZERO) | LimitValue::Bytes(0) => "off".to_owned(),
        LimitValue::Time(time) if time.subsec_millis() == 0 => format!("{} s", time.as_secs()),
        LimitValue::Time(time) => format!("{} ms", time.as_millis()),
        LimitValue::Bytes(bytes) if bytes % (1 << 20) == 0 => format!("{} MiB", bytes >> 20),
        LimitValue::Bytes(bytes) if bytes % (1 << 10) == 0 => format!("{} KiB", bytes >> 10),
        LimitValue::Bytes(bytes) => format!("{bytes} bytes"),
        LimitValue::Count(count) => count.to_string(),
    }
}
