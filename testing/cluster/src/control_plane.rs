//! The control plane: upstream's etcd, kube-apiserver, kube-controller-manager and kubectl in one program,
//! and how each is started.

mod arguments;
mod program;

pub use arguments::API_PORT;
pub(crate) use arguments::{ETCD, apiserver, controller_manager, etcd};
pub use program::program;
