//! Command lines. Ports are fixed: each cluster has a network namespace of its own.

use std::path::Path;

use crate::network::Network;

/// The API server's port.
pub const API_PORT: u16 = 6443;

/// Where etcd answers clients, in the cluster's network.
pub(crate) const ETCD: &str = "http://127.0.0.1:2379";

/// The controllers that run: what makes pods of workloads, endpoints of Services, and cleans up.
const CONTROLLERS: [&str; 14] = [
    "clusterrole-aggregation-controller",
    "daemonset-controller",
    "deployment-controller",
    "disruption-controller",
    "endpointslice-controller",
    "endpointslice-mirroring-controller",
    "garbage-collector-controller",
    "horizontal-pod-autoscaler-controller",
    "job-controller",
    "namespace-controller",
    "replicaset-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "statefulset-controller",
];

/// etcd's, with its data in a cluster's folder. What a crash of the machine would lose is lost.
pub(crate) fn etcd(folder: &Path) -> Vec<String> {
    let peers = "http://127.0.0.1:2380";
    vec![
        "etcd".to_owned(),
        format!("--data-dir={}", folder.join("etcd").display()),
        "--unsafe-no-fsync".to_owned(),
        format!("--listen-client-urls={ETCD}"),
        format!("--advertise-client-urls={ETCD}"),
        format!("--listen-peer-urls={peers}"),
        format!("--initial-advertise-peer-urls={peers}"),
        format!("--initial-cluster=default={peers}"),
        "--log-level=warn".to_owned(),
    ]
}

/// kube-apiserver's. Clients are told apart by tokens, rights are RBAC's.
pub(crate) fn apiserver(folder: &Path, network: Network) -> Vec<String> {
    let file = |name: &str| folder.join(name).display().to_string();
    vec![
        "kube-apiserver".to_owned(),
        format!("--etcd-servers={ETCD}"),
        format!("--advertise-address={}", network.address()),
        format!("--secure-port={API_PORT}"),
        format!("--tls-cert-file={}", file("apiserver.crt")),
        format!("--tls-private-key-file={}", file("apiserver.key")),
        format!("--cert-dir={}", file("apiserver")),
        "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
        format!("--service-account-key-file={}", file("service-accounts.pub")),
        format!("--service-account-signing-key-file={}", file("service-accounts.key")),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--token-auth-file={}", file("tokens.csv")),
        "--authorization-mode=RBAC".to_owned(),
        "--allow-privileged=true".to_owned(),
        format!("--audit-policy-file={}", file("audit.yaml")),
        format!("--audit-log-path={}", file("logs/audit.log")),
        "--audit-log-mode=batch".to_owned(),
        // The node has no name that resolves.
        "--kubelet-preferred-address-types=InternalIP".to_owned(),
    ]
}

/// kube-controller-manager's.
pub(crate) fn controller_manager(folder: &Path) -> Vec<String> {
    let file = |name: &str| folder.join(name).display().to_string();
    vec![
        "kube-controller-manager".to_owned(),
        format!("--kubeconfig={}", file("kubeconfig")),
        "--leader-elect=false".to_owned(),
        format!("--controllers={}", CONTROLLERS.join(",")),
        format!("--root-ca-file={}", file("ca.crt")),
        "--secure-port=0".to_owned(),
        // Pods of deleted workloads and namespaces go in time for tests that wait for it.
        "--concurrent-namespace-syncs=20".to_owned(),
        "--concurrent-gc-syncs=20".to_owned(),
        "--kube-api-qps=500".to_owned(),
        "--kube-api-burst=1000".to_owned(),
    ]
}
