//! Filters, compiled when the configuration changes; per request they are only walked.

mod auth;
mod cors;
mod headers;
mod path;
mod query;
mod redirect;

use portcullis_http1::{RequestHead, ResponseHead};
use portcullis_model::{Filter, PathRewrite, RewriteUrl};

pub(crate) use auth::{CompiledAuth, HeaderChange, Judgement};
pub(crate) use cors::{CompiledCors, CorsAnswer};
pub(crate) use headers::HeaderOps;
pub use path::rewritten;
pub use redirect::{CompiledRedirect, RedirectPortTooHigh};

/// The filters of a rule or of a backend.
#[derive(Debug, Default)]
pub(crate) struct Filters {
    request: HeaderOps,
    response: HeaderOps,
    rewrite: Option<RewriteUrl>,
    cors: Option<Box<CompiledCors>>,
}

impl Filters {
    pub(crate) fn compile(filters: &[Filter]) -> Filters {
        let mut compiled = Filters::default();
        for filter in filters {
            match filter {
                Filter::RequestHeaders(modifier) => compiled.request.extend(modifier),
                Filter::ResponseHeaders(modifier) => compiled.response.extend(modifier),
                Filter::Rewrite(rewrite) => compiled.rewrite = Some(rewrite.clone()),
                Filter::Mirror(_) | Filter::Auth(_) => {} // no change of the request by itself
                Filter::Cors(cors) => compiled.cors = Some(Box::new(CompiledCors::compile(cors))),
            }
        }
        compiled
    }

    /// Changes the host and the fields of a request that goes to the backend.
    pub(crate) fn on_request(&self, head: &mut RequestHead) {
        if let Some(hostname) = self.rewrite.as_ref().and_then(|rewrite| rewrite.hostname.as_ref()) {
            // A hostname is a valid authority, so this cannot fail.
            let _ = head.set_authority(hostname.as_str().as_bytes());
        }
        self.request.apply(&mut head.fields);
    }

    /// What becomes of the path.
    pub(crate) fn path(&self) -> Option<&PathRewrite> {
        self.rewrite.as_ref().and_then(|rewrite| rewrite.path.as_ref())
    }

    /// What browsers are told about requests of other origins.
    pub(crate) fn cors(&self) -> Option<&CompiledCors> {
        self.cors.as_deref()
    }

    /// Changes an answer that goes to the client.
    pub(crate) fn on_response(&self, head: &mut ResponseHead) {
        self.response.apply(&mut head.fields);
    }
}
