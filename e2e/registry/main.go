// SPDX-License-Identifier: Apache-2.0

// registry ADDRESS: a container registry that keeps everything in memory, for tests. Prints the address where it listens, as ADDRESS
// may leave the port to the system, and serves until it is killed.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: registry ADDRESS")
	}
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr())
	quiet := registry.Logger(log.New(io.Discard, "", 0))
	log.Fatal(http.Serve(listener, registry.New(quiet, registry.WithReferrersSupport(true))))
}
