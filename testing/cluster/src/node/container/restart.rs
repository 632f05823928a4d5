//! Whether a container is started again.

use k8s_openapi::api::core::v1::PodSpec;

use crate::node::state::Ended;

/// Source: `PodSpec.restartPolicy` field documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restart {
    Always,
    OnFailure,
    Never,
}

impl Restart {
    /// The policy of a pod's containers.
    pub(crate) fn of_pod(spec: &PodSpec) -> Self {
        match spec.restart_policy.as_deref() {
            Some("Never") => Self::Never,
            Some("OnFailure") => Self::OnFailure,
            _ => Self::Always,
        }
    }

    /// The policy of its init containers, which end for good once they succeed.
    pub(crate) fn of_init(spec: &PodSpec) -> Self {
        match Self::of_pod(spec) {
            Self::Always | Self::OnFailure => Self::OnFailure,
            Self::Never => Self::Never,
        }
    }

    pub(crate) fn again(self, ended: &Ended) -> bool {
        match self {
            Self::Always => true,
            Self::OnFailure => !ended.succeeded(),
            Self::Never => false,
        }
    }
}
