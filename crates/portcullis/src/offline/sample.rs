//! What the tests of findings begin with.

/// A GatewayClass and the Gateway `web`, with listeners as a YAML list has them between its brackets.
pub(crate) fn gateway(listeners: &str) -> String {
    format!(
        "\
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {{name: portcullis}}
spec: {{controllerName: portcullis.dev/gateway-controller}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {{name: web}}
spec:
  gatewayClassName: portcullis
  allowedListeners: {{namespaces: {{from: All}}}}
  listeners: [{listeners}]
---
"
    )
}
