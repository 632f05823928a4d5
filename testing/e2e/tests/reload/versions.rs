//! Which versions of an object were valid when.

use std::sync::Mutex;
use std::time::Instant;

/// What changes under load and shows in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aspect {
    /// The route's response header.
    Route,
    /// The endpoint that answers.
    Endpoint,
}

#[derive(Default)]
struct Version {
    /// Just before the file that brings it was renamed into place.
    written: Option<Instant>,
    /// When its successor was first seen served.
    superseded: Option<Instant>,
}

/// The versions of both aspects, numbered from 0.
#[derive(Default)]
pub(crate) struct History {
    route: Mutex<Vec<Version>>,
    endpoint: Mutex<Vec<Version>>,
}

impl History {
    fn of(&self, aspect: Aspect) -> &Mutex<Vec<Version>> {
        match aspect {
            Aspect::Route => &self.route,
            Aspect::Endpoint => &self.endpoint,
        }
    }

    /// A new version is about to be written; returns its number.
    pub(crate) fn write(&self, aspect: Aspect) -> usize {
        let mut versions = self.of(aspect).lock().unwrap();
        versions.push(Version { written: Some(Instant::now()), superseded: None });
        versions.len() - 1
    }

    /// The newest version was seen served: its predecessor must not be seen any more.
    pub(crate) fn served(&self, aspect: Aspect) {
        let mut versions = self.of(aspect).lock().unwrap();
        if let Some(before) = versions.len().checked_sub(2) {
            versions[before].superseded = Some(Instant::now());
        }
    }

    /// Why an answer is wrong for a request of this time, if it is: no version that fits it was valid then.
    pub(crate) fn fault(
        &self,
        aspect: Aspect,
        fits: impl Fn(usize) -> bool,
        asked: Instant,
        answered: Instant,
    ) -> Option<String> {
        let versions = self.of(aspect).lock().unwrap();
        let fitting = versions.iter().enumerate().filter(|(number, _)| fits(*number));
        let Some((number, newest)) = fitting.last() else {
            return Some(format!("{aspect:?}: a version that was never written"));
        };
        let valid = |version: &Version| {
            version.written.is_none_or(|written| written <= answered)
                && version.superseded.is_none_or(|superseded| superseded >= asked)
        };
        if versions.iter().enumerate().any(|(number, version)| fits(number) && valid(version)) {
            return None;
        }
        let late = newest.superseded.map(|superseded| asked.saturating_duration_since(superseded));
        Some(format!(
            "{aspect:?} {number} came {late:?} after its successor was served, or before it was written"
        ))
    }
}
