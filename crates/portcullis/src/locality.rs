//! Where a proxy stands, told by options.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use portcullis_model::Locality;

/// Where the proxy stands: endpoints that are meant for its node or zone are preferred.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct LocalityOptions {
    /// The node that the proxy is on: endpoints that are meant for it are preferred
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) node: Option<String>,
    /// The zone that it is in (in a cluster, unless told: that of the node)
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) zone: Option<String>,
}

impl LocalityOptions {
    pub(crate) fn locality(&self) -> Locality {
        Locality { zone: self.zone.as_deref().map(Into::into), node: self.node.as_deref().map(Into::into) }
    }
}
