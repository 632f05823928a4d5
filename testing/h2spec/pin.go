// Package h2spec pins the versions of h2spec, a client that tries a server by RFC 7540, and of what it needs.
package h2spec

import (
	_ "github.com/spf13/cobra"
	_ "github.com/summerwind/h2spec"
)
