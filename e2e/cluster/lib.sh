# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034 # the variables are for those who source this
# What the cluster's scripts share: where things are, and how processes are
# started, recognised and stopped. Sourced, never run.

# Numbers with a point and one order of names, whatever the user's language.
export LC_ALL=C

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../start_time.sh
. "$here/../start_time.sh"
run=${AFTERGLOW_RUN:-/var/lib/afterglow-cluster}
cache=${AFTERGLOW_CACHE:-$HOME/.cache/afterglow}

# The control plane, the kubelet and the pods live in a network namespace of
# their own: every port is free there, and its firewall rules, bridge and
# sysctls vanish with it. A veth pair joins it to the machine.
netns=afterglow
bridge=afg0
host_link=afg-host
node_link=afg-node
host_ip=10.245.0.1
node_link_ip=10.245.0.2
node_ip=10.246.0.1
pod_cidr=10.246.0.0/24
service_cidr=10.247.0.0/24
service_ip=10.247.0.1
api_port=6443
node_name=afterglow-node
cgroup=afterglow
cgroup_mount=/sys/fs/cgroup
sandbox_image=localhost/afterglow-pause:1

containerd_socket=$run/containerd/containerd.sock
# A socket's path has an end, and the run directory may be long.
shim_sockets=/run/afterglow-shims
kubeconfig=$run/kubeconfig
# Its presence says that the run directory is ours to empty.
marker=$run/.afterglow-cluster
api_url=https://$node_ip:$api_port

started=$EPOCHREALTIME

elapsed() {
	local now=$EPOCHREALTIME
	local tenths=$(((${now/./} - ${started/./}) / 100000))
	printf '%d.%d' $((tenths / 10)) $((tenths % 10))
}

step() { printf '%6ss  %s\n' "$(elapsed)" "$*"; }

die() {
	printf '%s: %s\n' "$(basename "$0")" "$*" >&2
	exit 1
}

need_root() { [ "$(id -u)" = 0 ] || die "must run as root"; }

# One up, down or load at a time. The lock lies beside the run directory, which
# down.sh removes. Daemons are started without descriptor 9, or they would
# hold it for as long as they live.
lock() {
	mkdir -p "$(dirname "$run")"
	exec 9>"$run.lock"
	flock -n 9 && return
	step "waiting for another up.sh or down.sh to finish"
	flock -w 600 9 || die "another script has held $run.lock for ten minutes"
}

# The name of the directory is a hash of all that the programs are made from.
build_hash() {
	(cd "$here" && cat go.mod go.sum ./*.go ./*/go.mod ./*/go.sum \
		./*/*.go pause/pause.c) | sha256sum | cut -c1-16
}

bin_dir() { printf '%s/kube-%s\n' "$cache" "$(build_hash)"; }

# Linker flags: kubectl version and the API server's /version answer with these.
kube_flags() { # VERSION
	local version=$1 minor package
	minor=$(cut -d. -f2 <<<"$version")
	for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
		printf -- '-X %s.gitVersion=%s -X %s.gitMajor=1 -X %s.gitMinor=%s ' \
			$package "$version" $package $package "$minor"
		printf -- '-X %s.gitCommit= -X %s.gitTreeState=clean ' $package $package
	done
}

boot_id() { cat /proc/sys/kernel/random/boot_id; }

# A pid file holds pid, start time and boot, so that a pid that was given to
# another program since, or before a reboot, is never taken for ours.
pid_of() {
	local pid start boot
	read -r pid start boot 2>/dev/null <"$run/pids/$1" || return 1
	[ "$boot" = "$(boot_id)" ] || return 1
	[ "$start" = "$(start_time "$pid")" ] || return 1
	printf '%s\n' "$pid"
}

# node_credentials DIRECTORY NODE ADDRESS: what the kubelet of a further node needs: server.crt and server.key, and a kubeconfig.
node_credentials() {
	local dir=$1 subject=/O=system:nodes/CN=system:node:$2 name
	umask 077
	for name in client server; do
		openssl req -x509 -config "$run/pki/openssl.cnf" -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 3650 \
			-CA "$run/pki/ca.crt" -CAkey "$run/pki/ca.key" -subj "$subject" -keyout "$dir/$name.key" -out "$dir/$name.crt" \
			-addext basicConstraints=critical,CA:FALSE -addext keyUsage=critical,digitalSignature \
			-addext extendedKeyUsage=clientAuth,serverAuth -addext "subjectAltName=DNS:$2,IP:$3" 2>/dev/null
	done
	sed "s#client-certificate-data: .*#client-certificate-data: $(base64 -w0 "$dir/client.crt")#
		s#client-key-data: .*#client-key-data: $(base64 -w0 "$dir/client.key")#" "$kubeconfig" >"$dir/kubeconfig"
	umask 022
}

# start NAME COMMAND...: runs a daemon in the cluster's network namespace.
# Neither setsid nor nsenter forks here, so $! is the daemon's own pid.
# nsenter rather than "ip netns exec", which hides /sys/fs/cgroup. Signals have their defaults again: what nohup ignores, containers would
# ignore, too, some of them.
start() {
	local name=$1 pid
	shift
	setsid nsenter --net="/run/netns/$netns" env --default-signal "$@" \
		>>"$run/log/$name.log" 2>&1 </dev/null 9>&- &
	pid=$!
	disown "$pid"
	printf '%s %s %s\n' "$pid" "$(start_time "$pid")" "$(boot_id)" >"$run/pids/$name"
}

# start_containerd_of NAME CONFIG: it finds the shim by PATH, where Debian's may be, too.
start_containerd_of() { start "$1" env PATH="$run/bin:$PATH" containerd --config "$2"; }

# ctr SOCKET ARGUMENT...: the images and containers of the kubelet behind a containerd. Each call would warn of cgroup v1.
ctr() {
	CONTAINERD_SUPPRESS_DEPRECATION_WARNINGS=1 "$run/bin/ctr" --address "$1" --namespace k8s.io "${@:2}"
}

# show_log NAME: why a daemon does not come up is in its last lines.
show_log() {
	printf -- '--- last lines of %s\n' "$run/log/$1.log" >&2
	tail -n 25 "$run/log/$1.log" 2>/dev/null | cut -c1-400 >&2
}

# wait_for NAME SECONDS WHAT COMMAND...: polls until COMMAND succeeds. Gives up
# as soon as any daemon is gone, because what NAME waits for may be just that.
wait_for() {
	local name=$1 seconds=$2 what=$3 i file
	shift 3
	for ((i = 0; i < seconds * 10; i++)); do
		# In a subshell, so that a trap set off meanwhile is not silenced too.
		if ("$@") >/dev/null 2>&1; then return; fi
		for file in "$run"/pids/*; do
			pid_of "${file##*/}" >/dev/null && continue
			show_log "${file##*/}"
			die "${file##*/} ended while waiting for: $what"
		done
		if ((i % 50 == 49)); then step "still waiting: $what"; fi
		sleep 0.1
	done
	show_log "$name"
	die "waited ${seconds}s in vain for: $what"
}
