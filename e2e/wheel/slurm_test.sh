#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# slurm_test.sh: a real Slurm (slurmctld and slurmd of Debian, by its cgroup plugin of v1 or v2) whose steps die under `afterglow run`, as an ordinary
# user. Each step that ends otherwise than well has a report, or a line where Slurm kills the report's author too.
# e2e/kernel/uml.sh e2e/wheel/slurm_test.sh runs it on cgroup v2. It takes two minutes, as Slurm looks at time limits each 30 s.
# Ends with "N passed, N failed".
set -u

cd "$(dirname "$0")/../.."
# What follows has no network.
[ -n "${AFTERGLOW_OWN_MOUNTS:-}${AFTERGLOW_IN_VM:-}" ] || tools/apt-install.sh slurmd slurmctld slurm-client
# Processes, mounts, network and host name are its own.
[ -n "${AFTERGLOW_OWN_MOUNTS:-}" ] || AFTERGLOW_OWN_MOUNTS=1 exec unshare -m -n -u -p -f --kill-child --mount-proc e2e/wheel/slurm_test.sh "$@"
build=$(realpath "${AFTERGLOW_BUILD:-build}")
work=$(mktemp -d /tmp/slurm_test.XXXXXX)
. e2e/kernel/check.sh
find_memory_cgroups

finish() {
	local pid
	# Slurm's steps end by its daemon; what the cgroups still hold ends with them.
	kill -9 $controller $daemon 2>/dev/null
	find /sys/fs/cgroup -path '*slurm_node1*' -name cgroup.procs -exec cat {} + 2>/dev/null | while read -r pid; do kill -9 "$pid"; done
	sleep 0.5
	find /sys/fs/cgroup -depth -type d \( -path '*/slurm_node1*' -o -path '*/node1_slurmstepd*' \) -exec rmdir {} + 2>/dev/null
	rm -rf "$work"
	[ "$failed" = 0 ] || exit 1
	exit
}
controller='' daemon=''
trap finish EXIT

# Slurm asks for an address that is not of the loopback network.
hostname node1
ip link set lo up
ip addr add 10.77.0.1/24 dev lo
{ cat /etc/hosts && echo "10.77.0.1 node1"; } >"$work/hosts"
mount --bind "$work/hosts" /etc/hosts
chmod 755 "$work"
mkdir "$work/state" "$work/spool" && install -d -o 65534 -g 65534 "$work/home"
cat >"$work/slurm.conf" <<-CONF
	ClusterName=test
	SlurmctldHost=node1
	AuthType=auth/none
	CredType=cred/none
	SlurmUser=root
	SlurmdUser=root
	StateSaveLocation=$work/state
	SlurmdSpoolDir=$work/spool
	SlurmctldPidFile=$work/slurmctld.pid
	SlurmdPidFile=$work/slurmd.pid
	ProctrackType=proctrack/cgroup
	TaskPlugin=task/cgroup
	JobAcctGatherType=jobacct_gather/none
	SelectType=select/cons_tres
	SelectTypeParameters=CR_Core_Memory
	SlurmdParameters=config_overrides
	KillWait=4
	MpiDefault=none
	NodeName=node1 CPUs=16 RealMemory=4000
	PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
cat >"$work/cgroup.conf" <<-CONF
	CgroupPlugin=cgroup/v$version
	IgnoreSystemd=yes
	ConstrainRAMSpace=yes
	ConstrainSwapSpace=no
CONF
# Where systemd would have made it.
if [ "$version" = 2 ]; then
	mkdir -p /sys/fs/cgroup/system.slice
	for name in cpu memory pids; do echo "+$name" >/sys/fs/cgroup/system.slice/cgroup.subtree_control; done
fi
export SLURM_CONF=$work/slurm.conf
slurmctld -D >"$work/slurmctld.log" 2>&1 &
controller=$!
slurmd -D >"$work/slurmd.log" 2>&1 &
daemon=$!
disown -a

idle() { sinfo -h -o %T 2>/dev/null | grep -q '^idle$'; }
if ! wait_until idle; then
	tail -n 20 "$work"/slurm*.log
	exit 1
fi

# Runs a step in the background: its output is in $work/CASE.err, its reports below $work/home/CASE.
step() { # CASE OPTIONS COMMAND...
	local name=$1 options=$2
	shift 2
	# A working directory of its own, as the cores of all go there.
	install -d -o 65534 -g 65534 "$work/home/$name"
	# shellcheck disable=SC2086
	setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$work/home" PATH="$build/test:$PATH" \
		srun -J "$name" -n 1 -D "$work/home/$name" $options "$build/afterglow-sidecar" exec --store "$work/home/$name" -- "$@" \
		>"$work/$name.out" 2>"$work/$name.err" </dev/null &
}
begun() { [ -e "$work/home/$1.begun" ]; }
over() { ! squeue -h -n "$1" -o %j | grep -q .; }
reported() { # CASE WORDS...: one report has them all
	local report words
	report=$(find "$work/home/$1" -name report.txt -exec cat {} + 2>/dev/null | tr -s ' \n' ' ')
	shift
	for words; do
		grep -Eq "$words" <<<"$report" || return 1
	done
}
# A step shares its limit with the report's author. In User Mode Linux a process gives its memory back so slowly that the kernel takes the author
# as well: then there is the line before. A report there is must be right.
last_word() { # CASE
	[ "$version" = 2 ] && ! find "$work/home/$1" -name report.txt | grep -q . &&
		printed "$1" 'uses [0-9.]+ MiB of its memory limit of 120.0 MiB \(9[0-9] %\)\. If the OOM killer takes Afterglow as well, no report follows\.'
}
reported_or_last_word() { reported "$@" || last_word "$1"; }
printed() { tr -s ' \n' ' ' <"$work/$1.err" | grep -Eq "$2"; }
ended() { # SENTENCE CASE WORDS...
	check "$1" wait_until over "$2"
	cp "$work/$2.err" "$work/err"
	check "$1" reported_or_last_word "${@:2}"
}
waits='touch $0.begun; sleep 300'

# The time limit is a minute at least, and Slurm looks at it every half minute.
step late '--mem=100M -t 1' sh -c "$waits" "$work/home/late"
step memory '--mem=120M' hog 300M --rate 100M
step per_cpu '--mem-per-cpu=120M' hog 300M --rate 100M
step child '--mem=120M' sh -c 'hog 300M --rate 100M; sleep 3; exit 0'
step crash '--mem=100M' sh -c 'sleep 1; exec probe fault segv'
step exit '--mem=100M' sh -c 'sleep 1; exit 3'
step killed '--mem=100M' sh -c 'sleep 1; kill -9 $$'
step cancelled '--mem=100M' sh -c "$waits" "$work/home/cancelled"
step stubborn '--mem=100M' sh -c 'trap "" TERM; touch $0.begun; sleep 300; sleep 300' "$work/home/stubborn"
step interrupted '--mem=100M' sh -c 'touch $0.begun; exec sleep 300' "$work/home/interrupted"
step well '--mem=100M' sh -c 'exit 0'

for name in cancelled stubborn interrupted late; do check "the step $name begins" wait_until begun "$name"; done
sleep 2
scancel -n cancelled
scancel -n stubborn
scancel -s INT -n interrupted

reached='reached its memory limit of 120.0 MiB'
for name in memory per_cpu; do
	ended "a step beyond its memory has the job's limit in its report ($name)" $name 'class KernelOOM(Container|Pod|Process), (certain|likely)' "$reached"
	last_word $name || check "the advice has Slurm's form ($name)" reported $name 'a limit of 150.0 MiB or more \(--mem=150M, or --mem-per-cpu\)'
done
ended "a step that goes on after the OOM kill of its child has a report of that" child 'class KernelOOMProcess, (certain|likely)'
ended "a step that crashes has a report" crash 'class Segfault, certain'
ended "a step that kills itself was not ended by the OOM killer" killed 'class Killed, ' 'oom_kill stayed at 0'
ended "scancel is a request of slurmstepd to stop" cancelled 'class Terminated, certain' 'SIGTERM from slurmstepd \(PID [0-9]+\)'
ended "SIGINT by scancel comes from slurmstepd" interrupted 'class Interrupted, certain' 'SIGINT from slurmstepd \(PID [0-9]+\)'
check "an exit code has three lines" wait_until over exit
check "an exit code has three lines" test "$(sed -n '/class/,$p' "$work/exit.err" | grep -c '^ ')" -le 3
check "an exit code has its report" reported exit 'class ApplicationError, certain'
check "a step that ignores the request is killed with all that watched it" wait_until over stubborn
check "a line said before that it was asked to stop, and by whom" printed stubborn \
	'sh was asked to stop and goes on: SIGTERM from slurmstepd \(PID [0-9]+\)'
check "a step that ends well leaves no word" wait_until over well
check "a step that ends well leaves no word" test ! -s "$work/well.err"
ended "the end of the time limit is a request of slurmstepd to stop" late 'class Terminated, certain' 'SIGTERM from slurmstepd \(PID [0-9]+\)'
check "no report speaks of Kubernetes" test -z "$(grep -rlE 'kubelet|container|pod\b' "$work/home" --include=report.txt)"
summary
