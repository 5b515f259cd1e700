// SPDX-License-Identifier: Apache-2.0

// Reads {"policies": [NetworkPolicy...], "flows": [Traffic...]} from stdin and prints a JSON list: whether the policies let each flow
// into its destination and out of its source. Cyclonus judges, which was written to compare CNI plugins with the specification.
package main

import (
	"encoding/json"
	"log"
	"os"

	"github.com/mattfenwick/cyclonus/pkg/matcher"
	networking "k8s.io/api/networking/v1"
)

func main() {
	var question struct {
		Policies []*networking.NetworkPolicy
		Flows    []*matcher.Traffic
	}
	input := json.NewDecoder(os.Stdin)
	input.DisallowUnknownFields()
	if err := input.Decode(&question); err != nil {
		log.Fatal(err)
	}
	policy := matcher.BuildNetworkPolicies(false, question.Policies)
	answers := []bool{}
	for _, flow := range question.Flows {
		answers = append(answers, policy.IsTrafficAllowed(flow).IsAllowed())
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		log.Fatal(err)
	}
}
