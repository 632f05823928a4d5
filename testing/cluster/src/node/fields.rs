//! What `fieldRef` can name: facts about the pod itself.

use std::net::Ipv4Addr;

use k8s_openapi::api::core::v1::Pod;

/// The addresses that a pod's environment may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Addresses {
    pub(crate) pod: Ipv4Addr,
    pub(crate) host: Ipv4Addr,
}

/// The value of a field of metadata; a label or annotation that is not there has an empty one.
///
/// Source: `ObjectFieldSelector` and `DownwardAPIVolumeFile` field documentation.
pub(crate) fn metadata(pod: &Pod, path: &str) -> Option<String> {
    let metadata = &pod.metadata;
    let (labels, annotations) = (metadata.labels.as_ref(), metadata.annotations.as_ref());
    if let Some(key) = subscript(path, "metadata.labels") {
        return Some(labels.and_then(|labels| labels.get(key)).cloned().unwrap_or_default());
    }
    if let Some(key) = subscript(path, "metadata.annotations") {
        return Some(annotations.and_then(|all| all.get(key)).cloned().unwrap_or_default());
    }
    let lines = |map: Option<&std::collections::BTreeMap<String, String>>| {
        let lines = map.into_iter().flatten().map(|(key, value)| format!("{key}={value:?}\n"));
        lines.collect::<String>()
    };
    match path {
        "metadata.name" => metadata.name.clone(),
        "metadata.namespace" => metadata.namespace.clone(),
        "metadata.uid" => metadata.uid.clone(),
        "metadata.labels" => Some(lines(labels)),
        "metadata.annotations" => Some(lines(annotations)),
        _ => None,
    }
}

/// The value of a field that a variable may name: metadata, and what is known when a container starts.
pub(crate) fn variable(pod: &Pod, addresses: Addresses, path: &str) -> Option<String> {
    let spec = pod.spec.as_ref();
    match path {
        "spec.nodeName" => spec?.node_name.clone(),
        "spec.serviceAccountName" => spec?.service_account_name.clone(),
        "status.podIP" | "status.podIPs" => Some(addresses.pod.to_string()),
        "status.hostIP" | "status.hostIPs" => Some(addresses.host.to_string()),
        _ => metadata(pod, path),
    }
}

/// The key in `PREFIX['key']`.
fn subscript<'a>(path: &'a str, prefix: &str) -> Option<&'a str> {
    path.strip_prefix(prefix)?.strip_prefix("['")?.strip_suffix("']")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_field_has_its_value() {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "p", "namespace": "n", "uid": "u", "labels": {"app": "x", "b/c": "d"}},
            "spec": {"nodeName": "node", "serviceAccountName": "sa", "containers": []},
        }))
        .unwrap();
        let addresses = Addresses { pod: Ipv4Addr::new(10, 244, 0, 5), host: Ipv4Addr::new(10, 244, 0, 1) };
        for (path, expected) in [
            ("metadata.name", Some("p")),
            ("metadata.namespace", Some("n")),
            ("metadata.uid", Some("u")),
            ("metadata.labels['b/c']", Some("d")),
            ("metadata.labels['none']", Some("")),
            ("metadata.annotations['none']", Some("")),
            ("metadata.labels", Some("app=\"x\"\nb/c=\"d\"\n")),
            ("spec.nodeName", Some("node")),
            ("spec.serviceAccountName", Some("sa")),
            ("status.podIP", Some("10.244.0.5")),
            ("status.hostIP", Some("10.244.0.1")),
            ("status.phase", None),
        ] {
            assert_eq!(variable(&pod, addresses, path).as_deref(), expected, "{path}");
        }
    }
}
