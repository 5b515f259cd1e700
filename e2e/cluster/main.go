// SPDX-License-Identifier: Apache-2.0

// Kubernetes' own programs in one static binary, chosen by argv[0] (a link
// named kubelet) or by the first argument (kube kubelet ...). One binary
// because they share nearly all of their code: one link instead of six.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// programs maps a name to the constructor of its command. Constructors are
// called lazily: several of them register global flags and metrics, which
// collide when more than one runs in a process.
var programs = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllers.NewControllerManagerCommand,
	"kube-proxy":              proxy.NewProxyCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubectl":                 kubectl.NewDefaultKubectlCommand,
	"kubelet":                 func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
}

func names() string {
	var all []string
	for name := range programs {
		all = append(all, name)
	}
	sort.Strings(all)
	return strings.Join(all, " | ")
}

func main() {
	name := filepath.Base(os.Args[0])
	if programs[name] == nil && len(os.Args) > 1 {
		name = os.Args[1]
		os.Args = os.Args[1:]
	}
	newCommand := programs[name]
	if newCommand == nil {
		fmt.Fprintf(os.Stderr, "usage: kube {%s} [argument...]\n", names())
		os.Exit(2)
	}
	if name == "kubectl" {
		// kubectl prints its errors itself and chooses its exit status by them.
		if err := cli.RunNoErrOutput(newCommand()); err != nil {
			kubectlutil.CheckErr(err)
		}
		return
	}
	os.Exit(cli.Run(newCommand()))
}
