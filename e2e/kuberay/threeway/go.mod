module afterglow/e2e/kuberay/threeway

go 1.25.0

require (
	gopkg.in/evanphx/json-patch.v4 v4.13.0
	k8s.io/apimachinery v0.34.4
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	go.yaml.in/yaml/v2 v2.4.2 // indirect
	sigs.k8s.io/json v0.0.0-20241014173422-cfa47c3a1cc8 // indirect
	sigs.k8s.io/yaml v1.6.0 // indirect
)
