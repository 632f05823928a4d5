//! The resources under load and the changes made to them.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use portcullis_e2e::certificates::{Authority, Pair};
use portcullis_e2e::files::replace;
use portcullis_e2e::http::Connection;
use portcullis_e2e::{Backend, Portcullis, ports};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use tempfile::TempDir;

use crate::patience;
use crate::versions::{Aspect, History};

/// The host under load.
pub(crate) const HOST: &str = "load.test";
/// Endpoint version N is the backend N modulo this.
pub(crate) const BACKENDS: usize = 3;

/// A change; all but [`Change::Bystander`] hit what is under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The route's filter.
    Route,
    /// The only endpoint of its Service.
    Endpoint,
    /// The certificate of the listener.
    Certificate,
    /// The listener beside it, on its port, comes or goes; the Gateway under load is rewritten.
    Listener,
    /// A route of another host comes or goes.
    Bystander,
}

impl Change {
    /// The change with this number.
    pub(crate) fn of(number: usize) -> Change {
        use Change::{Bystander, Certificate, Endpoint, Listener, Route};
        [Route, Endpoint, Bystander, Route, Certificate, Endpoint, Listener, Route][number % 8]
    }
}

/// Two tests of load must not run at once.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running proxy and what it serves.
pub(crate) struct World {
    folder: TempDir,
    history: Arc<History>,
    backends: Vec<Backend>,
    authority: Authority,
    certificate: Pair,
    http: u16,
    https: u16,
    beside: bool,
    probe: Option<Connection<TcpStream>>,
    _program: Option<Portcullis>,
}

impl World {
    /// Writes the first versions and starts the proxy.
    pub(crate) fn start(history: Arc<History>) -> World {
        let authority = Authority::default();
        let certificate = authority.issue(&[HOST]);
        let backends = (0..BACKENDS).map(|number| Backend::named(&number.to_string())).collect();
        let folder = tempfile::tempdir().unwrap();
        let (http, https) = (ports::free(), ports::free());
        let mut world = World {
            folder,
            history,
            backends,
            authority,
            certificate,
            http,
            https,
            beside: false,
            probe: None,
            _program: None,
        };
        world.write("gateway.yaml", &world.gateway());
        world.write("certificate.yaml", &world.certificate.secret("certificate"));
        let route = world.history.write(Aspect::Route);
        world.write("route.yaml", &route_at(route));
        let endpoint = world.history.write(Aspect::Endpoint);
        world.write("service.yaml", &world.service(endpoint));
        world._program = Some(Portcullis::run(world.folder.path(), ["--workers", "2"]));
        world.probe = Some(Connection::open(world.http()).unwrap());
        world
    }

    /// Where it listens in clear.
    pub(crate) fn http(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.http))
    }

    /// Where it listens with TLS.
    pub(crate) fn https(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.https))
    }

    /// The authority of its certificates.
    pub(crate) fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Makes a change and returns how long after its file's rename it was served.
    pub(crate) fn make(&mut self, change: Change) -> Duration {
        match change {
            Change::Route => self.change(Aspect::Route, "route.yaml", |_, version| route_at(version)),
            Change::Endpoint => self.change(Aspect::Endpoint, "service.yaml", World::service),
            Change::Certificate => self.change_certificate(),
            Change::Listener => self.change_listener(),
            Change::Bystander => self.change_bystander(),
        }
    }

    fn change(&mut self, aspect: Aspect, file: &str, text: impl Fn(&World, usize) -> String) -> Duration {
        let version = self.history.write(aspect);
        let text = text(self, version);
        self.write(file, &text);
        let renamed = Instant::now();
        self.until(&format!("{aspect:?} {version}"), |answer| match aspect {
            Aspect::Route => answer.header("x-route") == Some(&version.to_string()),
            Aspect::Endpoint => answer.text() == (version % BACKENDS).to_string(),
        });
        self.history.served(aspect);
        renamed.elapsed()
    }

    fn change_certificate(&mut self) -> Duration {
        self.certificate = self.authority.issue(&[HOST]);
        self.write("certificate.yaml", &self.certificate.secret("certificate"));
        let renamed = Instant::now();
        let end = patience();
        while self.presented() != self.certificate.der {
            assert!(Instant::now() < end, "the new certificate is not presented");
        }
        renamed.elapsed()
    }

    fn presented(&self) -> rustls::pki_types::CertificateDer<'static> {
        let name = ServerName::try_from(HOST).unwrap();
        let client = ClientConnection::new(self.authority.client(&[b"http/1.1"]), name).unwrap();
        let mut stream = StreamOwned::new(client, TcpStream::connect(self.https()).unwrap());
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock).unwrap();
        }
        stream.conn.peer_certificates().unwrap()[0].clone()
    }

    fn change_listener(&mut self) -> Duration {
        self.beside = !self.beside;
        self.write("gateway.yaml", &self.gateway());
        let renamed = Instant::now();
        // What is not the host under load falls to the listener without a hostname, whose only route answers 302.
        let expected = if self.beside { 302 } else { 404 };
        self.until_status("beside.test", expected);
        renamed.elapsed()
    }

    fn change_bystander(&mut self) -> Duration {
        let path = self.folder.path().join("bystander.yaml");
        let (expected, renamed) = if path.exists() {
            std::fs::remove_file(&path).unwrap();
            (404, Instant::now())
        } else {
            self.write("bystander.yaml", &redirect("bystander", "bystander.test", "load"));
            (302, Instant::now())
        };
        self.until_status("bystander.test", expected);
        renamed.elapsed()
    }

    fn until(&mut self, what: &str, served: impl Fn(&portcullis_e2e::http::Answer) -> bool) {
        let end = patience();
        let probe = self.probe.as_mut().unwrap();
        while !served(&probe.get(HOST, "/").unwrap()) {
            assert!(Instant::now() < end, "{what} is not served");
            std::thread::sleep(Duration::from_micros(500));
        }
    }

    fn until_status(&mut self, host: &str, status: u16) {
        let end = patience();
        let probe = self.probe.as_mut().unwrap();
        while probe.get(host, "/").unwrap().status != status {
            assert!(Instant::now() < end, "{host} does not answer {status}");
            std::thread::sleep(Duration::from_micros(500));
        }
    }

    /// Writes a file as careful tools do: beside its place, then renamed into it.
    pub(crate) fn write(&self, name: &str, text: &str) {
        replace(&self.folder.path().join(name), text);
    }

    fn gateway(&self) -> String {
        let beside = if self.beside {
            format!("  - {{name: beside, port: {}, protocol: HTTP, hostname: '*.test'}}\n", self.http)
        } else {
            String::new()
        };
        format!(
            "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {{name: load}}\n\
             spec: {{controllerName: portcullis.dev/gateway-controller}}\n---\n\
             apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {{name: load}}\nspec:\n  \
             gatewayClassName: load\n  listeners:\n  \
             - {{name: load, port: {http}, protocol: HTTP, hostname: {HOST}}}\n  \
             - {{name: other, port: {http}, protocol: HTTP, hostname: bystander.test}}\n{beside}  \
             - {{name: https, port: {https}, protocol: HTTPS, hostname: {HOST}, \
             tls: {{certificateRefs: [{{name: certificate}}]}}}}\n---\n{route}",
            http = self.http,
            https = self.https,
            route = redirect("beside", "beside.test", "load"),
        )
    }

    fn service(&self, version: usize) -> String {
        let port = self.backends[version % BACKENDS].address.port();
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: load}}\nspec: {{ports: [{{name: http, port: 80}}]}}\n---\n\
             apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata:\n  name: load-1\n  \
             labels: {{kubernetes.io/service-name: load}}\naddressType: IPv4\n\
             endpoints: [{{addresses: [127.0.0.1], conditions: {{ready: true}}}}]\n\
             ports: [{{name: http, port: {port}}}]\n"
        )
    }
}

fn route_at(version: usize) -> String {
    format!(
        "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: load}}\nspec:\n  \
         parentRefs: [{{name: load}}]\n  hostnames: [{HOST}]\n  rules:\n  - filters:\n    \
         - type: ResponseHeaderModifier\n      responseHeaderModifier: {{set: [{{name: x-route, value: '{version}'}}]}}\n    \
         backendRefs: [{{name: load, port: 80}}]\n"
    )
}

fn redirect(name: &str, host: &str, gateway: &str) -> String {
    format!(
        "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: {name}}}\nspec:\n  \
         parentRefs: [{{name: {gateway}}}]\n  hostnames: [{host}]\n  rules:\n  - filters:\n    \
         - {{type: RequestRedirect, requestRedirect: {{hostname: elsewhere.test}}}}\n"
    )
}
