#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The node agent is killed with -9 in the middle of each death and started again, and with every second one the sidecar with all of its
# children: the container's exit code is its own, each death has one report and no second one, the report is whole, and it is
# certain of nothing but what happened. Plain sh: runs in the test machine too. As root. Ends with "N passed, N failed".
# NODE_KILLS: how many containers die (default 12).
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
hog=$build/test/hog
ulimit -c 0
work=$(mktemp -d /tmp/node_kills.XXXXXX)
. "$(dirname "$0")/check.sh"
. "$(dirname "$0")/agent.sh"
trap end_node EXIT
begin_node kills
deaths=${NODE_KILLS:-12}
export POD_NAMESPACE=ml POD_NAME=w AFTERGLOW_CLUSTER=demo

listens() { [ -S "$work/socket$number" ]; }
start_sidecar() {
	rm -f "$work/socket$number"
	POD_UID=$uid run_sidecar "$side" "$number" --store "$store" --reconnect 1 >>"$work/err" 2>&1 &
	side_pid=$!
	wait_until listens || exit 1
}
# As when the kubelet's container runtime ends the container: nobody of it says goodbye.
kill_sidecar() {
	# shellcheck disable=SC2046
	kill -9 $(cat "$side/cgroup.procs") 2>/dev/null
	wait $side_pid 2>/dev/null
	sidecars_killed=$((sidecars_killed + 1))
}
says_on_err() { grep -q "$1" "$work/err"; }

command_is_there() { grep -qs . "$work/command_pid"; }
# Starts a container that is to die in this way, and leaves $truth, $code and $undo to what it becomes and to who has it die.
start_death() { # KIND
	rm -f "$work/go" "$work/command_pid"
	case $1 in
	0) truth=Killed wanted=137 script="while :; do sleep 1; done" ;;
	1) truth=KernelOOMContainer wanted=137 script="$await_go; exec $hog 200M --rate 200M" ;;
	2) truth=ApplicationError wanted=3 script="$await_go; exit 3" ;;
	esac
	begin_ray ray-worker "echo \$\$ >$work/command_pid; $script"
	wait_until command_is_there && wait_until says_on_err '"event":"attached"' || exit 1
}
victim() { # the container's command, by its PID on the node
	while read -r pid; do [ "$(cat "/proc/$pid/comm")" != sh ] || echo "$pid"; done <"$ray/cgroup.procs" | head -n 1
}
let_die() { # KIND
	case $1 in
	0) kill -9 "$(victim)" ;;
	1) set_limit "$ray" 24M ;;
	esac
	: >"$work/go"
}

manifests() { find "$store" "$work/spool$number" -name MANIFEST.json 2>/dev/null; }
# A sidecar that ends between the copy to the store and the removal from the spool leaves one report in both.
reports() { manifests | sed 's|/MANIFEST.json$||; s|.*/||' | sort -u | wc -l; }
reported() { [ "$(manifests | wc -l)" -ge 1 ]; }
field() { grep -o "\"$1\":[[:space:]]*\"[A-Za-z]*" "$report" | head -n 1 | sed 's/.*"//'; }
is_true() { # the class, or that it is not known; on v1 a process that is killed again while it dies is Killed
	[ "$(field class)" = "$truth" ] || { [ "$(field confidence)" != certain ] && [ "$(field class)" = Unknown ]; }
}
names_no_other() { ! grep -q 'SIGKILL from' "$report" || grep -q 'SIGKILL from \(node_kills_test\|sh\|a process\)' "$report"; }
is_whole() { # the bundle of $report
	for file in "${report%/*}"/*; do
		name=${file##*/}
		[ "$name" = MANIFEST.json ] || grep -q "$(sha256sum "$file" | cut -d' ' -f1)" "${report%/*}/MANIFEST.json" || return 1
	done
}

agents_killed=0 sidecars_killed=0 certain=0
start_agent --syslog off
for i in $(seq "$deaths"); do
	kind=$((i % 3))
	: >"$work/err"
	add_pod
	store=$work/store$number
	mkdir "$store"
	start_sidecar
	start_death $kind
	let_die $kind
	usleep $((i * 7919 % 60 * 1000))
	kill_agent
	agents_killed=$((agents_killed + 1))
	if [ $((i / 3 % 2)) = 1 ]; then
		kill_sidecar
		start_sidecar
	fi
	start_agent --syslog off
	wait $ray_pid
	code=$?
	check "death $i: exit $wanted is kept" [ $code = $wanted ]
	check "death $i, $truth: it is reported" wait_until reported
	# SIGTERM lets a sidecar finish what it has begun.
	kill $side_pid
	wait $side_pid 2>/dev/null
	check "death $i, $truth: it is reported once ($(manifests | tr "\n" " "))" [ "$(reports)" = 1 ]
	report=$(manifests | head -n 1)
	report=${report%/*}/report.json
	check "death $i, $truth: the bundle is whole" is_whole
	check "death $i, $truth: the class is true ($(field class), $(field confidence))" is_true
	check "death $i, $truth: nobody else is named" names_no_other
	[ "$(field confidence)" != certain ] || certain=$((certain + 1))
	rm -rf "$store" "$work/spool$number"
	wait_until remove_tree "$pod"
done
stop_agent
echo "node agents killed: $agents_killed; sidecars killed: $sidecars_killed; reports that are certain: $certain of $deaths"
check "a death is certain where nobody but the agent was killed" [ $certain -ge $((deaths / 3)) ]
summary
