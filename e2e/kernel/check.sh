# SPDX-License-Identifier: Apache-2.0
# What the scripts beside it share; sourced, plain sh. check counts, summary says "N passed, N failed".
passed=0 failed=0 around=''
# A signal ends a script with its trap on EXIT, which dash would not do by itself.
trap 'exit 130' INT
trap 'exit 143' TERM

# Takes the disks of other suites and of pods out of the sight of a script that has its own mounts. It got a copy of those mounts, and
# a sidecar would take one that is filled just then for a full disk of its container.
hide_other_disks() {
	mounts=$(cat /proc/self/mounts)
	while read -r _ point type _; do
		case $type:$point in
		tmpfs:/tmp/?* | tmpfs:*/kubelet/*) ;;
		*) continue ;;
		esac
		case ${build:-}/ in
		"$point"/*) ;;
		*) umount -l "$point" 2>/dev/null ;;
		esac
	done <<-END
		$mounts
	END
}
[ -z "${AFTERGLOW_OWN_MOUNTS:-}" ] || hide_other_disks

check() { # SENTENCE CONDITION...
	sentence=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL: $sentence ($*)"
		# What the command under test said last, if the script keeps it there.
		[ ! -e "${work:-}/err" ] || sed 's/^/      /' "$work/err" | tail -n 30
	fi
}

wait_until() { # at most three minutes for a condition: of a machine that does a good deal else; seven in an emulated one
	# shellcheck disable=SC3043
	local wait_now wait_end # a condition may wait itself
	read -r wait_now _ </proc/uptime
	wait_end=$((${wait_now%.*} + 180))
	[ -z "${AFTERGLOW_IN_VM:-}" ] || wait_end=$((wait_end + 240))
	until "$@"; do
		read -r wait_now _ </proc/uptime
		[ "${wait_now%.*}" -lt $wait_end ] || return 1
		sleep 0.05
	done
}

# While a process that the kernel has killed still gives its memory back, the kernel may take another one of a full memory cgroup:
# the first is no choice any more, and whoever asks for memory in that moment has it choose anew. Where we may say so, it never takes
# what is started between these two, but for: sh -c "$as_victim COMMAND...". Who lacks CAP_SYS_RESOURCE, as root may, cannot say so:
# there a test has to see whether the kernel took one process alone, and to try again if it did not.
oom_spares_us() {
	spared=$(cat "/proc/$$/oom_score_adj")
	{ echo -1000 >"/proc/$$/oom_score_adj"; } 2>/dev/null || :
}
oom_spares_nobody() { echo "$spared" >"/proc/$$/oom_score_adj"; }
# shellcheck disable=SC2034
as_victim="echo 0 >/proc/self/oom_score_adj; exec"

# Sets $segfault and $illegal to the kernel's words for crashes of these kinds. User Mode Linux writes no line about a trap. An arm64 kernel writes lines about crashes only if
# debug.exception-trace is 1, which we set in the test machine alone.
# shellcheck disable=SC2034
find_crash_words() {
	segfault='probe\[[0-9]*\]: segfault at' illegal='traps: probe\[[0-9]*\] trap invalid opcode'
	! grep -q 'User Mode Linux' /proc/cpuinfo || illegal=
	[ "$(uname -m)" = aarch64 ] || return 0
	segfault='probe\[[0-9]*\]: unhandled exception: ' illegal=$segfault
	[ -z "${AFTERGLOW_IN_VM:-}" ] || echo 1 >/proc/sys/debug/exception-trace
}

# Says that something needed more than one try. So a fault that only comes now and then is seen although the checks pass.
say_tries() { # WHAT TRIES
	[ "$2" -le 1 ] || echo "note: $1 took $2 tries"
}

# Tries a command again until it succeeds, which it does when only what was to be taken was taken; at most twenty times. It succeeds
# in any case: the checks that follow fail if the last try was not as they want it.
until_undisturbed() { # COMMAND...
	tries=1
	until "$@"; do
		if [ "$tries" = 20 ]; then
			echo "note: none of $tries tries of $1 was undisturbed"
			return 0
		fi
		tries=$((tries + 1))
		sleep 1
	done
	say_tries "$1" "$tries"
}

summary() {
	echo "$passed passed, $failed failed"
	[ "$failed" = 0 ]
}

# For scripts that set $sidecar, $store and $work.
run() { # ARG... of exec; leaves $code, $work/out and $work/err
	"$sidecar" exec --store "$store" --name case "$@" >"$work/out" 2>"$work/err"
	code=$?
}

bundle() { sed -n 's/^afterglow: bundle //p' "$work/err" | tail -n 1; }

# What the sidecar wrote, as one line.
says() { tr -s ' \n' ' ' <"$work/err" | grep -q "$1"; }
silent() { ! says "$1"; }

# Sets $memory to the hierarchy of memory cgroups, $version to 1 or 2, and $limit to the name of a limit's file.
# shellcheck disable=SC2034
find_memory_cgroups() {
	memory=/sys/fs/cgroup/memory version=1 limit=memory.limit_in_bytes
	if [ ! -d "$memory" ]; then memory=/sys/fs/cgroup version=2 limit=memory.max; fi
}

# Prints functions for the shells that a test starts: a limit without swap, and controllers for what is below.
limit_functions() {
	cat <<-END
		version=$version limit=$limit
		set_limit() { # DIRECTORY BYTES
			echo "\$2" >"\$1/\$limit"
			if [ \$version = 1 ]; then echo "\$2" >"\$1/memory.memsw.limit_in_bytes"; else echo 0 >"\$1/memory.swap.max"; fi 2>/dev/null
		}
		hand_down() { if [ \$version = 2 ]; then echo +memory >"\$1/cgroup.subtree_control"; fi; }
	END
}

# Removes cgroups and those below them.
remove_tree() { # DIRECTORY...; false while there are processes
	for directory in "$@"; do
		[ ! -d "$directory" ] || find "$directory" -depth -type d -exec rmdir {} \; 2>/dev/null
		[ ! -d "$directory" ] || return 1
	done
}

# Makes the cgroup $around, which is the script's own, and $work/lib with functions for the shells that it starts. The script's trap on
# EXIT ends with end_cgroups.
begin_cgroups() { # NAME
	find_memory_cgroups
	limit_functions >"$work/lib"
	. "$work/lib"
	# end_cgroups kills what is in $around, so that has to be ours.
	mkdir "$memory/afterglow-$1-$$" || exit 1
	around=$memory/afterglow-$1-$$
	hand_down "$around"
}

# Kills what runs in $around and below it, and removes these cgroups. False while there are processes.
clear_cgroups() {
	find "$around" -name cgroup.procs -exec cat {} + 2>/dev/null | while read -r pid; do
		# 0 stands for a process that this PID namespace does not show, and to kill it would be to kill us.
		[ "$pid" = 0 ] || kill -9 "$pid" 2>/dev/null
	done
	remove_tree "$around"
}
# Leaves nothing of the script behind, and exits. What the script started outside of $around has to be over, or killed.
end_cgroups() {
	wait_until clear_cgroups
	wait
	rm -rf "$work"
	[ "$failed" = 0 ] || exit 1
	exit
}

# Makes the cgroup $around, with a limit and without swap on v2. Then $inside is a cgroup that may hold processes, the same one
# or below it, and `sh "$work/inside" COMMAND...` runs a command in it.
make_around() { # LIMIT
	mkdir "$around"
	inside=$around
	echo "$1" >"$around/$limit"
	if [ "$version" = 2 ]; then
		echo 0 >"$around/memory.swap.max" 2>/dev/null
		echo +memory >"$around/cgroup.subtree_control"
		inside=$around/in
		mkdir "$inside"
	fi
	cat >"$work/inside" <<-END
		echo \$\$ >$inside/cgroup.procs
		exec "\$@"
	END
}

# For bash: a port of the loopback network below those that the kernel gives to clients, and other suites to servers.
free_port() {
	local port
	until port=$((18000 + RANDOM % 2000)) && ! (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
	echo "$port"
}
