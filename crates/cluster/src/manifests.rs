//! The manifests in `deploy/`: they fit each other, and permit what the code does and no more.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use portcullis_api::Kind;
use serde_json::{Value, json};

/// Permissions by group and resource.
type Permissions = BTreeMap<(String, String), BTreeSet<String>>;

fn objects() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    let mut objects = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            let text = std::fs::read_to_string(&path).unwrap();
            objects.extend(text.split("\n---\n").map(|text| serde_saphyr::from_str::<Value>(text).unwrap()));
        }
    }
    objects
}

fn object(kind: &str) -> Value {
    let mut found: Vec<Value> = objects().into_iter().filter(|object| object["kind"] == kind).collect();
    assert_eq!(found.len(), 1, "{kind}");
    found.remove(0)
}

fn strings(list: &Value) -> impl Iterator<Item = String> + use<'_> {
    list.as_array().unwrap().iter().map(|item| item.as_str().unwrap().to_owned())
}

fn permissions(role: &Value) -> Permissions {
    let mut permissions = Permissions::new();
    for rule in role["rules"].as_array().unwrap() {
        for group in strings(&rule["apiGroups"]) {
            for resource in strings(&rule["resources"]) {
                permissions.entry((group.clone(), resource)).or_default().extend(strings(&rule["verbs"]));
            }
        }
    }
    permissions
}

fn permit(permissions: &mut Permissions, group: &str, resource: &str, verbs: &[&str]) {
    let verbs = verbs.iter().map(|verb| (*verb).to_owned());
    permissions.entry((group.to_owned(), resource.to_owned())).or_default().extend(verbs);
}

/// Every kind is watched and read; statuses of the Gateway API's kinds are written, and Services with their slices.
#[test]
fn the_cluster_role_permits_what_the_controller_does_and_no_more() {
    let mut needed = Permissions::new();
    for kind in Kind::ALL.iter().copied() {
        permit(&mut needed, kind.group(), kind.plural(), &["list", "watch"]);
        if kind != Kind::ReferenceGrant {
            // Of grants none is asked for by name: those of a namespace are read together.
            permit(&mut needed, kind.group(), kind.plural(), &["get"]);
        }
        let is_judged = kind.is_route()
            || matches!(
                kind,
                Kind::GatewayClass | Kind::Gateway | Kind::ListenerSet | Kind::BackendTlsPolicy
            );
        if is_judged {
            permit(&mut needed, kind.group(), &format!("{}/status", kind.plural()), &["update"]);
        }
        if matches!(kind, Kind::Service | Kind::EndpointSlice) {
            permit(&mut needed, kind.group(), kind.plural(), &["create", "delete", "patch"]);
        }
    }
    permit(&mut needed, "", "nodes", &["get"]); // its own, for the zone
    permit(&mut needed, "apiextensions.k8s.io", "customresourcedefinitions", &["list", "watch"]);
    assert_eq!(permissions(&object("ClusterRole")), needed);
}

#[test]
fn the_role_permits_the_lease_of_its_namespace() {
    let mut needed = Permissions::new();
    permit(&mut needed, "coordination.k8s.io", "leases", &["create", "get", "update"]);
    assert_eq!(permissions(&object("Role")), needed);
}

#[test]
fn everything_is_bound_to_the_account_that_the_controller_runs_under() {
    let deployment = object("Deployment");
    let namespace = &deployment["metadata"]["namespace"];
    let account = &deployment["spec"]["template"]["spec"]["serviceAccountName"];
    assert_eq!(object("Namespace")["metadata"]["name"], *namespace);
    let metadata = object("ServiceAccount")["metadata"].clone();
    assert_eq!((&metadata["name"], &metadata["namespace"]), (account, namespace));
    for (binding, role) in [("ClusterRoleBinding", "ClusterRole"), ("RoleBinding", "Role")] {
        let bound = object(binding);
        assert_eq!(
            bound["subjects"],
            json!([{"kind": "ServiceAccount", "name": account, "namespace": namespace}])
        );
        assert_eq!(
            (&bound["roleRef"]["kind"], &bound["roleRef"]["name"]),
            (&json!(role), &object(role)["metadata"]["name"])
        );
    }
    let labels = &deployment["spec"]["template"]["metadata"]["labels"];
    assert_eq!(*labels, deployment["spec"]["selector"]["matchLabels"]);
}

#[test]
fn the_class_passes_admission() {
    let class = object("GatewayClass");
    assert_eq!(class["spec"]["controllerName"], "portcullis.dev/gateway-controller");
    assert_eq!(portcullis_api::admit(class).diagnostics, []);
}
