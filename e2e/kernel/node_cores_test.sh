#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The node agent hands the cores of a pod to its sidecar, and all other cores go where they went before, also while the agent is killed at
# random moments. core_pattern is the whole machine's, so this runs in the test machine only:
#	e2e/kernel/vm.sh e2e/kernel/node_cores_test.sh
# NODE_KILLS: how often the agent is killed (default 20). Plain sh. Ends with "N passed, N failed".
if [ -z "${AFTERGLOW_IN_VM:-}" ]; then
	echo "node_cores_test.sh: runs in e2e/kernel/vm.sh only: it changes this machine's core pattern" >&2
	exit 1
fi
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
sidecar=$build/afterglow-sidecar launch=$build/afterglow-launch node=$build/afterglow-node crash=$build/test/crash contain=$build/test/contain
ulimit -c unlimited
work=$(mktemp -d /tmp/node_cores.XXXXXX)
. "$(dirname "$0")/check.sh"
pattern=/proc/sys/kernel/core_pattern
handler=/var/lib/afterglow/afterglow-core1
before=$(cat $pattern)
uid=94eb36cd-29e1-478b-b365-4cb5dfc7d6fb
pod=/sys/fs/cgroup/kubepods/burstable/pod$uid
ray=$pod/a$(printf '%063d' 7) side=$pod/b$(printf '%063d' 7)
volume=$work/kubelet/pods/$uid/volumes/kubernetes.io~empty-dir/afterglow-node
agent='' sidecar_pid=''

finish() {
	for pid in $agent $sidecar_pid; do kill -9 "$pid" 2>/dev/null; done
	echo "$before" >$pattern
	rm -rf "$work"
	[ "$failed" = 0 ] || exit 1
	exit
}
trap finish EXIT

start_agent() { # OPTION...
	# We empty the file here, and not in the child that becomes the agent: so nobody finds there what the agent before this one said.
	: >"$work/err"
	"$node" --kubelet "$work/kubelet" "$@" >"$work/err" 2>&1 &
	agent=$!
}
is_ours() { case $(cat $pattern) in "|$handler "*) return 0 ;; *) return 1 ;; esac; }
took_over() { grep -q 'core_pattern was' "$work/err"; }
agent_says() { grep -q -e "$1" "$work/err"; }
stop_agent() {
	kill "$agent"
	wait "$agent"
	agent=''
}
kill_agent() {
	kill -9 "$agent"
	wait "$agent" 2>/dev/null
	agent=''
}
pattern_is() { [ "$(cat $pattern)" = "$1" ]; }

# Before the agent, a program gets all cores. It keeps each under a name that says which core it is.
mkdir "$work/kept"
chmod 777 "$work/kept"
cat >"$work/keep" <<END
#!/bin/sh
/bin/cat >$work/kept/.\$1.part
printf '%s\n' "\$@" >$work/kept/\$1.args
/bin/env >$work/kept/\$1.env
/bin/mv $work/kept/.\$1.part $work/kept/\$1.core
END
chmod 755 "$work/keep"
pipe="|$work/keep %P %s %e end"
# afterglow-pack reads all of the core, and says whether it was cut.
is_whole() { # FILE
	[ -s "$1" ] && "$build/afterglow-pack" --mode full --core-fd 5 --out-fd 6 5<"$1" 6<>"$work/packed" | grep -q '"complete":true'
}
crash_here() { # leaves $dead
	sh -c "exec $crash" &
	dead=$!
	wait $dead 2>/dev/null
}
kept() { [ -e "$work/kept/$dead.core" ]; }
wait_kept() { wait_until kept; }
count_kept() { find "$work/kept" -name '*.core' ! -name '.*' | wc -l; }
mark() { kept_so_far=$(count_kept); }
one_more() { [ "$(count_kept)" -gt "$kept_so_far" ]; }

# The agent runs as in a container with drop: [ALL].
echo "$pipe" >$pattern
"$contain" --no-capabilities "$node" --kubelet "$work/kubelet" >"$work/err" 2>&1 &
agent=$!
check "the agent needs no capability" wait_until took_over
stop_agent
check "it needs none to give the pattern back" pattern_is "$pipe"

# The agent takes the pattern over, and gives it back. No pod is there yet.
echo "$pipe" >$pattern
start_agent
check "the agent takes the pattern over" wait_until took_over
check "what was there before stands in the pattern" pattern_is "|$handler %P %s %c %d $pipe"
crash_here
check "a foreign core reaches the program from before" wait_kept
check "the foreign core is whole" is_whole "$work/kept/$dead.core"
check "its arguments are the kernel's" test "$(tr '\n' ' ' <"$work/kept/$dead.args")" = "$dead 11 crash end "
cp "$work/kept/$dead.env" "$work/env"
stop_agent
check "SIGTERM gives the pattern back" pattern_is "$pipe"
crash_here
wait_kept
check "the environment of the program was that of the kernel" cmp "$work/env" "$work/kept/$dead.env"
start_agent
wait_until took_over
kill_agent
check "kill -9 leaves the pattern as it is" is_ours
crash_here
check "after kill -9 a foreign core still gets through" wait_kept
check "that core is whole" is_whole "$work/kept/$dead.core"
start_agent
check "the next agent goes on" wait_until took_over
check "the next agent does not stand before itself" pattern_is "|$handler %P %s %c %d $pipe"
kill_agent
check "restore gives the pattern back without an agent" "$node" restore
check "the pattern is as it was" pattern_is "$pipe"
echo core >$pattern
check "restore leaves what is not ours" "$node" restore
check "the pattern stays as it is" pattern_is core

# The agent leaves a pattern alone that it cannot keep.
for value in 'a core' "|/bin/false $(printf '%080d' 1)" '@/run/socket' '@@/run/systemd/coredump-kernel'; do
	echo "$value" >$pattern
	start_agent
	check "\"$value\" is left alone" wait_until agent_says 'stay as they are'
	check "\"$value\" stands as before" pattern_is "$value"
	[ "$value" = '@@/run/systemd/coredump-kernel' ] || stop_agent
done
# The last of these patterns is replaced while the agent runs.
echo "$pipe" >$pattern
check "a pattern that can be kept is taken over in its place" wait_until took_over
check "the pattern that is there now is kept" pattern_is "|$handler %P %s %c %d $pipe"
stop_agent
check "the pattern is given back" pattern_is "$pipe"
mkdir "$work/noexec"
mount -t tmpfs -o noexec,mode=755 tmpfs "$work/noexec"
start_agent --directory "$work/noexec"
check "no program is put where none may run" wait_until agent_says 'mounted noexec'
check "the pattern stays when no program can run" pattern_is "$pipe"
stop_agent
umount "$work/noexec"
mkdir -m 777 "$work/open"
start_agent --directory "$work/open"
check "no program is put where others may write" wait_until agent_says 'may be written by others'
check "the pattern stays then, too" pattern_is "$pipe"
stop_agent
# The agent puts its program into a directory that is not the node's: the kernel finds no program there.
rm -f $handler
mkdir -p "$work/root/var/lib/afterglow" "$work/root/proc/sys/kernel"
chmod 755 "$work/root" "$work/root/var" "$work/root/var/lib"
mount --bind /proc/sys/kernel "$work/root/proc/sys/kernel"
start_agent --root "$work/root"
check "a program that the kernel cannot run is found out" wait_until agent_says 'does not run'
check "cores go where they went when the program does not run" pattern_is "$pipe"
stop_agent
umount "$work/root/proc/sys/kernel"
# We start the handler by hand, as the kernel does, for a process that is there: it passes on the very bytes.
start_agent
wait_until took_over
head -c 3000000 /dev/urandom >"$work/bytes"
"$handler" $$ 11 0 1 "|$work/keep" 999999 x <"$work/bytes"
check "each byte is passed on" cmp "$work/bytes" "$work/kept/999999.core"
"$handler" 999998 11 0 1 "|$work/keep" 999998 x <"$work/bytes"
check "nothing is passed on for a process that is gone" test ! -e "$work/kept/999998.core"
check "garbage from the kernel is no core" test "$("$handler" x y z </dev/null; echo $?)" = 2

# The agent writes files as the kernel does: the same crashes leave the same files with the agent and without.
printf 'ray:x:1000:1000:ray:/:/bin/sh\n' >>/etc/passwd
printf 'ray:x:1000:\n' >>/etc/group
as_ray() { su ray -c "$1" 2>/dev/null; }
chmod 755 "$work"
list() { find "$1" ! -name "${1##*/}" -exec stat -c '%n %A %u %g %h' {} + | sed -e "s,^$1/,," -e 's/[0-9]\{2,\} -/PID -/' | sort; }
crashes_in() { # DIRECTORY PATTERN-IS-RELATIVE: several crashes, and what lies there afterwards
	mkdir -p "$1/ray" "$1/root" "$1/limit" "$1/small" "$1/link" "$1/closed" "$1/jail/tmp"
	chmod 777 "$1"
	for d in ray limit small link; do chown ray:ray "$1/$d"; done
	ln -s ../target "$1/link/core"
	echo untouched >"$1/target"
	chmod 666 "$1/target"
	(cd "$1/root" && "$crash")
	(cd "$1/ray" && as_ray "exec $crash")
	(cd "$1/limit" && as_ray "ulimit -c 0; exec $crash")
	(cd "$1/small" && as_ray "ulimit -c 16; exec $crash")
	(cd "$1/link" && as_ray "exec $crash")
	(cd "$1/closed" && as_ray "exec $crash")
	return 0
}
# Our handler has written a core when it has ended. The kernel writes its own before the process ends.
quiet() { ! grep -q -a "^$handler" /proc/[0-9]*/cmdline 2>/dev/null; }
stop_agent
for value in core core.%p 'x.%e.%s'; do
	for uses_pid in 0 1; do
		echo $uses_pid >/proc/sys/kernel/core_uses_pid
		echo "$value" >$pattern
		crashes_in "$work/plain" 2>/dev/null
		start_agent
		wait_until took_over
		crashes_in "$work/ours" 2>/dev/null
		wait_until quiet
		stop_agent
		list "$work/plain" >"$work/list1"
		list "$work/ours" >"$work/list2"
		check "pattern $value, core_uses_pid $uses_pid: files as the kernel's" diff "$work/list1" "$work/list2"
		check "pattern $value: there is a core of the user" test -n "$(find "$work/ours/ray" -type f -user ray)"
		check "pattern $value: no link was followed" test "$(cat "$work/ours/target")" = untouched
		core=$(find "$work/ours/ray" -type f | head -n 1)
		check "pattern $value: it is whole" is_whole "$core"
		rm -rf "$work/plain" "$work/ours"
	done
done
echo 0 >/proc/sys/kernel/core_uses_pid
# A process crashes in another root directory, as a container has.
mkdir -p "$work/jail/bin" "$work/jail/dumps"
chmod 777 "$work/jail/dumps"
cp "$crash" "$work/jail/bin/"
for library in /lib/*-linux-gnu/libc.so.6 /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do
	[ -e "$library" ] && mkdir -p "$work/jail${library%/*}" && cp "$library" "$work/jail$library"
done
echo '/dumps/core.%e' >$pattern
start_agent
wait_until took_over
chroot "$work/jail" /bin/crash 2>/dev/null
check "an absolute pattern counts from the root of the process" wait_until is_whole "$work/jail/dumps/core.crash"
check "the core is nowhere else" test ! -e /dumps
stop_agent

# Processes of a pod crash.
echo "$pipe" >$pattern
for group in /sys/fs/cgroup /sys/fs/cgroup/kubepods /sys/fs/cgroup/kubepods/burstable $pod; do
	mkdir -p "$group"
	echo +memory >"$group/cgroup.subtree_control"
done
# We start the handler by hand again, for a user's process that works in a directory in memory: a file counts there for whoever wrote it.
memory=$pod/c$(printf '%063d' 7)
mkdir -p "$memory" "$work/memory"
mount -t tmpfs tmpfs "$work/memory"
# shellcheck disable=SC2016
sh -c 'echo $$ >"$1/cgroup.procs" && cd "$2" && exec su ray -c "exec sleep 1000"' sh "$memory" "$work/memory" &
works=$!
works_there() { [ "$(readlink "/proc/$works/cwd")" = "$work/memory" ] && grep -q '^Uid:.1000' "/proc/$works/status"; }
wait_until works_there
echo 3000000 >"$memory/memory.max"
# The kernel may take no process but the handler.
echo -1000 >"/proc/$works/oom_score_adj"
head -c 20000000 /dev/urandom | "$handler" $works 11 18446744073709551615 1 core.big
check "the kernel ends the program that has no memory left to write to" test $? = 137
check "the kernel ends no other process" kill -0 $works
rm -f "$work/memory/core.big"
echo max >"$memory/memory.max"
head -c 20000000 /dev/urandom | "$handler" $works 11 18446744073709551615 1 core.test
check "the core of a pod's process is in memory" test -s "$work/memory/core.test"
check "it belongs to the user" test "$(stat -c %u "$work/memory/core.test")" = 1000
check "the core counts for its container" test "$(cat "$memory/memory.current")" -gt 20000000
kill $works
wait $works
umount "$work/memory"
mkdir -p "$ray" "$side" "$volume"
# The volume is mounted for the sidecar alone, as the kubelet does it.
mkdir "$work/node"
start_sidecar() {
	"$contain" --cgroup "$side" --memory own --pid sh -c "mount --bind $volume $work/node && exec \"\$@\"" sh \
		"$sidecar" --socket "$work/socket" --node-socket "$work/node/node.sock" --store "$work/store" --spool "$work/spool" --kernel-log off --grace 1 >"$work/sidecar" 2>&1 &
	sidecar_pid=$!
	wait_until [ -S "$volume/node.sock" ]
}
mkdir -p "$work/store" "$work/spool"
run_ray() { # COMMAND...
	"$contain" --cgroup "$ray" --pid "$launch" --socket "$work/socket" --name ray-worker --cores -- "$@" >/dev/null 2>&1
}
bundles() { find "$work/store" -name MANIFEST.json; }
backtrace_of() { grep -l "$1" $(find "$work/store" -name backtrace.txt) 2>/dev/null | grep -q .; }
start_sidecar
start_agent
wait_until took_over
mark
run_ray "$crash"
check "a crash in the pod: its backtrace is in the bundle" wait_until backtrace_of deref_null
check "the core of the pod is in the bundle" wait_until sh -c "find $work/store -name 'core.crash.*.zst' | grep -q ."
check "the program from before got none" test "$(count_kept)" = "$kept_so_far"
kill_agent
rm -rf "$work/store"/*
run_ray sh -c "$crash --threads 3 --memory 100; sleep 2; exit 3"
check "a worker's crash while the agent is dead" wait_until backtrace_of deref_null
rm -rf "$work/store"/*
# A process of another container of the pod crashes.
mark
"$contain" --cgroup "$side" --pid "$crash" 2>/dev/null
check "a core of another container of the pod goes where it went" wait_until one_more
# Another user connects to the agent's socket.
said() { grep -q -e "$1" "$work/sidecar"; }
"$contain" --pid sh -c "mount --bind $volume $work/node && exec su ray -c '$launch --socket $work/node/node.sock --name x -- sleep 1'" >/dev/null 2>&1
check "another user is not the node" wait_until said 'does not come from the node'
# The sidecar ends.
kill -9 "$sidecar_pid"
for pid in $(cat "$side/cgroup.procs"); do kill -9 "$pid"; done
sidecar_pid=''
mark
"$contain" --cgroup "$ray" --pid "$crash" 2>/dev/null
check "without a sidecar the pod's core goes where it went" wait_until one_more
# A hostile pod puts a link in the place of the directory.
rm -rf "$volume"
mark
mkdir "$work/trap"
ln -s "$work/trap" "$volume"
"$contain" --cgroup "$ray" --pid "$crash" 2>/dev/null
check "a link in its place is not followed" wait_until one_more
rm "$volume"

# Agents are killed at random moments: no core is lost, and the pattern is always one of the two.
lost=0 wrong=0 kills=${NODE_KILLS:-20}
for i in $(seq "$kills"); do
	start_agent
	sh -c "exec $crash --after $((i * 37 % 400))" &
	dead=$!
	usleep $((i * 7919 % 500 * 1000))
	kill_agent
	wait $dead 2>/dev/null
	wait_kept || lost=$((lost + 1))
	is_whole "$work/kept/$dead.core" || lost=$((lost + 1))
	rm -f "$work/kept/$dead".*
	pattern_is "$pipe" || pattern_is "|$handler %P %s %c %d $pipe" || wrong=$((wrong + 1))
done
check "no core of $kills was lost" test $lost = 0
check "the pattern was never another" test $wrong = 0
start_agent
wait_until took_over
stop_agent
check "the pattern is the one from before in the end" pattern_is "$pipe"
summary
