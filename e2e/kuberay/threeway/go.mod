module afterglow/e2e/kuberay/threeway

go 1.26.0

require (
	gopkg.in/evanphx/json-patch.v4 v4.13.0
	k8s.io/apimachinery v0.37.2
)

require (
	github.com/davecgh/go-spew v1.1.2-0.20180830191138-d8f796af33cc // indirect
	go.yaml.in/yaml/v2 v2.4.4 // indirect
	k8s.io/utils v0.0.0-20260626114624-be93311217bd // indirect
	sigs.k8s.io/json v0.0.0-20250730193827-2d320260d730 // indirect
	sigs.k8s.io/yaml v1.6.0 // indirect
)
