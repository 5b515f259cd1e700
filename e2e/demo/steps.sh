# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # some variables are for those who source this, some are theirs
# The steps that demo.sh and kuberay.sh have in common: cluster, images, Afterglow, a volume, and what is left of a death.
# Who sources this says in ray_pods which pods its Ray has, as a selector. Sourced, never run.
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

images=${DEMO_IMAGES:-localhost}
version=$(make -s -C "$root" version)
ray_version=$(sed -n 's/^ray==\([^ ]*\).*/\1/p' "$root/images/ray/requirements.txt")
ray_image=$images/afterglow-ray:$ray_version
current="starting"
node=${AFTERGLOW_DEMO_NODE:-}
# Helm's options for what take_tails found.
tails=()
said=$(mktemp)

begin() {
	current=$*
	step "$current"
}

k() { kubectl -n "$namespace" "$@"; }

# --- when it fails ------------------------------------------------------------

tell_pods() { # NAMESPACE
	printf -- '\n--- pods and latest events in %s\n' "$1"
	kubectl -n "$1" get pods -o wide || return 0
	kubectl -n "$1" get events --sort-by=.lastTimestamp \
		-o custom-columns=TYPE:.type,REASON:.reason,OBJECT:.involvedObject.name,MESSAGE:.message 2>/dev/null |
		grep -v '^Normal' | tail -n 8 | cut -c1-300
}

tell_logs() { # SELECTOR NAMESPACE
	local pod
	for pod in $(kubectl -n "$2" get pods -l "$1" -o name); do
		printf -- '\n--- last lines of %s\n' "$pod"
		kubectl -n "$2" logs "$pod" --all-containers --tail 25 --prefix 2>&1 | cut -c1-300
	done
}

finish() {
	local status=$?
	trap - EXIT
	local jobs
	mapfile -t jobs < <(jobs -p)
	[ "${#jobs[@]}" = 0 ] || kill "${jobs[@]}" 2>/dev/null || true
	[ "$node" != v2 ] || prefer afterglow-node afterglow-v2 2>/dev/null || true
	if [ "$status" != 0 ]; then
		{
			printf '\ndemo: failed after %d s at: %s\n' "$SECONDS" "$current"
			if kubectl get --raw /readyz >/dev/null 2>&1; then
				tell_pods "$system_namespace"
				tell_logs app.kubernetes.io/name=afterglow "$system_namespace"
				tell_pods "$namespace"
				tell_logs "$ray_pods" "$namespace"
			fi
			if [ -s "$said" ]; then
				printf -- '\n--- the Ray job said\n'
				tail -n 20 "$said"
			fi
			printf '\ndemo: failed after %d s at: %s\n' "$SECONDS" "$current"
		} >&2
	fi
	rm -f "$said"
	exit "$status"
}

# What does not get better by waiting.
# shellcheck disable=SC2016 # the $ are of the template
hopeless() {
	kubectl get pods -n "$1" -o go-template='{{range .items}}{{$pod := .metadata.name}}{{range .status.containerStatuses
		}}{{with .state.waiting}}{{$pod}}={{.reason}}{{"\n"}}{{end}}{{end}}{{end}}' 2>/dev/null |
		grep -E '=(ErrImagePull|ImagePullBackOff|ErrImageNeverPull|InvalidImageName|CreateContainer(Config)?Error|CrashLoopBackOff)'
}

# wait_until SECONDS WHAT COMMAND...: polls, with a sign of life every ten seconds.
wait_until() {
	local limit=$1 what=$2 from=$SECONDS told=$SECONDS trouble=""
	shift 2
	until "$@" >/dev/null 2>&1; do
		if ((SECONDS - from >= limit)); then die "waited $limit s in vain for $what"; fi
		if ((SECONDS - told >= 10)); then
			told=$SECONDS
			# Twice in a row: a container that has just been started again waits too.
			if [ -n "$trouble" ] && trouble=$(hopeless "$namespace"); then die "$what: $trouble"; fi
			trouble=$(hopeless "$namespace") || trouble=""
			note "$((SECONDS - from)) s, waiting for $what: $(pods_in_short)"
		fi
		sleep 0.5
	done
}

pods_in_short() {
	k get pods -l "$ray_pods" --no-headers 2>/dev/null |
		awk '{ printf "%s%s %s %s", sep, $1, $2, $3; sep = ", " }'
}

# The lock of e2e/run.sh: demo and tests install the same release, and some tests break it on purpose.
take_cluster() {
	trap finish EXIT
	trap 'exit 130' INT TERM
	cache=${AFTERGLOW_CACHE:-$HOME/.cache/afterglow}
	mkdir -p "$root/build" "$cache"
	exec 8>"$cache/cluster.lock"
	flock -n 8 || { echo "waiting for another run on this cluster"; flock 8; }
}

# --- the cluster, the images ---------------------------------------------------

make_cluster() {
	if own_cluster; then
		begin "a Kubernetes on this machine (the first time its programs are built: seven minutes on two cores)"
		[ "$(id -u)" = 0 ] || die "must run as root for a cluster of its own; or set KUBECONFIG_DEMO"
		local there=no
		if [ -e "$run/kubeconfig" ] && "$run/bin/kubectl" --kubeconfig "$run/kubeconfig" get --raw /readyz >/dev/null 2>&1; then
			there=yes
		fi
		"$root/e2e/cluster/up.sh"
		mkdir -p "$state/images"
		# demo-clean.sh takes down only what the demo brought up.
		if [ "$there" = no ]; then : >"$state/cluster-is-ours"; fi
	else
		begin "the cluster of $KUBECONFIG_DEMO"
	fi
	use_cluster
	kubectl get nodes
}

# The archive's checksum beside the digest the cluster has: another program may have loaded another image of that name.
image_record() { # NAME ARCHIVE
	printf '%s %s %s\n' "$1" "$(sha256sum <"$2" | cut -d' ' -f1)" \
		"$(containerd images ls "name==$1" | awk 'NR > 1 { print $3 }')"
}

load_image() { # NAME ARCHIVE
	local record
	record=$state/images/$(basename "${1%%:*}")
	if [ -e "$record" ] && [ "$(image_record "$1" "$2")" = "$(cat "$record")" ]; then
		note "$1 is loaded"
		return
	fi
	note "loading $1 ($(du -h "$2" | cut -f1))"
	"$root/e2e/cluster/load-image.sh" "$2" >/dev/null
	image_record "$1" "$2" >"$record"
}

make_images() {
	begin "images (the first time Ray's is built: a few minutes)"
	local ray_archive
	"$root/images/build.sh" operator sidecar | sed 's/^/         /'
	ray_archive=$("$root/images/ray/build.sh" | tail -n 1)
	if own_cluster; then
		load_image "localhost/afterglow-operator:$version" "$root/build/images/afterglow-operator.tar"
		load_image "localhost/afterglow-sidecar:$version" "$root/build/images/afterglow-sidecar.tar"
		load_image "localhost/afterglow-ray:$ray_version" "$ray_archive"
		return
	fi
	note "the nodes must have these, loaded from the archives, or pulled (DEMO_IMAGES=prefix instead of $images):"
	note "  $images/afterglow-operator:$version  build/images/afterglow-operator.tar"
	note "  $images/afterglow-sidecar:$version   build/images/afterglow-sidecar.tar"
	note "  $ray_image       $ray_archive"
}

# --- Afterglow -----------------------------------------------------------------

# make_namespace NAME: on somebody's cluster, ours by its label or none of our business.
make_namespace() {
	if ! kubectl get namespace "$1" >/dev/null 2>&1; then
		kubectl create namespace "$1" >/dev/null
		kubectl label namespace "$1" "$label" >/dev/null
	elif own_cluster; then
		kubectl label --overwrite namespace "$1" "$label" >/dev/null
	elif ! made_by_demo namespace "$1"; then
		die "namespace $1 is there and not the demo's; choose another with DEMO_NAMESPACE or DEMO_SYSTEM_NAMESPACE"
	fi
	wait_until 60 "namespace $1's service account" kubectl -n "$1" get serviceaccount default
}

release_field() { # NAME
	helm status "$release" -n "$system_namespace" -o json 2>/dev/null | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"
}

# An installation that was interrupted blocks the next one. No living one takes longer than the time limit below.
unblock_release() {
	local status told=""
	while status=$(release_field status) && [[ $status == pending-* || $status == uninstalling ]]; do
		if (($(date +%s) - $(date -d "$(release_field last_deployed)" +%s) > 130)); then
			note "the last installation was interrupted ($status); removing it"
			helm uninstall "$release" -n "$system_namespace" --wait
			return
		fi
		[ -n "$told" ] || note "waiting for another installation ($status) to end, at most 130 s"
		told=yes
		sleep 2
	done
}

# CRDs that another release or a person installed are used as they are.
crd_owner() {
	kubectl get crd "$1" --ignore-not-found -o \
		go-template='{{with .metadata.annotations}}{{index . "meta.helm.sh/release-name"}} {{
			index . "meta.helm.sh/release-namespace"}}{{end}}'
}

# install_afterglow [HELM-OPTION...]
install_afterglow() {
	begin "helm upgrade --install $release charts/afterglow -n $system_namespace"
	local crd owner new=() flags=()
	make_namespace "$system_namespace"
	unblock_release
	for crd in "${crds[@]}"; do
		owner=$(crd_owner "$crd")
		if ! kubectl get crd "$crd" >/dev/null 2>&1; then
			new+=("$crd")
		elif [ "$owner" != "$release $system_namespace" ]; then
			note "CRD $crd is there already and stays as it is"
			flags=(--set crds.install=false)
		fi
	done
	if ! own_cluster; then
		make_namespace "$namespace"
		flags+=(--set "watchNamespace=$namespace")
	fi
	# The tag stays the same from build to build; the annotation makes a new image a new pod.
	helm upgrade --install "$release" "$root/charts/afterglow" -n "$system_namespace" --wait --timeout 2m \
		"${flags[@]}" "$@" \
		--set "image.repository=$images/afterglow-operator,image.tag=$version" \
		--set "sidecar.image.repository=$images/afterglow-sidecar,sidecar.image.tag=$version" \
		--set-string "podAnnotations.afterglow\.dev/demo-image=$(sha256sum <"$root/build/images/afterglow-operator.tar" |
			cut -c1-16)" >/dev/null
	for crd in "${new[@]}"; do
		kubectl label --overwrite crd "$crd" "$label" >/dev/null
	done
	kubectl -n "$system_namespace" get pods
}

# --- the node with cgroup v2 -----------------------------------------------------

# prefer NODE OTHER: new pods come to the one of them; what runs stays where it is.
prefer() {
	kubectl taint node "$1" v2- >/dev/null 2>&1 || true
	kubectl taint node "$2" v2=true:NoSchedule --overwrite >/dev/null
}

# With AFTERGLOW_DEMO_NODE=v2 Ray runs on a node with cgroup v2, whatever this machine has.
take_node() {
	[ -n "$node" ] || return 0
	[ "$node" = v2 ] && own_cluster || die "AFTERGLOW_DEMO_NODE can be v2, on a cluster of its own"
	begin "a node with cgroup v2 in User Mode Linux (the first time its kernel is built: seven minutes on two cores)"
	"$root/e2e/cluster/v2/node.sh" up "$root/build/images/afterglow-sidecar.tar"
	prefer afterglow-v2 afterglow-node
}

# --- what the node says ---------------------------------------------------------

# Kubelet and containerd of our cluster write to files of their own. This is what a service manager would make of their lines.
to_syslog() {
	local line tag
	while IFS= read -r line; do
		case $line in
		time=*) tag=containerd ;;
		*) tag=kubelet ;;
		esac
		printf '%(%b %e %H:%M:%S)T %s %s[1]: %s\n' -1 afterglow-node "$tag" "$line"
	done
}

# The kernel log and the node's syslog, for the sidecars of our cluster. On somebody's cluster Pod Security may refuse pods that read them.
take_tails() {
	own_cluster || return 0
	: >"$state/syslog"
	tail -q -n 0 -F "$run"/{log,v2}/{kubelet,containerd}.log 2>/dev/null 8>&- > >(to_syslog >>"$state/syslog" 8>&-) &
	tails=(--set recording.kernelLog.enabled=true --set "recording.syslog.path=$state/syslog")
}

# --- Ray, and what is left of it ---------------------------------------------

# A claim of its own volume where there is no storage class, of the default class elsewhere.
make_volume() {
	local class="" access=ReadWriteOnce
	if own_cluster; then
		mkdir -p "$state/store"
		chown 65532:65532 "$state/store"
		chmod 700 "$state/store"
		# Bound to a claim that is gone, of a namespace that was deleted.
		if [ "$(kubectl get pv "$volume" -o jsonpath='{.status.phase}' 2>/dev/null)" = Released ]; then
			kubectl delete pv "$volume" >/dev/null
		fi
		sed "s|@VOLUME@|$volume|; s|@NAMESPACE@|$namespace|; s|@PATH@|$state/store|" "$here/volume.yaml" |
			kubectl apply -f - >/dev/null
		class='storageClassName: ""' access=ReadWriteMany
	fi
	sed "s|@CLASS@|$class|; s|@ACCESS@|$access|" "$here/claim.yaml" | k apply -f - >/dev/null
}

show() {
	printf '\n$ %s\n' "${*@Q}" | sed "s/'\([A-Za-z0-9._/:=,-]*\)'/\1/g"
	"$@"
}

show_bundle() {
	local bundle
	bundle=$(k get rayfailure "$failure" -o jsonpath='{.spec.bundle}')
	[ -n "$bundle" ] || die "RayFailure $failure names no bundle: $(k get rayfailure "$failure" -o jsonpath='{.spec.missing}')"
	bundle=${bundle#pvc:*/}
	sed "s|image: localhost/afterglow-ray:.*|image: $ray_image|" "$here/bundle-reader.yaml" | k apply -f - >/dev/null
	wait_until 90 "the pod that reads the volume" k wait --for=condition=Ready pod/bundle-reader --timeout=1s
	k exec bundle-reader -- test -f "$bundle/MANIFEST.json" || die "the bundle is not complete: no MANIFEST.json"
	show kubectl exec bundle-reader -n "$namespace" -- find "$bundle" -type f -printf '%10s  %P\n'
	show kubectl exec bundle-reader -n "$namespace" -- cat "$bundle/report.txt"
	if [ "${#tails[@]}" != 0 ]; then
		show kubectl exec bundle-reader -n "$namespace" -- tail -n 6 "$bundle/kernel.log" "$bundle/syslog.log" || true
	fi
	k delete pod bundle-reader --now --wait=false >/dev/null
}
