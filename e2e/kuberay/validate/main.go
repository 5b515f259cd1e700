// SPDX-License-Identifier: Apache-2.0

// validate asks KubeRay's own code about RayClusters: each line of stdin is an object, each line of stdout {"error", "hash"},
// what ValidateRayClusterSpec says ("" when it accepts) and what RayService and upgradeStrategy Recreate compare.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
)

type output struct {
	Error string `json:"error"`
	Hash  string `json:"hash"`
}

func answer(line []byte) (output, error) {
	var cluster rayv1.RayCluster
	if err := json.Unmarshal(line, &cluster); err != nil {
		return output{}, err
	}
	hash, err := utils.GenerateHashWithoutReplicasAndWorkersToDelete(cluster.Spec)
	if err != nil {
		return output{}, err
	}
	if err := utils.ValidateRayClusterSpec(&cluster.Spec, cluster.Annotations); err != nil {
		return output{err.Error(), hash}, nil
	}
	return output{"", hash}, nil
}

func run(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	encoder := json.NewEncoder(out)
	for lines.Scan() {
		answered, err := answer(lines.Bytes())
		if err != nil {
			return err
		}
		if err := encoder.Encode(answered); err != nil {
			return err
		}
	}
	return lines.Err()
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "validate:", err)
		os.Exit(1)
	}
}
