//! What containers print, kept in memory for `kubectl logs`.

mod query;
mod ring;

use std::{collections::BTreeMap, sync::Arc};

use tokio::sync::watch;

pub(crate) use query::Query;
pub(crate) use ring::{Line, Ring};

/// The output of one run of a container; watching it tells of new lines and of the end.
pub(crate) type Output = watch::Sender<Ring>;

/// Whose output.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Owner {
    pub(crate) namespace: String,
    pub(crate) pod: String,
    pub(crate) container: String,
}

/// The last two runs of a container.
#[derive(Debug, Default)]
struct Runs {
    current: Option<Arc<Output>>,
    previous: Option<Arc<Output>>,
}

/// The output of every container of the node.
#[derive(Debug, Default)]
pub(crate) struct Logs(watch::Sender<BTreeMap<Owner, Runs>>);

impl Logs {
    /// A place for the output of a container's new run.
    pub(crate) fn open(&self, owner: &Owner) -> Arc<Output> {
        let output = Arc::new(Output::default());
        self.0.send_modify(|all| {
            let runs = all.entry(owner.clone()).or_default();
            runs.previous = runs.current.replace(Arc::clone(&output));
        });
        output
    }

    /// The output of a container's last run, or of the one before.
    pub(crate) fn find(&self, owner: &Owner, previous: bool) -> Option<Arc<Output>> {
        let all = self.0.borrow();
        let runs = all.get(owner)?;
        if previous { runs.previous.clone() } else { runs.current.clone() }
    }

    /// Forgets a pod's output.
    pub(crate) fn forget(&self, namespace: &str, pod: &str) {
        self.0.send_modify(|all| all.retain(|owner, _| owner.namespace != namespace || owner.pod != pod));
    }
}
