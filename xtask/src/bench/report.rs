//! Figures of a measurement and their medians.

use crate::measure::Cpu;

/// One run of one proxy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    /// CPU microseconds a request.
    pub(crate) cpu: f64,
    /// Of these in user mode.
    pub(crate) user: f64,
    /// Requests a second.
    pub(crate) rate: f64,
    /// 99th percentile of latency, microseconds.
    pub(crate) p99: f64,
    /// Resident memory after the run, MiB.
    pub(crate) resident: f64,
}

impl Figure {
    /// From the CPU that was used for so many requests.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts of requests stay far below 2^52")]
    pub(crate) fn new(cpu: Cpu, requests: u64, rate: f64, p99: u64, resident: u64) -> Figure {
        let each = |time: std::time::Duration| time.as_secs_f64() * 1e6 / requests.max(1) as f64;
        Figure {
            cpu: each(cpu.total()),
            user: each(cpu.user),
            rate,
            p99: p99 as f64,
            resident: resident as f64 / 1_048_576.0,
        }
    }
}

/// The middle value; of an even number of them the upper of the two.
#[must_use]
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The medians of a list of figures as a row of a Markdown table.
#[must_use]
pub(crate) fn row(name: &str, figures: &[Figure]) -> String {
    let of = |field: fn(&Figure) -> f64| median(figures.iter().map(field));
    format!(
        "| {name} | {:.1} | {:.1} | {:.0} | {:.2} | {:.0} |",
        of(|f| f.cpu),
        of(|f| f.user),
        of(|f| f.rate),
        of(|f| f.p99) / 1000.0,
        of(|f| f.resident)
    )
}

/// The head of the table that [`row`] fills.
pub(crate) const HEAD: &str =
    "| proxy | CPU µs/request | of it user | requests/s | p99 ms | RSS MiB |\n|---|---|---|---|---|---|";

/// The median of the ratios of two lists, pair by pair.
#[must_use]
pub(crate) fn ratio(ours: &[Figure], theirs: &[Figure], field: fn(&Figure) -> f64) -> f64 {
    median(ours.iter().zip(theirs).map(|(a, b)| field(a) / field(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ratio of a pair is taken within the pair: a slow minute that hits both leaves it alone.
    #[test]
    fn ratios_are_taken_pair_by_pair() {
        let figure = |cpu: f64| Figure { cpu, user: 0.0, rate: 0.0, p99: 0.0, resident: 0.0 };
        let ours = [figure(1.0), figure(20.0), figure(3.0)];
        let theirs = [figure(2.0), figure(40.0), figure(3.0)];
        assert!((ratio(&ours, &theirs, |f| f.cpu) - 0.5).abs() < 1e-9);
    }
}
