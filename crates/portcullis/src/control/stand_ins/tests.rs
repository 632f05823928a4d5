use std::net::Ipv4Addr;

use portcullis_api::admit;
use serde_json::{Value, json};

use super::*;

fn object(value: Value) -> Change {
    let admitted = admit(value);
    Change::Put(admitted.object.unwrap_or_else(|| panic!("{:?}", admitted.diagnostics)))
}

fn service(name: &str, spec: &Value) -> Change {
    let metadata = json!({"name": name, "namespace": "shop"});
    object(json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}))
}

fn slice(of: &str, addresses: &[&str]) -> Change {
    let endpoints: Vec<Value> = addresses.iter().map(|address| json!({"addresses": [address]})).collect();
    object(json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": "s", "namespace": "shop", "labels": {"kubernetes.io/service-name": of}},
        "endpoints": endpoints, "ports": [{"port": 80}],
    }))
}

/// Applies changes, then what the stand-ins make of them; gives the names of Services that have one.
async fn after(store: &mut Store, stand_ins: &mut StandIns, changes: Vec<Change>) -> Vec<String> {
    let set = store.apply(changes);
    assert!(StandIns::concerns(&set));
    let adjusted = stand_ins.adjust(store).await.unwrap();
    store.apply(adjusted);
    let slices = store.list(Kind::EndpointSlice).filter(|slice| StandIns::owns(slice));
    slices.map(|slice| label(slice, SERVICE_NAME).unwrap().to_owned()).collect()
}

#[test]
fn a_stand_in_is_there_exactly_while_a_service_has_no_endpoints() {
    crate::signals::runtime().unwrap().block_on(async {
        let mut store = Store::new();
        let mut stand_ins = StandIns::on(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        let cart = service("cart", &json!({"ports": [{"port": 80}]}));
        assert_eq!(after(&mut store, &mut stand_ins, vec![cart, slice("cart", &[])]).await, ["cart"]);
        assert_eq!(after(&mut store, &mut stand_ins, vec![slice("cart", &["192.0.2.1"])]).await, [""; 0]);
        assert_eq!(stand_ins.count(), 0);
        assert_eq!(after(&mut store, &mut stand_ins, vec![slice("cart", &[])]).await, ["cart"]);
        let gone = Change::Remove(ObjectKey::new(Kind::Service, "shop", "cart"));
        assert_eq!(after(&mut store, &mut stand_ins, vec![gone]).await, [""; 0]);
    });
}

#[test]
fn each_port_has_its_own_and_external_names_have_none() {
    crate::signals::runtime().unwrap().block_on(async {
        let mut store = Store::new();
        let mut stand_ins = StandIns::on(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)));
        let ports = json!({"ports": [
            {"name": "web", "port": 80}, {"name": "admin", "port": 81},
            {"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "none", "port": 5, "protocol": "SCTP"},
        ]});
        let external = json!({"type": "ExternalName", "externalName": "a.test", "ports": [{"port": 80}]});
        let changes = vec![service("cart", &ports), service("other", &external)];
        assert_eq!(after(&mut store, &mut stand_ins, changes).await, ["cart"]);
        let key = ObjectKey::new(Kind::Service, "shop", "cart");
        let Some(Object::EndpointSlice(slice)) = store.get(&slice_key(&key)) else { panic!("no slice") };
        let named: Vec<_> = slice.ports.iter().flatten().map(|port| port.name.as_deref()).collect();
        assert_eq!(named, [Some("web"), Some("admin"), Some("dns")]);
        let addresses: Vec<_> =
            slice.endpoints.iter().flatten().flat_map(|endpoint| &endpoint.addresses).collect();
        assert_eq!(addresses, ["127.0.0.1"], "it listens everywhere and is found here");
        assert_eq!(stand_ins.count(), 3);
    });
}
