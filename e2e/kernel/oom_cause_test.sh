#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The OOM killer kills, and the command does not end by that, or is not the one: a child of it is killed, a neighbour in the same memory
# cgroup, or the limit is one above. No report may be certain of the wrong explanation, with the kernel log or without.
# Plain sh: runs in the test machine too. As root. Ends with "N passed, N failed".
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
sidecar=$build/afterglow-sidecar probe=$build/test/probe hog=$build/test/hog
ulimit -c 0
work=$(mktemp -d /tmp/oom_cause_test.XXXXXX)
store=$work/store
mkdir "$work/t"
export TMPDIR="$work/t"
. "$(dirname "$0")/check.sh"
find_memory_cgroups
around=$memory/afterglow-test-cause-$$

finish() {
	oom_spares_nobody
	for dir in "$around/in" "$around"; do
		[ ! -d "$dir" ] || wait_until rmdir "$dir" 2>/dev/null
	done
	rm -rf "$work"
	[ "$failed" = 0 ] || exit 1
	exit
}
trap finish EXIT

is() { says "class $1, $2"; } # CLASS CONFIDENCE
# A shell makes this file just before its end, which shows that the kernel did not take it after the hog.
alive=": >$work/alive;"
# Runs a command, and says whether its shell made that file.
lives() { # COMMAND...
	rm -f "$work/alive" "$work/child"
	"$@"
	[ -e "$work/alive" ]
}
# Says whether the command ended two seconds after the hog, by the times of its files, and was reported within five: after that a child's
# OOM kill has a report of its own. The command's sleep begins before the hog, for as many seconds as the file says, because how long the
# hog takes differs by seconds.
taken=": >$work/taken"
pause="sleep \$(cat $work/seconds)"
echo 3 >"$work/seconds"
lives_in_time() { # COMMAND...
	lives "$@" || return
	died=$(stat -c %Y "$work/taken") seconds=$(cat "$work/seconds")
	if [ $(($(stat -c %Y "$work/alive") - died)) -lt 2 ]; then
		echo $((seconds + 1)) >"$work/seconds"
		return 1
	fi
	[ $(($(date +%s) - died)) -lt 5 ] && return
	[ "$seconds" -le 3 ] || echo $((seconds - 1)) >"$work/seconds"
	return 1
}
# Without the log the sidecar knows the name of what it has seen only, and on a busy machine the hog is quicker.
sees_hog() { "$@" && says ' hog'; } # COMMAND...
# Says whether the log tells which cgroup the killed process was in. The kernel prints 10 whole reports in 5 s, those of somebody else among
# them; of the others there is only a line without a cgroup.
has_kernel_log() { "$@" && says 'kernel log: Memory cgroup out of memory: Killed process'; } # COMMAND...
# Says whether the kernel took the command alone, and, with the log, whether it printed its whole report.
only_command() { # LOG ARG...
	log=$1
	shift
	run --kernel-log "$log" "$@"
	says 'oom_kill 0 -> 1' && { [ "$log" = off ] || has_kernel_log true; }
}
# The first process that is larger than it was started with is the hog: the shell and the sidecar are spared.
oom_spares_us
leak="sh -c '$as_victim $hog 300M --rate 200M'"

for log in auto off; do
	# A child is taken, the command ends by another SIGKILL. While the memory of the one that was killed is not free yet, no
	# process can be made: so what is waited for runs before.
	until_undisturbed sees_hog lives_in_time run --kernel-log $log --memory-max 24Mi -- sh -c "$pause & $leak; $taken; wait \$!; $alive kill -9 \$\$"
	check "log $log: kill -9 two seconds after a child was taken is Killed" is Killed likely
	check "log $log: the sentence has both in order" \
		says 'The kernel killed .*hog.* under case for lack of memory; [0-9.]* s later the command ended with SIGKILL'
	until_undisturbed sees_hog lives_in_time run --kernel-log $log --memory-max 24Mi -- sh -c "sh -c '$pause; : >$work/child; kill -9 \$\$' & $leak; $taken
		wait \$!; code=\$?; [ ! -e $work/child ] || $alive exit \$code"
	check "log $log: exit 137 may be that of another child" is KernelOOMContainer likely
	check "log $log: and the sentence has both in order" says 'The kernel killed .*hog.*; then the command ended with exit code 137'
	until_undisturbed lives run --kernel-log $log --memory-max 24Mi -- sh -c "$leak; $alive kill -9 \$\$"
	check "log $log: nor is kill -9 at once a certain OOM kill" silent 'class KernelOOM[A-Za-z]*, certain'
	until_undisturbed lives run --kernel-log $log --memory-max 24Mi -- sh -c "$leak; $alive exit 137"
	check "log $log: nor an exit code 137 of its own" is KernelOOMContainer likely
	until_undisturbed lives_in_time run --kernel-log $log --memory-max 24Mi -- sh -c "$pause & $leak; $taken; wait \$!; $alive kill -11 \$\$"
	check "log $log: a segfault after that is one, and not certain of its cause" is Segfault likely

	until_undisturbed sees_hog lives run --kernel-log $log --memory-max 24Mi -- sh -c "$leak; $alive exit 0"
	check "log $log: a child that was taken is told of though the command ended well" says \
		'The kernel killed .*hog.* under case shortly before its end: it reached its memory limit of 24.0 MiB'

	# The kernel takes the command itself.
	until_undisturbed sees_hog only_command $log --memory-max 48Mi -- sh -c "$as_victim $hog 300M --rate 200M"
	# Without the log it may have been a child that began and ended between two samples.
	check "log $log: a command that is taken itself" is KernelOOMContainer "$([ "$log" = off ] && echo likely || echo certain)"
	check "log $log: and named with its limit" says 'it reached its memory limit of 48.0 MiB and the kernel killed hog (PID [0-9]*)\.'
done
until_undisturbed has_kernel_log lives run --memory-max 24Mi -- sh -c "$leak; $alive kill -9 \$\$"
check "the log tells that kill -9 at once was not the OOM killer" is Killed likely

# The limit is one above, and no log says so: the class is KernelOOMPod or KernelOOMNode, likely.
make_around 64M
below_limit() {
	sh "$work/inside" "$sidecar" exec --kernel-log off --store "$store" --name case --memory-max 300Mi -- \
		sh -c "$as_victim $hog 200M --rate 200M" 2>"$work/err"
	says 'oom_kill 0 -> 1'
}
until_undisturbed below_limit
check "a limit above is not taken for its own" silent '\(: \|likely \)it reached its memory limit'
check "no part of that is certain" says 'class KernelOOM\(Pod\|Node\), likely'
check "the limit around it is named" says 'most likely \(killed by the kernel: \)\?the cgroup [^ ]*afterglow-test-cause-[0-9]* around it reached its memory limit of 64.0 MiB'

# The kernel takes a neighbour in the same cgroup.
kills() { sed -n 's/^oom_kill //p' "$inside/memory.oom_control" "$inside/memory.events" 2>/dev/null; }
neighbour() { # is taken at once
	neighbours=$(kills)
	sh "$work/inside" sh -c "$as_victim $hog 300M" 2>/dev/null
}
with_neighbour() { until_undisturbed beside_neighbour "$@"; }
beside_neighbour() { # ARG... of exec; the command waits for $work/go
	rm -rf "$work/go" "$store/local/shared"
	sh "$work/inside" "$sidecar" exec --store "$store" --name shared "$@" >"$work/out" 2>"$work/err" &
	pid=$!
	wait_until test -e "$work/begun"
	sleep 0.3
	neighbour
	touch "$work/go"
	wait $pid
	code=$?
	rm -f "$work/begun"
	# Until the victim's memory is free, a shell that wants to sleep may not be able to.
	[ "$(kills)" -le $((neighbours + 1)) ] && silent "can't fork"
}
begin="touch $work/begun; until [ -e $work/go ]; do sleep 0.05; done;"
for log in auto off; do
	with_neighbour --kernel-log $log -- sh -c "$begin sleep 6; exit 0"
	check "the neighbour was taken" test "$(kills)" -gt "$neighbours"
	check "log $log: a neighbour's OOM kill is not a process of ours" test -z "$(find "$store/local/shared" -name '*-KernelOOMProcess' 2>/dev/null)"
	with_neighbour --kernel-log $log -- sh -c "$begin kill -9 \$\$"
	check "log $log: kill -9 beside it is never a certain OOM kill" silent 'class KernelOOM[A-Za-z]*, certain'
	check "log $log: whose process it was is said to be open" says 'holds processes of others too'
	with_neighbour --kernel-log $log -- sh -c "$begin exit 3"
	check "log $log: exit 3 beside it is likely only" is ApplicationError likely
	check "log $log: no victim is invented" silent 'kernel killed'
done
with_neighbour --oom-group -- sh -c "$begin sleep 2; exit 5"
check "a command is not ended for a neighbour's OOM kill" test "$code" = 5
# The kernel prints 10 whole reports in 5 s, those of somebody else among them; of the others there is only a line without a cgroup.
for round in 1 2 3 4 5; do
	with_neighbour -- sh -c "$begin kill -9 \$\$"
	if is Killed likely; then break; fi
	sleep 3
done
say_tries 'the log of a neighbour' "$round"
check "the log tells that the neighbour was taken, and not the command" is Killed likely

# In the same cgroup the kernel takes a process of ours, and the log says so. The command lives until that is reported, at most two
# minutes. The loop that waits for the report begins before the hog, as above.
cat >"$work/ours" <<END
{
	sleep 2
	n=0
	until [ \$n = 120 ] || find "$store/local/ours" -name '*-KernelOOMProcess' 2>/dev/null | grep -q .; do
		sleep 1
		n=\$((n + 1))
	done
} &
sh -c '$as_victim $hog 300M --rate 200M'
wait \$!
$alive
END
ours() {
	rm -rf "$store/local/ours"
	lives sh "$work/inside" "$sidecar" exec --store "$store" --name ours -- sh "$work/ours" >"$work/out" 2>"$work/err"
}
until_undisturbed ours
check "a process of ours that is taken there is told of" test -n "$(find "$store/local/ours" -name '*-KernelOOMProcess' 2>/dev/null)"

summary
