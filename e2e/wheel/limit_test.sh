#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# limit_test.sh [VENV]: real Ray with a memory limit of its own (`afterglow run --memory-max`), as root: a driver that leaks, and a task that
# leaks in a Ray that `ray start` without --block has left behind. VENV has Ray and the wheel. Without it one is made, with Ray from PyPI,
# and the test runs on this machine's cgroups and on those of v2. Ends with "N passed, N failed".
set -u

cd "$(dirname "$0")/../.."
if [ $# = 0 ]; then
	made=$(mktemp -d /var/tmp/limit_venv.XXXXXX)
	trap 'rm -rf "$made"' EXIT
	/usr/bin/python3 -m venv "$made" && "$made/bin/pip" install --quiet --disable-pip-version-check ray build/wheel/*.whl && e2e/wheel/limit_test.sh "$made" &&
		AFTERGLOW_VM_MEMORY=4096 e2e/kernel/uml.sh e2e/wheel/limit_test.sh "$made"
	exit
fi
[ -n "${AFTERGLOW_OWN_MOUNTS:-}${AFTERGLOW_IN_VM:-}" ] || AFTERGLOW_OWN_MOUNTS=1 exec unshare -m -n -p -f --kill-child --mount-proc "$0" "$@"
venv=$1
work=$(mktemp -d /tmp/limit_test.XXXXXX)
build=''
. e2e/kernel/check.sh
find_memory_cgroups
# On a machine that others use as well, what is made below our own cgroup is ours.
scope=$memory
[ "$version" = 2 ] || { scope=$(mktemp -d "$memory/limit-test-XXXXXX") && echo $$ >"$scope/cgroup.procs"; } || exit 1
finish() {
	[ "$scope" = "$memory" ] || { echo $$ >"$memory/cgroup.procs" && wait_until rmdir "$scope"; }
	rm -rf "$work"
	[ "$failed" = 0 ] || exit 1
}
trap finish EXIT

ip link set lo up
mkdir "$work/home" "$work/t"
afterglow() { env -i HOME="$work/home" TMPDIR="$work/t" PATH="$venv/bin:/usr/bin:/bin" RAY_memory_monitor_refresh_ms=0 RAY_DISABLE_MEMORY_MONITOR=1 "$venv/bin/python" "$venv/bin/afterglow" "$@"; }
says() { grep -Eq "$1" "$work/err"; }
cgroups() { find "$scope" -type d -name 'afterglow-[0-9]*' 2>/dev/null | sort; }
cgroups >"$work/before"

cat >"$work/driver.py" <<'CODE'
import ray
ray.init(num_cpus=1, object_store_memory=100 << 20, include_dashboard=False)
print("leaks", flush=True)
kept = []
while True:
    kept.append(bytearray(4 << 20))
CODE
began=$SECONDS
afterglow run --memory-max 1200Mi -- "$venv/bin/python" "$work/driver.py" >"$work/out" 2>"$work/err"
code=$?
echo "version $version: a driver that leaks, with its report, took $((SECONDS - began)) s"
grep -v '^\[afterglow\]' "$work/err" | tail -n 60
check "the driver is killed" test "$code" = 137
# In a PID namespace of its own the kernel log names other PIDs, so that it cannot be seen whether a child was taken.
certain='certain|likely'
[ -z "${AFTERGLOW_IN_VM:-}" ] || certain=certain
check "its class is that of its own limit" says "^  class +KernelOOM(Container|Process), ($certain)"
check "the driver is named" says 'driver\.py'
check "no word of Kubernetes is in its reports" test -z "$(grep -rlE 'kubelet|container |rayStartParams' "$work/home" --include=report.txt)"
# Ray's processes end by themselves, some after the command: then the cgroup stays, which the command says, and is empty later.
new_cgroups() { cgroups | comm -13 "$work/before" -; }
check "its cgroup is removed, or it is said to stay" test -z "$(new_cgroups)" -o "$(grep -c 'stay in its memory cgroup' "$work/err")" = 1
gone() { for directory in $(new_cgroups); do rmdir "$directory"; done 2>/dev/null; test -z "$(new_cgroups)"; }
check "nothing stays in it" wait_until gone

cat >"$work/task.py" <<'CODE'
import ray
ray.init(address="auto")
@ray.remote(max_retries=0)
def load_samples():
    kept = []
    while True:
        kept.append(bytearray(4 << 20))
try:
    ray.get(load_samples.remote())
except ray.exceptions.WorkerCrashedError as error:
    print("crashed", error)
CODE
began=$SECONDS
afterglow run --memory-max 1200Mi -- "$venv/bin/python" "$venv/bin/ray" start --head --disable-usage-stats --include-dashboard=false --num-cpus=1 --object-store-memory=100000000 \
	>"$work/out" 2>"$work/err"
check "ray start ends as it does" test $? = 0
cat "$work/err"
check "the Ray that it leaves behind is watched" says 'is watched until it ends: .*raylet'
check "it keeps its cgroup" test "$(new_cgroups | wc -l)" = 1
echo "ray start took $((SECONDS - began)) s"
began=$SECONDS
afterglow run -- "$venv/bin/python" "$work/task.py" >"$work/out" 2>"$work/err"
check "the task crashes" grep -q '^crashed' "$work/out"
listed() { afterglow list | grep -E '^ray +(KernelOOM|WorkerCrash|RayletFailed|GCSFailed)' >"$work/list"; }
check "what was killed in the Ray that was left behind is listed" wait_until listed
echo "version $version: the task that leaks until it is listed took $((SECONDS - began)) s"
cat "$work/list"
afterglow show ray >"$work/err"
cat "$work/err"
check "its report is certain of the limit" says "^  class +(KernelOOM|WorkerCrash).*, ($certain)"
check "it names the task" says 'load_samples'
afterglow stack >"$work/out" 2>"$work/err"
afterglow run -- "$venv/bin/python" "$venv/bin/ray" stop >"$work/out" 2>"$work/err"
removed() { test -z "$(new_cgroups)"; }
check "its cgroup is removed when Ray was stopped" wait_until removed
afterglow list
summary
