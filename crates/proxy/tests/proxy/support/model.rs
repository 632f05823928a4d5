//! Models in a few words.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use portcullis_model::{
    Action, Age, BindAddress, CallMatch, Certificate, Cluster, ClusterKey, Endpoint, EndpointAddress,
    Endpoints, EndpointsKey, Filter, Forward, HostPattern, L4Route, Listener, ListenerFilters, ListenerId,
    ListenerProtocol, Match, Model, Origin, PathMatch, Port, Retry, Route, Rule, RuleId, Target, Timeouts,
    Transport, UpstreamProtocol, UpstreamTls, ValueMatch, WeightedBackend,
};

/// The listeners of one address, and the backends by name.
#[derive(Clone, Default)]
pub(crate) struct Gateway {
    listeners: Vec<Arc<Listener>>,
    backends: BTreeMap<String, Vec<Endpoint>>,
    tls: BTreeMap<String, Arc<UpstreamTls>>,
    /// Beside 127.0.0.1, or instead of it.
    also: Vec<IpAddr>,
    instead: Option<IpAddr>,
}

/// The rules of a route.
#[derive(Clone, Default)]
pub(crate) struct Rules {
    rules: Vec<Rule>,
}

pub(crate) fn origin(kind: &str, name: &str) -> Origin {
    Origin { kind: kind.into(), namespace: "default".into(), name: name.into() }
}

/// The protocol of requests to a backend: those whose name ends in `-h2c` speak that.
pub(crate) fn requests(name: &str) -> UpstreamProtocol {
    if name.ends_with("-h2c") { UpstreamProtocol::Http2 } else { UpstreamProtocol::Http1 }
}

pub(crate) fn cluster_key(name: &str, protocol: UpstreamProtocol) -> ClusterKey {
    let transport = if protocol == UpstreamProtocol::Udp { Transport::Udp } else { Transport::Tcp };
    ClusterKey { endpoints: EndpointsKey { origin: origin("Service", name), port: 80, transport }, protocol }
}

/// A route below HTTP, younger than those before it in the alphabet, to backends with weights.
pub(crate) fn l4_route(
    name: &str,
    hostnames: &[&str],
    protocol: UpstreamProtocol,
    backends: &[(&str, u32)],
) -> Arc<L4Route> {
    Arc::new(L4Route {
        origin: origin("L4Route", name),
        age: Age::UNKNOWN,
        hostnames: hostnames.iter().map(|name| HostPattern::parse(name)).collect(),
        backends: backends.iter().map(|backend| weighted(backend, protocol)).collect(),
    })
}

/// A TCP listener's route to backends with weights.
pub(crate) fn tcp_route(backends: &[(&str, u32)]) -> Arc<L4Route> {
    l4_route("tcp", &[""], UpstreamProtocol::Tcp, backends)
}

fn weighted((name, weight): &(&str, u32), protocol: UpstreamProtocol) -> WeightedBackend {
    WeightedBackend {
        origin: origin("Service", name),
        port: Some(80),
        weight: *weight,
        target: Target::Cluster(cluster_key(name, protocol)),
        filters: Vec::new(),
    }
}

pub(crate) fn prefix(path: &str) -> Match {
    let path = PathMatch::Prefix(path.trim_end_matches('/').into());
    Match { path, method: None, headers: Vec::new(), query: Vec::new() }
}

impl Rules {
    pub(crate) fn new() -> Rules {
        Rules::default()
    }

    pub(crate) fn rule(mut self, path: &str, action: Action) -> Rules {
        self.rules.push(Rule {
            id: RuleId { route: origin("HTTPRoute", "route"), index: self.rules.len(), name: None },
            matches: vec![prefix(path)],
            filters: Vec::new(),
            action,
            timeouts: Timeouts::default(),
            retry: None,
        });
        self
    }

    /// A rule for gRPC calls; empty names are any.
    pub(crate) fn call(mut self, service: &str, method: &str, action: Action) -> Rules {
        let name = |name: &str| (!name.is_empty()).then(|| ValueMatch::Exact(name.into()));
        let path = PathMatch::Call(CallMatch { service: name(service), method: name(method) });
        self = self.rule("/", action);
        self.rules.last_mut().unwrap().matches =
            vec![Match { path, method: None, headers: Vec::new(), query: Vec::new() }];
        self
    }

    /// A rule that sends everything below a path to a backend.
    pub(crate) fn to(self, path: &str, backend: &str) -> Rules {
        self.rule(path, forward(&[(backend, 1)]))
    }

    /// Matches of the last rule.
    pub(crate) fn matching(mut self, matches: Vec<Match>) -> Rules {
        self.rules.last_mut().unwrap().matches = matches;
        self
    }

    /// Filters of the last rule.
    pub(crate) fn filters(mut self, filters: Vec<Filter>) -> Rules {
        self.rules.last_mut().unwrap().filters = filters;
        self
    }

    /// Timeouts of the last rule.
    pub(crate) fn timeouts(mut self, request: Option<u64>, backend: Option<u64>) -> Rules {
        self.rules.last_mut().unwrap().timeouts = Timeouts {
            request: request.map(Duration::from_millis),
            backend_request: backend.map(Duration::from_millis),
        };
        self
    }

    /// What is tried again of the last rule.
    pub(crate) fn retry(mut self, retry: Retry) -> Rules {
        self.rules.last_mut().unwrap().retry = Some(retry);
        self
    }

    fn route(self) -> Arc<Route> {
        Arc::new(Route {
            origin: origin("HTTPRoute", "route"),
            age: Age::UNKNOWN,
            hostnames: vec![HostPattern::Any],
            rules: self.rules.into_iter().map(Arc::new).collect(),
        })
    }
}

pub(crate) fn forward(backends: &[(&str, u32)]) -> Action {
    let backend = |backend: &(&str, u32)| weighted(backend, requests(backend.0));
    Action::Forward(Forward { backends: backends.iter().map(backend).collect() })
}

impl Gateway {
    pub(crate) fn new() -> Gateway {
        Gateway::default()
    }

    /// One HTTP listener for every host, whose one rule sends everything to these endpoints.
    pub(crate) fn to(address: SocketAddr) -> Gateway {
        Gateway::new().http("", Rules::new().to("/", "web")).backend("web", &[address])
    }

    pub(crate) fn http(self, hostname: &str, rules: Rules) -> Gateway {
        self.listener(hostname, ListenerProtocol::Http, rules)
    }

    /// An HTTP listener with an HTTPRoute and a GRPCRoute.
    pub(crate) fn grpc(self, hostname: &str, http: Rules, grpc: Rules) -> Gateway {
        let mut gateway = self.http(hostname, http);
        let listener = gateway.listeners.pop().unwrap();
        let grpc_routes = vec![grpc.route()];
        gateway.listeners.push(Arc::new(Listener { grpc_routes, ..Arc::unwrap_or_clone(listener) }));
        gateway
    }

    pub(crate) fn listener(mut self, hostname: &str, protocol: ListenerProtocol, rules: Rules) -> Gateway {
        let name = format!("listener-{}", self.listeners.len());
        let gateway = origin("Gateway", "gateway");
        self.listeners.push(Arc::new(Listener {
            id: ListenerId { gateway: gateway.clone(), owner: gateway, name: name.into() },
            port: 80,
            hostname: HostPattern::parse(hostname),
            protocol,
            filters: ListenerFilters::default(),
            client_certificate: None,
            routes: vec![rules.route()],
            grpc_routes: Vec::new(),
        }));
        self
    }

    /// A listener below HTTP.
    pub(crate) fn below(self, hostname: &str, protocol: ListenerProtocol) -> Gateway {
        let mut gateway = self.listener(hostname, protocol, Rules::new());
        Arc::make_mut(gateway.listeners.last_mut().unwrap()).routes.clear();
        gateway
    }

    pub(crate) fn backend(self, name: &str, addresses: &[SocketAddr]) -> Gateway {
        self.endpoints(name, addresses.iter().map(|address| EndpointAddress::Socket(*address)).collect())
    }

    pub(crate) fn endpoints(self, name: &str, addresses: Vec<EndpointAddress>) -> Gateway {
        self.instances(name, addresses.into_iter().map(Endpoint::ready).collect())
    }

    pub(crate) fn instances(mut self, name: &str, mut endpoints: Vec<Endpoint>) -> Gateway {
        endpoints.sort();
        self.backends.insert(name.to_owned(), endpoints);
        self
    }

    /// How TLS is spoken to a backend.
    pub(crate) fn tls(mut self, backend: &str, tls: UpstreamTls) -> Gateway {
        self.tls.insert(backend.to_owned(), Arc::new(tls));
        self
    }

    /// What runs on every request of the last listener.
    pub(crate) fn filtered(mut self, filters: ListenerFilters) -> Gateway {
        Arc::make_mut(self.listeners.last_mut().unwrap()).filters = filters;
        self
    }

    /// What the last listener shows to backends.
    pub(crate) fn client_certificate(mut self, certificate: Arc<Certificate>) -> Gateway {
        let last = Arc::make_mut(self.listeners.last_mut().unwrap());
        last.client_certificate = Some(certificate);
        self
    }

    /// Binds another loopback address than 127.0.0.1.
    pub(crate) fn at(mut self, ip: [u8; 4]) -> Gateway {
        self.instead = Some(Ipv4Addr::from(ip).into());
        self
    }

    /// Binds every address of a family.
    pub(crate) fn at_any(mut self, ip: IpAddr) -> Gateway {
        self.instead = Some(ip);
        self
    }

    /// Binds another loopback address too.
    pub(crate) fn also_at(mut self, ip: [u8; 4]) -> Gateway {
        self.also.push(Ipv4Addr::from(ip).into());
        self
    }

    pub(crate) fn model(&self) -> Arc<Model> {
        let mut model = Model::default();
        let first = self.instead.unwrap_or(Ipv4Addr::LOCALHOST.into());
        for transport in [Transport::Tcp, Transport::Udp] {
            let all = Port { listeners: self.listeners.clone() };
            let carried = |one: &Arc<Listener>| one.protocol.transports().contains(&transport);
            if !all.listeners.iter().any(carried) {
                continue;
            }
            let port = if all.speaks_quic() {
                Arc::new(all)
            } else {
                Arc::new(Port { listeners: all.listeners.into_iter().filter(carried).collect() })
            };
            for ip in self.also.iter().copied().chain([first]) {
                model.ports.insert(BindAddress { ip, port: 0, transport }, Arc::clone(&port));
            }
        }
        for (name, all) in &self.backends {
            use UpstreamProtocol::{Tcp, Tls, Udp};
            for protocol in [requests(name), Tcp, Tls, Udp] {
                let key = cluster_key(name, protocol);
                let guarded = !matches!(protocol, Tls | Udp);
                let tls = self.tls.get(name).filter(|_| guarded).cloned();
                let endpoints = Endpoints { key: key.endpoints.clone(), endpoints: all.clone() };
                Arc::make_mut(&mut model.endpoints).insert(key.endpoints.clone(), Arc::new(endpoints));
                Arc::make_mut(&mut model.clusters).insert(key.clone(), Arc::new(Cluster { key, tls }));
            }
        }
        Arc::new(model)
    }
}
