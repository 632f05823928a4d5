//! CORS: what an answer tells browsers about pages of other origins.

use portcullis_http1::{Fields, Known, RequestHead};
use portcullis_model::{Cors, HeaderName, Listed, Origins};

use super::headers::add;

const ALLOW_ORIGIN: &[u8] = b"access-control-allow-origin";
const ALLOW_CREDENTIALS: &[u8] = b"access-control-allow-credentials";
const ALLOW_METHODS: &[u8] = b"access-control-allow-methods";
const ALLOW_HEADERS: &[u8] = b"access-control-allow-headers";
const EXPOSE_HEADERS: &[u8] = b"access-control-expose-headers";
const MAX_AGE: &[u8] = b"access-control-max-age";
const VARY: &[u8] = b"vary";

/// A CORS filter of which everything is settled that does not depend on the request.
#[derive(Debug)]
pub(crate) struct CompiledCors {
    cors: Cors,
    methods: Told,
    request_headers: Told,
    /// Empty if none is exposed.
    exposed: Box<[u8]>,
    max_age: Box<[u8]>,
}

/// What a preflight request is told of methods or headers.
#[derive(Debug)]
enum Told {
    /// What it asks for.
    Asked,
    /// This; nothing if it is empty.
    List(Box<[u8]>),
}

/// What the CORS filter of a request's rule makes of its answer, whoever gives it.
#[derive(Debug, Default)]
pub(crate) struct CorsAnswer {
    /// There is a filter: it decides, and not the backend.
    decided: bool,
    fields: Fields,
}

impl CompiledCors {
    pub(crate) fn compile(cors: &Cors) -> CompiledCors {
        let exposed = match &cors.exposed_headers {
            // To requests with credentials `*` is a name like any other (Fetch standard), and no field may be it.
            Listed::All if cors.credentials => Box::default(),
            Listed::All => b"*".as_slice().into(),
            Listed::Only(names) => joined(names.iter().map(HeaderName::as_str)),
        };
        CompiledCors {
            methods: Told::of(&cors.methods, |method| method),
            request_headers: Told::of(&cors.request_headers, HeaderName::as_str),
            exposed,
            max_age: cors.max_age.to_string().into_bytes().into(),
            cors: cors.clone(),
        }
    }

    /// Decides what the answer to a request will say.
    pub(crate) fn decide(&self, request: &RequestHead, answer: &mut CorsAnswer) {
        answer.decided = true;
        let fields = &mut answer.fields;
        let any = self.cors.origins == Origins::Any && !self.cors.credentials;
        if !any {
            fields.push(VARY, b"Origin"); // caches must not give one origin what is for another
        }
        let Some(origin) = origin(request).filter(|origin| self.cors.allows(origin)) else { return };
        fields.push(ALLOW_ORIGIN, if any { b"*" } else { origin });
        if self.cors.credentials {
            fields.push(ALLOW_CREDENTIALS, b"true");
        }
        if !self.exposed.is_empty() {
            fields.push(EXPOSE_HEADERS, &self.exposed);
        }
    }

    /// Adds what only the answer to a preflight request says.
    ///
    /// What is asked for is named even where `*` would do, for that does not take in `Authorization` (Fetch standard).
    pub(crate) fn decide_preflight(&self, request: &RequestHead, answer: &mut CorsAnswer) {
        if !origin(request).is_some_and(|origin| self.cors.allows(origin)) {
            return;
        }
        let fields = &request.fields;
        let asked = |name| fields.known_value(name).unwrap_or_default();
        let mut tell = |name, told: &Told, asked: &[u8]| {
            let value = match told {
                Told::Asked => asked,
                Told::List(list) => list,
            };
            if !value.is_empty() {
                answer.fields.push(name, value);
            }
        };
        tell(ALLOW_METHODS, &self.methods, asked(Known::AccessControlRequestMethod));
        tell(ALLOW_HEADERS, &self.request_headers, asked(Known::AccessControlRequestHeaders));
        answer.fields.push(MAX_AGE, &self.max_age);
    }
}

impl Told {
    fn of<T>(list: &Listed<T>, text: impl Fn(&T) -> &str) -> Told {
        match list {
            Listed::All => Told::Asked,
            Listed::Only(list) => Told::List(joined(list.iter().map(text))),
        }
    }
}

fn joined<'a>(names: impl Iterator<Item = &'a str>) -> Box<[u8]> {
    names.collect::<Vec<_>>().join(", ").into_bytes().into()
}

/// The origin that a request names, if it names one.
fn origin(request: &RequestHead) -> Option<&[u8]> {
    let mut origins = request.fields.known_values(Known::Origin);
    origins.next().filter(|_| origins.next().is_none())
}

impl CorsAnswer {
    /// For the next request.
    pub(crate) fn clear(&mut self) {
        self.decided = false;
        self.fields.clear();
    }

    /// Puts what was decided in the place of what a backend says.
    pub(crate) fn apply(&self, response: &mut Fields) {
        if !self.decided {
            return;
        }
        for name in [ALLOW_ORIGIN, ALLOW_CREDENTIALS, EXPOSE_HEADERS] {
            response.remove(name);
        }
        for (name, value, _) in self.fields.iter() {
            add(response, name, value);
        }
    }
}
