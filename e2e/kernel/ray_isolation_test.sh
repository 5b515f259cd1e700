#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Real Ray with --enable-resource-isolation in a container on cgroup v2, beside its sidecar: Ray makes cgroups below the container's
# and moves every process there. The kernel kills a task that leaks, Ray's own monitor another, and raylet is killed with kill -9.
# Runs in the machine alone, with Ray's files: `make ray-isolation-test`. Plain sh. Ends with "N passed, N failed".
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
sidecar=$build/afterglow-sidecar launch=$build/afterglow-launch contain=$build/test/contain
ulimit -c 0
root=/run/root
work=/tmp/work store=/tmp/work/store
mkdir -p $work $store /tmp/home
: >$work/err
. "$(dirname "$0")/check.sh"
if [ ! -e $root/usr/local/bin/ray ]; then
	echo "$root has no Ray: start this by make ray-isolation-test" >&2
	exit 2
fi
began=$(cut -d. -f1 /proc/uptime)
since() { echo "$(($(cut -d. -f1 /proc/uptime) - began)) s: $*"; }

pod=/sys/fs/cgroup/pod
# The cgroup has a name as a runtime gives it, so that the kernel log tells it from other containers'.
ray=$pod/cri-containerd-$(printf '%064d' 7).scope
mkdir $pod $ray $pod/side
echo '+cpu +memory +pids' >$pod/cgroup.subtree_control
echo 1600M >$ray/memory.max

# Ray reserves at least 500 MiB by default. With so little, its own processes outgrow it, and the container's limit is met before the
# user's processes reach the memory.high of their cgroup. Ray's waits are long because this machine is slow.
cat >$work/environment <<'END'
export HOME=/tmp/home PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin PYTHONUNBUFFERED=1
export RAY_DEFAULT_MIN_SYSTEM_RESERVED_CPU_CORES=0.5 RAY_DEFAULT_MIN_SYSTEM_RESERVED_MEMORY_BYTES=33554432
export RAY_memory_monitor_refresh_ms=0
export RAY_gcs_server_port_wait_time_s=600 RAY_health_check_initial_delay_ms=2400000 RAY_health_check_timeout_ms=600000
export RAY_agent_register_timeout_ms=2400000 RAY_worker_register_timeout_seconds=2400
export RAY_gcs_server_request_timeout_seconds=600 RAY_gcs_rpc_server_connect_timeout_s=600
cd /tmp/home
END
cat >$work/head <<'END'
. /tmp/work/environment
exec ray start --head --block --enable-resource-isolation --system-reserved-cpu=0.5 --system-reserved-memory=33554432 \
	--node-ip-address=127.0.0.1 --num-cpus=1 --object-store-memory=80000000 --include-dashboard=false --no-monitor \
	--disable-usage-stats --dashboard-agent-grpc-port=7001 --dashboard-agent-listen-port=7002 --runtime-env-agent-port=7003 \
	--metrics-export-port=7004
END
# A wait of Ray that nothing sets from outside is a constant in node.py.
cat >$work/container <<END
for directory in proc sys dev tmp; do mount --rbind /\$directory $root/\$directory; done
node=$root/usr/local/lib/python3.11/dist-packages/ray/_private/node.py
sed 's/raylet_start_wait_time_s = 30/raylet_start_wait_time_s = 2400/' \$node >$work/node.py
mount --bind $work/node.py \$node
exec $launch --socket $work/socket --name ray-head -- chroot $root sh $work/head
END
# The kernel fills the pages: under this kernel page faults are slow, and Ray's programs would read theirs again as fast as it frees them.
cat >$work/leak.py <<'END'
import mmap

import ray

MADV_POPULATE_WRITE = 23

ray.init(address="127.0.0.1:6379")


@ray.remote(max_retries=0)
def leak():
    kept = []
    while True:
        kept.append(mmap.mmap(-1, 8 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
        kept[-1].madvise(MADV_POPULATE_WRITE)


try:
    ray.get(leak.remote())
except ray.exceptions.RayError as e:
    print("the task failed:", type(e).__name__)
END

patiently() { # CONDITION..., ten minutes while the container runs
	for _ in $(seq 600); do
		if "$@"; then return 0; fi
		kill -0 $container || return 1
		sleep 1
	done
	return 1
}
node() { ls -d $ray/ray-node_* 2>/dev/null; }
has_node() { [ -n "$(node)" ]; }
# raylet waits 30 s for its agents to write the ports that they listen on, and no longer. These are known: the options fix them.
write_ports() {
	session=$(readlink -f /tmp/ray/session_latest)
	id=$(basename "$(node)")
	for port in metrics_agent_port:7001 dashboard_agent_listen_port:7002 runtime_env_agent_port:7003 metrics_export_port:7004; do
		printf %s "${port#*:}" >$work/port
		mv $work/port "$session/${port%:*}_${id#ray-node_}"
	done
}
started() { grep -q 'Ray runtime started' $work/out; }
# Starts a process in the container beside Ray, as `kubectl exec` does.
inside() { # COMMAND...
	sh -c 'echo $$ >"$0/user/non-ray/cgroup.procs" && exec "$@"' "$(node)" \
		nsenter -t "$(pgrep -x raylet)" -m -p -C chroot $root sh -c ". $work/environment; $*"
}

"$contain" --cgroup $pod/side --memory own --pid "$sidecar" --socket $work/socket --store $store --spool $work/spool \
	--grace 1 >$work/err 2>&1 &
watcher=$!
wait_until [ -S $work/socket ] || exit 1
"$contain" --cgroup $ray --memory own --pid sh $work/container >$work/out 2>&1 &
container=$!
check "Ray makes its cgroups" patiently has_node
write_ports
check "Ray comes up" patiently started
since "Ray is up"
check "no process is left in the container's own cgroup" [ -z "$(cat $ray/cgroup.procs)" ]
check "the user's processes have a limit of their own" [ "$(cat "$(node)/user/memory.max")" = "$(cat $ray/memory.max)" ]

# The kernel kills first: with as little reserved memory as here, the container's limit is met first.
inside timeout 300 python3 $work/leak.py >$work/leak 2>&1
since "the task is over: $(tail -n 1 $work/leak)"
check "the kernel killed the task" grep -q 'the task failed: WorkerCrashedError' $work/leak
check "a report tells of the kernel's kill" wait_until says 'class KernelOOMProcess, certain'
check "it names the task" \
	says 'The kernel killed ray::leak (PID [0-9]*) in container ray-head: it reached its memory limit of 1.6 GiB; the container lives on'
check "the kernel log has it, too" says 'kernel log: Memory cgroup out of memory: Killed process [0-9]* (ray::leak)'

# Then Ray kills: once the container may use more, the user's processes reach the memory.high of their cgroup first.
echo 2600M >$ray/memory.max
inside timeout 300 python3 $work/leak.py >$work/leak 2>&1
since "the second task is over: $(tail -n 1 $work/leak)"
check "Ray killed the task" grep -q 'the task failed: OutOfMemoryError' $work/leak
check "a report tells of Ray's kill" wait_until says 'class RayMemoryMonitor'
check "it names the task, too" says 'memory monitor killed ray::leak (PID [0-9]*)'
# Ray's own words stand there when the last sample was taken after the kill.
check "it says how full the memory was" \
	says 'the user.s processes used 1.[0-9] GiB of the 1.6 GiB that Ray.s resource isolation leaves them\|memory was at 1.[0-9]*GB used'
check "the kernel did not kill it" [ "$(grep -c '"event":"process-killed"' $work/err)" = 1 ]

# For 15 s after an OOM kill the report takes a SIGKILL for the kernel's.
sleep 20
kill -9 "$(pgrep -x raylet)"
wait $container
code=$?
since "the container exited with $code"
check "kill -9 of raylet does not change the exit code" [ $code = 1 ]
check "the end is reported" wait_until says '"event":"ended"'
check "raylet is the cause of the container's end" says 'class RayletFailed'
check "it says that raylet was killed" says 'raylet was killed with SIGKILL'
check "the report does not blame the kernel" silent 'raylet was killed with SIGKILL, most likely'
kill $watcher
wait $watcher
[ "$failed" = 0 ] || cat $work/err
summary
