#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# afterglow-node sees the signals that the kernel delivers, and the report of a container names the sender. Signals come from the node,
# from the container itself, from its pod and from another one, and go to the command, to process 1 and to a child. The OOM killer kills
# where the kernel log cannot be read, a storm of signals goes on elsewhere, and the agent is killed and started again.
# Plain sh: runs in the test machine too. As root. Ends with "N passed, N failed".
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
hog=$build/test/hog probe=$build/test/probe
ulimit -c 0
work=$(mktemp -d /tmp/node_signals.XXXXXX)
. "$(dirname "$0")/check.sh"
. "$(dirname "$0")/agent.sh"
storm=''
finish() {
	# The storm's shell ignores SIGTERM, and SIGHUP under nohup.
	[ -z "$storm" ] || kill -USR1 $storm 2>/dev/null
	end_node
}
trap finish EXIT
begin_node signals
: >"$work/var/log/syslog"

make_pod() {
	add_pod
	third=$pod/$(id c) store=$work/store$number
	mkdir "$third" "$store"
}

start_sidecar() {
	rm -f "$work/err"
	run_sidecar "$side" "$number" --store "$store" >"$work/err" 2>&1 &
	side_pid=$!
	wait_until [ -S "$work/socket$number" ] || exit 1
}

# Returns when the agent has looked at all processes that run now. The second time that it finds a new pod it tells the pod's sidecar
# that it sees signals. So we make another pod, and wait for that.
wait_for_a_look() {
	marker_uid=$(printf '%08d-3333-1111-1111-%012d' $$ $number)
	marker=$around/kubepods/burstable/pod$marker_uid
	mkdir "$marker"
	hand_down "$marker"
	mkdir "$marker/$(id e)"
	add_volume "$marker_uid" "${number}m"
	# The shell goes on before the process in the background has emptied the file of what the one before it wrote.
	rm -f "$work/marker"
	run_sidecar "$marker/$(id e)" "${number}m" >"$work/marker" 2>&1 &
	marker_pid=$!
	wait_until grep -qs 'the node agent sees' "$work/marker" || exit 1
	kill $marker_pid
	wait $marker_pid 2>/dev/null
	wait_until remove_tree "$marker"
}

attached() { grep -q '"event":"attached"' "$work/err"; }
reported() { grep -q '"event":"ended"' "$work/err"; }
said_all() { grep -q '^ *bundle' "$work/err"; }

# Starts the Ray container, whose command is a line of sh. Sets $command_pid and $launch_pid, which are PIDs of the node.
start_ray() { # SCRIPT
	rm -f "$work/go" "$work/over"
	make_pod
	start_sidecar
	begin_ray ray-worker ". $work/lib; echo ready >$work/ready$number; $1"
	wait_until [ -e "$work/ready$number" ] && wait_until attached || exit 1
	# What dies before the agent has looked at it is unknown to the agent: on cgroup v1 it shows no cgroup any more.
	if [ -n "$agent" ]; then
		wait_until grep -qs 'the node agent sees' "$work/err" || exit 1
		wait_for_a_look
	fi
	launch_pid=$(pid_of afterglow-launc)
	command_pid=$(pid_of sh)
	: >"$work/go"
}
# A sender stays after its signal, because one that ends may have gone before the agent looks.
stay="until [ -e $work/over ]; do sleep 0.2; done"
pid_of() { # COMM, in the container
	while read -r pid; do [ "$(cat "/proc/$pid/comm")" != "$1" ] || echo "$pid"; done <"$ray/cgroup.procs" | head -n 1
}

end_pod() {
	check "$1: a report came" wait_until reported
	wait_until said_all
	: >"$work/over"
	wait $ray_pid 2>/dev/null
	kill $side_pid
	wait $side_pid 2>/dev/null
	wait_until remove_tree "$pod"
}

bundle_has() { # FILE PATTERN
	find "$store" "$work/spool$number" -name "$1" -exec grep -q "$2" {} \; -print | grep -q .
}

not() { ! "$@"; }

in_cgroup() { # DIRECTORY COMMAND...
	sh -c 'echo 0 >"$1/cgroup.procs"; shift; exec "$@"' sh "$@"
}

idle='while :; do sleep 1; done'

start_ray "$idle"
kill -9 "$command_pid"
end_pod "without an agent"
check "without an agent nobody is named" says 'not by the OOM killer: sender unknown'

start_agent

start_ray "$idle"
kill -9 "$command_pid"
end_pod "kill -9 from the node"
check "kill -9 from the node: certain" says 'class Killed, certain'
check "kill -9 from the node: by a shell's own kill" says 'was killed with SIGKILL from node_signals_te (PID [0-9]*) on the node'

start_ray "$idle"
/bin/kill -9 "$command_pid"
end_pod "kill -9 by a program that ends at once"
check "a sender that ends at once: certain" says 'class Killed, certain'
# A sender that has ended before the agent looks has no name any more.
check "a sender that ends at once: its name, or that it has ended" says 'SIGKILL from \(kill (PID\|a process (PID [0-9]* on the node), which ended right\)'

start_ray "sh -c '$await_go; kill -9 \$PPID; $stay'; sleep 60"
end_pod "a child kills the command"
check "a child kills the command: certain" says 'class Killed, certain'
check "a child kills the command: its PID in the container" says 'SIGKILL from \(sh\|exe\) (PID [0-9]\{1,2\}) in container ray-worker'

start_ray "$idle"
in_cgroup "$third" sh -c "kill -9 $command_pid; $stay" &
end_pod "another container of the pod"
check "another container of the pod: certain" says 'class Killed, certain'
check "another container of the pod: said" says 'SIGKILL from \(sh\|exe\) (PID [0-9]*) in another container of the pod'

start_ray "$idle"
other=$around/kubepods/burstable/pod$(printf '%08d-2222-1111-1111-%012d' $$ $number)
mkdir "$other"; hand_down "$other"; mkdir "$other/$(id d)"
in_cgroup "$other/$(id d)" sh -c "kill -9 $command_pid; $stay" &
end_pod "another pod"
check "another pod: certain" says 'class Killed, certain'
check "another pod: it is not named" says 'SIGKILL from sh (PID [0-9]* on the node) in another pod'
wait_until remove_tree "$other"

start_ray "$idle"
kill -9 "$launch_pid"
end_pod "kill -9 of process 1"
check "kill -9 of process 1: certain" says 'class Killed, certain'
check "kill -9 of process 1: named" says 'SIGKILL to the launcher (PID 1), .* from node_signals_te (PID [0-9]*) on the node'

# A launcher that is process 1 drops it for a command that does not handle it.
host_pid=yes
start_ray "$idle"
host_pid=
kill -TERM "$launch_pid"
end_pod "SIGTERM to the launcher"
check "SIGTERM to the launcher: who sent it, not who passed it on" says 'by SIGTERM.* \(sent by\|the signal came from\) node_signals_te (PID [0-9]*) on the node'

start_ray "sleep 600 & child=\$!; sh -c \"$await_go; kill -9 \$child\"; wait \$child; exit 3"
end_pod "a child is killed"
check "a child is killed: the command's exit code is its own" says 'class ApplicationError'
check "a child is killed: nobody killed the command" silent 'was killed with SIGKILL'

# On a busy machine the agent may bring the kernel's lines later than a sidecar waits for them.
has_lines() { says 'kernel log: Memory cgroup out of memory: Killed process\|Memory cgroup out of memory: Killed process'; }
oom_spares_us
for tries in 1 2 3 4 5; do
	rm -f "$work/limited"
	start_ray "until [ -e $work/limited ]; do sleep 0.2; done; exec sh -c '$as_victim $hog 200M --rate 20M'"
	set_limit "$ray" 24M
	touch "$work/limited"
	end_pod "the OOM killer"
	if has_lines; then break; fi
done
say_tries "the OOM killer's lines" "$tries"
oom_spares_nobody
check "the OOM killer: the class says so" says 'class KernelOOMContainer'
check "the OOM killer: the agent proves it without the kernel log" says 'node agent: the OOM killer took the command (PID [0-9]*)\|the OOM killer took the command (PID [0-9]*)'
check "the OOM killer: the agent brings the kernel's lines" has_lines
check "the OOM killer: they are in the bundle" bundle_has kernel.log 'Memory cgroup out of memory: Killed process'

find_crash_words
start_ray "$await_go; exec $probe fault segv"
end_pod "a segfault"
check "a segfault: its class" says 'class Segfault'
check "a segfault: the kernel's line of it" says "$segfault"

# The syslog file has a line of the kubelet about this pod, one about another pod, and one of another program.
start_ray "$idle"
echo "Nov 22 15:00:01 n kubelet[812]: \"Probe failed\" podUID=\"$uid\" probe 77" >>"$work/var/log/syslog"
echo "Nov 22 15:00:01 n kubelet[812]: \"Probe failed\" podUID=\"of another\" probe 78" >>"$work/var/log/syslog"
echo "Nov 22 15:00:01 n sshd[9]: $uid probe 79" >>"$work/var/log/syslog"
sleep 2.5
kill -9 "$command_pid"
end_pod "a syslog"
check "a syslog: the line that names the pod is in the bundle" bundle_has syslog.log 'probe 77'
check "a syslog: others are not" not bundle_has syslog.log 'probe 7[89]'

# A shell sends as many signals as it can to a process that ignores them.
cat >"$work/storm" <<-END
	trap '' TERM
	(trap '' TERM; exec sleep 1000) &
	child=\$!
	trap "kill -9 \$child; exit" USR1
	: >$work/storming
	while :; do kill -TERM \$child; done
END
start_ray "$idle"
sh "$work/storm" &
storm=$!
wait_until [ -e "$work/storming" ] || exit 1
kill -9 "$command_pid"
kill -USR1 $storm
wait $storm 2>/dev/null
storm=
end_pod "a storm of signals elsewhere"
check "a storm of signals elsewhere: certain" says 'class Killed, certain'
check "a storm of signals elsewhere: named" says 'SIGKILL from node_signals_te (PID [0-9]*) on the node'

kill_agent
check "an agent that is killed leaves its instance behind" [ -d "$tracing/instances/$instance" ]
start_agent
start_ray "$idle"
kill -9 "$command_pid"
end_pod "the agent after it"
check "the agent after it: the class is certain" says 'class Killed, certain'
check "the agent after it: the sender is named" says 'SIGKILL from node_signals_te (PID [0-9]*) on the node'

stop_agent
check "an agent that is stopped removes its instance" [ ! -d "$tracing/instances/$instance" ]
summary
