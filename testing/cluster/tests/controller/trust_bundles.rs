//! Authorities from ClusterTrustBundles (GEP-5075), which the official suite does not try.

use rcgen::{BasicConstraints, CertificateParams, CertifiedKey, IsCa, Issuer, KeyPair};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{
    certificates::{Tls, asked, secret},
    site::{SITE, route},
    stage::{Stage, condition, eventually, status},
};

/// An authority as PEM, and a client for whom it vouches.
fn authority() -> (String, CertifiedKey<KeyPair>) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let issuer = Issuer::new(params, key);
    let client_key = KeyPair::generate().unwrap();
    let client = CertificateParams::new(["client.example".to_owned()]).unwrap();
    let cert = client.signed_by(&client_key, &issuer).unwrap();
    (certificate.pem(), CertifiedKey { cert, signing_key: client_key })
}

/// A bundle of this name, of no signer.
fn bundle(authority: &str) -> String {
    let indented: String = authority.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "apiVersion: certificates.k8s.io/v1
kind: ClusterTrustBundle
metadata: {{name: authorities}}
spec:
  trustBundle: |
{indented}"
    )
}

/// The condition of the listener `https` of the Gateway.
fn of_listener<'s>(status: &'s Value, name: &str) -> Option<&'s Value> {
    let listeners = status["listeners"].as_array()?;
    condition(listeners.iter().find(|listener| listener["name"] == "https")?, name)
}

fn is_so(condition: Option<&Value>, verdict: &str, reason: &str) -> bool {
    condition.is_some_and(|condition| condition["status"] == verdict && condition["reason"] == reason)
}

/// Waits until the listener and the policy have no authority, or have one.
async fn judged(stage: &Stage, has_authority: bool) {
    let (accepted, resolved) = if has_authority {
        (("True", "Accepted"), ("True", "ResolvedRefs"))
    } else {
        (("False", "NoValidCACertificate"), ("False", "InvalidCACertificateRef"))
    };
    let listener = |status: &Value| {
        is_so(of_listener(status, "Accepted"), accepted.0, accepted.1)
            && is_so(of_listener(status, "ResolvedRefs"), resolved.0, resolved.1)
    };
    stage.when("Gateway", SITE, "web", &format!("of a listener that is {accepted:?}"), listener).await;
    let policy = |status: &Value| {
        let ancestor = &status["ancestors"][0];
        is_so(condition(ancestor, "Accepted"), accepted.0, accepted.1)
            && is_so(condition(ancestor, "ResolvedRefs"), resolved.0, resolved.1)
    };
    stage.when("BackendTLSPolicy", SITE, "to-guarded", &format!("{accepted:?}"), policy).await;
}

/// Whether a client is let in no further than its handshake: by TLS 1.3 it hears of a refusal only where the answer would be.
async fn is_refused(client: &Tls, address: &str) -> bool {
    let Ok(mut connection) = client.shown(address).await else { return true };
    let written = connection.write_all(b"HEAD / HTTP/1.1\r\nHost: tls.example\r\n\r\n").await;
    written.is_err() || !matches!(connection.read(&mut [0]).await, Ok(1))
}

/// A bundle's clients are let in while it is there, and nobody before or afterwards: it has no namespace and needs no grant.
#[tokio::test(flavor = "multi_thread")]
async fn clients_are_let_in_while_the_bundle_of_their_authority_is_there() {
    let Some(mut stage) = Stage::start("trust-bundles").await else { return };
    let class = stage.objects("v1", "GatewayClass", "").get("portcullis").await.unwrap();
    let features = status(&class)["supportedFeatures"].as_array().unwrap();
    assert!(features.iter().any(|feature| feature["name"] == "ClusterTrustBundle"), "{features:?}");

    let address = stage.serve_site().await;
    let tls = Tls::of("tls.example");
    stage.cluster.apply(&secret(SITE, "certificate", &tls)).unwrap();
    stage.cluster.apply(&format!("{GUARDED}---\n{}", route("tls", "tls.example"))).unwrap();
    judged(&stage, false).await;
    let (authority, identity) = authority();
    let (known, unknown) = (tls.with_client(&identity), tls);
    assert!(known.shown(&address).await.is_err(), "nobody vouches for the client yet");

    stage.cluster.apply(&bundle(&authority)).unwrap();
    judged(&stage, true).await;
    stage.accepted(SITE, "tls").await;
    let mut connection = eventually("the client is let in", async || known.shown(&address).await.ok()).await;
    assert_eq!(asked(&mut connection).await, "HTTP/1.1 200 OK");
    assert!(is_refused(&unknown, &address).await, "who shows no certificate is not let in");

    stage.kubectl(&["delete", "clustertrustbundle", "authorities"]);
    judged(&stage, false).await;
    eventually("nobody is let in", async || known.shown(&address).await.err()).await;
}

const GUARDED: &str = "apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: site, name: web}
spec:
  gatewayClassName: portcullis
  tls:
    frontend:
      default:
        validation:
          caCertificateRefs:
          - {group: certificates.k8s.io, kind: ClusterTrustBundle, name: authorities}
  listeners:
  - {name: http, protocol: HTTP, port: 80}
  - {name: https, protocol: HTTPS, port: 443, tls: {certificateRefs: [{name: certificate}]}}
---
apiVersion: v1
kind: Service
metadata: {namespace: site, name: guarded}
spec: {ports: [{port: 443}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {namespace: site, name: to-guarded}
spec:
  targetRefs: [{group: '', kind: Service, name: guarded}]
  validation:
    hostname: guarded.example
    caCertificateRefs: [{group: certificates.k8s.io, kind: ClusterTrustBundle, name: authorities}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {namespace: site, name: guarded}
spec:
  parentRefs: [{name: web, sectionName: http}]
  hostnames: [guarded.example]
  rules: [{backendRefs: [{name: guarded, port: 443}]}]
";
