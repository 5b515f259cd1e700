// The CRDs of others, of which the chart has objects: they lie in the source of these modules. Nothing of it is compiled.
module afterglow.dev/e2e/chart/crds

go 1.26.0

require (
	github.com/cert-manager/cert-manager v1.21.2
	github.com/prometheus-operator/prometheus-operator v0.85.0
)
