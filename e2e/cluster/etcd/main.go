// SPDX-License-Identifier: Apache-2.0

// etcd's server. Debian 12 has 3.4, which lacks the progress requests that a
// current API server needs for consistent reads and streaming lists from its
// cache; with them the tests meet the API server that users have.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
