#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a core that is not for a sidecar takes longer when the node agent's program stands in
# between. usage() says how to call it.
usage() {
	cat <<-'END'
	usage: bench/node_cores.sh
	Without a variable, it measures on this machine what the node agent's program takes until it has started the
	program of the previous core_pattern, beside that program alone. It changes nothing.

	The whole way needs kernel.core_pattern, which all processes of a machine share. A process of 20 MiB crashes with
	and without the program, in turns, before a program that reads all of the core and before a file's name; then the
	agent's memory is read. Choose one:

	  AFTERGLOW_VM_FILES=bench/node_cores.sh e2e/kernel/vm.sh bench/node_cores.sh
	        in an emulated machine
	  AFTERGLOW_CHANGE_CORE_PATTERN=yes bench/node_cores.sh
	        on this machine, as root. For some minutes kernel.core_pattern and kernel.core_pipe_limit have other values:
	        no other program on the machine may depend on them, and the cores of other processes are lost meanwhile.
	        Both values are restored at the end, also when the script is interrupted or killed.

	  NODE_CORES_TURNS=N      compare N times (default 7 in the emulated machine, 31 on this one)
	  NODE_CORES_DIRECTORY=D  write the cores that go to files to D (default: a directory in memory)
	END
}

crash=build/test/crash node=build/afterglow-node
pattern=/proc/sys/kernel/core_pattern pipe_limit=/proc/sys/kernel/core_pipe_limit
lock=/tmp/afterglow-node_cores.lock

handler_alone() {
	program=$(mktemp -d)/afterglow-core1
	cp $node "$program"
	for turn in $(seq 20); do
		a=$(date +%s%N)
		for _ in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done
		b=$(date +%s%N)
		for _ in 1 2 3 4 5 6 7 8 9 10; do "$program" $$ 11 0 1 '|/bin/true'; done
		echo $(((b - a) / 10000)) $((($(date +%s%N) - b) / 10000))
	done | sort -n | awk 'NR == 1 || $1 < a { a = $1 } NR == 1 || $2 < b { b = $2 }
		END { printf "/bin/true: %d us, by way of the program %d us: %d us more for each core\n", a, b, b - a }'
	rm -r "${program%/*}"
}

restore() {
	printf '%s\n' "$pattern_before" >$pattern
	printf '%s\n' "$pipe_limit_before" >$pipe_limit
}

end_agent() {
	[ ! -s "$work/agent" ] || kill "$(cat "$work/agent")"
}

# A process that restores both values when this script is killed by SIGKILL, for which there is no trap.
guard() {
	trap '' HUP INT TERM
	while kill -0 $$; do sleep 0.2; done
	end_agent
	restore
	rm -rf "$work" "$cores" $lock
}

finish() {
	end_agent && wait
	restore
	rm -rf "$work" "$cores" $lock
	[ "$(cat $pattern)" = "$pattern_before" ] || echo "node_cores.sh: core_pattern is not as it was: $pattern_before" >&2
}

take_values() {
	# A second one would take the values of the first for the machine's own.
	mkdir $lock || exit 1
	pattern_before=$(cat $pattern) pipe_limit_before=$(cat $pipe_limit)
	case $pattern_before in
	*/afterglow-core*) echo "node_cores.sh: a node agent has core_pattern: $pattern_before" >&2 && rmdir $lock && exit 1 ;;
	esac
	if ! work=$(mktemp -d) || ! cores=$(mktemp -d "${NODE_CORES_DIRECTORY:-$memory}/cores.XXXXXX"); then
		rm -rf "$work" $lock
		exit 1
	fi
	guard >/dev/null 2>&1 &
	guard=$!
	trap 'kill -9 $guard; finish' EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	# The kernel waits for the reader's end.
	echo 16 >$pipe_limit || exit 1
}

# In microseconds where date(1) can tell them; busybox cannot.
now_us() {
	case $(date +%N) in
	[0-9]*) echo $(($(date +%s%N) / 1000)) ;;
	*) awk '{ printf "%d\n", $1 * 1000000 }' /proc/uptime ;;
	esac
}
# Neither this nor what calls it runs in a subshell: that would go on when the script is killed.
round() { # PATTERN: sets $us to the microseconds that the crashes take
	echo "$1" >$pattern
	began=$(now_us)
	for _ in $(seq $crashes); do $crash --memory 20 2>/dev/null; done
	us=$(($(now_us) - began))
	rm -f "$cores"/core.*
}
compare() { # WHAT PATTERN: the median of the turns' ratios
	ours="|$work/afterglow-core1 %P %s %c %d $2"
	round "$2"
	round "$ours"
	for turn in $(seq "$turns"); do
		# The order alternates, because each run finds the machine as the run before left it.
		if [ $((turn % 2)) = 0 ]; then
			round "$2" && a=$us
			round "$ours" && b=$us
		else
			round "$ours" && b=$us
			round "$2" && a=$us
		fi
		echo "$a $b"
	done >"$work/turns"
	awk -v what="$1" -v crashes=$crashes '
		{ direct[NR] = $1; ours[NR] = $2; ratio[NR] = $2 / $1 }
		function sort(of,  i, j, t) {
			for (i = 1; i <= NR; i++) for (j = i + 1; j <= NR; j++) if (of[j] < of[i]) { t = of[i]; of[i] = of[j]; of[j] = t }
		}
		function at(of, part) { return of[int(1 + (NR - 1) * part + 0.5)] }
		function ms(us) { return us / 1000 / crashes }
		END { sort(direct); sort(ours); sort(ratio)
			printf "%s, %d turns: a core takes %.1f ms, by way of the program %.1f ms; ratio %.3f (half of the turns %.3f to %.3f); ",
				what, NR, ms(at(direct, .5)), ms(at(ours, .5)), at(ratio, .5), at(ratio, .25), at(ratio, .75)
			printf "the best turns %.1f ms and %.1f ms, ratio %.3f\n", ms(direct[1]), ms(ours[1]), ours[1] / direct[1] }' "$work/turns"
}

agents_memory() {
	echo "$pattern_before" >$pattern
	$node --directory "$work" --instance "afterglow-bench-$$" 2>/dev/null &
	echo $! >"$work/agent"
	sleep 5
	grep -E '^(VmRSS|VmHWM)' "/proc/$!/status"
}

whole_way() {
	crashes=5
	ulimit -c unlimited
	take_values
	cp $node "$work/afterglow-core1"
	compare "before a program" "|$(command -v md5sum)"
	compare "before a file's name" "$cores/core.%p"
	agents_memory
}

[ $# = 0 ] || { usage && exit 2; }
if [ -n "${AFTERGLOW_IN_VM:-}" ]; then
	turns=${NODE_CORES_TURNS:-7} memory=/tmp
	mount -t tmpfs tmpfs /tmp
	whole_way
elif [ "${AFTERGLOW_CHANGE_CORE_PATTERN:-}" = yes ]; then
	turns=${NODE_CORES_TURNS:-31} memory=/dev/shm
	whole_way
else
	handler_alone
fi
