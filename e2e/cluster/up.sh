#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Starts a one-node Kubernetes on this machine, or says that it is up already.
# What is half up is torn down first; what fails to come up is torn down again.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=teardown.sh
. "$here/teardown.sh"

pki=$run/pki

kubectl() { "$run/bin/kubectl" --kubeconfig "$kubeconfig" --request-timeout=3s "$@"; }

# --- is it up? --------------------------------------------------------------

node_usable() {
	[ "$(kubectl get node "$node_name" -o \
		jsonpath='{.status.conditions[?(@.type=="Ready")].status}{.spec.taints}')" = True ]
}

healthy() {
	local name
	[ "$(readlink "$run/bin" 2>/dev/null)" = "$(bin_dir)" ] || return 1
	for name in "${daemons[@]}"; do pid_of "$name" >/dev/null || return 1; done
	kubectl get --raw /readyz >/dev/null 2>&1 && node_usable 2>/dev/null
}

tell() {
	printf '\nKUBECONFIG=%s\nPATH with kubectl and helm: %s\nlogs: %s\n' \
		"$kubeconfig" "$run/bin" "$run/log"
}

# --- the ground -------------------------------------------------------------

# Two clusters, or somebody's own network of the same numbers, would fight.
check_free() {
	local ip route
	if [ -e "$run" ] && [ -n "$(ls -A "$run")" ]; then
		die "$run has files that are not ours; choose another with AFTERGLOW_RUN"
	fi
	if [ -e "/run/netns/$netns" ]; then
		die "the network namespace $netns exists already: a cluster with another" \
			"AFTERGLOW_RUN? If not, remove it with: ip netns delete $netns"
	fi
	for ip in "$host_ip" "$node_ip" "$service_ip"; do
		route=$(ip -4 route get "$ip" 2>/dev/null | head -n 1) || continue
		if [[ $route != *" via "* && $route != "" ]]; then
			die "the machine has a network that contains $ip: $route"
		fi
	done
}

remember_dirs() {
	local dir
	for dir in /var/lib/kubelet /var/lib/kubelet/device-plugins /var/log/containers \
		/var/lib/cni /var/lib/cni/results /var/lib/cni/cache; do
		if [ ! -e "$dir" ]; then printf '%s\n' "$dir"; fi
	done >"$run/new-dirs"
}

# The kubelet and v2/node.sh set most of these; what they were is kept for down.sh.
remember_sysctls() {
	local key
	for key in vm.max_map_count vm.overcommit_memory vm.panic_on_oom kernel.panic kernel.panic_on_oops \
		kernel.keys.root_maxkeys kernel.keys.root_maxbytes fs.inotify.max_user_instances; do
		printf '%s %s\n' "$key" "$(sysctl -n "$key")"
	done >"$run/sysctls"
	boot_id >"$run/boot"
	if [ "$(sysctl -n fs.inotify.max_user_instances)" -lt 1024 ]; then
		sysctl -qw fs.inotify.max_user_instances=1024
	fi
}

# A mount of its own, shared, so that mounts propagate into pods that ask.
make_run_dir() {
	mkdir -p "$run"
	: >"$marker"
	mount --bind "$run" "$run"
	mount --make-rshared "$run"
	mkdir -p "$run"/{pids,log/pods,etc/cni,etc/manifests,pki,etcd,kubelet,cni,containerd}
	chmod 700 "$pki"
	ln -sfn "$(bin_dir)" "$run/bin"
	remember_dirs
	remember_sysctls
	# etcd syncs every write to disk; this state is not worth the wait.
	mount -t tmpfs -o size=1g,mode=700 tmpfs "$run/etcd"
}

# The kubelet wants its root cgroup to exist in every hierarchy. A new cpuset
# of v1 is empty, and nothing runs in an empty cpuset.
make_cgroups() {
	local hierarchy file
	for hierarchy in "$cgroup_mount"/*/; do
		case $hierarchy in
		*/cpuset/)
			mkdir -p "$hierarchy$cgroup"
			for file in cpuset.cpus cpuset.mems; do
				cat "$hierarchy$file" >"$hierarchy$cgroup/$file"
			done
			;;
		*/unified/) ;;
		*) if [ -e "${hierarchy}tasks" ]; then mkdir -p "$hierarchy$cgroup"; fi ;;
		esac
	done
	if [ -e "$cgroup_mount/cgroup.controllers" ]; then mkdir -p "$cgroup_mount/$cgroup"; fi
	# All pods together would count as one process of the machine, and starve beside a build or other tests.
	if [ -e "$cgroup_mount/cpu/$cgroup/cpu.shares" ]; then echo 8192 >"$cgroup_mount/cpu/$cgroup/cpu.shares"; fi
	if [ -e "$cgroup_mount/$cgroup/cpu.weight" ]; then echo 800 >"$cgroup_mount/$cgroup/cpu.weight"; fi
}

in_netns() { nsenter --net="/run/netns/$netns" "$@"; }

make_network() {
	ip netns add "$netns"
	ip link add "$host_link" type veth peer name "$node_link" netns "$netns"
	ip address add "$host_ip/30" dev "$host_link"
	ip link set "$host_link" up
	in_netns ip link set lo up
	in_netns ip address add "$node_link_ip/30" dev "$node_link"
	in_netns ip link set "$node_link" up
	# With an address of its own the bridge keeps it while pods come and go.
	in_netns ip link add "$bridge" address 0a:58:0a:f6:00:01 type bridge
	in_netns ip address add "$node_ip/24" dev "$bridge"
	in_netns ip link set "$bridge" up
	in_netns ip route add default via "$host_ip"
	in_netns sysctl -qw net.ipv4.ip_forward=1
	in_netns sysctl -qw net.bridge.bridge-nf-call-iptables=1 2>/dev/null || true
	ip route add "$pod_cidr" via "$node_link_ip"
	ip route add "$service_cidr" via "$node_link_ip"
}

# --- certificates -----------------------------------------------------------

# issue CA NAME SUBJECT [NAMES]: a key and a certificate for clients and servers.
issue() {
	local ca=$1 name=$2 subject=$3 names=${4:-}
	openssl req -x509 -config "$pki/openssl.cnf" -new -newkey ec \
		-pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 3650 \
		-CA "$pki/$ca.crt" -CAkey "$pki/$ca.key" -subj "$subject" \
		-keyout "$pki/$name.key" -out "$pki/$name.crt" \
		-addext basicConstraints=critical,CA:FALSE \
		-addext keyUsage=critical,digitalSignature \
		-addext extendedKeyUsage=clientAuth,serverAuth \
		${names:+-addext "subjectAltName=$names"} 2>/dev/null
}

authority() {
	openssl req -x509 -config "$pki/openssl.cnf" -new -newkey ec \
		-pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 3650 -subj "/CN=$1" \
		-keyout "$pki/$1.key" -out "$pki/$1.crt" \
		-addext basicConstraints=critical,CA:TRUE \
		-addext keyUsage=critical,digitalSignature,keyCertSign 2>/dev/null
}

# write_kubeconfig USER FILE: complete in itself, so that it can be copied.
write_kubeconfig() {
	cat >"$2" <<-EOT
		apiVersion: v1
		kind: Config
		current-context: afterglow
		clusters:
		- name: afterglow
		  cluster:
		    server: $api_url
		    certificate-authority-data: $(base64 -w0 "$pki/ca.crt")
		contexts:
		- name: afterglow
		  context: {cluster: afterglow, user: $1}
		users:
		- name: $1
		  user:
		    client-certificate-data: $(base64 -w0 "$pki/$1.crt")
		    client-key-data: $(base64 -w0 "$pki/$1.key")
	EOT
	chmod 600 "$2"
}

make_certificates() {
	local name
	umask 077
	printf '[req]\ndistinguished_name = dn\n[dn]\n' >"$pki/openssl.cnf"
	authority ca
	authority front-proxy-ca
	openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$pki/sa.key" 2>/dev/null
	issue ca apiserver /CN=kube-apiserver "DNS:kubernetes,DNS:kubernetes.default,\
DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local,DNS:localhost,\
IP:127.0.0.1,IP:$service_ip,IP:$node_ip,IP:$node_link_ip"
	issue ca kubelet-server "/O=system:nodes/CN=system:node:$node_name" "DNS:$node_name,IP:$node_ip"
	issue ca kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client
	issue front-proxy-ca front-proxy-client /CN=front-proxy-client
	issue ca admin /O=system:masters/CN=admin
	issue ca coredns /CN=system:coredns
	issue ca kubelet "/O=system:nodes/CN=system:node:$node_name"
	for name in kube-controller-manager kube-scheduler kube-proxy; do
		issue ca "$name" "/CN=system:$name"
	done
	write_kubeconfig admin "$kubeconfig"
	for name in coredns kubelet kube-controller-manager kube-scheduler kube-proxy; do
		write_kubeconfig "$name" "$run/etc/$name.kubeconfig"
	done
	umask 022
}

# --- the programs -----------------------------------------------------------

start_etcd() {
	start etcd "$run/bin/etcd" --name node --data-dir "$run/etcd/data" \
		--listen-client-urls http://127.0.0.1:2379 \
		--advertise-client-urls http://127.0.0.1:2379 \
		--listen-peer-urls http://127.0.0.1:2380 \
		--initial-advertise-peer-urls http://127.0.0.1:2380 \
		--initial-cluster node=http://127.0.0.1:2380 \
		--unsafe-no-fsync --watch-progress-notify-interval 5s --log-level warn
}

# Overlay needs a file system below that has what it asks for; try it.
choose_snapshotter() {
	local probe=$run/probe answer=native
	mkdir -p "$probe"/{lower,upper,work,merged}
	if mount -t overlay overlay -o \
		"lowerdir=$probe/lower,upperdir=$probe/upper,workdir=$probe/work" \
		"$probe/merged" 2>/dev/null; then
		umount "$probe/merged"
		answer=overlayfs
	fi
	rm -rf "$probe"
	printf '%s\n' "$answer" >"$run/snapshotter"
}

# restrict_oom_score_adj: where CAP_SYS_RESOURCE is missing no process may lower
# its OOM score, and runc fails to start any sandbox without this.
start_containerd() {
	cat >"$run/etc/containerd.toml" <<-EOT
		version = 3
		root = "$run/containerd/root"
		state = "$run/containerd/state"
		disabled_plugins = ["io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.erofs",
		  "io.containerd.nri.v1.nri"]
		[grpc]
		  address = "$containerd_socket"
		[ttrpc]
		  address = "$containerd_socket.ttrpc"
		[plugins."io.containerd.internal.v1.opt"]
		  path = "$run/containerd/opt"
		[plugins."io.containerd.shim.v1.manager"]
		  socket_dir = "$shim_sockets"
		[plugins."io.containerd.cri.v1.images"]
		  snapshotter = "$(cat "$run/snapshotter")"
		[plugins."io.containerd.cri.v1.images".pinned_images]
		  sandbox = "$sandbox_image"
		[plugins."io.containerd.cri.v1.runtime"]
		  restrict_oom_score_adj = true
		  netns_mounts_under_state_dir = true
		  disable_hugetlb_controller = true
		  tolerate_missing_hugetlb_controller = true
		[plugins."io.containerd.cri.v1.runtime".cni]
		  bin_dirs = ["/usr/lib/cni"]
		  conf_dir = "$run/etc/cni"
		[plugins."io.containerd.cri.v1.runtime".containerd]
		  default_runtime_name = "runc"
		[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
		  runtime_type = "io.containerd.runc.v2"
		[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
		  BinaryName = "$run/bin/runc"
		  Root = "$run/containerd/runc"
	EOT
	cat >"$run/etc/cni/10-afterglow.conflist" <<-EOT
		{"cniVersion": "1.0.0", "name": "$netns", "plugins": [{
		  "type": "bridge", "bridge": "$bridge", "isGateway": true, "hairpinMode": true,
		  "ipam": {"type": "host-local", "dataDir": "$run/cni",
		    "ranges": [[{"subnet": "$pod_cidr", "gateway": "$node_ip"}]],
		    "routes": [{"dst": "0.0.0.0/0"}]}}]}
	EOT
	start_containerd_of containerd "$run/etc/containerd.toml"
}

start_apiserver() {
	start kube-apiserver "$run/bin/kube-apiserver" \
		--etcd-servers http://127.0.0.1:2379 \
		--bind-address 0.0.0.0 --secure-port "$api_port" \
		--advertise-address "$node_ip" --allow-privileged \
		--authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction \
		--service-cluster-ip-range "$service_cidr" \
		--client-ca-file "$pki/ca.crt" \
		--tls-cert-file "$pki/apiserver.crt" --tls-private-key-file "$pki/apiserver.key" \
		--kubelet-certificate-authority "$pki/ca.crt" \
		--kubelet-client-certificate "$pki/kubelet-client.crt" \
		--kubelet-client-key "$pki/kubelet-client.key" \
		--kubelet-preferred-address-types InternalIP \
		--service-account-issuer https://kubernetes.default.svc.cluster.local \
		--service-account-signing-key-file "$pki/sa.key" \
		--service-account-key-file "$pki/sa.key" \
		--requestheader-client-ca-file "$pki/front-proxy-ca.crt" \
		--requestheader-allowed-names front-proxy-client \
		--requestheader-extra-headers-prefix X-Remote-Extra- \
		--requestheader-group-headers X-Remote-Group \
		--requestheader-username-headers X-Remote-User \
		--proxy-client-cert-file "$pki/front-proxy-client.crt" \
		--proxy-client-key-file "$pki/front-proxy-client.key"
}

start_controllers() {
	local config=$run/etc/kube-controller-manager.kubeconfig
	start kube-controller-manager "$run/bin/kube-controller-manager" \
		--kubeconfig "$config" --authentication-kubeconfig "$config" \
		--authorization-kubeconfig "$config" --bind-address 127.0.0.1 \
		--leader-elect=false --use-service-account-credentials \
		--flex-volume-plugin-dir "$run/kubelet/volume-plugins" \
		--node-monitor-period 1s --kube-api-qps 500 --kube-api-burst 1000 \
		--service-account-private-key-file "$pki/sa.key" --root-ca-file "$pki/ca.crt" \
		--cluster-signing-cert-file "$pki/ca.crt" --cluster-signing-key-file "$pki/ca.key"
	config=$run/etc/kube-scheduler.kubeconfig
	start kube-scheduler "$run/bin/kube-scheduler" \
		--kubeconfig "$config" --authentication-kubeconfig "$config" \
		--authorization-kubeconfig "$config" --bind-address 127.0.0.1 --leader-elect=false
}

# The thresholds are below what any working machine has free: a test must not
# lose its pods to the disk of whoever runs it.
start_kubelet() {
	printf 'nameserver %s\n' "$node_ip" >"$run/etc/resolv.conf"
	cat >"$run/etc/kubelet.yaml" <<-EOT
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		address: $node_ip
		healthzBindAddress: 127.0.0.1
		tlsCertFile: $pki/kubelet-server.crt
		tlsPrivateKeyFile: $pki/kubelet-server.key
		authentication:
		  anonymous: {enabled: false}
		  webhook: {enabled: true}
		  x509: {clientCAFile: $pki/ca.crt}
		authorization: {mode: Webhook}
		containerRuntimeEndpoint: unix://$containerd_socket
		cgroupDriver: cgroupfs
		cgroupRoot: /$cgroup
		failSwapOn: false
		failCgroupV1: false
		oomScoreAdj: 0
		clusterDNS: [$node_ip]
		clusterDomain: cluster.local
		resolvConf: $run/etc/resolv.conf
		podLogsDir: $run/log/pods
		volumePluginDir: $run/kubelet/volume-plugins
		evictionHard:
		  memory.available: 50Mi
		  nodefs.available: 1%
		  nodefs.inodesFree: 1%
		  imagefs.available: 1%
		  imagefs.inodesFree: 1%
		imageGCHighThresholdPercent: 100
		imageGCLowThresholdPercent: 99
		registryPullQPS: 0
		eventRecordQPS: 0
		serializeImagePulls: false
		nodeStatusUpdateFrequency: 5s
	EOT
	start kubelet "$run/bin/kubelet" --config "$run/etc/kubelet.yaml" \
		--kubeconfig "$run/etc/kubelet.kubeconfig" --root-dir "$run/kubelet" \
		--cert-dir "$run/kubelet/pki" --hostname-override "$node_name" --node-ip "$node_ip"
}

# Zeros: the limits of connection tracking are the machine's and stay.
start_proxy() {
	cat >"$run/etc/kube-proxy.yaml" <<-EOT
		apiVersion: kubeproxy.config.k8s.io/v1alpha1
		kind: KubeProxyConfiguration
		clientConnection: {kubeconfig: $run/etc/kube-proxy.kubeconfig}
		hostnameOverride: $node_name
		mode: iptables
		clusterCIDR: $pod_cidr
		bindAddress: 0.0.0.0
		healthzBindAddress: 127.0.0.1:10256
		metricsBindAddress: 127.0.0.1:10249
		oomScoreAdj: 0
		iptables: {minSyncPeriod: 100ms, syncPeriod: 30s}
		conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
	EOT
	start kube-proxy "$run/bin/kube-proxy" --config "$run/etc/kube-proxy.yaml"
}

# There is no network beyond the machine: what is not of the cluster does not
# exist, said at once rather than after a resolver's time-out.
start_dns() {
	cat >"$run/etc/Corefile" <<-EOT
		.:53 {
		  bind $node_ip
		  errors
		  ready 127.0.0.1:8181
		  cache 2
		  kubernetes cluster.local in-addr.arpa {
		    kubeconfig $run/etc/coredns.kubeconfig
		    ttl 2
		  }
		  template ANY ANY . {
		    rcode NXDOMAIN
		  }
		}
	EOT
	kubectl apply -f - >/dev/null <<-'EOT'
		apiVersion: rbac.authorization.k8s.io/v1
		kind: ClusterRole
		metadata: {name: "system:coredns"}
		rules:
		- {apiGroups: [""], resources: [services, namespaces, pods, endpoints], verbs: [list, watch]}
		- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list, watch]}
		---
		apiVersion: rbac.authorization.k8s.io/v1
		kind: ClusterRoleBinding
		metadata: {name: "system:coredns"}
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:coredns"}
		subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "system:coredns"}]
	EOT
	start coredns "$run/bin/coredns" -conf "$run/etc/Corefile"
}

# --- all of it --------------------------------------------------------------

# The logs of a start that failed are the one thing worth keeping of it.
clean_up_failure() {
	local status=$?
	trap - EXIT
	if [ "$status" != 0 ] && [ -e "$marker" ]; then
		rm -rf "$run.failed-logs"
		cp -r "$run/log" "$run.failed-logs" 2>/dev/null || true
		teardown || true
		step "failed; torn down again, the logs are in $run.failed-logs" >&2
	fi
	exit "$status"
}

bring_up() {
	make_run_dir
	make_cgroups
	make_network
	step "network: namespace $netns, node $node_ip, services $service_cidr"
	choose_snapshotter
	start_etcd
	start_containerd
	make_certificates
	step "certificates"
	wait_for etcd 180 "etcd to answer" in_netns curl -sf http://127.0.0.1:2379/health
	step "etcd"
	start_apiserver
	wait_for containerd 180 "containerd to answer" ctr "$containerd_socket" version
	"$here/load-image.sh" "$run/bin/pause.tar" >/dev/null
	step "containerd, snapshotter $(cat "$run/snapshotter")"
	wait_for kube-apiserver 180 "the API server to be ready" kubectl get --raw /readyz
	step "API server"
	start_controllers
	start_kubelet
	start_proxy
	start_dns
	wait_for coredns 180 "DNS to be ready" in_netns curl -sf http://127.0.0.1:8181/ready
	wait_for kube-proxy 180 "kube-proxy to be ready" in_netns curl -sf http://127.0.0.1:10256/healthz
	step "DNS and kube-proxy"
	wait_for kubelet 180 "the node to be ready" node_usable
	wait_for kube-controller-manager 180 "the default service account" \
		kubectl get serviceaccount default
	step "node $node_name is ready: $(kubectl get node "$node_name" -o \
		jsonpath='Kubernetes {.status.nodeInfo.kubeletVersion}, {.status.nodeInfo.containerRuntimeVersion}, Linux {.status.nodeInfo.kernelVersion}')"
}

main() {
	need_root
	lock
	if healthy; then
		step "the cluster is up"
		tell
		return
	fi
	"$here/deps.sh"
	"$here/build.sh"
	if [ -e "$marker" ]; then
		step "tearing down a cluster that is not healthy"
		teardown
	fi
	check_free
	trap clean_up_failure EXIT
	trap 'exit 130' INT TERM
	bring_up
	tell
}

main
