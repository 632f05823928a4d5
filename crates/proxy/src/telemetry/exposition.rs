//! The metrics in Prometheus' text form. Labels have few values, all known beforehand but those of certificates and
//! backends, which the configuration bounds.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use portcullis_http1::Version;

use super::Session;
use super::metrics::{DURATION_BUCKETS, WorkerMetrics};
use crate::reason::Reason;
use crate::shared::Shared;

/// Everything, summed over the workers.
pub(crate) fn render(shared: &Shared) -> String {
    let mut page = Page { text: String::new(), shared };
    page.connections();
    page.requests();
    page.durations();
    page.sessions();
    page.quic();
    page.upstreams();
    page.endpoints();
    page.certificates();
    if let Some(log) = &shared.access_log {
        page.family("portcullis_access_log_lost_total", "counter", "Log lines lost to a slow disk.");
        page.line("portcullis_access_log_lost_total", "", log.lost());
    }
    page.text
}

/// Reads one counter of a worker.
type Read = fn(&WorkerMetrics) -> u64;

struct Page<'s> {
    text: String,
    shared: &'s Shared,
}

impl Page<'_> {
    fn sum(&self, of: impl Fn(&WorkerMetrics) -> u64) -> u64 {
        self.shared.metrics.iter().map(|metrics| of(metrics)).sum()
    }

    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn line(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _ = match labels {
            "" => writeln!(self.text, "{name} {value}"),
            labels => writeln!(self.text, "{name}{{{labels}}} {value}"),
        };
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, of: impl Fn(&WorkerMetrics) -> u64) {
        self.family(name, kind, help);
        self.line(name, "", self.sum(of));
    }

    fn connections(&mut self) {
        self.single(
            "portcullis_connections_total",
            "counter",
            "Client connections accepted.",
            WorkerMetrics::connections,
        );
        let open = WorkerMetrics::open_connections;
        self.single("portcullis_connections_open", "gauge", "Client connections that are open.", open);
        let name = "portcullis_refused_total";
        self.family(name, "counter", "Connections and streams refused before a request, by reason.");
        for reason in Reason::ALL {
            let count = self.sum(|metrics| metrics.refusals(*reason));
            if count > 0 {
                self.line(name, &format!("reason=\"{}\"", reason.as_str()), count);
            }
        }
        let handshakes = |metrics: &WorkerMetrics| metrics.tls_handshakes.get();
        self.single(
            "portcullis_tls_handshakes_total",
            "counter",
            "TLS handshakes that succeeded.",
            handshakes,
        );
    }

    fn requests(&mut self) {
        let name = "portcullis_requests_total";
        self.family(name, "counter", "Requests by the reason of their outcome.");
        for reason in Reason::ALL {
            let count = self.sum(|metrics| metrics.requests_ended(*reason));
            if count > 0 {
                self.line(name, &format!("reason=\"{}\"", reason.as_str()), count);
            }
        }
        let name = "portcullis_responses_total";
        self.family(name, "counter", "Answers by class of status; none for requests without an answer.");
        for (class, label) in ["none", "1xx", "2xx", "3xx", "4xx", "5xx"].into_iter().enumerate() {
            let count = self.sum(|metrics| metrics.statuses(class));
            self.line(name, &format!("class=\"{label}\""), count);
        }
        let name = "portcullis_requests_by_protocol_total";
        self.family(name, "counter", "Requests by HTTP version.");
        let versions = [
            (Version::Http10, "1.0"),
            (Version::Http11, "1.1"),
            (Version::Http2, "2"),
            (Version::Http3, "3"),
        ];
        for (version, label) in versions {
            let count = self.sum(|metrics| metrics.versions(version));
            self.line(name, &format!("version=\"{label}\""), count);
        }
        let received = |metrics: &WorkerMetrics| metrics.bytes_received.get();
        self.single("portcullis_request_body_bytes_total", "counter", "Bytes of request bodies.", received);
        let sent = |metrics: &WorkerMetrics| metrics.bytes_sent.get();
        self.single("portcullis_response_body_bytes_total", "counter", "Bytes of answers' bodies.", sent);
        let tunnels = |metrics: &WorkerMetrics| metrics.tunnels.get();
        self.single("portcullis_tunnels_total", "counter", "Upgraded connections.", tunnels);
    }

    fn durations(&mut self) {
        let name = "portcullis_request_duration_seconds";
        self.family(name, "histogram", "From a request's head to the end of its answer.");
        let mut total = 0;
        for (bucket, end) in DURATION_BUCKETS.iter().enumerate() {
            total += self.sum(|metrics| metrics.durations(bucket));
            let label = format!("le=\"{}\"", *end as f64 / 1000.0);
            self.line(&format!("{name}_bucket"), &label, total);
        }
        total += self.sum(|metrics| metrics.durations(DURATION_BUCKETS.len()));
        self.line(&format!("{name}_bucket"), "le=\"+Inf\"", total);
        let micros = self.sum(|metrics| metrics.duration_sum_micros.get());
        self.line(&format!("{name}_sum"), "", micros as f64 / 1e6);
        self.line(&format!("{name}_count"), "", total);
    }

    fn sessions(&mut self) {
        let name = "portcullis_sessions_total";
        self.family(
            name,
            "counter",
            "Connections and UDP flows of TLS, TCP and UDP listeners, by how they ended.",
        );
        for (session, reason) in
            Session::ALL.iter().flat_map(|session| Reason::ALL.iter().map(move |reason| (*session, *reason)))
        {
            let count = self.sum(|metrics| metrics.sessions_ended(session, reason));
            if count > 0 {
                let (protocol, reason) = (session.as_str(), reason.as_str());
                self.line(name, &format!("protocol=\"{protocol}\",reason=\"{reason}\""), count);
            }
        }
        let received = |metrics: &WorkerMetrics| metrics.session_bytes_received.get();
        self.single(
            "portcullis_session_received_bytes_total",
            "counter",
            "Bytes from their clients.",
            received,
        );
        let sent = |metrics: &WorkerMetrics| metrics.session_bytes_sent.get();
        self.single("portcullis_session_sent_bytes_total", "counter", "Bytes to their clients.", sent);
        let dropped = |metrics: &WorkerMetrics| metrics.datagrams_dropped.get();
        let help = "Datagrams that were passed on to nobody.";
        self.single("portcullis_udp_dropped_datagrams_total", "counter", help, dropped);
    }

    fn quic(&mut self) {
        let counters: [(&str, &str, Read); 2] = [
            ("handed_over_datagrams", "Datagrams that one worker left to another.", |metrics| {
                metrics.quic_handed_over.get()
            }),
            ("retries", "Clients that were asked to show that their address is theirs.", |metrics| {
                metrics.quic_retries.get()
            }),
        ];
        for (name, help, of) in counters {
            self.single(&format!("portcullis_quic_{name}_total"), "counter", help, of);
        }
    }

    fn upstreams(&mut self) {
        let counters: [(&str, &str, Read); 7] = [
            ("connects", "Connections opened to endpoints.", |metrics| metrics.upstream_connects.get()),
            ("connect_failures", "Connections to endpoints that failed.", |metrics| {
                metrics.upstream_connect_failures.get()
            }),
            ("reuses", "Requests sent on a pooled connection.", |metrics| metrics.upstream_reuses.get()),
            ("replays", "Requests sent again after a pooled connection had closed.", |metrics| {
                metrics.replays.get()
            }),
            ("retries", "Attempts that followed a failed one.", |metrics| metrics.retries.get()),
            ("mirrored", "Copies of requests that were begun.", |metrics| metrics.mirrored.get()),
            ("mirrors_lost", "Copies that failed, were too slow, or too many.", |metrics| {
                metrics.mirrors_lost.get()
            }),
        ];
        for (name, help, of) in counters {
            self.single(&format!("portcullis_upstream_{name}_total"), "counter", help, of);
        }
    }

    fn endpoints(&mut self) {
        let (ejections, spared) = self.shared.endpoints.totals();
        let name = "portcullis_upstream_ejections_total";
        self.family(
            name,
            "counter",
            "How often endpoints were shut out because they failed again and again.",
        );
        self.line(name, "", ejections);
        let name = "portcullis_upstream_ejections_spared_total";
        self.family(
            name,
            "counter",
            "How often one was not because too few of the backend's would have been left.",
        );
        self.line(name, "", spared);
        let name = "portcullis_upstream_ejected_endpoints";
        self.family(name, "gauge", "Endpoints that are shut out now, of backends that have some.");
        for (key, endpoints) in self.shared.endpoints.seen() {
            let ejected = endpoints.iter().filter(|endpoint| endpoint.ejected.is_some()).count();
            if ejected > 0 {
                let (kind, namespace, backend) = (&key.origin.kind, &key.origin.namespace, &key.origin.name);
                let port = key.port;
                let labels =
                    format!("kind=\"{kind}\",namespace=\"{namespace}\",name=\"{backend}\",port=\"{port}\"");
                self.line(name, &labels, ejected);
            }
        }
    }

    fn certificates(&mut self) {
        let mut expiries = BTreeMap::new();
        for served in self.shared.config().ports.values() {
            for table in served.table.listeners() {
                let Some(tls) = table.listener().protocol.tls() else { continue };
                for certificate in &tls.certificates {
                    let origin = certificate.origin();
                    expiries.insert((origin.namespace.clone(), origin.name.clone()), certificate.not_after());
                }
            }
        }
        let name = "portcullis_certificate_expiry_timestamp_seconds";
        self.family(name, "gauge", "When the first certificate of a served chain ends, in Unix time.");
        for ((namespace, secret), expiry) in expiries {
            self.line(name, &format!("namespace=\"{namespace}\",secret=\"{secret}\""), expiry);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::options::ProxyOptions;

    #[test]
    fn counters_are_summed_over_the_workers() {
        let shared = Shared::new(ProxyOptions { workers: 2, ..ProxyOptions::default() }, None);
        for metrics in &shared.metrics {
            metrics.connection_opened();
            metrics.request(503, Version::Http11, Reason::NoEndpoint, Duration::from_millis(3));
        }
        let page = render(&shared);
        for line in [
            "portcullis_connections_total 2",
            "portcullis_connections_open 2",
            "portcullis_requests_total{reason=\"no_endpoint\"} 2",
            "portcullis_responses_total{class=\"5xx\"} 2",
            "portcullis_request_duration_seconds_bucket{le=\"0.002\"} 0",
            "portcullis_request_duration_seconds_bucket{le=\"0.005\"} 2",
            "portcullis_request_duration_seconds_count 2",
        ] {
            assert!(page.lines().any(|found| found == line), "{line} is missing in\n{page}");
        }
    }
}
