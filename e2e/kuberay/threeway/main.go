// SPDX-License-Identifier: Apache-2.0

// threeway patches objects as kubectl apply, Helm and Argo CD patch custom resources, with their own algorithm: each line
// of stdin is {"original", "modified", "current"}, each line of stdout {"patch", "result"}.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
)

type input struct {
	Original json.RawMessage `json:"original"` // what the tool applied last
	Modified json.RawMessage `json:"modified"` // the manifest now
	Current  json.RawMessage `json:"current"`  // the live object
}

type output struct {
	Patch  json.RawMessage `json:"patch"`
	Result json.RawMessage `json:"result"`
}

func answer(line []byte) (output, error) {
	var in input
	if err := json.Unmarshal(line, &in); err != nil {
		return output{}, err
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(in.Original, in.Modified, in.Current)
	if err != nil {
		return output{}, err
	}
	result, err := jsonpatch.MergePatch(in.Current, patch)
	return output{patch, result}, err
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
		fmt.Fprintln(os.Stderr, "threeway:", err)
		os.Exit(1)
	}
}
