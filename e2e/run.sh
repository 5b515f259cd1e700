#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh operator|soak|gitops|stores|s3-servers|browser|cluster|cluster-v2|cluster-v2-part|cluster-v2-same|cluster-v2-long|classes|kuberay|kuberay-long|kuberay-collector|same [PYTEST-ARG...]: brings up what the tests need and runs them.
#   operator  the operator from build/, as a process here, against a real kube-apiserver (AFTERGLOW_KUBERNETES=1.35.4: of that version);
#             no cluster is needed
#   soak      ten thousand reconciles of the same, and fifty restarts of the API server; a quarter of an hour
#   gitops    the libraries of Argo CD and Flux look for drift in what the chart installs; five minutes to build them
#   stores    afterglow-ship from build/ against a directory, a real S3 server, a real HDFS and the emulator of Azure, on loopback; needs root
#   s3-servers  of stores, cases of S3 against MinIO, SeaweedFS and Ceph; five minutes of processor time to build the first of them
#   browser   report.html and the page of all failures in headless Chromium, at three widths, with axe-core; pictures stay in build/e2e-browser
#   cluster   everything, installed by Helm on a real cluster, with real Ray
#   cluster-v2  deaths of plain commands and of real Ray, and the node agent, on a node with cgroup v2 and systemd in User Mode Linux;
#             cluster-v2-part: a few of each; cluster-v2-same: the pods of same; cluster-v2-long: also cases of cluster
#   classes   of cluster's, each class of death and what Ray's logs say
#   kuberay   the chart with its defaults beside KubeRay's own operator, with real Ray; kuberay-long: what takes longest of it
#             AFTERGLOW_KUBERAY_VERSION=v1.7.0 or AFTERGLOW_KUBERAY_SOURCE=DIR (the folder ray-operator of a checkout): beside that one
#   kuberay-collector  from 1.7 on, with AFTERGLOW_KUBERAY_SOURCE: pods that have the collector of KubeRay's history server
#   same      of kuberay's, the pods and clusters that run twice, with Afterglow and without it, and are compared
# The last five's cluster is left running for the next run; e2e/cluster/down.sh ends it.
# AFTERGLOW_TESTS: just these tests of the suite, a line each, as pytest names them.
# KUBECONFIG_E2E=path uses a cluster of yours: it must be able to pull or hold the images. RAY_IMAGE and SIDECAR_IMAGE name those that
# pods of the tests run, AFTERGLOW_HELM_ARGS has more arguments of helm, such as --set image.repository=REGISTRY/afterglow-operator.
set -euo pipefail

cd "$(dirname "$0")/.."
suite=$1 cases=$1
shift
cache=${AFTERGLOW_CACHE:-$HOME/.cache/afterglow}
run=${AFTERGLOW_RUN:-/var/lib/afterglow-cluster}

venv=$(e2e/venv.sh) marked=

# Before the tests, whose patience is for what runs and not for what has to be built.
build_stores() { # NAME...
	local name
	for name in "$@"; do
		"e2e/stores/$name.sh" build
	done
}

case $suite in
operator | soak) builds=(otelcol/build.sh "chart/build.sh "{crds,flows,kube-score,helm4}) ;;
gitops) builds=("chart/build.sh "{drift,helm4}) ;;
*) builds=() ;;
esac
if [ "${#builds[@]}" != 0 ]; then
	# The tests start etcd and kube-apiserver themselves, on free ports, and end them. A folder called operator
	# would hide Python's module of that name.
	cases=apiserver
	e2e/cluster/deps.sh
	e2e/cluster/build.sh
	[ -z "${AFTERGLOW_KUBERNETES:-}" ] || e2e/cluster/apiserver.sh "$AFTERGLOW_KUBERNETES"
	# A module proxy that did not answer may do so the second time.
	for build in "${builds[@]}"; do
		# shellcheck disable=SC2086 # a command and its argument
		e2e/$build || e2e/$build
	done
elif [[ $suite = stores || $suite = s3-servers ]]; then
	tools/apt-install.sh curl dnsmasq-base iproute2 iptables libfaketime openssl
	make --no-print-directory deps build/afterglow-ship build/shared/afterglow-ship
	case $suite in
	stores) build_stores s3 hdfs azure kdc ;;
	*) for server in minio seaweedfs ceph; do S3_SERVER=$server build_stores s3; done ;;
	esac
elif [ "$suite" = browser ]; then
	tools/apt-install.sh chromium fonts-dejavu-core libcmocka-dev
	e2e/axe/build.sh
	make --no-print-directory deps all build/test/hog build/test/sidecar/report/report_html_test
elif [ -n "${KUBECONFIG_E2E:-}" ]; then
	export KUBECONFIG=$KUBECONFIG_E2E
else
	# One at a time: the chart is installed once, and some cases break it on purpose. make demo takes it too.
	mkdir -p "$cache"
	exec 9>"$cache/cluster.lock"
	flock --nonblock 9 || { echo "waiting for another run on this cluster"; flock 9; }
	e2e/cluster/up.sh 9>&-
	export KUBECONFIG=$run/kubeconfig PATH=$run/bin:$PATH
	# The extension that crashes, what looks at its core, and where pods reach the stores that run on this machine.
	tools/apt-install.sh curl g++ gdb python3-dev zstd
	AFTERGLOW_STORE_ADDRESS=$(. e2e/cluster/lib.sh && printf %s "$host_ip")
	export AFTERGLOW_STORE_ADDRESS
	images/build.sh operator sidecar
	ray=$(images/ray/build.sh | tail -n 1)
	if [[ $suite == cluster-v2* ]]; then
		images/build.sh node
		e2e/kernel/uml/build.sh
		e2e/cluster/v2/disk.sh
	fi
	e2e/cluster/load-image.sh build/images/afterglow-operator.tar build/images/afterglow-sidecar.tar
	# 450 MB. containerd is asked: the node's status lags behind.
	e2e/cluster/load-image.sh --unless "$(images/ray/name.sh)" "$ray"
	# Of two operators that both make pods for RayClusters there is one at a time.
	case $suite in
	kuberay* | same)
		helm uninstall afterglow --namespace afterglow-system --ignore-not-found --wait
		e2e/kuberay/install.sh 9>&-
		;;
	*) e2e/kuberay/uninstall.sh ;;
	esac
	[ "$suite" != cluster ] || build_stores s3 hdfs 9>&-
fi
# The cases start the machine, and end it with them.
case $suite in
cluster-v2*) export AFTERGLOW_E2E_NODE=afterglow-v2 ;;
esac
export AFTERGLOW_VERSION RAY_IMAGE
AFTERGLOW_VERSION=$(make -s version)
RAY_IMAGE=${RAY_IMAGE:-$(images/ray/name.sh)}
e2e/versions.sh "$suite"
# -rfEs: a test that is skipped says why, and the names of those that failed are for tools/second_try.py.
case $suite in
soak | gitops) paths=("e2e/cases/apiserver/$suite.py") ;;
s3-servers) paths=(e2e/cases/stores/s3_servers.py) ;;
cluster-v2) paths=(e2e/cases/node_v2) ;;
cluster-v2-same) paths=(e2e/cases/node_v2/test_same.py) ;;
cluster-v2-part)
	same="[kuberay-like] or [handler] or [ignores] or [terminal] or [restricted] or [child-is-too-large] or meant_is_there or happens_without"
	same+=" or [child-crashes-in-memory] or [child-crashes-with-little-disk] or small_disk"
	paths=(e2e/cases/node_v2/test_{ray,deaths,same}.py -k "dashboard or leaks_takes or kill_9_of_a_raylet or (whole and not sidecar) or $same")
	;;
cluster-v2-long) paths=(e2e/cases/node_v2 e2e/cases/cluster/test_{classes,exits,kernel_log,pods}.py) ;;
classes) paths=(e2e/cases/cluster/test_{classes,kernel_log,ray_voice}.py) ;;
kuberay) paths=(e2e/cases/kuberay) marked="not long" ;;
kuberay-long) paths=(e2e/cases/kuberay) marked=long ;;
kuberay-collector) paths=(e2e/cases/kuberay/collector.py) ;;
same) paths=(e2e/cases/kuberay/same) ;;
*) paths=("e2e/cases/$cases") ;;
esac
[ -z "${AFTERGLOW_TESTS:-}" ] || { mapfile -t paths <<<"$AFTERGLOW_TESTS" && marked=; }
# Most of the time they wait: for servers of their own, or for pods. -n 0 for one at a time, and for -s and --pdb.
# Pods with Ray need more of the processor: with three at a time on two cores, the load was 40.
case $suite in
operator) workers=(-n 3 --dist loadgroup) ;;
stores) workers=(-n 2 --dist loadgroup) ;;
s3-servers) workers=(-n 3 --dist loadgroup) ;;
classes | cluster | kuberay* | same) workers=(-n $((${AFTERGLOW_CORES:-$(nproc)} < 4 ? 2 : 3)) --dist loadgroup --no-loadscope-reorder) ;;
*) workers=() ;;
esac
# A sidecar of another suite would take a disk that is full here for one of its container.
apart=()
[ "$suite" != stores ] || apart=(unshare -m)
tests() { # ARGUMENT-OF-PYTEST...
	# CI: reasons are not cut at the width of a terminal, for tools/failed_tests.py.
	CI=true "${apart[@]}" "$venv/bin/python" -m pytest -rfEs -v --color=no --durations=10 -p no:cacheprovider "${paths[@]}" "$@"
}
# What disturbs all others runs when they are over. 5: no test was selected.
status=0 alone=5
tests "${workers[@]}" -m "${marked:+$marked and }not alone" "$@" || status=$?
case $suite/$status in
classes/[015] | cluster/[015] | kuberay*/[015] | operator/[015])
	alone=0
	tests -m "${marked:+$marked and }alone" "$@" || alone=$?
	;;
esac
if [ "$alone" != 5 ] && [ "$status" != 1 ]; then status=$alone; fi
exit "$status"
