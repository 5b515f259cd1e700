#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Things go wrong around `afterglow-sidecar exec`: it is killed, the disk is full, it has no launcher. Whatever happens, the command runs,
# and its exit code is the answer.
# Plain sh: runs in the test machine too. Ends with "N passed, N failed".

# Its mounts are its own: a sidecar of another suite would take a disk that is full here for one of its container.
[ -n "${AFTERGLOW_OWN_MOUNTS:-}${AFTERGLOW_IN_VM:-}" ] || AFTERGLOW_OWN_MOUNTS=1 exec unshare -m "$0" "$@"
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
sidecar=$build/afterglow-sidecar probe=$build/test/probe hog=$build/test/hog
ulimit -c 0
work=$(mktemp -d /tmp/exec_test.XXXXXX)
store=$work/store
# Other runs have theirs elsewhere. It is short, as it becomes part of a socket's path.
mkdir "$work/t"
export TMPDIR="$work/t"
. "$(dirname "$0")/check.sh"

finish() {
	umount "$work/small" "$work/tiny" 2>/dev/null
	rm -rf "$work"
	[ "$failed" = 0 ] || exit 1
	exit
}
trap finish EXIT

says() { grep -q "$1" "$work/err"; }
has_class() { grep -q "\"class\":[[:space:]]*\"$1\"" "$(bundle)/report.json"; }
no_bundle() { [ -z "$(bundle)" ]; }
is_empty() { [ -z "$(ls -A "$1" 2>/dev/null)" ]; }
gives() { [ "$code" = "$1" ]; }

# What is visible in the store is whole: MANIFEST.json lists files that are there with their sha256.
whole_bundles() {
	for dir in "$1"/local/*/*; do
		[ -d "$dir" ] || continue
		[ -s "$dir/MANIFEST.json" ] || return 1
		tr -d '\n\t' <"$dir/MANIFEST.json" |
			sed 's/{"name":"\([^"]*\)"[^}]*"sha256":"\([^"]*\)"}/\n\2  \1\n/g' |
			grep -E '^[0-9a-f]{64}  ' >"$work/sums"
		[ -s "$work/sums" ] || return 1
		(cd "$dir" && sha256sum -c "$work/sums" >/dev/null 2>&1) || return 1
	done
}

# This command of a shell prints the directory of the memory cgroup that it runs in.
own_memory_cgroup='if [ -d /sys/fs/cgroup/memory ]; then sed -n "s|^[0-9]*:memory:|/sys/fs/cgroup/memory|p" /proc/self/cgroup
else sed -n "s|^0::|/sys/fs/cgroup|p" /proc/self/cgroup; fi'
# Lists cgroups named afterglow-PID-NUMBER whose process is gone, without those that kernel_log_test.sh made.
memory_cgroups() {
	find "$(sh -c "$own_memory_cgroup")" -maxdepth 2 -type d -name 'afterglow-[0-9]*' ! -path '*/afterglow-test-*' 2>/dev/null | sort -u |
		while read -r dir; do
			owner=${dir##*/afterglow-}
			kill -0 "${owner%%-*}" 2>/dev/null || echo "$dir"
		done
}
# Other runs on this machine may have made theirs.
before=$(memory_cgroups)
new_memory_cgroups() { memory_cgroups | grep -vxF -e "${before:-none}"; }

# Ends when CONDITION holds, however slow the machine is.
until_() { echo "n=0; until $1 || [ \$n = 300 ]; do sleep 0.1; n=\$((n + 1)); done"; } # CONDITION

# Nothing goes wrong.
for n in 0 1 3 77 126 127 128 137 255; do
	run -- "$probe" exit "$n"
	check "exit $n passes through" gives "$n"
done
run -- "$probe" exit 0
check "success leaves no bundle" no_bundle
run --record-success -- "$probe" exit 0
check "success leaves a bundle when asked to" has_class Completed
printf 'in\nput' | run -- "$probe" cat
check "stdin reaches the command" test "$(cat "$work/out")" = "$(printf 'in\nput')"
"$sidecar" exec --store /proc/nowhere -- "$probe" exit 7 >/dev/null 2>"$work/err"
code=$?
check "a store that cannot be there is said at once, and the command runs" test "$code$(head -n 1 "$work/err" | cut -c 1-48)" = \
	"7afterglow: --store: no bundle can be kept: mkdir"
run -- "$probe" fds
bare=$("$probe" fds 2>"$work/err")
check "no descriptor leaks into the command" test "$(cat "$work/out")" = "$bare"
# Lowering the score takes CAP_SYS_RESOURCE, which root may lack.
own_score=$(cat "/proc/$$/oom_score_adj")
if (printf 77 >/proc/self/oom_score_adj) 2>/dev/null; then
	printf 77 >/proc/self/oom_score_adj
	score=-1000
	(printf %s "$score" >/proc/self/oom_score_adj) 2>/dev/null || score=77
	run -- sh -c 'cat /proc/self/oom_score_adj /proc/$PPID/oom_score_adj | tr "\n" " "'
	check "where the command has our limit, the OOM killer does not take us" test "$(cat "$work/out")" = "77 $score "
	run --memory-max 24Mi -- sh -c 'cat /proc/self/oom_score_adj /proc/$PPID/oom_score_adj | tr "\n" " "'
	check "where the command has a limit of its own, their scores stay as they are" test "$(cat "$work/out")" = "77 77 "
	printf %s "$own_score" >/proc/self/oom_score_adj
else
	echo "not here: the OOM score $own_score cannot be lowered to 77, so no score is checked"
fi
run --memory-max 24Mi -- "$probe" fds
check "no descriptor leaks into a command with a memory limit" test "$(cat "$work/out")" = "$bare"
run -- "$probe" args '' 'a b' --store
check "arguments pass" test "$(cat "$work/out")" = "$(printf '<>\n<a b>\n<--store>')"
check "no memory cgroup is left behind" test -z "$(new_memory_cgroups)"
run --memory-max 24Mi -- sh -c "mkdir -p \"\$($own_memory_cgroup)/below/further\""
check "a command may make cgroups in its own" gives 0
check "no memory cgroup of theirs is left behind" test -z "$(new_memory_cgroups)"
run --memory-max 24Mi -- sh -c "mkdir -p \"\$($own_memory_cgroup)/below\"; setsid $probe sleep 600000 >/dev/null 2>&1 & echo \$!; exit 3"
survivor=$(cat "$work/out") left=$(sed -n 's/.* stay in its memory cgroup \(.*\): [0-9]*$/\1/p' "$work/err")
check "a process that outlives the command lives on" kill -0 "$survivor"
check "the report says that it stays in its cgroup" grep -qx "$survivor" "$left/below/cgroup.procs" "$left/cgroup.procs" 2>/dev/null
kill "$survivor"
check "its cgroup can be removed when it has ended" wait_until remove_tree "$left"
# The OOM killer takes the launcher, as no process has half of the limit for itself, and the command would leak on.
run --memory-max 48Mi -- sh -c "echo 1000 >/proc/\$PPID/oom_score_adj; echo \$\$ >$work/leaks
	while :; do $hog 100M --children 4; done >/dev/null 2>&1"
check "a launcher that the OOM killer takes is an OOM kill of the container" has_class KernelOOMContainer
check "a launcher that the OOM killer takes gives 137" gives 137
is_gone() { ! kill -0 "$1" 2>/dev/null; }
check "the command ends with it, and leaks nowhere without a limit" wait_until is_gone "$(cat "$work/leaks")"
kill -9 "$(cat "$work/leaks")" 2>/dev/null
check "no memory cgroup is left behind for it" test -z "$(new_memory_cgroups)"
setsid "$sidecar" exec --store "$store" --name case -- sh -c 'kill -9 0' >"$work/out" 2>"$work/err"
check "a command that kills all of its process group leaves no socket behind" is_empty "$TMPDIR"
here=$(sh -c "$own_memory_cgroup")
sh -c 'mkdir "$0/afterglow-$$-0" && echo "$0/afterglow-$$-0" && exec "$@"' "${here%/}" "$sidecar" exec --store "$store" --name case \
	--memory-max 24Mi -- sh -c 'exit 7' >"$work/out" 2>"$work/err"
code=$?
check "a cgroup that another left behind under our name keeps no command from its start" gives 7
check "that cgroup stays" rmdir "$(cat "$work/out")"
# No process is left that would remove it.
setsid "$sidecar" exec --store "$store" --name case --memory-max 24Mi -- sh -c 'kill -9 0' >"$work/out" 2>"$work/err"
left=$(new_memory_cgroups)
check "a command that kills all of its process group leaves its memory cgroup behind" test -n "$left"
run --memory-max 24Mi -- "$probe" exit 0
check "exec leaves a young cgroup alone, as it may belong to somebody whose PIDs are not ours" test "$(new_memory_cgroups)" = "$left"
echo "$left" | while read -r cgroup; do touch -m -d "@$(($(date +%s) - 90))" "$cgroup"; done
run --memory-max 24Mi -- "$probe" exit 0
check "exec removes that cgroup when it is older" test -z "$(new_memory_cgroups)"
mkdir "$work/b"
cp "$sidecar" "$work/b/"
printf '#!/bin/sh\nkill -9 $$\n' >"$work/b/afterglow-launch"
chmod 755 "$work/b/afterglow-launch"
"$work/b/afterglow-sidecar" exec --store "$store" --name case -- "$probe" exit 0 >"$work/out" 2>"$work/err"
code=$?
check "a launcher that is killed before it is one gives 137" gives 137
check "the report says that the command was not started" says 'there is no report: what was started was ended by SIGKILL before it was watched'

# Each way to die has its class.
reports() { # CLASS CODE COMMAND...: that the report of the command has the class and the code is kept
	class=$1 expected=$2
	shift 2
	run "$@"
	check "$class: the report says so ($*)" has_class "$class"
	check "$class: exit $expected is kept ($*)" gives "$expected"
}
reports ApplicationError 3 -- "$probe" exit 3
tells() { grep -q "\"sentence\":.*$1" "$(bundle)/report.json"; } # as one line, which report.txt breaks
has_confidence() { grep -q "\"confidence\":[[:space:]]*\"$1\"" "$(bundle)/report.json"; }
reports CommandNotExecutable 126 -- sh -c /
check "whose word 126 is, only the launcher knows" has_confidence likely
reports CommandNotFound 127 -- sh -c /no/such/command
check "127 of a shell is no proof, either" has_confidence likely
reports CommandNotExecutable 126 -- /
check "126 of the launcher's own exec is" has_confidence certain
check "the report has the errno's words" tells 'could not start its command /: Permission denied'
reports CommandNotFound 127 -- /no/such/command
check "127 of the launcher's own exec is" has_confidence certain
check "the report names the command" tells 'could not start its command /no/such/command: No such file or directory'
printf '#!/no/such/interpreter\n' >"$work/script"
chmod 755 "$work/script"
reports CommandNotExecutable 127 -- "$work/script"
check "a script without its interpreter is said to be there" tells 'the file is there, but not the'
# When a library is missing, the loader runs and ends with 127. Static programs need neither.
if LD_PRELOAD='' true && ldd "$(command -v true)" 2>/dev/null | grep -q libc; then
	cp "$(command -v true)" "$work/lacks"
	sed -i 's/libc\.so\.6/libx.so.6/g' "$work/lacks"
	reports CommandNotFound 127 -- "$work/lacks"
	check "a missing library is no proof of a missing command" has_confidence likely
	check "the sentence names a missing library" tells 'a library is missing'
fi
for n in 1 3 10 12 13 14 24 25 26 27 29 30 31 34 40 64; do
	reports Signaled $((128 + n)) -- "$probe" signal "$n"
	check "signal $n is certain" has_confidence certain
done
reports Signaled 153 -- sh -c 'ulimit -f 1; exec head -c 100000 /dev/zero >'"$work/limited"
check "a limit of file size is named" tells 'limit of file size'
reports Signaled 152 -- sh -c 'ulimit -S -t 1; while :; do :; done'
check "a limit of CPU time is named" tells 'limit of CPU time'
for row in 129:Signaled 130:Interrupted 137:Killed 139:Segfault 141:Signaled 143:Terminated; do
	reports "${row#*:}" "${row%:*}" -- "$probe" exit "${row%:*}"
	check "exit ${row%:*} without a signal is not certain" has_confidence likely
	check "exit ${row%:*} without a signal is reported as an exit code" tells "ended with exit code ${row%:*}, .*that of a shell"
done
for row in 2:Interrupted 4:IllegalInstruction 5:Trap 6:Abort 7:BusError 8:ArithmeticError 9:Killed 11:Segfault 15:Terminated; do
	reports "${row#*:}" $((128 + ${row%:*})) -- "$probe" signal "${row%:*}"
done
# An arm64 processor divides by zero without a fault.
fpe=fpe:ArithmeticError:136
[ "$(uname -m)" != aarch64 ] || fpe=
for row in segv:Segfault:139 bus:BusError:135 ill:IllegalInstruction:132 $fpe trap:Trap:133; do
	class=${row#*:}
	reports "${class%:*}" "${row##*:}" -- "$probe" fault "${row%%:*}"
done
reports Abort 134 -- "$probe" abort
reports KernelOOMContainer 137 --memory-max 24Mi -- "$hog" 300M
# Linux 4.18 has neither openat2 nor pidfds.
as_on_4_18() {
	"$probe" old-kernel "$sidecar" exec --store "$store" --name case "$@" >"$work/out" 2>"$work/err"
	code=$?
}
as_on_4_18 --memory-max 24Mi -- "$hog" 300M
check "without openat2 an OOM kill is reported as one" has_class KernelOOMContainer
check "without openat2 the largest process is named" says ' hog'
check "without openat2 the exit code is kept" gives 137
as_on_4_18 -- "$probe" fault segv
check "without openat2 a crash is reported as one" has_class Segfault
as_on_4_18 -- sh -c 'kill -9 $PPID; sleep 1'
check "without pidfds a launcher that is killed is reported" has_class Killed
oom_spares_us
# The report says after five seconds that the container lived on. No process can be made while the victim's memory is not free yet: so
# the loop that waits for the report begins before, and makes its own processes only two seconds later.
outlives_its_child() {
	rm -rf "$store"/local/case/*-KernelOOMProcess
	run --memory-max 24Mi -- sh -c "{ sleep 2; $(until_ "find '$store/local/case' -name '*-KernelOOMProcess' | grep -q .") } &
		sh -c '$as_victim $hog 300M'; wait \$!"
	gives 0
}
until_undisturbed outlives_its_child
oom_spares_nobody
check "KernelOOMProcess: the container lived on and said so" test -n "$(find "$store/local/case" -name '*-KernelOOMProcess')"
check "KernelOOMProcess: a success it is all the same" gives 0

mkdir "$work/tiny"
if mount -t tmpfs -o size=1m tmpfs "$work/tiny"; then
	# Other suites on this machine have full disks as well, which a container would not see.
	cat >"$work/apart" <<-END
		#!/bin/sh
		[ "\$1" = --apart ] || exec unshare -m "\$0" --apart "\$@"
		shift
		awk -v ours="$work/tiny/" -v build="$build/" '\$3 == "tmpfs" && \$2 != "/" && \$2 !~ "^/(dev|sys|run)(/|\$)" &&
			index(ours, \$2 "/") != 1 && index(build, \$2 "/") != 1 { print \$2 }' /proc/mounts |
			while read -r at; do umount -l "\$at" 2>/dev/null; done
		exec "$sidecar" "\$@"
	END
	chmod 755 "$work/apart"
	sidecar_here=$sidecar sidecar=$work/apart
	# The longer it lives, the surer the sidecar has looked before it ends; a busy machine lets it wait.
	tries=0
	for seconds in 3 10 30; do
		tries=$((tries + 1))
		rm -f "$work/tiny/large"
		run -- sh -c "sleep $seconds; head -c 4000000 /dev/zero >$work/tiny/large || exit 1"
		if has_class DiskFull; then break; fi
	done
	say_tries DiskFull "$tries"
	check "DiskFull: the report says so" has_class DiskFull
	check "DiskFull: the exit code is kept" gives 1
	sidecar=$sidecar_here
	umount "$work/tiny"
fi

pids=/sys/fs/cgroup/pids
if [ ! -d "$pids" ]; then
	pids=/sys/fs/cgroup
	echo +pids >"$pids/cgroup.subtree_control"
fi
if mkdir "$pids/afterglow-test-$$" && echo 10 >"$pids/afterglow-test-$$/pids.max"; then
	# Launcher, command and sidecar are in this cgroup, as those of a container are.
	run_limited() { # SECONDS before it meets the limit
		sh -c "echo \$\$ >$pids/afterglow-test-$$/cgroup.procs && exec \"\$@\"" limited "$sidecar" exec --store "$store" --name case \
			-- sh -c "sleep $1; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 5 & done; exit 2" >"$work/out" 2>"$work/err"
		code=$?
	}
	tries=0
	for seconds in 3 10 30; do
		tries=$((tries + 1))
		run_limited $seconds
		if has_class ProcessLimit; then break; fi
		sleep 6 # until those of this try have ended
	done
	say_tries ProcessLimit "$tries"
	check "ProcessLimit: the report says so" has_class ProcessLimit
	check "ProcessLimit: the exit code is kept" gives 2
	wait_until rmdir "$pids/afterglow-test-$$" 2>/dev/null
fi

# Hooks run at a threshold and at death, and a failure is held.
shows() { grep -q "$2" "$(bundle)"/hooks/$1; } # FILE TEXT
run --memory-max 256Mi --warn-at 0.3 --hook-headroom 1Mi --hook-timeout 60 \
	--hook-at-threshold 'tr "\\0" " " </proc/$AFTERGLOW_PID/cmdline; touch '"$work/hooked" \
	-- sh -c "'$hog' 120M --hold & $(until_ "[ -e '$work/hooked' ]"); sleep 0.5; kill \$!; exit 3"
check "a hook at a threshold does not change the exit code" gives 3
check "it sees the largest process while it lives" shows '1-tr.txt' '^.*hog 120M --hold'
run --memory-max 256Mi --warn-at 0.3 --hook-headroom 250Mi --hook-at-threshold 'echo run' \
	-- sh -c "'$hog' 200M --hold & $(until_ "grep -q 'of its memory limit' '$work/err'"); sleep 0.5; kill \$!; exit 3"
check "without headroom it is not run" shows '1-echo.txt' 'not run: only [0-9.]* MiB were left'
check "the report says that a hook would have shown more" says 'hook would have shown'
run --hook-at-death 'echo $AFTERGLOW_REASON' --hook-at-death 'sleep 600' --hook-at-death yes --hook-timeout 15 -- "$probe" exit 9
check "hooks at death do not change the exit code" gives 9
check "they know the class" shows '1-echo.txt' '^ApplicationError$'
check "one that takes too long is ended" shows '2-sleep.txt' 'ended by us after'
check "the report names --hook-timeout" says 'hook-timeout'
check "one that says too much is cut" shows '3-yes.txt' 'the output below is its beginning'
check "the output is cut at its 64 KiB" test "$(wc -c <"$(bundle)/hooks/3-yes.txt")" -lt 66000
check "a bundle with hooks is whole" whole_bundles "$store"
run --hook-at-death 'echo $AFTERGLOW_REASON' -- "$probe" exit 0
check "a success runs no hook" no_bundle
run --hook-at-death 'echo first' --hook-at-death 'kill -9 $PPID' --hook-at-death 'echo never' -- "$probe" exit 9
check "a launcher that dies under a hook takes no report with it" has_class ApplicationError
check "what the hook before it said is kept" shows '1-echo.txt' '^first$'
check "the report says that a hook ended the launcher" says 'the end of a hook'
begin=$(date +%s)
run --hold-on-failure 2 -- "$probe" exit 9
check "a failure is held as long as asked" test $(($(date +%s) - begin)) -ge 2
check "a failure that is held keeps its exit code" gives 9
check "it says how to end the hold" says 'held until .*afterglow-launch --release [0-9]'
"$sidecar" exec --store "$store" --name case --hold-on-failure 300 -- "$probe" exit 9 2>"$work/err" &
pid=$!
wait_until says 'afterglow-launch --release [0-9]'
sleep 1 # the rest of the line
"$build/afterglow-launch" --release "$(sed -n 's/.*--release \([0-9]*\).*/\1/p' "$work/err")"
begin=$(date +%s)
wait "$pid"
code=$?
check "the release ends the hold" test $(($(date +%s) - begin)) -lt 200
check "the exit code stays the command's" gives 9
run --hold-on-failure 60 -- "$probe" exit 0
check "a success is not held" gives 0

# The sidecar is killed in the middle of its work.
: >"$work/err"
"$sidecar" exec --store "$store" --name killed -- sh -c "touch $work/begun; sleep 1; echo done >$work/witness" 2>"$work/err" &
pid=$!
wait_until test -e "$work/begun"
kill -9 "$pid"
wait "$pid" 2>/dev/null
check "the command outlives a killed sidecar" wait_until test -s "$work/witness"

for delay in 0.00 0.02 0.03 0.04 0.05 0.06 0.07 0.08 0.09 0.10 0.12 0.15 0.2 0.3; do
	"$sidecar" exec --store "$work/torn" --name torn --memory-max 24Mi -- "$hog" 300M --rate 400M 2>"$work/err" &
	pid=$!
	sleep "$delay"
	kill -9 "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	check "no torn bundle after kill -9 at $delay s" whole_bundles "$work/torn"
done
sleep 0.5
for dir in $(new_memory_cgroups); do wait_until rmdir "$dir" 2>/dev/null; done
check "the check of bundles sees whole ones" whole_bundles "$store"
rm -rf "$work/torn" && mkdir -p "$work/torn/local/x/y"
: >"$work/torn/local/x/y/report.txt"
if whole_bundles "$work/torn"; then check "the check of bundles sees a torn one" false; fi

"$sidecar" exec --store "$store" --name term -- sh -c "touch $work/asleep; exec $probe sleep 100000" 2>"$work/err" &
pid=$!
wait_until test -e "$work/asleep"
kill -TERM "$pid"
wait "$pid"
code=$?
check "SIGTERM reaches the command" gives 143
check "the report of SIGTERM has its class" has_class Terminated

# Stores cannot be written.
mkdir "$work/small"
for size in 4k 8k 16k; do
	mount -t tmpfs -o "size=$size" tmpfs "$work/small" || break
	"$sidecar" exec --store "$work/small" --name full -- "$probe" exit 9 >"$work/out" 2>"$work/err"
	code=$?
	check "a full disk ($size) does not change the exit code" gives 9
	check "a full disk ($size) is named" says 'No space left on device'
	check "a full disk ($size) leaves nothing torn" whole_bundles "$work/small"
	check "a full disk ($size) leaves nothing hidden" test -z "$(find "$work/small" -name '*.partial')"
	check "the verdict is said all the same ($size)" says 'exit code 9'
	umount "$work/small"
done
: >"$work/file"
for place in "$work/file" "$work/file/below" /proc/nowhere; do
	"$sidecar" exec --store "$place" --name nowhere -- "$probe" signal 9 >"$work/out" 2>"$work/err"
	code=$?
	check "a store at $place does not change the exit code" gives 137
	check "a store at $place is complained of" says "$place"
	check "a store at $place still gives the verdict" says 'SIGKILL'
done

# exec lacks something that it needs itself.
mkdir "$work/alone"
cp "$sidecar" "$work/alone/afterglow-sidecar"
"$work/alone/afterglow-sidecar" exec --store "$store" -- "$probe" exit 6 2>"$work/err"
code=$?
check "without the launcher beside it the command runs" gives 6
check "without the launcher it says what is missing" says 'runs without a report: .*afterglow-launch'
"$work/alone/afterglow-sidecar" exec --store "$store" -- /no/such/command 2>"$work/err"
code=$?
check "a command that is not there gives 127 without the launcher, too" gives 127
printf 'no program' >"$work/alone/afterglow-launch"
chmod 755 "$work/alone/afterglow-launch"
"$work/alone/afterglow-sidecar" exec --store "$store" -- "$probe" exit 8 2>"$work/err"
code=$?
check "a launcher that this machine cannot run does not keep the command from running" gives 8
check "a launcher that this machine cannot run is named" says 'runs without a report: .*afterglow-launch: Exec format error'
TMPDIR=/no/such run -- "$probe" exit 5
check "a TMPDIR that is not there does not change the exit code" gives 5
check "a TMPDIR that is not there does not keep it from reporting" has_class ApplicationError
for files in 6 20; do
	(ulimit -n $files && exec "$sidecar" exec --store "$store" -- "$probe" exit 5) 2>"$work/err"
	code=$?
	check "with $files open files the command runs" gives 5
	check "with $files open files one line says why there is no report" test "$(wc -l <"$work/err") $(grep -c 'runs without a report: .*Too many open files' "$work/err")" = '1 1'
done
# A test machine's setpriv may not be able to change the user.
if setpriv --reuid=65532 --regid=65532 --clear-groups --bounding-set=-all true 2>/dev/null; then
	mkdir -m 777 "$work/user"
	chmod 755 "$work"
	setpriv --reuid=65532 --regid=65532 --clear-groups --bounding-set=-all "$sidecar" exec --store "$work/user" --memory-max 24Mi -- \
		"$probe" exit 4 2>"$work/err"
	code=$?
	check "a memory limit that an ordinary user cannot have does not keep the command from running" gives 4
	check "a memory limit that is not enforced is said in one line" test "$(grep -c 'memory-max is not enforced: no memory cgroup can be made' "$work/err")" = 1
	check "the command without its limit has a report" says 'ended with exit code 4'
	check "nobody is sent to a service manager that is not there" test -z "$(grep systemd-run "$work/err")"
	# The command lowers the sidecar's limit of processes, as it may: a child crashes when the sidecar can start no process more. Before
	# Linux 6.15 nobody but its parent learns how the child ended.
	if command -v prlimit >/dev/null && printf '6.15\n%s\n' "$(uname -r)" | sort -VC 2>/dev/null; then
		until_reported='n=0; until ls "$1"/local/*/*/report.txt >/dev/null 2>&1 || [ $n = 600 ]; do sleep 0.1; n=$((n + 1)); done'
		(cd "$work/user" && TMPDIR=$work/user setpriv --reuid=65532 --regid=65532 --clear-groups --bounding-set=-all "$sidecar" exec \
			--store "$work/user/limited" -- sh -c 'sleep 300 & n=0
			until grep -qs "^Pid:[[:space:]]*$!\$" "/proc/$PPID"/fdinfo/* || [ $n = 600 ]; do sleep 0.1; n=$((n + 1)); done
			prlimit --pid "$(cut -d " " -f 4 "/proc/$PPID/stat")" --nproc=1
			kill -SEGV $!; wait $!; '"$until_reported"'; exit 0' sh "$work/user/limited") 2>"$work/err"
		code=$?
		check "a sidecar that can start no process leaves the command its exit code" gives 0
		check "the report of its child's crash names what the sidecar could not read" test \
			"$(tr -s ' \n' ' ' <"$work/err" | grep -c 'sleep (PID [0-9]*) under sh crashed with SIGSEGV.*one more could not be started, as when ulimit -u or pids.max is met')" = 1
	fi
fi
"$sidecar" exec --memory-max 1Ki -- "$probe" exit 0 2>"$work/err"
code=$?
check "a limit too small for anything is a usage error" gives 2
"$sidecar" exec --store "$store" -- "$probe" signal 9 2>&-
code=$?
check "a closed stderr does not change the exit code" gives 137
"$sidecar" exec --store "$store" --name '../../up' -- "$probe" exit 3 2>"$work/err"
check "a name cannot leave the store" is_empty "$work/up"

# Other programs play Ray's own processes, with their command lines: `ray start` ends with 1 a second after a child of it.
fake_ray() {
	mkdir -p "$work/ray/bin" "$work/ray/core/raylet"
	cp "$probe" "$work/ray/core/raylet/raylet"
	cat >"$work/ray/bin/ray" <<-'CODE'
		import os, signal, subprocess, sys, time
		start, raylet, what = sys.argv[1:]
		nothing = subprocess.DEVNULL
		child = subprocess.Popen([raylet, "sleep", "300000"], stdin=nothing, stdout=nothing, stderr=nothing)
		def watched():
		    there = f"/proc/{os.getppid()}/fdinfo/"
		    for name in os.listdir(there):
		        try:
		            if f"\nPid:\t{child.pid}\n" in open(there + name).read():
		                return True
		        except OSError:
		            pass
		# The launcher has a pidfd of what the sidecar asked it to watch.
		late = time.monotonic() + 120
		while not watched() and time.monotonic() < late:
		    time.sleep(0.1)
		if what == "leave":
		    os._exit(0)
		child.send_signal(signal.SIGKILL)
		time.sleep(7 if what == "slow" else 1)
		if what in ("block", "slow"):
		    child.wait()
		    os._exit(1)
		time.sleep(12)
	CODE
}
if command -v python3 >/dev/null; then
	fake_ray
	run -- python3 "$work/ray/bin/ray" start "$work/ray/core/raylet/raylet" block
	check "kill -9 of raylet does not change the exit code" gives 1
	check "it is the cause of the container's end" has_class RayletFailed
	check "the report says how it ended, and that \`ray start\` followed" tells 'raylet was killed with SIGKILL.*`ray start` then'
	check "the report names raylet" grep -q '"name":[[:space:]]*"raylet"' "$(bundle)/report.json"
	run -- python3 "$work/ray/bin/ray" start "$work/ray/core/raylet/raylet" slow
	check "a \`ray start\` that takes seconds to stop the others is one death with one report" test "$(grep -c '^  bundle ' "$work/err")" = 1
	check "which has how raylet ended" tells 'raylet was killed with SIGKILL.*`ray start` then'
	run -- python3 "$work/ray/bin/ray" start "$work/ray/core/raylet/raylet" stay
	check "a container that goes on without raylet ends as it would" gives 0
	check "that raylet is gone is said while it runs" says 'raylet (PID [0-9]*) was killed with SIGKILL'
	run -- python3 "$work/ray/bin/ray" start "$work/ray/core/raylet/raylet" leave
	check "ray start that leaves Ray behind ends as it would" gives 0
	kill -9 "$(sed -n 's/.*: raylet (PID \([0-9]*\)).*/\1/p' "$work/err")"
	# What stays has no descriptor of the shell's: this pipe is read to its end, and that lock is free.
	leave_ray() { # OPTION...
		mkdir -p "$work/left"
		"$sidecar" exec "$@" --store "$work/left" --name left -- python3 "$work/ray/bin/ray" start "$work/ray/core/raylet/raylet" leave \
			9>"$work/lock" 2>&1 | cat >"$work/err"
		survivor=$(sed -n 's/.*: raylet (PID \([0-9]*\)).*/\1/p' "$work/err")
		launcher=$(sed 's/.*) . \([0-9]*\) .*/\1/' "/proc/$survivor/stat")
	}
	# Children of that process have the same command line.
	follows() {
		for follower in $(grep -lz "^$work/left$" /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3); do
			[ "$(cut -d' ' -f6 "/proc/$follower/stat")" = "$follower" ] &&
				find "/proc/$follower/fd" -lname "/proc/$survivor/*" | grep -q . && return
		done 2>/dev/null
		return 1
	}
	nobody_stays() { [ -z "$(grep -lz "^$work/left$\|^left$" /proc/[0-9]*/cmdline 2>/dev/null)" ]; }
	n_left() { set -- "$work"/left/local/left/*; [ -e "$1" ] && echo $# || echo 0; }
	leave_ray
	wait_until follows
	check "the Ray that was left behind is watched, which is said with its processes" says 'is watched until it ends: raylet (PID [0-9]*)\. .afterglow list'
	check "nothing that stays is in the session of the shell" test "$(cut -d' ' -f6 "/proc/$launcher/stat") $(cut -d' ' -f6 "/proc/$follower/stat")" = "$launcher $follower"
	check "nothing that stays holds a descriptor of the shell's" test -z "$(find "/proc/$launcher/fd" "/proc/$follower/fd" -lname "$work/*")"
	kill -9 "$survivor"
	check "its death ends what stays" wait_until nobody_stays
	check "its death is reported" grep -q 'raylet (PID [0-9]*) was killed with SIGKILL under left; the command had ended before\.' "$work"/left/local/left/*/report.txt
	leave_ray
	kill "$survivor"
	check "the end of a Ray that was asked to stop ends what stays" wait_until nobody_stays
	check "a Ray that was asked to stop is no failure" test "$(n_left)" = 1
	for end in launcher follower; do
		leave_ray
		wait_until follows
		eval "kill -9 \$$end"
		check "nothing stays without the $end" wait_until nobody_stays
		check "Ray goes on without the $end" kill -9 "$survivor"
		check "the end of the $end is no failure of Ray" test "$(n_left)" = 1
	done
	for n in 1 2 3; do
		leave_ray
		kill -9 "$survivor"
		check "what stays of a Ray that dies at once ends with it" wait_until nobody_stays
		check "a Ray that dies as soon as the shell goes on is reported" test "$(n_left)" = $((n + 1))
	done
	leave_ray --record-success
	kill "$survivor"
	check "the end of a Ray that was left behind ends what stays, where successes are reported, too" wait_until nobody_stays
	check "only the command's own success is reported as one" test "$(n_left)" = 5
	leave_ray --memory-max 64Mi
	left=$(new_memory_cgroups)
	check "a Ray that was left behind stays in the cgroup that was made for it" grep -qx "$survivor" "$left/cgroup.procs"
	check "what is said is the same as without a limit" test "$(wc -l <"$work/err")" = 1
	kill -9 "$survivor"
	check "its death ends what stays, where it has a limit, too" wait_until nobody_stays
	check "of the six reports, only its own says that nobody shares its cgroup" test \
		"$(grep -lE '"shared":[[:space:]]*false' "$work"/left/local/left/*/report.json | wc -l) $(n_left)" = "1 6"
	check "its cgroup is removed when it has ended" wait_until test ! -e "${left:-/}"

	# A launcher that ends, or hangs, where it should go over.
	mkdir "$work/f"
	cp "$sidecar" "$work/f/"
	cat >"$work/f/afterglow-launch" <<-'CODE'
		#!/usr/bin/env python3
		import os, socket, subprocess, sys, time
		raylet, what = sys.argv[-2:]
		sidecar = socket.socket(fileno=int(sys.argv[sys.argv.index("--socket-fd") + 1]))
		nothing = subprocess.DEVNULL
		subprocess.Popen([raylet, "sleep", "300000"], stdin=nothing, stdout=nothing, stderr=nothing)
		pid, root = os.getpid(), os.open("/", os.O_PATH)
		rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, root.to_bytes(4, sys.byteorder))
		sidecar.sendmsg([b"hello 1 r left %d %d %d" % (pid, pid, time.clock_gettime_ns(time.CLOCK_BOOTTIME))], [rights])
		while order := sidecar.recv(4096):
		    if order.startswith(b"watch "):
		        sidecar.send(b"exit 0 %d" % time.clock_gettime_ns(time.CLOCK_BOOTTIME))
		    elif order.startswith(b"stay ") and what == "ends":
		        break
	CODE
	chmod 755 "$work/f/afterglow-launch"
	for what in ends hangs; do
		"$work/f/afterglow-sidecar" exec --store "$work/left" --name left -- "$work/ray/core/raylet/raylet" "$what" 2>"$work/err"
		code=$?
		check "a launcher that $what when it is to stay does not change the exit code" gives 0
		check "where a launcher $what when it is to stay, nobody is said to watch Ray" says 'nobody watches it any more: raylet (PID [0-9]*)'
		kill -9 "$(sed -n 's/.*: raylet (PID \([0-9]*\)).*/\1/p' "$work/err")"
		check "nothing stays of a launcher that $what" wait_until nobody_stays
		check "no socket stays of a launcher that $what" wait_until is_empty "$TMPDIR"
	done

	# A store that hangs, and a bundle of an earlier run that is to go there.
	mkdir "$work/g"
	cp "$sidecar" "$build/afterglow-launch" "$work/g/"
	printf '#!/bin/sh\nexec sleep 300000\n' >"$work/g/afterglow-ship"
	chmod 755 "$work/g/afterglow-ship"
	"$sidecar" exec --store "$work/state/afterglow/spool" --name early -- "$probe" exit 3 2>"$work/err"
	XDG_STATE_HOME="$work/state" timeout 100 "$work/g/afterglow-sidecar" exec --store s3://bucket/prefix --name left -- \
		python3 "$work/ray/bin/ray" start "$work/ray/core/raylet/raylet" leave 2>"$work/err"
	code=$?
	check "a store that hangs does not keep the shell from the exit code of a command that leaves Ray behind" gives 0
	check "the Ray that it leaves behind is watched" says 'is watched until it ends'
	# The process that stays would wait two minutes for the store.
	for pid in $(grep -lz '^left$' /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3); do kill -TERM "$pid" 2>/dev/null; done
	check "what stays ends when it is asked to" wait_until nobody_stays
	kill -9 "$(sed -n 's/.*: raylet (PID \([0-9]*\)).*/\1/p' "$work/err")"
fi

check "no socket directory is left behind" test -z "$(find "$TMPDIR" -maxdepth 1 -name 'afterglow-??????' -newer "$work/small" -user "$(id -u)" 2>/dev/null)"
summary
