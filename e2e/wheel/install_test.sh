#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# install_test.sh [--ray] [ROOT]: installs the wheel of build/wheel by pip as an ordinary user, here or in the root of another distribution, and
# lets things die in a memory cgroup that the user shares and may not change. --ray: also a task of real Ray, from PyPI.
# Ends with "N passed, N failed".
set -u

# Its mounts are its own.
[ -n "${AFTERGLOW_OWN_MOUNTS:-}" ] || AFTERGLOW_OWN_MOUNTS=1 exec unshare -m "$0" "$@"
cd "$(dirname "$0")/../.."
ray=''
[ "${1:-}" != --ray ] || { ray=yes && shift; }
root=${1:-}
work=$(mktemp -d "$root/tmp/wheel_test.XXXXXX")
home=${work#"$root"} # as the user sees it
build=''
. e2e/kernel/check.sh

memory=/sys/fs/cgroup
[ ! -d /sys/fs/cgroup/memory ] || memory=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
[ -e "$memory/cgroup.procs" ] || memory=/sys/fs/cgroup/memory
cgroup=$memory/afterglow-wheel-$$

finish() {
	until rmdir "$cgroup" 2>/dev/null || [ ! -e "$cgroup" ]; do
		xargs -r kill -9 <"$cgroup/cgroup.procs" 2>/dev/null
		sleep 0.1
	done
	umount "$work/bare/proc" 2>/dev/null
	rm -rf --one-file-system "$work"
	[ "$failed" = 0 ] || exit 1
	exit
}
trap finish EXIT

make_cgroup() { # LIMIT
	mkdir -p "$cgroup" && { echo "$1" >"$cgroup/memory.max" || echo "$1" >"$cgroup/memory.limit_in_bytes"; } 2>/dev/null
}

# Runs words of a shell as the user, in the cgroup. A machine without that user has no name for it either.
as_user() {
	sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$cgroup" \
		${root:+chroot "$root"} setpriv --reuid=65532 --regid=65532 --clear-groups --bounding-set=-all \
		env -i HOME="$home" PATH="$home/venv/bin:/usr/local/bin:/usr/bin:/bin" TMPDIR="$home/t" ${PIP_CERT:+PIP_CERT="$PIP_CERT"} \
		sh -c "cd; ulimit -c unlimited 2>/dev/null; $1"
}

run() { # WORDS: of afterglow run
	as_user "afterglow run $1" >"$work/out" 2>"$work/err"
	code=$?
}

says() { grep -Eq "$1" "$work/err"; }
prints() { grep -Eq "$1" "$work/out"; }

if [ -n "$root" ]; then
	for mount in proc sys dev; do mount --rbind "/$mount" "$root/$mount"; done
	cp -L /etc/resolv.conf "$root/etc/resolv.conf"
	grep -q localhost "$root/etc/hosts" 2>/dev/null || echo "127.0.0.1 localhost" >>"$root/etc/hosts"
	for list in "${PIP_CERT:-}" /etc/ssl/certs/ca-certificates.crt; do
		[ ! -e "$list" ] || install -D -m 644 "$list" "$root$list"
	done
fi
chmod 755 "$work"
mkdir "$work/t"
cp build/wheel/* "$work"
chown -R 65532:65532 "$work"
make_cgroup 4G || { echo "no memory cgroup can be made in $memory" && exit 1; }

# Nothing is compiled, and nothing but the wheel is asked for.
began=$SECONDS
check "pip installs the wheel" as_user 'python3 -m venv venv && venv/bin/pip install --quiet --no-index --disable-pip-version-check *.whl'
echo "a virtual environment and pip install took $((SECONDS - began)) s"
check "without pip the archive is a command" as_user 'tar -xf *.tar.gz && afterglow-ray-*/afterglow run -- true'
run '-- sh -c "exit 0"'
check "a command that succeeds leaves no word" test "$code" = 0 -a ! -s "$work/err"
run '-- python3 -c "import ctypes; ctypes.string_at(0)"'
check "a crash ends with 139" test "$code" = 139
check "a crash has its class" says '^  class +Segfault, certain'
case $(cat /proc/sys/kernel/core_pattern) in
[\|@]*) check "a core that goes elsewhere is named" says 'core_pattern' ;;
*) check "a crash has the line of Python" says 'ctypes/__init__.py:[0-9]+ in string_at' ;;
esac
run '-- python3 -c "1/0"'
check "an exception ends with 1" test "$code" = 1
check "an exception has three lines after Python's own" test "$(sed '1,/ZeroDivisionError/d' "$work/err" | wc -l)" -le 3
run '--memory-max 64Mi -- python3 -c "print(6 * 7)"'
check "a limit that the user cannot have does not keep the command from running" test "$code$(cat "$work/out")" = 042

# What the command sees of its process, and what reaches it, is what it would see and get without us.
cat >"$work/count.py" <<'CODE'
import os, pty, signal, subprocess, sys, time
counter = "import signal, sys, time; got = []; signal.signal(int(sys.argv[1]), lambda *_: got.append(1)); print(flush=True); time.sleep(0.5); time.sleep(0.5); print(len(got))"
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGALRM, signal.SIGXCPU, signal.SIGRTMIN, signal.SIGRTMAX):
    for send in (os.kill, os.killpg):
        with subprocess.Popen([*sys.argv[1:], "python3", "-c", counter, str(int(number))], stdout=subprocess.PIPE, start_new_session=True) as process:
            process.stdout.readline()
            send(process.pid, number)
            print(number.name, send.__name__, process.stdout.read().decode().strip())
# A signal right after the start, and an alarm that was set before it, end the command as they would without us.
for milliseconds in range(3, 30, 3):
    with subprocess.Popen([*sys.argv[1:], "sleep", "9"]) as process:
        time.sleep(milliseconds / 1000)
        process.terminate()
    print("at the start:", abs(process.returncode) & 127)
print("alarm:", abs(subprocess.run([*sys.argv[1:], "sleep", "9"], preexec_fn=lambda: signal.alarm(1)).returncode) & 127)
# timeout(1), when it is ended, signals its child, and then its process group, which the command has left.
left = "import os, signal, time; signal.signal(15, lambda *_: (print('it got it'), exit(3))); os.setpgrp(); print(flush=True); time.sleep(9)"
with subprocess.Popen(["timeout", "60", *sys.argv[1:], "python3", "-c", left], stdout=subprocess.PIPE) as process:
    process.stdout.readline()
    process.terminate()
    print("left the group:", process.stdout.read().decode().strip())
# Ctrl-C at a command that leads a group of its own: without us it does so from the start.
leads = "import os, signal, time; signal.signal(2, lambda *_: exit(3)); os.getpgrp() == os.getpid() or os.setpgrp(); " \
    "signal.signal(signal.SIGTTOU, signal.SIG_IGN); print('ready', flush=True); time.sleep(9)"
pid, terminal = pty.fork()
if not pid:
    words = [*sys.argv[1:], "python3", "-c", leads]
    os.execvp(words[0], words)
seen = b""
while b"ready" not in seen:
    seen += os.read(terminal, 100)
os.write(terminal, b"\x03")
try:
    while os.read(terminal, 100):
        pass
except OSError:
    pass
print("Ctrl-C:", os.waitpid(pid, 0)[1] >> 8)
os.close(terminal)
# Ctrl-Z stops nobody in a process group that no shell minds.
pid, terminal = pty.fork()
if not pid:
    words = [*sys.argv[1:], "python3", "-c", "import time; print(flush=True); time.sleep(2); exit(7)"]
    os.execvp(words[0], words)
os.read(terminal, 1)
os.write(terminal, b"\x1a")
try:
    while os.read(terminal, 100):
        pass
except OSError:
    pass
print("Ctrl-Z without a shell:", os.waitpid(pid, 0)[1] >> 8)
os.close(terminal)
# Where a shell minds the group, what stops its first process stops the command, and what continues it continues the command.
with subprocess.Popen([*sys.argv[1:], "python3", "-c", "import os, sys; print(os.getpid(), flush=True); sys.stdin.read(); print('went on')"],
                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=os.setpgrp) as process:
    command = int(process.stdout.readline())
    process.send_signal(signal.SIGTSTP)
    for _ in range(600):
        state = open(f"/proc/{command}/stat").read().rsplit(")", 1)[1].split()[0]
        if state == "T":
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGCONT)
    print("stopped:", state, process.communicate(b"")[0].decode().strip())
# As a pane of tmux, and as what ssh -t runs: it leads the session of a terminal that goes away.
pid, terminal = pty.fork()
if not pid:
    noted = "import signal, time; signal.signal(1, lambda *_: open('hung_up', 'w').close()); print(flush=True); time.sleep(9)"
    words = [*sys.argv[1:], "python3", "-c", noted]
    os.execvp(words[0], words)
os.read(terminal, 1)
os.close(terminal)
for _ in range(100):
    time.sleep(0.05)
    if os.path.exists("hung_up"):
        break
print("hung up:", os.path.exists("hung_up"))
os.path.exists("hung_up") and os.unlink("hung_up")
CODE
for words in 'python3 count.py' 'grep ^Sig[BI] /proc/self/status' 'env -i PATH=$PATH HOME=$HOME LANG=C sh -c env'; do
	# The words stand behind `afterglow run`; env and count.py start it themselves.
	case $words in
	grep*) with="afterglow run -- $words" ;;
	env*) with="${words% sh -c env} afterglow run -- sh -c env" ;;
	*) with="XDG_STATE_HOME=counted $words afterglow run --" ;; # its deaths are in no list below
	esac
	as_user "$words" >"$work/plain" 2>"$work/err"
	as_user "$with" >"$work/out" 2>"$work/err"
	check "it is the same with afterglow run: $words" cmp "$work/plain" "$work/out"
done

as_user 'ulimit -f 1; afterglow run -- python3 -c "import resource, time; time.sleep(1.2); exit(resource.getrlimit(resource.RLIMIT_FSIZE)[0] // 100)"; echo $?' >"$work/out" 2>"$work/err"
check "a limit of file size that a report exceeds changes no exit code" prints '^5$|^10$'
check "what cannot be written is said on stderr" says 'exit code (5|10)|File too large'

make_cgroup 200M
run "-- python3 -c 'b = []
while True: b.append(bytearray(1 << 20))'"
check "a leak ends with 137" test "$code" = 137
check "a leak in a shared cgroup is told from its counters alone" says '^  class +KernelOOM(Container|Process), (certain|likely)'
check "a leak has the process that leaked" says 'python3'
make_cgroup 4G

as_user 'afterglow list' >"$work/out" 2>"$work/err"
check "the list has the deaths so far" test "$(grep -Ec 'Segfault|ApplicationError|KernelOOM' "$work/out")" = 3
as_user 'afterglow show' >"$work/out" 2>"$work/err"
check "show prints the newest" prints 'KernelOOM'
as_user 'afterglow open --no-open' >"$work/out" 2>"$work/err"
check "open has a page" test -s "$root$(sed -n 's/^The report is in //p' "$work/out")"
as_user 'afterglow page .local/state/afterglow all.html' >"$work/out" 2>"$work/err"
check "page writes all of them" prints '^3 failures are in all.html'
as_user 'afterglow explain 137' >"$work/out" 2>"$work/err"
check "explain explains" prints SIGKILL
strange='kubectl|kubelet|\b[Cc]ontainers?\b|\b[Pp]ods?\b|PODS|CONTAINERS|rayStartParams|afterglow-sidecar'
silent() { ! grep -E "$strange" "$work/out" "$work/err"; }
for words in 'run --help' --help list 'list --by-signature' incidents show memory 'memory python3' 'explain 137' 'explain 143' 'explain WorkerCrashedError' \
	stack run 'run --no-such -- true' 'list -A' 'list --no-such' 'open --since 1h' 'page a b c' 'explain' 'stack --no-such'; do
	as_user "afterglow $words" >"$work/out" 2>"$work/err"
	check "afterglow $words has no words of Kubernetes" silent
done
as_user 'unset HOME; afterglow list --no-such; echo $?; afterglow run -- false; afterglow list; afterglow show' >"$work/out" 2>"$work/err"
check "before there is a store, a wrong option is an error" prints '^2$'
check "without HOME the command runs, list lists nothing and show says so" says 'No failures were found|no failure was found'
as_user 'mkdir closed && chmod 0 closed; XDG_STATE_HOME=closed afterglow list; echo $?' >"$work/out" 2>"$work/err"
check "a store that may not be read is no empty one" says 'Permission denied'
as_user 'cd; sed "s/<[^>]*>/ /g" all.html' >"$work/out" 2>"$work/err"
check "the page has no words of Kubernetes" silent
check "no report speaks of Kubernetes" test -z "$(grep -rlE 'kubelet|container' "$work/.local/state/afterglow" --include=report.txt)"

# Parents that outlive or follow their children: what torchrun and a DataLoader do (jobs_test.sh has the real ones).
cat >"$work/ranks.py" <<'CODE'
import ctypes, os, subprocess, sys, time
RANK = "import ctypes, os, sys, time; time.sleep(0.3); " + sys.argv[1]
ranks = [subprocess.Popen([sys.executable, "-c", RANK if n == 2 else "import time; time.sleep(60)"]) for n in range(4)]
while all(rank.poll() is None for rank in ranks):
    time.sleep(0.1)
for rank in ranks:
    rank.terminate()
    rank.wait()
sys.exit(int(sys.argv[2]))
CODE
job() { as_user "XDG_STATE_HOME=jobs afterglow run $1" >"$work/out" 2>"$work/err"; code=$?; }
tells() { tr -s ' \n' ' ' <"$work/err" | grep -Eq "$1"; } # across lines
job '-- python3 ranks.py "ctypes.string_at(0)" 1'
check "a crash of a rank, for which its parent ends with 1, is in the report of the parent" tells 'had crashed with SIGSEGV'
job '-- python3 ranks.py "os.kill(os.getpid(), 9)" 1'
check "a rank that was killed, for which its parent ends with 1, is in the report of the parent" tells 'was ended by SIGKILL'
job '-- python3 ranks.py "ctypes.string_at(0)" 0'
check "a crash of a rank, which its parent outlives, has a report of its own" says '^  class +Segfault'
check "a parent that outlives its rank ends as it does" test "$code" = 0

# As `pkill afterglow` and `pkill -9 afterglow` do: the signal reaches all of ours and not the command.
for signal in TERM KILL; do
	rm -f "$work/begun" "$work/end" "$work/ended"
	as_user 'XDG_STATE_HOME=jobs exec afterglow run -- sh -c "echo \$\$ >begun; until test -e end; do sleep 0.1; done; echo >ended; exit 7"' 2>"$work/err" &
	wait_until test -s "$work/begun"
	launch=$(awk '{ print $4 }' "/proc/$(cat "$work/begun")/stat")
	kill "-$signal" "$(awk '{ print $4 }' "/proc/$launch/stat")" "$launch"
	as_user 'echo >end'
	{ wait $!; code=$?; } 2>/dev/null
	check "a command goes on to its own end when SIG$signal has come to afterglow alone" wait_until test -e "$work/ended"
	[ $signal = KILL ] || check "and its exit code is that of afterglow run" test "$code" = 7
done

# A root without any libc stands for distributions with another one: the programs, and a shell that is static.
bare=$work/bare
if busybox=$(command -v busybox) && mkdir -p "$bare/bin" "$bare/proc" && mkdir -m 1777 "$bare/tmp" &&
	cp "$busybox" "$bare/bin/sh" && [ "$(chroot "$bare" sh -c 'echo runs' 2>/dev/null)" = runs ]; then
	cp "$work"/venv/lib/python3*/site-packages/afterglow_ray/bin/* "$bare/bin"
	mount -t proc proc "$bare/proc"
	chroot --userspec=65532:65532 "$bare" sh -c 'cd /tmp; HOME=/tmp exec afterglow-sidecar exec -- sh -c "kill -SEGV \$\$"' >"$work/out" 2>"$work/err"
	check "a crash where there is no libc has its class" says '^  class +Segfault, certain'
	chroot --userspec=65532:65532 "$bare" kubectl-afterglow list --store /tmp/.local/state/afterglow >"$work/out" 2>"$work/err"
	check "a crash where there is no libc is listed" prints '^sh +Segfault'
fi

if [ -n "$ray" ]; then
	# What RHEL 8 and Debian 10 bring. It runs on no Python after 3.9.
	if as_user 'python3 -c "import sys; sys.exit(sys.version_info >= (3, 10))"'; then
		for version in 9.0.3 18.1; do
			check "pip $version takes the wheel" as_user "python3 -m venv old && old/bin/pip install --quiet --disable-pip-version-check pip==$version &&
				old/bin/pip install --quiet --no-index --disable-pip-version-check *.whl && old/bin/afterglow --version; code=\$?; rm -r old; exit \$code"
		done
	fi
	check "pip installs Ray" as_user 'venv/bin/pip install --quiet --disable-pip-version-check ray'
	cat >"$work/leak.py" <<-'CODE'
		import ray
		ray.init(num_cpus=1, object_store_memory=100 << 20, include_dashboard=False)
		@ray.remote(max_retries=0)
		def load_samples():
		    kept = []
		    while True:
		        kept.append(bytearray(1 << 20))
		ray.get(load_samples.remote())
	CODE
	make_cgroup 2G
	began=$SECONDS
	as_user 'RAY_memory_monitor_refresh_ms=0 afterglow run -- python3 leak.py' >"$work/out" 2>"$work/err"
	check "the task that leaked is named" says 'load_samples \(PID [0-9]+\)|signature .*load_samples'
	# In a cgroup that others share its counter proves no more than this. The kernel may have taken another process of Ray, too.
	check "the OOM killer is named" says '^  class +KernelOOM|OOM killer'
	check "the names of Kubernetes are not" test -z "$(grep -rlE 'kubelet|container|rayStartParams' "$work/.local/state/afterglow" --include=report.txt)"
	echo "real Ray: its leak and all reports of it took $((SECONDS - began)) s"
	cp "$work/err" "${AFTERGLOW_KEEP:-/dev/null}"

	# The output of `ray start` is read to its end, which comes although Ray goes on.
	as_user 'afterglow run -- ray start --head --disable-usage-stats --num-cpus=1 --object-store-memory=100000000 2>&1; echo "code $?"' | cat >"$work/err"
	check "ray start without --block ends as it does" says '^code 0$'
	check "the Ray that it leaves behind is watched" says 'is watched until it ends: .*raylet'
	kill -9 "$(sed -n 's/.*raylet (PID \([0-9]*\)).*/\1/p' "$work/err")"
	listed() { as_user 'afterglow list' | grep -q '^ray  *RayletFailed'; }
	check "a raylet that is killed then is listed" wait_until listed
	as_user 'ray stop' >"$work/out" 2>&1
	nobody() { ! grep -q . "$cgroup/cgroup.procs"; }
	check "nothing stays when that Ray was stopped" wait_until nobody
fi
summary
