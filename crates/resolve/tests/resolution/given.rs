//! Objects as cases write them, filled in to what an API server would hold.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, OnceLock};

use portcullis_api::{Kind, Object, ObjectKey, admit};
use portcullis_store::{
    AncestorEntry, BindFailure, BindOutcome, BindPoint, Change, PublishedAddress, Report, Transport,
};
use serde_json::{Map, Value, json};

/// The class of every Gateway that names none, and the address of every Gateway that asks for none.
pub(crate) fn defaults() -> Vec<Change> {
    let class = json!({"GatewayClass": "portcullis"});
    let mut changes: Vec<Change> = objects(&class).unwrap().into_iter().map(Change::Put).collect();
    changes.push(Change::Report(Report::DefaultAddresses(["10.0.0.1".parse().unwrap()].into())));
    changes
}

/// What a step's objects, removals and reports change.
pub(crate) fn changes(given: &Value, reports: &Value, remove: &[String]) -> Result<Vec<Change>, String> {
    let mut changes = Vec::new();
    for key in remove {
        changes.push(Change::Remove(key_of(key)?));
    }
    for entry in given.as_array().into_iter().flatten() {
        changes.extend(objects(entry)?.into_iter().map(Change::Put));
    }
    for (point, outcome) in reports.as_object().into_iter().flatten() {
        changes.push(Change::Report(report(point, outcome)?));
    }
    Ok(changes)
}

/// `Kind/name` is in the namespace `default`, `Kind/namespace/name` in another; `Secret/…` and the like.
pub(crate) fn key_of(text: &str) -> Result<ObjectKey, String> {
    let (kind, name) = text.split_once('/').ok_or_else(|| format!("{text} is no Kind/name"))?;
    let kind = kind_of(kind)?;
    let (namespace, name) = name.split_once('/').unwrap_or(("default", name));
    Ok(ObjectKey::new(kind, namespace, name))
}

fn kind_of(name: &str) -> Result<Kind, String> {
    Kind::ALL.iter().copied().find(|kind| kind.as_str() == name).ok_or_else(|| format!("{name} is no kind"))
}

/// `addresses: [IP…]`, `unserved: [kind…]`, `bundle versions: {kind: version or null…}`, `published: [IP or name…]`, `GATEWAY allotted: [IP…]`, `GATEWAY taken: [IP…]`, `GATEWAY services: [IP…]`, `POLICY ancestors: [entry of the status…]`, or `IP:port: bound|pending|in use|not permitted|not local`.
fn report(point: &str, outcome: &Value) -> Result<Report, String> {
    let texts: Vec<&str> = outcome.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let ips = || {
        let addresses: Result<Arc<[IpAddr]>, _> = texts.iter().map(|text| text.parse()).collect();
        addresses.map_err(|_| format!("{point}: addresses are wrong"))
    };
    match point.split_once(' ') {
        None if point == "addresses" => return Ok(Report::DefaultAddresses(ips()?)),
        None if point == "unserved" => {
            let kinds: Result<Arc<[Kind]>, String> = texts.iter().map(|text| kind_of(text)).collect();
            return Ok(Report::Unserved(kinds?));
        }
        None if point == "published" => {
            let address = |text: &&str| match text.parse() {
                Ok(ip) => PublishedAddress::Ip(ip),
                Err(_) => PublishedAddress::Hostname((*text).into()),
            };
            return Ok(Report::Published(texts.iter().map(address).collect()));
        }
        Some(("bundle", "versions")) => {
            let version =
                |(kind, version): (&String, &Value)| Ok((kind_of(kind)?, version.as_str().map(Arc::from)));
            let versions: Result<_, String> =
                outcome.as_object().into_iter().flatten().map(version).collect();
            return Ok(Report::BundleVersions(Arc::new(versions?)));
        }
        Some((policy, "ancestors")) => {
            let policy = key_of(&format!("BackendTLSPolicy/{policy}"))?;
            let entries = AncestorEntry::read(&json!({"ancestors": outcome}), &policy.namespace);
            return Ok(Report::Ancestors(policy, entries));
        }
        Some((gateway, "allotted")) => {
            return Ok(Report::Allotted(key_of(&format!("Gateway/{gateway}"))?, ips()?));
        }
        Some((gateway, "services")) => {
            return Ok(Report::InCluster(key_of(&format!("Gateway/{gateway}"))?, ips()?));
        }
        Some((gateway, "taken")) => return Ok(Report::Taken(key_of(&format!("Gateway/{gateway}"))?, ips()?)),
        _ => {}
    }
    let (point, transport) = match point.strip_suffix("/udp") {
        Some(point) => (point, Transport::Udp),
        None => (point, Transport::Tcp),
    };
    let address = point.parse().map_err(|_| format!("{point} is no address and port"))?;
    let text = outcome.as_str().unwrap_or_default();
    let failure = match text {
        "bound" => None,
        "in use" => Some(BindFailure::InUse),
        "not permitted" => Some(BindFailure::NotPermitted),
        "not local" => Some(BindFailure::NotLocal),
        _ => return Err(format!("{text} is no outcome of a bind")),
    };
    let message: Arc<str> = format!("{point} {text}").into();
    let outcome = failure.map_or(BindOutcome::Bound, |failure| BindOutcome::Failed { failure, message });
    Ok(Report::Bind(BindPoint { transport, address }, outcome))
}

/// The object of an entry such as `{Gateway: other/gw, created: 2026-01-01, listeners: […]}`: the first key is
/// the kind, `created`, `labels` and `generation` are metadata, `apiVersion` is another than the first version, and the
/// rest is the spec.
pub(crate) fn objects(entry: &Value) -> Result<Vec<Object>, String> {
    let fields = entry.as_object().ok_or("an object is no mapping")?;
    let named = fields.iter().find(|(key, _)| kind_of(key).is_ok());
    let (kind, name) = named.ok_or_else(|| format!("no kind is named in {entry}"))?;
    let key = key_of(&format!("{kind}/{}", name.as_str().unwrap_or_default()))?;
    let mut spec = fields.clone();
    spec.remove(kind);
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), json!(*key.name));
    if key.kind.is_namespaced() {
        metadata.insert("namespace".to_owned(), json!(*key.namespace));
    }
    for (short, long) in
        [("created", "creationTimestamp"), ("labels", "labels"), ("generation", "generation")]
    {
        if let Some(value) = spec.remove(short) {
            let date = value.as_str().filter(|text| short == "created" && text.len() == 10);
            let value = date.map_or(value.clone(), |date| json!(format!("{date}T00:00:00Z")));
            metadata.insert(long.to_owned(), value);
        }
    }
    let mut extra = Vec::new();
    let version = spec.remove("apiVersion").unwrap_or_else(|| json!(key.kind.api_version()));
    let mut object = json!({"apiVersion": version, "kind": key.kind.as_str(), "metadata": metadata});
    fill(&key, &mut spec, &mut object, &mut extra)?;
    let mut objects = vec![admitted(object)?];
    for object in extra {
        objects.push(admitted(object)?);
    }
    Ok(objects)
}

fn fill(
    key: &ObjectKey,
    spec: &mut Map<String, Value>,
    object: &mut Value,
    extra: &mut Vec<Value>,
) -> Result<(), String> {
    match key.kind {
        Kind::GatewayClass => {
            spec.entry("controllerName").or_insert(json!("portcullis.dev/gateway-controller"));
        }
        Kind::Gateway => {
            spec.entry("gatewayClassName").or_insert(json!("portcullis"));
        }
        Kind::Service => {
            if let Some(endpoints) = spec.remove("endpoints") {
                extra.push(slice(key, &endpoints));
            }
            let ports = spec.get("ports").and_then(Value::as_array).cloned().unwrap_or_default();
            let named = ports.len() > 1;
            let port = |port: Value| match port {
                Value::Number(port) if named => json!({"name": format!("p{port}"), "port": port}),
                Value::Number(port) => json!({"port": port}),
                port => port,
            };
            spec.insert("ports".to_owned(), ports.into_iter().map(port).collect());
        }
        Kind::Secret => {
            if let Some(names) = spec.remove("certificate") {
                let until = spec.remove("until").and_then(|date| Some(date.as_str()?.to_owned()));
                let (chain, mut secret) = certificate(&names.to_string(), until.as_deref());
                if let Some(names) = spec.remove("keyOf") {
                    secret = certificate(&names.to_string(), None).1;
                }
                object["type"] = json!("kubernetes.io/tls");
                object["stringData"] = json!({"tls.crt": chain, "tls.key": secret});
            }
            merge(object, std::mem::take(spec));
        }
        Kind::ConfigMap => {
            if let Some(names) = spec.remove("authority") {
                spec.insert("data".to_owned(), json!({"ca.crt": certificate(&names.to_string(), None).0}));
            }
            merge(object, std::mem::take(spec));
        }
        Kind::ClusterTrustBundle => {
            if let Some(names) = spec.remove("authority") {
                spec.insert("trustBundle".to_owned(), json!(certificate(&names.to_string(), None).0));
            }
        }
        Kind::EndpointSlice | Kind::Namespace => merge(object, std::mem::take(spec)),
        _ => {}
    }
    if !spec.is_empty() {
        object["spec"] = Value::Object(std::mem::take(spec));
    }
    Ok(())
}

fn merge(object: &mut Value, fields: Map<String, Value>) {
    for (key, value) in fields {
        object[key] = value;
    }
}

/// An EndpointSlice for `endpoints: ["10.0.0.2:8080", …]` of a Service with one port.
fn slice(service: &ObjectKey, endpoints: &Value) -> Value {
    let texts: Vec<&str> = endpoints.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let split =
        |text: &&str| text.rsplit_once(':').map(|(ip, port)| (ip.to_owned(), port.parse::<u16>().unwrap()));
    let pairs: Vec<(String, u16)> = texts.iter().filter_map(split).collect();
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {
            "name": format!("{}-1", service.name), "namespace": *service.namespace,
            "labels": {"kubernetes.io/service-name": *service.name},
        },
        "ports": [{"port": pairs.first().map_or(0, |(_, port)| *port), "protocol": "TCP", "name": ""}],
        "endpoints": pairs.iter().map(|(ip, _)| json!({"addresses": [ip]})).collect::<Vec<_>>(),
    })
}

/// A self-signed certificate and its key, the same for the same names; `until` a date it is valid.
fn certificate(names: &str, until: Option<&str>) -> (String, String) {
    static MADE: OnceLock<Mutex<BTreeMap<String, (String, String)>>> = OnceLock::new();
    let mut made = MADE.get_or_init(Mutex::default).lock().unwrap();
    let make = || {
        let list: Vec<String> = serde_json::from_str(names).unwrap();
        let mut parameters = rcgen::CertificateParams::new(list).unwrap();
        if let Some(until) = until {
            let mut parts = until.split('-').map(|part| part.parse::<u16>().unwrap());
            let mut part = || parts.next().unwrap();
            let (year, month, day) = (part(), part(), part());
            let (month, day) = (u8::try_from(month).unwrap(), u8::try_from(day).unwrap());
            parameters.not_after = rcgen::date_time_ymd(i32::from(year), month, day);
        }
        let key = rcgen::KeyPair::generate().unwrap();
        (parameters.self_signed(&key).unwrap().pem(), key.serialize_pem())
    };
    made.entry(format!("{names} {until:?}")).or_insert_with(make).clone()
}

fn admitted(object: Value) -> Result<Object, String> {
    let text = object.to_string();
    let admitted = admit(object);
    let why: Vec<String> = admitted.diagnostics.iter().map(ToString::to_string).collect();
    admitted.object.ok_or_else(|| format!("{text} is refused: {}", why.join("; ")))
}
