// Command control-plane is a Kubernetes control plane in one program: its first argument says which
// part of it to be, the rest is that part's own command line.
//
//	control-plane etcd|kube-apiserver|kube-controller-manager|kubectl ARGUMENTS…
//
// The parts are the upstream ones, linked as they are. The Rust package beside this folder builds
// and runs it.
package main

import (
	"fmt"
	"os"
	_ "time/tzdata" // for the time zones of CronJobs

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubectl's ways to log in
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"          // log format
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of the client library
	_ "k8s.io/component-base/metrics/prometheus/version"  // metric of the version
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() {
	if len(os.Args) < 2 {
		refuse()
	}
	// The parts read os.Args themselves, and expect to be the program.
	part := os.Args[1]
	os.Args = os.Args[1:]
	switch part {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		serve(apiserver.NewAPIServerCommand())
	case "kube-controller-manager":
		serve(controllermanager.NewControllerManagerCommand())
	case "kubectl":
		runKubectl()
	default:
		refuse()
	}
}

func serve(command *cobra.Command) {
	os.Exit(cli.Run(command))
}

// runKubectl does what kubectl's own main does: verbosity counts before the command is built, for
// building it reads plugins and .kuberc.
func runKubectl() {
	if _, err := logs.GlogSetter(kubectl.GetLogVerbosity(os.Args)); err != nil {
		fmt.Fprintln(os.Stderr, "kubectl:", err)
	}
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err) // prints it and exits
	}
}

func refuse() {
	fmt.Fprintln(os.Stderr, "usage: control-plane etcd|kube-apiserver|kube-controller-manager|kubectl ARGUMENTS…")
	os.Exit(2)
}
