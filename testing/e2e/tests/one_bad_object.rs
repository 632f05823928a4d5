//! One bad object among 1,000 good ones harms itself alone, and never delays a good change made beside it.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use portcullis_e2e::certificates::{Authority, Pair};
use portcullis_e2e::http::{self, Answer, Connection};
use portcullis_e2e::{Backend, Portcullis, ports};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use tempfile::TempDir;

const GOOD: usize = 1_000;
/// A good change has to be served this soon after its file's rename.
const SOON: Duration = Duration::from_millis(50);

struct World {
    folder: TempDir,
    authority: Authority,
    backend: Backend,
    http: u16,
    https: u16,
    extra: u16,
    version: usize,
    _program: Option<Portcullis>,
}

#[test]
fn a_bad_object_harms_itself_alone() {
    let mut world = World::start();
    type Harm = fn(&mut World);
    let bad: [(&str, Harm); 7] = [
        ("a Secret whose key belongs to another certificate", World::secret_with_a_foreign_key),
        ("a regular expression that does not compile", World::broken_regex),
        ("a filter of an unknown kind", World::unknown_filter),
        ("a filter type that an API server refuses", World::refused_filter),
        ("a Service that does not exist", World::missing_service),
        ("a ListenerSet that its Gateway does not welcome", World::refused_listener_set),
        ("a file that is no YAML", World::broken_yaml),
    ];
    for (what, make) in bad {
        make(&mut world);
        let delay = world.good_change();
        println!("{what}: the good change beside it was served after {delay:?}");
        assert!(delay <= SOON, "beside {what} a good change took {delay:?}");
        world.check_bystanders(what);
    }
    world.check_the_bad_ones();
    world.restart();
    world.check_bystanders("all that is bad, after a restart");
    world.check_the_bad_ones();
}

impl World {
    fn start() -> World {
        let (http, https, extra) = (ports::free(), ports::free(), ports::free());
        let mut world = World {
            folder: tempfile::tempdir().unwrap(),
            authority: Authority::default(),
            backend: Backend::named("good"),
            http,
            https,
            extra,
            version: 0,
            _program: None,
        };
        world.write("gateway.yaml", &world.gateway());
        for (secret, host) in [("victim", "victim.test"), ("sibling", "sibling.test")] {
            let pair = world.authority.issue(&[host]);
            world.write(&format!("secret-{secret}.yaml"), &pair.secret(secret));
        }
        for first in (0..GOOD).step_by(100) {
            let text: String = (first..first + 100).map(good_route).collect();
            world.write(&format!("good-{first}.yaml"), &text);
        }
        world.write("changing.yaml", &changing(0));
        world.write("refused-filter.yaml", &route("refused", "", "8080"));
        world._program = Some(Portcullis::run(world.folder.path(), [""; 0]));
        world.check_bystanders("nothing bad");
        world
    }

    /// Starts the program again, with everything bad that it starts with; without what was good once.
    fn restart(&mut self) {
        std::fs::remove_file(self.folder.path().join("broken.yaml")).unwrap();
        self.write("refused-filter.yaml", &route("refused", "", "8080"));
        self._program = None; // its ports are free before the next one takes them
        self._program = Some(Portcullis::run(self.folder.path(), [""; 0]));
    }

    fn secret_with_a_foreign_key(&mut self) {
        let (one, other) = (self.authority.issue(&["victim.test"]), self.authority.issue(&["victim.test"]));
        let mixed = Pair { certificate: one.certificate, key: other.key, der: one.der };
        self.write("secret-victim.yaml", &mixed.secret("victim"));
    }

    /// The rule with the expression fails what its other match takes; the rule beside it serves.
    fn broken_regex(&mut self) {
        let matches = "    matches: [{path: {type: RegularExpression, value: '/(unclosed'}}, {path: {value: /regex}}]\n";
        let mut text = route("regex", matches, "8080");
        text.push_str("  - name: beside\n    matches: [{path: {value: /beside}}]\n    backendRefs: [{name: good, port: 8080}]\n");
        self.write("regex.yaml", &text);
    }

    fn unknown_filter(&mut self) {
        let filters =
            "    filters: [{type: ExtensionRef, extensionRef: {group: example.com, kind: Magic, name: x}}]\n";
        self.write("filter.yaml", &route("filter", filters, "8080"));
    }

    /// The last version that was accepted stays.
    fn refused_filter(&mut self) {
        self.write("refused-filter.yaml", &route("refused", "    filters: [{type: Magic}]\n", "8080"));
    }

    fn missing_service(&mut self) {
        let text = route("missing", "", "8080").replace("name: good,", "name: absent,");
        self.write("missing.yaml", &text);
    }

    fn refused_listener_set(&mut self) {
        let text = format!(
            "apiVersion: gateway.networking.k8s.io/v1\nkind: ListenerSet\nmetadata: {{name: refused}}\nspec:\n  \
             parentRef: {{name: gateway}}\n  listeners: [{{name: extra, port: {}, protocol: HTTP}}]\n",
            self.extra
        );
        self.write("listener-set.yaml", &text);
    }

    fn broken_yaml(&mut self) {
        self.write("broken.yaml", "kind: [unclosed\n");
    }

    /// Changes a good object and waits until the change is served.
    fn good_change(&mut self) -> Duration {
        self.version += 1;
        let expected = format!("http://elsewhere.test/{}", self.version);
        self.write("changing.yaml", &changing(self.version));
        let renamed = Instant::now();
        let mut connection = Connection::open(self.http()).unwrap();
        while connection.get("changing.test", "/").unwrap().header("location") != Some(&expected) {
            assert!(renamed.elapsed() < Duration::from_secs(10), "a good change is not served");
        }
        renamed.elapsed()
    }

    fn check_bystanders(&self, what: &str) {
        let mut connection = Connection::open(self.http()).unwrap();
        for number in (0..GOOD).step_by(7) {
            let answer = connection.get(&format!("good-{number}.test"), "/").unwrap();
            assert_eq!((answer.status, answer.text().as_str()), (200, "good"), "good-{number} beside {what}");
        }
        let sibling = self.over_tls("sibling.test").expect("the sibling listener serves");
        assert_eq!(sibling.status, 404, "no route is attached for sibling.test, yet its handshake succeeds");
    }

    fn check_the_bad_ones(&self) {
        assert!(
            self.over_tls("victim.test").is_err(),
            "a listener without a usable certificate serves nobody"
        );
        let expected = [
            ("regex", "/regex", 500),
            ("regex", "/beside", 200),
            ("filter", "/", 500),
            ("missing", "/", 500),
            ("refused", "/", 200),
        ];
        for (host, path, status) in expected {
            let answer = http::get(self.http(), &format!("{host}.test"), path).unwrap();
            assert_eq!(answer.status, status, "{host}{path}");
        }
        let refused = TcpStream::connect((Ipv4Addr::LOCALHOST, self.extra));
        assert!(refused.is_err(), "the port of a refused ListenerSet is not bound");
    }

    fn over_tls(&self, host: &'static str) -> std::io::Result<Answer> {
        let name = ServerName::try_from(host).unwrap();
        let client = ClientConnection::new(self.authority.client(&[b"http/1.1"]), name).unwrap();
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.https))?;
        Connection::over(StreamOwned::new(client, stream)).get(host, "/")
    }

    fn http(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.http))
    }

    fn write(&self, name: &str, text: &str) {
        let beside = self.folder.path().join(format!(".{name}.new"));
        std::fs::write(&beside, text).unwrap();
        std::fs::rename(beside, self.folder.path().join(name)).unwrap();
    }

    fn gateway(&self) -> String {
        let mut text = format!(
            "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {{name: class}}\n\
             spec: {{controllerName: portcullis.dev/gateway-controller}}\n---\n\
             apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {{name: gateway}}\nspec:\n  \
             gatewayClassName: class\n  listeners:\n  - {{name: http, port: {}, protocol: HTTP}}\n",
            self.http
        );
        for name in ["victim", "sibling"] {
            let _ = writeln!(
                text,
                "  - {{name: {name}, port: {}, protocol: HTTPS, hostname: {name}.test, \
                 tls: {{certificateRefs: [{{name: {name}}}]}}}}",
                self.https
            );
        }
        let _ = write!(
            text,
            "---\napiVersion: v1\nkind: Service\nmetadata: {{name: good}}\nspec: {{ports: [{{name: http, port: 8080}}]}}\n\
             ---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata:\n  name: good-1\n  \
             labels: {{kubernetes.io/service-name: good}}\naddressType: IPv4\n\
             endpoints: [{{addresses: [127.0.0.1]}}]\nports: [{{name: http, port: {}}}]\n",
            self.backend.address.port()
        );
        text
    }
}

fn good_route(number: usize) -> String {
    route(&format!("good-{number}"), "", "8080")
}

fn route(name: &str, rule: &str, port: &str) -> String {
    format!(
        "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: {name}}}\nspec:\n  \
         parentRefs: [{{name: gateway, sectionName: http}}]\n  hostnames: [{name}.test]\n  rules:\n  - name: only\n\
         {rule}    backendRefs: [{{name: good, port: {port}}}]\n"
    )
}

fn changing(version: usize) -> String {
    format!(
        "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: changing}}\nspec:\n  \
         parentRefs: [{{name: gateway, sectionName: http}}]\n  hostnames: [changing.test]\n  rules:\n  - filters:\n    \
         - type: RequestRedirect\n      requestRedirect:\n        hostname: elsewhere.test\n        port: 80\n        \
         path: {{type: ReplaceFullPath, replaceFullPath: /{version}}}\n"
    )
}
