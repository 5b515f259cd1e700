// A container registry for tests, in memory.
module afterglow.dev/e2e/registry

go 1.26

require github.com/google/go-containerregistry v0.21.7
