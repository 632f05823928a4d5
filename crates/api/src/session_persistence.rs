//! Keeping the requests of a session at one endpoint. Source: GEP-1619.

use std::sync::Arc;

use serde_json::json;

use crate::{
    cel::sessions,
    duration::Duration,
    header::HeaderName,
    schema::{object, open_enum},
};

object! {
    /// How a session is told and how long it lasts.
    #[derive(Eq)]
    pub struct SessionPersistence {
        /// By what it is told.
        pub persistence_type as "type": SessionPersistenceType = json!("Cookie"),
        /// How long it lasts at most.
        pub absolute_timeout as "absoluteTimeout": Option<Duration>,
        /// The cookie.
        pub cookie: Option<SessionCookie>,
        /// The header.
        pub header: Option<SessionHeader>,
    }
    rules sessions::SESSION_PERSISTENCE
}

open_enum! {
    /// By what a session is told.
    pub enum SessionPersistenceType {
        /// By a cookie.
        Cookie = "Cookie",
        /// By a header.
        Header = "Header",
    }
}

object! {
    /// The cookie of a session.
    #[derive(Eq)]
    pub struct SessionCookie {
        /// Its name; absent, the gateway chooses one.
        pub name: Option<HeaderName>,
        /// Its path.
        pub path: Arc<str> [.max_length(1024)] = json!("/"),
        /// How long the browser keeps it.
        pub lifetime_type as "lifetimeType": CookieLifetime = json!("Session"),
    }
}

open_enum! {
    /// How long the browser keeps a cookie.
    pub enum CookieLifetime {
        /// As long as the browser runs.
        Session = "Session",
        /// Until the absolute timeout.
        Permanent = "Permanent",
    }
}

object! {
    /// The header of a session.
    #[derive(Eq)]
    pub struct SessionHeader {
        /// Its name.
        pub name: HeaderName,
    }
}
