//! `tls.options` of a listener, and `options` of a policy for backends: TLS versions, suites, curves, signature schemes and ALPN.

mod names;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use portcullis_model::{Alpn, TlsOptions, TlsVersion};

use crate::engine::Capabilities;
use crate::listeners::Protocol;
use names::{Known, Version, version};

/// The prefixes whose options we know; both mean the same.
const PREFIXES: [&str; 2] = ["portcullis.dev/", "microgateway.airlock.com/"];

/// What a listener's options come to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Options {
    pub(crate) options: TlsOptions,
    /// Known values that the engine lacks and that were left out: `key value`.
    pub(crate) dropped: Vec<String>,
    /// Keys of other domains, which mean nothing to us.
    pub(crate) foreign: Vec<Arc<str>>,
}

/// An option that refuses the listener.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {why}")]
pub(crate) struct OptionFault {
    /// The key as written.
    pub(crate) key: Arc<str>,
    /// What is wrong, with the value.
    pub(crate) why: String,
}

/// Reads the options of a listener.
///
/// Keys under `portcullis.dev/` and `microgateway.airlock.com/` are ours, un-prefixed ones are reserved for
/// the Gateway API (`ListenerTLSConfig.options`), others are somebody else's. Every fault is found.
pub(crate) fn parse(
    raw: &BTreeMap<Arc<str>, Arc<str>>,
    protocol: Protocol,
    engine: &Capabilities,
) -> Result<Options, Vec<OptionFault>> {
    read(raw, &names::OPTIONS, protocol, engine)
}

/// Reads the options of a policy for backends, under the same keys; which protocols are offered is up to the routes.
pub(crate) fn parse_for_backends(
    raw: &BTreeMap<Arc<str>, Arc<str>>,
    engine: &Capabilities,
) -> Result<Options, Vec<OptionFault>> {
    read(raw, &names::OPTIONS_FOR_BACKENDS, Protocol::Https, engine)
}

fn read(
    raw: &BTreeMap<Arc<str>, Arc<str>>,
    known: &[&str],
    protocol: Protocol,
    engine: &Capabilities,
) -> Result<Options, Vec<OptionFault>> {
    let mut reading = Reading { engine, faults: Vec::new(), dropped: Vec::new() };
    let mut ours: BTreeMap<&str, (&Arc<str>, &Arc<str>)> = BTreeMap::new();
    let mut foreign = Vec::new();
    for (key, value) in raw {
        match PREFIXES.iter().find_map(|prefix| key.strip_prefix(prefix)) {
            Some(name) if !known.contains(&name) => {
                reading.fault(key, format!("there is no such option (value {value:?})"));
            }
            Some(name) => match ours.insert(name, (key, value)) {
                Some((other, earlier)) if items(earlier) != items(value) => {
                    reading.fault(key, format!("{value:?} contradicts {earlier:?} of {other}"));
                }
                _ => {}
            },
            None if key.contains('/') => foreign.push(Arc::clone(key)),
            None => reading.fault(key, format!("a key without a prefix is reserved (value {value:?})")),
        }
    }
    let options = reading.options(&ours, protocol);
    if reading.faults.is_empty() {
        Ok(Options { options, dropped: reading.dropped, foreign })
    } else {
        Err(reading.faults)
    }
}

fn items(value: &str) -> Vec<&str> {
    value.split(',').map(str::trim).collect()
}

struct Reading<'a> {
    engine: &'a Capabilities,
    faults: Vec<OptionFault>,
    dropped: Vec<String>,
}

type Ours<'a> = BTreeMap<&'a str, (&'a Arc<str>, &'a Arc<str>)>;

impl Reading<'_> {
    fn fault(&mut self, key: &Arc<str>, why: String) {
        self.faults.push(OptionFault { key: Arc::clone(key), why });
    }

    fn options(&mut self, ours: &Ours<'_>, protocol: Protocol) -> TlsOptions {
        let defaults = TlsOptions::default();
        let engine = self.engine;
        let (min_version, max_version) = self.versions(ours, protocol);
        let alpn = |value: &Alpn| matches!(value, Alpn::H2 | Alpn::Http11);
        // What a TLS listener's backends speak is not ours to offer.
        let default_alpn = if protocol == Protocol::Tls { Vec::new() } else { defaults.alpn };
        TlsOptions {
            alpn: self.list(ours, names::ALPN, default_alpn, alpn),
            min_version,
            max_version,
            cipher_suites: self.list(ours, names::CIPHERS, defaults.cipher_suites, |suite| {
                engine.cipher_suites.contains(suite)
            }),
            curves: self.list(ours, names::CURVES, defaults.curves, |curve| engine.curves.contains(curve)),
            signature_schemes: self.list(ours, names::SIGNATURES, defaults.signature_schemes, |scheme| {
                engine.signature_schemes.contains(scheme)
            }),
        }
    }

    /// A list of names in order, without what the engine lacks.
    fn list<T: Known>(
        &mut self,
        ours: &Ours<'_>,
        option: &str,
        default: Vec<T>,
        served: impl Fn(&T) -> bool,
    ) -> Vec<T> {
        let Some((key, value)) = ours.get(option).copied() else {
            return default;
        };
        let mut seen = Vec::new();
        let mut values = Vec::new();
        let faults = self.faults.len();
        for item in items(value) {
            if item.is_empty() {
                self.fault(key, format!("an item of {value:?} is empty"));
            } else if seen.contains(&item) {
                self.fault(key, format!("{item:?} is repeated"));
            } else if let Some(parsed) = T::parse(item) {
                values.push(parsed);
            } else if T::lacking(item) {
                self.dropped.push(format!("{key} {item}"));
            } else {
                self.fault(key, format!("{item:?} is unknown"));
            }
            seen.push(item);
        }
        let dropped = &mut self.dropped;
        values.retain(|value| {
            let kept = served(value);
            if !kept {
                dropped.push(format!("{key} {}", value.text()));
            }
            kept
        });
        if values.is_empty() && self.faults.len() == faults {
            self.fault(key, format!("nothing of {value:?} can be served"));
        }
        values
    }

    fn versions(&mut self, ours: &Ours<'_>, protocol: Protocol) -> (TlsVersion, TlsVersion) {
        let max = self.version(ours, names::MAXIMUM);
        let min = self.version(ours, names::MINIMUM);
        let (max_key, min_key) = (ours.get(names::MAXIMUM), ours.get(names::MINIMUM));
        if let (Some(min), Some(max), Some((key, value))) = (min, max, min_key)
            && min > max
        {
            self.fault(key, format!("{value:?} is above the maximum version"));
        }
        if let (Some(max), Some((key, value))) = (max, max_key) {
            if protocol == Protocol::Http3 && max < Version::V1_3 {
                self.fault(key, format!("{value:?} is below TLSv1_3, which HTTP/3 needs"));
            } else if max < Version::V1_2 {
                self.fault(key, format!("{value:?} is below TLSv1_2, the lowest version served"));
            }
        }
        if let (Some(min), Some((key, value))) = (min, min_key)
            && min < Version::V1_2
        {
            self.dropped.push(format!("{key} {value}"));
        }
        (min.map_or(TlsVersion::V1_2, Version::served), max.map_or(TlsVersion::V1_3, Version::served))
    }

    fn version(&mut self, ours: &Ours<'_>, option: &str) -> Option<Version> {
        let (key, value) = ours.get(option).copied()?;
        let found = version(value.trim());
        if found.is_none() {
            self.fault(key, format!("{value:?} is none of TLSv1_0, TLSv1_1, TLSv1_2, TLSv1_3"));
        }
        found
    }
}
