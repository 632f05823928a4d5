// Package conformance drives the official Gateway API conformance suite. The Rust package in
// testing/cluster builds these tests into one program, as it does the suite's backend echo-basic
// (a tool in go.mod), and runs both in a test cluster.
package conformance

import (
	"testing"

	"sigs.k8s.io/gateway-api/conformance"
)

// TestConformance runs the suite as its flags ask: class, profiles, features, addresses, report.
func TestConformance(t *testing.T) {
	conformance.RunConformance(t)
}
