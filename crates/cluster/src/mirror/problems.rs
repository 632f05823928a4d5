//! What keeps us from reading the cluster.

use super::Mirror;
use crate::batch::{Problem, Subject};

impl Mirror {
    /// Notes, and tells if it is new, what is wrong with a subject, or that nothing is.
    pub(super) fn set_problem(&mut self, subject: Subject, message: Option<String>) {
        let before = match &message {
            Some(message) => self.problems.insert(subject.clone(), message.clone()),
            None => self.problems.remove(&subject),
        };
        if before == message {
            return;
        }
        self.batch.problems.push(Problem { subject, message });
    }
}
