// SPDX-License-Identifier: Apache-2.0

// drift argo|argo-server|flux KUBECONFIG: reads manifests from stdin and compares each with its object
// in the cluster, by the library with which Argo CD or Flux decides whether somebody changed an object
// after it. Prints a line for each object that differs and the number of those that were compared;
// exits with 1 if one differs.
//
//	argo         gitops-engine, as after a sync with kubectl's apply
//	argo-server  gitops-engine with server-side diff, changes by webhooks included
//	flux         the library of helm-controller's drift detection
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/diff"
	"github.com/fluxcd/pkg/ssa/jsondiff"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The fields' owners, as the two controllers call themselves.
const argo, flux = "argocd-controller", "helm-controller"

type dryRunner struct{ cluster client.Client }

func (d dryRunner) Run(ctx context.Context, object *unstructured.Unstructured, manager string) (string, error) {
	predicted := object.DeepCopy()
	err := d.cluster.Patch(ctx, predicted, client.Apply, client.DryRunAll, client.ForceOwnership,
		client.FieldOwner(manager))
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(predicted)
	return string(text), err
}

// Each returns "" if the object in the cluster is as the manifest wants it.
func argoDrift(cluster client.Client, wanted *unstructured.Unstructured, options ...diff.Option) (string, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(wanted.GroupVersionKind())
	if err := cluster.Get(context.Background(), client.ObjectKeyFromObject(wanted), live); err != nil {
		return "", err
	}
	result, err := diff.Diff(wanted, live, options...)
	if err != nil || !result.Modified {
		return "", err
	}
	return fmt.Sprintf("live %s, wanted %s", result.NormalizedLive, result.PredictedLive), nil
}

func fluxDrift(cluster client.Client, wanted *unstructured.Unstructured) (string, error) {
	result, err := jsondiff.Unstructured(context.Background(), cluster, wanted, jsondiff.FieldOwner(flux))
	if err != nil || result.Type == jsondiff.DiffTypeNone {
		return "", err
	}
	return fmt.Sprintf("%s %s", result.Type, result.Patch), nil
}

func drift(way string, cluster client.Client, wanted *unstructured.Unstructured) (string, error) {
	switch way {
	case "argo":
		return argoDrift(cluster, wanted)
	case "argo-server":
		return argoDrift(cluster, wanted, diff.WithServerSideDiff(true), diff.WithManager(argo),
			diff.WithServerSideDryRunner(dryRunner{cluster}), diff.WithIgnoreMutationWebhook(false))
	case "flux":
		return fluxDrift(cluster, wanted)
	}
	return "", fmt.Errorf("no way is called %s", way)
}

func compareAll(way string, cluster client.Client, manifests io.Reader) (compared, different int, err error) {
	decoder := yaml.NewYAMLOrJSONDecoder(manifests, 1<<20)
	for {
		wanted := &unstructured.Unstructured{}
		if err := decoder.Decode(&wanted.Object); errors.Is(err, io.EOF) {
			return compared, different, nil
		} else if err != nil {
			return compared, different, err
		}
		if len(wanted.Object) == 0 {
			continue
		}
		difference, err := drift(way, cluster, wanted)
		if err != nil {
			return compared, different, fmt.Errorf("%s %s: %w", wanted.GetKind(), wanted.GetName(), err)
		}
		if difference != "" {
			fmt.Printf("%s %s: %s\n", wanted.GetKind(), wanted.GetName(), difference)
			different++
		}
		compared++
	}
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: drift argo|argo-server|flux KUBECONFIG <MANIFESTS")
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	cluster, err := client.New(config, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	compared, different, err := compareAll(os.Args[1], cluster, os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d of %d differ\n", different, compared)
	if different > 0 {
		os.Exit(1)
	}
}
