//! The filter RequestMirror.

use portcullis_api::ObjectKey;
use portcullis_api::http_filter::RequestMirror;
use portcullis_api::port::PortNumber;
use portcullis_model::{Mirror, MirrorShare};

use crate::backends::{self, Refusal};
use crate::view::View;

/// The mirror, or why its backend gets no copies.
///
/// Source: HTTPRequestMirrorFilter.
pub(crate) fn mirror(view: &View<'_>, route: &ObjectKey, source: &RequestMirror) -> Result<Mirror, Refusal> {
    let (origin, cluster) = backends::resolve(view, route, &(&source.backend_ref).into());
    let share = match (source.percent, &source.fraction) {
        (Some(percent), _) => MirrorShare { numerator: percent, denominator: 100 },
        (None, Some(fraction)) => {
            MirrorShare { numerator: fraction.numerator, denominator: fraction.denominator.max(1) }
        }
        (None, None) => MirrorShare::ALL,
    };
    Ok(Mirror { origin, port: source.backend_ref.port.map(PortNumber::get), cluster: cluster?, share })
}
