#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Cores come from the kernel into the bundle: those of the command and of processes far below it, cores that were cut, that were there
# before, and that somebody forged; also when the sidecar is killed in the middle. The test machine has every kind of core pattern as well.
# Plain sh. Ends with "N passed, N failed".

# Its mounts are its own: a sidecar of another suite would take a disk that is full here for one of its container.
[ -n "${AFTERGLOW_OWN_MOUNTS:-}${AFTERGLOW_IN_VM:-}" ] || AFTERGLOW_OWN_MOUNTS=1 exec unshare -m "$0" "$@"
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
sidecar=$build/afterglow-sidecar launch=$build/afterglow-launch crash=$build/test/crash
# A container has both limits, a hard and a soft one: the launcher raises the soft one.
ulimit -S -c 0
work=$(mktemp -d /tmp/cores_test.XXXXXX)
store=$work/store
mkdir "$work/t" "$work/cwd" "$work/deep" "$work/small" "$work/volume"
export TMPDIR="$work/t"
. "$here/check.sh"
sidecar_pid=
# With this option a crash waits in its directory until the launcher has seen it there.
there='--open-by afterglow-launc'
large=200
[ -z "${AFTERGLOW_IN_VM:-}" ] || large=40 # the test machine is emulated
pattern=$(cat /proc/sys/kernel/core_pattern) uses_pid=$(cat /proc/sys/kernel/core_uses_pid)

finish() {
	[ -z "$sidecar_pid" ] || kill -9 "$sidecar_pid" 2>/dev/null
	if [ -n "${AFTERGLOW_IN_VM:-}" ]; then
		echo "$pattern" >/proc/sys/kernel/core_pattern
		echo "$uses_pid" >/proc/sys/kernel/core_uses_pid
	fi
	umount "$work/small" 2>/dev/null
	rm -rf "$work"
	[ "$failed" = 0 ] || exit 1
	exit
}
trap finish EXIT

case $pattern in
'|'* | '@'* | /*)
	if [ -z "${AFTERGLOW_IN_VM:-}" ]; then
		echo "cores_test.sh: this machine's core pattern is \"$pattern\"; sysctl kernel.core_pattern=core first" >&2
		failed=1
		exit 1
	fi
	;;
esac
cd "$work/cwd" || exit 1

# The disk of the test machine is in memory, where cores are written only if --cores asks for them.
run() { # ARG... of exec; leaves $code, $work/out and $work/err
	"$sidecar" exec --store "$store" --name case --cores summary "$@" >"$work/out" 2>"$work/err"
	code=$?
}
says() { grep -q -e "$1" "$work/err"; }
# Looks for a sentence of the report, whose lines were folded.
tells() { tr -s ' \n' ' ' <"$work/err" | grep -q -F -e "$1"; }
# A slow machine may need longer than the report can wait: then the report says that, and the backtrace is added.
names() { tells "$1" || { tells "backtrace (needs more time" && has_backtrace "$(bundle)"; }; }
bundles() { find "$1" -name '.*' -prune -o -name MANIFEST.json -print | sed 's,/MANIFEST.json$,,' | sort; }
bundle_of() { bundles "$store" | grep -e "$1\$" | tail -n 1; }
is_empty() { [ -z "$(ls -A "$1")" ]; }
core_in() { find "$1" -name 'core.*.zst'; }
has_backtrace() { grep -q "deref_null" "$1/backtrace.txt"; }
# The manifest lists every file with its digest.
whole() {
	tr -d '\n\t' <"$1/MANIFEST.json" | sed 's/{"name":"\([^"]*\)"[^}]*"sha256":"\([^"]*\)"}/\n\2  \1\n/g' |
		grep -E '^[0-9a-f]{64}  ' >"$work/sums"
	[ "$(wc -l <"$work/sums")" = "$(find "$1" -type f ! -name MANIFEST.json ! -name '.*' | wc -l)" ] &&
		(cd "$1" && sha256sum -c "$work/sums" >/dev/null 2>&1)
}
# A debugger opens the core and finds the function; where there is no debugger, the core is a zstd file.
opens() { # BUNDLE
	core=$(core_in "$1")
	[ -s "$core" ] || return 1
	if ! command -v zstd >/dev/null || ! command -v gdb >/dev/null; then
		[ "$(head -c 4 "$core" | od -A n -t x1 | tr -d ' ')" = 28b52ffd ]
		return
	fi
	zstd -qdf "$core" -o "$work/unpacked" && gdb -nx -batch -ex bt "$crash" "$work/unpacked" 2>/dev/null | grep -q 'deref_null'
}
# await CORES [DIRECTORY] runs in the container. It waits until so many cores are kept and DIRECTORY has none any more, at most two
# minutes, and a second longer for what should not happen.
cat >"$work/await" <<END
kept() { find "$work/store" -name '.*' -prune -o -name 'core.*.zst' -print 2>/dev/null | wc -l; }
n=0
while [ \$n -lt 240 ] && { [ "\$(kept)" -lt "\$1" ] || [ -n "\${2:+\$(find "\$2" -name 'core*')}" ]; }; do
	sleep 0.5
	n=\$((n + 1))
done
sleep 1
END

# The launcher alone can remove a file, and on a slow machine the report may take longer than the launcher stays: then we try again.
removes_its_core() { # COMMAND...
	rm -rf "$store" core*
	"$@"
	[ -n "${AFTERGLOW_IN_VM:-}" ] || [ -z "$(find . -name 'core*')" ]
}
# The command itself crashes.
for mode in summary full; do
	until_undisturbed removes_its_core run --cores "$mode" -- "$crash" --threads 3 --memory 4
	check "$mode: the exit code stays" test "$code" = 139
	check "$mode: the report names the function" names "crashed with SIGSEGV in deref_null (crash)"
	check "$mode: the bundle has the backtrace" has_backtrace "$(bundle)"
	check "$mode: a debugger opens the core" opens "$(bundle)"
	check "$mode: the bundle is whole, with the core" whole "$(bundle)"
	[ -n "${AFTERGLOW_IN_VM:-}" ] ||
		check "$mode: a core that only we asked for does not stay" test -z "$(find . -name 'core*')"
done
summary_of() { du -k "$(core_in "$1")" | cut -f 1; }
full=$(summary_of "$(bundle)")
run --cores summary -- "$crash" --threads 3 --memory 4
check "a summary leaves the heap out" test "$(summary_of "$(bundle)")" -lt "$((full / 2))"

# A process far below the command crashes in another directory, and the container goes on.
rm -rf "$store" core*
run -- sh -c "sh -c 'sh -c \"$crash --in $work/deep $there; sh $work/await 1 $work/deep\"; true'; exit 3"
check "a process far below: its report" test -n "$(bundle_of -Segfault)"
check "a process far below: its backtrace" has_backtrace "$(bundle_of -Segfault)"
check "a process far below: its core" opens "$(bundle_of -Segfault)"
check "the container's own end is another report" test -n "$(bundle_of -ApplicationError)"
check "that report has no core" test -z "$(core_in "$(bundle_of -ApplicationError)")"

check "a core that only we asked for does not stay" test -z "$(find "$work/deep" -name 'core*')"
rm -rf "$store" core*
(
	ulimit -S -c unlimited
	run -- sh -c "$crash --in $work/deep $there; sh $work/await 1; exit 3"
)
check "one that would have been written without us stays" test -n "$(find "$work/deep" -name 'core*')"
check "the core is kept as well" opens "$(bundle_of -Segfault)"

# The kernel looks at each page of what a process has reserved, and the process cannot end meanwhile.
rm -rf "$store" core*
reserved=64 began=$(cut -d . -f 1 /proc/uptime)
[ -z "${AFTERGLOW_IN_VM:-}" ] || reserved=16 # the test machine is emulated
run -- sh -c "$crash --reserve $reserved; exit 0"
if [ "$(($(cut -d . -f 1 /proc/uptime) - began))" -ge 3 ]; then
	check "a dump of reserved memory: the report tells the crash from the end" tells "by the times of its file the kernel wrote it for"
fi

# A crash explains the end of the container that follows it at once.
rm -rf "$store" core*
run -- sh -c "$crash --after 300; exit 1"
check "a crash just before the end is the end's" test "$(bundles "$store" | wc -l)" = 1
check "the report of the end names the crash" names "core: SIGSEGV at address 0x0 in deref_null"
rm -rf "$store" core*
run -- sh -c "$crash --after 300; exit 139"
check "a shell's word for it too" names "crashed with SIGSEGV in deref_null (crash)"

# A core was written before the clock was set back.
rm -rf "$store" core*
(
	ulimit -S -c unlimited
	"$crash"
) 2>/dev/null
touch -d "@$(($(date +%s) + 86400))" core*
run -- sh -c 'sleep 2; exit 3'
names_no_crash() { ! names SIGSEGV; }
check "a core of tomorrow is no crash of this container" names_no_crash
check "the container has no report of it" test -z "$(bundle_of -Segfault)"
check "the core of tomorrow stays" test -n "$(find . -name 'core*')"

# Two processes crash one after the other, and their cores have the same name.
rm -rf "$store" core* "$work/deep/core"*
run -- sh -c "for n in 1 2; do $crash --in $work/deep $there; sh $work/await \$n $work/deep; done"
check "two cores under one name are two reports" test "$(bundles "$store" | wc -l)" = 2
check "the first core is whole" opens "$(bundles "$store" | head -n 1)"
check "the second core is whole" opens "$(bundles "$store" | tail -n 1)"

# Two jobs share a directory: the core of one is no crash of the other, which leaves the file alone. In a PID namespace that is not the machine's
# first one, a process of another container may have the same PIDs, and so have left the core: there the other job says that it was perhaps not its own.
cat >"$work/two_jobs" <<END
(cd "$work/deep" && exec "$sidecar" exec --store "$work/beside" --name beside --cores summary -- \
	sh -c "until [ -e $work/gone ]; do sleep 0.1; done; sleep 2; exit 3") 2>"$work/beside.err" &
(
	ulimit -S -c unlimited
	"$sidecar" exec --store "$store" --name case --cores summary -- sh -c "cd $work/deep; sleep 1; $crash; touch $work/gone; sleep 4" >"$work/out" 2>"$work/err"
)
wait \$!
END
two_jobs() { # COMMAND...
	rm -rf "$store" core* "$work/deep/core"* "$work/gone"
	"$@" sh "$work/two_jobs"
}
beside_tells() { tr -s ' \n' ' ' <"$work/beside.err" | grep -q -F -e "$1"; }
beside_is_silent() { ! beside_tells SIGSEGV; }
beside_claims_nothing() { beside_is_silent || { beside_tells "perhaps it was not a process of this command" && ! beside_tells "class Segfault, certain"; }; }
two_jobs
check "two jobs in one directory: the crash has its report" test -n "$(bundle_of -Segfault)"
check "the other job ends with a report of its own end" beside_tells 'exit code 3'
if [ "$(readlink /proc/self/ns/pid)" = 'pid:[4026531836]' ]; then # as in lib/first_pid_namespace.h
	check "that job knows of no crash" beside_is_silent
fi
check "the core stays where it is" test -n "$(find "$work/deep" -name 'core*')"
two_jobs unshare -fpm --mount-proc
check "two jobs in one container: the crash has its report" test -n "$(bundle_of -Segfault)"
check "two jobs in one container: the other ends with a report of its own end" beside_tells 'exit code 3'
check "two jobs in one container: the other does not say that the crash was its own" beside_claims_nothing
check "two jobs in one container: the core stays where it is" test -n "$(find "$work/deep" -name 'core*')"

# Ray reports the same worker some seconds after its core came: that is one failure. Ray's logs are in a mount of our own, and believed
# because a process has raylet's name.
cat >"$work/ray" <<'END'
mount -t tmpfs tmpfs /tmp/ray && mkdir -p /tmp/ray/session_x/logs/events && ln -s session_x /tmp/ray/session_latest || exit 1
: >/tmp/ray/session_x/logs/events/event_RAYLET.log
exec "$@"
END
cat >"$work/raylet" <<'END'
cd "$2" || exit 1
"$5" --after 120000 &
raylet=$!
"$1" $3 &
worker=$!
wait $worker
sleep 5
printf '{"label":"RAY_WORKER_FAILURE","message":"A worker died or was killed while executing a task by an unexpected system error. Worker PID: %d Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file.","pid":"297","severity":"ERROR","source_type":"RAYLET","timestamp":%d}\n' \
	"$worker" "$(date +%s)" >>/tmp/ray/session_latest/logs/events/event_RAYLET.log
sh "$4" 1
kill $raylet
exit 3
END
[ -d /tmp/ray ] || mkdir /tmp/ray
rm -rf "$store" core* "$work/deep/core"*
mkdir "$work/ray.d"
ln -s "$crash" "$work/ray.d/raylet"
unshare -m sh "$work/ray" "$sidecar" exec --store "$store" --name case --cores summary -- sh "$work/raylet" "$crash" "$work/deep" "$there" "$work/await" \
	"$work/ray.d/raylet" >"$work/out" 2>"$work/err"
rmdir /tmp/ray 2>/dev/null
check "a worker that Ray tells of: one failure, Ray's" test "$(bundles "$store" | grep -c -e -WorkerCrash -e -Segfault)" = 1
check "its sentence has what the core tells" tells "died of SIGSEGV in deref_null (crash); the command goes on"
check "its bundle has the backtrace" has_backtrace "$(bundle_of -WorkerCrash)"
check "its bundle has the core" opens "$(bundle_of -WorkerCrash)"

# No core is written, and the report says why.
rm -rf "$store" core*
run --cores off -- "$crash"
check "off: no core is written" test -z "$(find . -name 'core*')"
check "off: the report says how to have one" tells "needs --cores summary or full"
run -- sh -c "ulimit -c 0; exec $crash"
check "without a core limit the report says so" tells "ulimit -c"

# A core is cut.
run -- sh -c "ulimit -c 128; exec $crash --memory 8"
check "a core cut by the limit is said to be cut" tells "the whole core (needs a higher core limit"
check "a core that was cut is kept as far as it goes" test -s "$(core_in "$(bundle)")"
# The launcher bounds the size of a core, whatever the runtime's limit was; a limit that somebody chose stays.
rm -f core*
for limit in 0 unlimited; do
	(
		ulimit -S -c "$limit"
		exec "$launch" --cores --cores-in-memory --cores-max 1048576 --socket "$work/none" -- "$crash" --memory 16
	) 2>/dev/null
	check "soft limit $limit: the exit code of a process whose core is cut stays" test $? = 139
	check "soft limit $limit: no more is written than --cores-max" test "$(du -k core | cut -f 1)" -le 1024
	check "soft limit $limit: signal and innermost function are known" \
		sh -c "'$build/afterglow-unwind' --core core | grep -q '^SIGSEGV at address 0x0 in deref_null'"
	rm -f core
done
bound=$(($(stat -f -c '%a * %S' .) / 8 / 512))
[ "$bound" -lt 8388608 ] && [ -z "${AFTERGLOW_IN_VM:-}" ] || bound=8388608
near() { [ "$1" -gt $(($2 * 9 / 10)) ] && [ "$1" -lt $(($2 * 11 / 10)) ]; }
check "the default bound is 4 GiB, or an eighth of the free space" \
	near "$(ulimit -S -c 0 && "$launch" --cores --cores-in-memory --socket "$work/none" -- sh -c 'ulimit -S -c')" "$bound"
check "a limit that somebody chose stays" \
	test "$(ulimit -S -c 4096 && "$launch" --cores --cores-in-memory --cores-max 1048576 --socket "$work/none" -- sh -c 'ulimit -S -c')" = 4096
if mount -t tmpfs -o size=2m tmpfs "$work/small"; then
	rm -f core*
	# In memory a core counts against the limit of the container that has just lost a process.
	(cd "$work/small" && exec "$launch" --cores --socket "$work/none" -- "$crash") 2>/dev/null
	check "in memory: the exit code stays" test $? = 139
	check "in memory: no core is written that was not asked for" is_empty "$work/small"
	(cd "$work/small" && "$sidecar" exec --store "$store" --name case -- "$crash") >"$work/out" 2>"$work/err"
	check "in memory: the report says why there is no core" tells "the launcher asks for none in a filesystem in memory"
	(cd "$work/small" && exec "$launch" --cores --cores-in-memory --socket "$work/none" -- "$crash") 2>/dev/null
	check "in memory: a core is written where it was asked for" test -s "$work/small/core"
	rm -f "$work/small"/*
	"$launch" --cores --socket "$work/none" -- sh -c "cd $work/small; n=0
		until grep -q '^Max core file size  *0 ' /proc/self/limits; do
			[ \$((n += 1)) -lt 300 ] || exit 1
			sleep 0.1
		done; exec $crash" 2>/dev/null
	check "in memory: a process that goes there loses its core limit" test $? = 139
	check "in memory: a process that goes there leaves no core" is_empty "$work/small"
	(ulimit -S -c unlimited && cd "$work/small" && exec "$launch" --cores --socket "$work/none" -- sh -c 'ulimit -S -c') >"$work/out"
	check "in memory: where cores were written without us, they are, but bounded" test "$(cat "$work/out")" = 8388608
	# shellcheck disable=SC2086
	run -- "$crash" --in "$work/small" --memory 16 $there
	check "a core cut by a full disk is said to be cut" tells "the whole core (needs a higher core limit"
	rm -f "$work/small"/*
	store=$work/small/store
	run --cores full -- "$crash" --memory 16
	check "a store too small for the core has the report" test -s "$(bundle)/report.txt"
	check "and the bundle is whole without it" whole "$(bundle)"
	store=$work/store
	umount "$work/small"
fi

# The container forges cores: other things have the name of a core, and files claim to be one.
rm -rf "$store" core*
for forged in "echo text >core" "ln -s /etc/passwd core" "mkfifo core" "mkdir core" \
	"head -c 100000 /dev/zero >core" "printf '\\177ELF\\002\\001\\001\\0\\0\\0\\0\\0\\0\\0\\0\\0\\004\\0' >core" \
	"(printf '\\177ELF\\002\\001\\001\\0\\0\\0\\0\\0\\0\\0\\0\\0\\004\\0\\076\\0'; head -c 100000 /dev/urandom) >core"; do
	rm -rf core
	run -- sh -c "$forged; sleep 0.6; exit 3"
	check "forged by: $forged: the code stays" test "$code" = 3
	check "forged by: $forged: no core is kept" test -z "$(core_in "$(bundle)")"
done
rm -rf core

# As in a pod, the sidecar is killed, and containers start again.
start_sidecar() {
	AFTERGLOW_CLUSTER='' "$sidecar" --socket "$work/sock" --spool "$work/spool" --cores full --reconnect 5 >>"$work/err" 2>&1 &
	sidecar_pid=$!
	wait_until test -S "$work/sock"
}
stop_sidecar() { # SIGNAL
	kill "-$1" "$sidecar_pid"
	wait "$sidecar_pid" 2>/dev/null
	sidecar_pid=
	rm -f "$work/sock"
}
reports_in_spool() { bundles "$work/spool" | wc -l; }
all_have_cores() {
	[ "$(reports_in_spool)" -gt 0 ] && for b in $(bundles "$work/spool"); do
		[ -n "$(core_in "$b")" ] || return 1
	done
}
: >"$work/err"
store=$work/spool
mkdir "$work/spool"
for tries in 1 2 3 4 5 6 7 8 9 10; do # the sidecar may be the quicker one
	start_sidecar
	(cd "$work/volume" && exec "$launch" --cores --cores-in-memory --socket "$work/sock" --name main -- \
		sh -c "$crash --memory $large --after 400; exec sleep 600") 2>/dev/null &
	launcher=$!
	wait_until sh -c "find '$work/spool' -name '.*' -prune -o -name MANIFEST.json -print | grep -q ."
	stop_sidecar 9
	killed_without=$(core_in "$work/spool")
	[ -n "$killed_without" ] || break
	kill -TERM "$launcher"
	wait "$launcher" 2>/dev/null
	rm -rf "$work/spool" "$work/volume"/core*
	mkdir "$work/spool"
done
say_tries 'killing the sidecar in the middle of a core' "$tries"
start_sidecar
check "a sidecar killed while it kept a core: the next keeps it" wait_until all_have_cores
check "(it was killed before it had kept it)" test -z "$killed_without"
check "both tries make one report" test "$(reports_in_spool)" = 1
check "the bundle is whole" whole "$(bundles "$work/spool" | head -n 1)"
check "a debugger opens what was kept at the second try" opens "$(bundles "$work/spool" | head -n 1)"
# The container starts again, and a core that was dealt with before is still there.
kill -TERM "$launcher"
wait "$launcher" 2>/dev/null
before=$(reports_in_spool)
(cd "$work/volume" && exec "$launch" --cores --cores-in-memory --socket "$work/sock" --name main -- sleep 3) 2>/dev/null
check "a core that was dealt with is not told of again" test "$(bundles "$work/spool" | grep -c -e -Segfault)" = 1
stop_sidecar TERM
# Another pod leaves a core on a volume that both have mounted. The launcher is process 1, as in a pod.
if [ "$(stat -f -c %T "$work")" != tmpfs ]; then
	rm -rf "$work/spool" "$work/volume"/core*
	mkdir "$work/spool" "$work/mounted"
	start_sidecar
	unshare -fpm --mount-proc sh -c "mount --bind $work/volume $work/mounted; cd $work/mounted; exec $launch --cores --socket $work/sock --name main -- \
		timeout 180 sh -c 'touch $work/begun; until find $work/spool -name MANIFEST.json | grep -q .; do sleep 0.2; done'" 2>/dev/null &
	launcher=$!
	wait_until test -e "$work/begun"
	sleep 2 # until its directory is watched
	(cd "$work/volume" && ulimit -S -c unlimited && "$crash") 2>/dev/null
	wait "$launcher"
	check "a core on a shared volume: whose it is is doubted" grep -q "perhaps it was not a process of this container" "$(bundle_of -Segfault)/report.json"
	check "a core on a shared volume stays where it is" test -n "$(find "$work/volume" -name 'core*')"
	stop_sidecar TERM
fi
# A core is written while no sidecar runs.
rm -f "$work/volume"/core*
(cd "$work/volume" && exec "$launch" --cores --cores-in-memory --socket "$work/sock" --name main -- "$crash") 2>/dev/null
sleep 2.2
start_sidecar
cat >"$work/await_two" <<END
n=0
while [ \$n -lt 240 ] && [ "\$(find "$work/spool" -name '.*' -prune -o -name MANIFEST.json -print | grep -c -e -Segfault)" -lt 2 ]; do
	sleep 0.5
	n=\$((n + 1))
done
sleep 1
END
(cd "$work/volume" && exec "$launch" --cores --cores-in-memory --socket "$work/sock" --name main -- sh "$work/await_two") 2>/dev/null
two_segfaults() { [ "$(bundles "$work/spool" | grep -c -e -Segfault)" = 2 ]; }
check "a core that was there before the container started is told of" wait_until two_segfaults
check "its report says when it was written" wait_until tells "before this start of the container"
(cd "$work/volume" && exec "$launch" --cores --cores-in-memory --socket "$work/sock" --name main -- sleep 4) 2>/dev/null
check "it is told of once" two_segfaults
stop_sidecar TERM
store=$work/store

# A backtrace is ready when all else is kept and shipped.
mkdir "$work/bin" && rm -rf "$work/spool" "$work/kept" && mkdir "$work/spool" "$work/kept"
cp "$sidecar" "$build/afterglow-pack" "$build/afterglow-ship" "$work/bin"
printf '#!/bin/sh\nsleep $(cat %s/takes)\nexec %s "$@"\n' "$work" "$build/afterglow-unwind" >"$work/bin/afterglow-unwind"
chmod +x "$work/bin/afterglow-unwind"
start_slow_sidecar() {
	POD_NAMESPACE=ml POD_NAME=pod POD_UID=0123456789 AFTERGLOW_CLUSTER='' "$work/bin/afterglow-sidecar" --socket "$work/sock" \
		--spool "$work/spool" --store "$work/kept" --cores summary --full-bundles 0 --reconnect 1 >>"$work/err" 2>&1 &
	sidecar_pid=$!
	wait_until test -S "$work/sock"
}
crashes_slowly() { "$launch" --cores --cores-in-memory --socket "$work/sock" --name "$1" -- "$crash" 2>/dev/null; }
kept_of() { bundles "$work/kept" | grep "/$1/"; }
is_kept() { [ -n "$(kept_of "$1")" ]; }
kept_with_backtrace() { is_kept "$1" && has_backtrace "$(kept_of "$1")"; }
all_shipped() { [ -z "$(bundles "$work/spool")" ]; }
start_slow_sidecar
echo 3 >"$work/takes"
# A report waits only a few seconds for the backtrace, and a busy machine may need them for the rest: then we try with another report.
waits_for_backtrace() {
	patient=patient$((${patient#patient} + 1))
	crashes_slowly "$patient"
	wait_until is_kept "$patient"
	grep -q deref_null "$(kept_of "$patient")/report.txt"
}
patient=patient0
until_undisturbed waits_for_backtrace
check "a report waits three seconds for its backtrace" is_kept "$patient"
check "the report that waited has the backtrace" grep -q deref_null "$(kept_of "$patient")/report.txt"
echo 12 >"$work/takes"
crashes_slowly slow
check "a backtrace that comes last is shipped as well" wait_until kept_with_backtrace slow 2>/dev/null
check "the bundle is whole with it" whole "$(kept_of slow)"
check "nothing stays in the spool" wait_until all_shipped
crashes_slowly never
check "a sidecar killed before it came: the report is shipped" wait_until is_kept never
stop_sidecar 9
start_slow_sidecar
check "its bundle does not wait for the backtrace for ever" wait_until all_shipped
stop_sidecar TERM
rm -f core*

# The sidecar's children are killed at every stage, and no report is lost, and no bundle torn.
if [ -z "${AFTERGLOW_IN_VM:-}" ]; then
	rm -rf "$work/spool" "$work/kept" && mkdir "$work/spool" "$work/kept"
	"$sidecar" --socket "$work/sock" --spool "$work/spool" --store "$work/kept" --cores full --full-bundles 0 >>"$work/err" 2>&1 &
	sidecar_pid=$!
	wait_until test -S "$work/sock"
	(
		n=0
		while [ -d "/proc/$sidecar_pid" ]; do
			for pid in $(cat "/proc/$sidecar_pid/task/$sidecar_pid/children" 2>/dev/null); do
				n=$((n + 1))
				# Sometimes we kill the first child that we see, and sometimes one that has worked for a while.
				[ $((n % 5)) -lt 3 ] || { kill -9 "$pid" 2>/dev/null && echo "$pid" >>"$work/killed"; }
			done
			sleep "0.00$((n % 7 + 1))"
		done
	) &
	killer=$!
	: >"$work/killed"
	for n in $(seq 20); do
		mkdir "$work/deep/$n"
		"$launch" --cores --cores-in-memory --socket "$work/sock" --name "c$n" -- sh -c "cd $work/deep/$n; $crash --memory 20 --after 400; sleep 1; exit 3" 2>/dev/null
		if [ "$n" -ge 6 ] && [ "$(wc -l <"$work/killed")" -gt 5 ]; then break; fi
	done
	kill "$killer"
	wait "$killer" 2>/dev/null
	check "children that are killed: all is shipped in the end" wait_until all_shipped
	missing=
	for i in $(seq "$n"); do is_kept "c$i" || missing="$missing c$i"; done
	check "children that are killed: every container's report is there" test -z "$missing"
	torn=0
	for b in $(bundles "$work/kept"); do
		if [ ! -s "$b/report.txt" ] || ! whole "$b"; then torn=$((torn + 1)); fi
	done
	check "children that are killed: every bundle is whole" test "$torn" = 0
	check "(some were killed)" test "$(wc -l <"$work/killed")" -gt 5
	stop_sidecar TERM
fi

# Where the node is ours we can set every kind of core pattern.
if [ -n "${AFTERGLOW_IN_VM:-}" ]; then
	mkdir -p /cores/crash "$work/cwd/sub"
	for row in core:0 core:1 core.%e.%p.%s.%t:0 'a%%b.%P.%u.%h.%E':0 sub/core.%p:0 /cores/core:1 /cores/%e.%p.%i.%I.%s.%c:0 \
		/cores/%e/core.%p:0; do
		echo "${row%:*}" >/proc/sys/kernel/core_pattern
		echo "${row#*:}" >/proc/sys/kernel/core_uses_pid
		rm -rf "$store" core* a%* sub/* /cores/core* /cores/crash.* /cores/crash/*
		run -- sh -c "$crash --after 1500; exit 139"
		check "pattern $row: the core is found" opens "$(bundle)"
		check "pattern $row: the report names the function" names "in deref_null (crash)"
	done
	echo 0 >/proc/sys/kernel/core_uses_pid
	echo '|/bin/false %P' >/proc/sys/kernel/core_pattern
	run -- "$crash"
	check "a pipe: the report says where cores go" tells "pipes them to /bin/false, and not to the working directory"
	check "a pipe: and what would change that" tells "sysctl kernel.core_pattern=core"
	if grep -q socket /proc/sys/kernel/core_modes 2>/dev/null; then
		echo '@/run/nobody.sock' >/proc/sys/kernel/core_pattern
		run -- "$crash"
		check "a socket: the report says where cores go" tells "to the socket /run/nobody.sock of the node"
	fi
fi
summary
