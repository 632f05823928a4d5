//! A model compiled to what serves it: built off the request path when the configuration changes.

mod build;
mod clusters;
mod prerouting;
pub(crate) mod rule;

use std::sync::Arc;

use hashbrown::HashMap;
use portcullis_model::BindAddress;
use portcullis_routing::{ListenerTable, PortTable};

pub(crate) use build::Builder;
pub(crate) use prerouting::{Prerouting, Preroutings};
pub(crate) use rule::CompiledRule;

use crate::l4::L4Port;
use crate::tls::TlsPort;

/// Everything that the workers serve.
#[derive(Default)]
pub(crate) struct Config {
    pub(crate) ports: HashMap<BindAddress, Arc<ServedPort>, foldhash::fast::RandomState>,
}

/// What is served at one address and port.
pub(crate) struct ServedPort {
    pub(crate) table: Arc<PortTable<CompiledRule>>,
    /// What runs on requests before the table is asked.
    pub(crate) preroutings: Preroutings,
    pub(crate) tls: TlsPort,
    /// What is below HTTP.
    pub(crate) l4: L4Port,
    /// Where it is a port of UDP, HTTP/3 is spoken.
    pub(crate) quic: bool,
    /// Some listener speaks HTTP in clear.
    pub(crate) clear: bool,
}

/// A listener's table with compiled rules.
pub(crate) type Listener = ListenerTable<CompiledRule>;
