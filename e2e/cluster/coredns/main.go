// SPDX-License-Identifier: Apache-2.0

// CoreDNS with only the plugins a cluster's own names need: a tenth of the
// stock program, and none of the cloud providers' libraries.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/reload"
	_ "github.com/coredns/coredns/plugin/template"
)

func main() {
	// The order in which plugins see a query, as in CoreDNS' own list.
	dnsserver.Directives = []string{
		"reload", "bind", "health", "ready", "errors", "log", "cache", "kubernetes", "template",
	}
	coremain.Run()
}
