//! What `run` prints once it serves.

use std::fmt::Write;
use std::net::SocketAddr;

use super::serving::Sample;
use crate::render::Paint;

/// Samples that are printed; more would hide the first.
const SHOWN: usize = 20;

/// `check` and `status` assume that every port can be bound, so that the log alone knows of ports that cannot.
const NOTHING: &str =
    "Serves nothing yet: the log says which port cannot be bound, `portcullis check` what else.\n";

/// What is served, in a form to be copied into a shell, and where to look next.
pub(super) fn announcement(
    samples: &[Sample],
    stand_ins: usize,
    admin: Option<SocketAddr>,
    paint: Paint,
) -> String {
    let mut text = match samples.is_empty() {
        true => NOTHING.to_owned(),
        false => format!("{}\n", paint.strong("Serves, among others:")),
    };
    let shown = samples.iter().take(SHOWN);
    let width = shown.clone().map(|sample| sample.command.chars().count()).max().unwrap_or_default();
    for sample in shown {
        let leads_to = paint.faint(format!("# {}", sample.leads_to));
        let _ = writeln!(text, "  {:<width$}  {leads_to}", sample.command);
    }
    if samples.len() > SHOWN {
        let _ = writeln!(text, "  and {} rules more", samples.len() - SHOWN);
    }
    if stand_ins > 0 {
        let plural = if stand_ins == 1 { "" } else { "s" };
        let _ = writeln!(text, "{stand_ins} stand-in{plural} for Services without endpoints (--echo)");
    }
    if let Some(admin) = admin {
        let _ = writeln!(text, "Metrics and health: http://{admin}/metrics /readyz /livez");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nothing_is_served_it_says_where_to_look() {
        let admin = Some("127.0.0.1:9975".parse().unwrap());
        assert_eq!(
            announcement(&[], 0, admin, Paint::PLAIN),
            format!("{NOTHING}Metrics and health: http://127.0.0.1:9975/metrics /readyz /livez\n")
        );
        assert!(announcement(&[], 2, None, Paint::PLAIN).contains("2 stand-ins"));
    }
}
