# SPDX-License-Identifier: Apache-2.0
# What the script of each death is given; plain sh, for dash here and busybox in the virtual machine.
# Sourced with D, the death's own directory, and LOG, auto or off: whether the kernel log may be read.
tools=$(cd "${AFTERGLOW_BUILD:-build}" && pwd)
PATH=$tools/test:$PATH
export D PATH
# A full disk of one death would be found by others.
if grep -q '^small ' "$D/script" && [ -z "$apart" ]; then
	export apart=1
	exec unshare -m sh "$D/script"
fi
# The whole death in a PID namespace, as in a pod: the kernel's log has other PIDs than the sidecar sees.
if grep -q '^own_pids$' "$D/script" && [ -z "$numbered" ]; then
	export numbered=1
	exec /usr/bin/unshare -fp --mount-proc --kill-child sh "$D/script"
fi
own_pids() { :; }
# Most deaths dump no core: the cores are tested elsewhere.
ulimit -c 0
memory=/sys/fs/cgroup/memory version=1
[ -d "$memory" ] || { memory=/sys/fs/cgroup version=2; }
export memory version

# cgroup_of PID: its memory cgroup's directory.
cgroup_of() {
	if [ $version = 1 ]; then
		echo "$memory$(sed -n 's/^[0-9]*:memory://p' "/proc/$1/cgroup")"
	else
		echo "$memory$(sed -n 's/^0:://p' "/proc/$1/cgroup")"
	fi
}
home=$(cgroup_of $$)

# watch [OPTION...] -- COMMAND [ARG...]: the command under the sidecar. What $within names runs both.
watch() {
	began=$(cut -d. -f1 /proc/uptime)
	# shellcheck disable=SC2016,SC2086
	$within sh -c 'echo $$ >"$D/exec"; exec "$@"' watch "$tools/afterglow-sidecar" exec --store "$D/store" --name death --kernel-log "$LOG" "$@" \
		>"$D/out" 2>"$D/err" </dev/null
	echo $? >"$D/code"
	killed "afterglow-$(cat "$D/exec")-" "death-$$[-/,]"
}

# killed CGROUP...: each process that the kernel killed in such cgroups since the command began becomes a fact. So does each that it killed
# anywhere, because for some kills it leaves out the cgroup. In a PID namespace a neighbour's PID in the log is not the one in its own fact, so
# its cgroup distinguishes it from ours.
killed() {
	dmesg | tr -d '[' | awk -v began="$began" '$1 + 0 >= began' | sed -n 's|.*out of memory: Killed process \([0-9]*\) .*|anywhere \1|p' >>"$D/facts"
	for cgroup in "$@"; do
		dmesg | tr -d '[' | awk -v began="$began" '$1 + 0 >= began' |
			sed -n "${numbered:+/task_memcg=.*death-$$-other/d;}s|.*oom-kill:.*task_memcg=.*$cgroup.*,pid=\([0-9]*\),.*|killed \1|p" >>"$D/facts"
	done
}

# pod_sidecar: a sidecar as in a pod.
pod_sidecar() {
	mkdir -p "$D/store"
	"$tools/afterglow-sidecar" --socket "$D/s" --spool "$D/store" --reconnect 2 --kernel-log "$LOG" >>"$D/err" 2>&1 &
	echo $! >"$D/sidecar"
}

# launcher_below: the launcher's PID goes to $D/launcher: it is the only child of whoever made its PID namespace.
launcher_below() {
	await "$D/maker"
	n=0
	until [ -n "$(cat "/proc/$(cat "$D/maker")/task/$(cat "$D/maker")/children")" ] || [ $n -ge 800 ]; do
		sleep 0.05
		n=$((n + 1))
	done
	tr -d ' ' <"/proc/$(cat "$D/maker")/task/$(cat "$D/maker")/children" >"$D/launcher"
}

# pod LIMIT COMMAND [ARG...]: the command under a launcher in a cgroup of its own; with $apart_pids, in a PID namespace of its
# own as well. The sidecar starts $late seconds later. The launcher waits for one that is away until it is $waits seconds old.
pod() {
	pod=$memory/death-$$-pod
	mkdir "$pod"
	limit "$pod" "${1%i}"
	shift
	if [ -n "$late" ]; then (sleep "$late" && pod_sidecar) & else pod_sidecar; fi
	[ -z "$apart_pids" ] || launcher_below &
	# shellcheck disable=SC2016,SC2086
	sh -c 'echo 0 >"$0/cgroup.procs"; echo $$ >"$D/maker"; exec "$@"' "$pod" ${apart_pids:+odd-end apart} "$tools/afterglow-launch" --socket "$D/s" ${waits:+--wait-sidecar "$waits"} --name death -- "$@" >"$D/out" 2>&1 </dev/null
	echo $? >"$D/code"
	n=0
	# The sidecar that comes back later is still to find the end.
	until grep -qsE '"exitCode":\s*[0-9]|"class":\s*"Unknown"' "$D"/store/*/*/*/*/*/report.json "$D"/store/*/*/*/report.json || [ $n -ge 150 ]; do
		sleep 0.1
		n=$((n + 1))
	done
	sleep 0.5
	kill "$(cat "$D/sidecar")"
	sleep 1
}

# neighbour COMMAND [ARG...]: no process of the watched command, of which that becomes a fact. The OOM killer may take it.
neighbour() {
	# shellcheck disable=SC2016
	sh -c 'echo "neighbour $$" >>"$D/facts"; echo 0 >/proc/$$/oom_score_adj; exec "$@"' neighbour "$@"
}

# Waits for a file that the command makes: at most 40 s.
await() {
	n=0
	until [ -s "$1" ] || [ $n -ge 800 ]; do
		sleep 0.05
		n=$((n + 1))
	done
}

# attached: waits until a sidecar as in a pod watches the container: at most 40 s.
attached() {
	n=0
	until grep -qs '"event":"attached"' "$D/err" || [ $n -ge 800 ]; do
		sleep 0.05
		n=$((n + 1))
	done
}

# gone PID: waits until that process has ended, and its files are closed.
gone() {
	while [ -e "/proc/$1" ] && ! grep -qs '^State:.Z' "/proc/$1/status"; do sleep 0.05; done
}

# kill_all SIGNAL CGROUP: sent to each of its processes.
kill_all() {
	while read -r pid; do kill "-$1" "$pid"; done <"$2/cgroup.procs"
}

# as_nobody: the command and its sidecar are an ordinary user's.
as_nobody() {
	chmod 711 "${D%/*}"
	chmod 777 "$D"
	within="/usr/bin/setpriv --reuid 65534 --regid 65534 --clear-groups"
}

# flood: uses up the ten reports of OOM kills that the kernel prints in five seconds.
flood() {
	mkdir "$memory/death-$$-flood"
	limit "$memory/death-$$-flood" 4194304
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
		(echo 0 >"$memory/death-$$-flood/cgroup.procs"; neighbour hog 50M --name flood) 2>/dev/null
	done
}

# wrap LINES: writes so many long lines to the kernel log, which writes over what is older.
wrap() {
	line=$(printf '<7>%900s' x)
	n=0
	echo on >/proc/sys/kernel/printk_devkmsg
	while [ $n -lt "$1" ]; do
		echo "$line"
		n=$((n + 1))
	done >/dev/kmsg
}

# pids LIMIT: this shell moves into a new cgroup that allows so many processes.
pids() {
	if [ $version = 1 ]; then
		mkdir "/sys/fs/cgroup/pids/death-$$"
		echo "$1" >"/sys/fs/cgroup/pids/death-$$/pids.max"
		echo $$ >"/sys/fs/cgroup/pids/death-$$/cgroup.procs"
	else
		mkdir "$memory/death-$$-pids"
		echo "$1" >"$memory/death-$$-pids/pids.max"
		echo $$ >"$memory/death-$$-pids/cgroup.procs"
	fi
}

# small OPTIONS: a tmpfs at $D/small.
small() {
	mkdir "$D/small"
	mount -t tmpfs -o "$1" tmpfs "$D/small"
}

# limit CGROUP BYTES
limit() {
	if [ $version = 1 ]; then
		# That of memory and swap together may not be the lower one.
		echo -1 >"$1/memory.memsw.limit_in_bytes" 2>/dev/null || :
		echo "$2" >"$1/memory.limit_in_bytes"
	else
		echo "$2" >"$1/memory.max"
		echo 0 >"$1/memory.swap.max" 2>/dev/null || :
	fi
}

# around LIMIT: this shell moves into a new cgroup with that limit, of which the command's own will be a child. The OOM killer
# spares the shell and the sidecar: run.py lets the command and what runs outside be like others again.
around() {
	{ echo -1000 >/proc/$$/oom_score_adj; } 2>/dev/null
	outer=$memory/death-$$
	mkdir "$outer"
	limit "$outer" "$1"
	inner=$outer
	if [ $version = 2 ]; then
		echo +memory >"$outer/cgroup.subtree_control"
		inner=$outer/in
		mkdir "$inner"
	fi
	echo $$ >"$inner/cgroup.procs"
}

# below PARENT NAME LIMIT: makes a cgroup below and prints its directory; on v2 the parent's processes go to another one below.
below() {
	if [ $version = 2 ]; then
		mkdir -p "$1/rest"
		while read -r pid; do
			echo "$pid" >"$1/rest/cgroup.procs" 2>/dev/null || :
		done <"$1/cgroup.procs"
		echo +memory >"$1/cgroup.subtree_control"
	fi
	mkdir "$1/$2"
	limit "$1/$2" "$3"
	echo "$1/$2"
}

# Leaves no cgroup behind, nor a process in it.
sweep() {
	umount "$D/small" 2>/dev/null
	echo $$ >"$memory/cgroup.procs"
	if [ $version = 1 ] && [ -d "/sys/fs/cgroup/pids/death-$$" ]; then
		echo $$ >/sys/fs/cgroup/pids/cgroup.procs
		sleep 0.2
		rmdir "/sys/fs/cgroup/pids/death-$$"
	fi
	# In these the deepest come first; then the command's own, where it left something behind.
	for directory in "$memory/death-$$"* "$home/afterglow-$(cat "$D/exec")-"*; do
		[ -d "$directory" ] || continue
		find "$directory" -depth -type d | while read -r d; do
			while read -r pid; do kill -9 "$pid" 2>/dev/null; done <"$d/cgroup.procs"
			rmdir "$d" 2>/dev/null || { sleep 0.2; rmdir "$d"; }
		done
	done
}
