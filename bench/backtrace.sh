#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# backtrace.sh: time and peak memory of afterglow-unwind, eu-stack and gdb on the same cores: a C++
# program with threads, and a Python process with a C++ extension, eight threads and all of Python's
# own modules that load. The least of several runs each; more is shown by afterglow-unwind
# (registers, inlined functions, lines, Python frames).
set -euo pipefail
cd "$(dirname "$0")"
. ./lib.sh
../e2e/kernel/unwind_deps.sh
runs=${BENCH_RUNS:-10}
sources=$(realpath ../e2e/kernel/unwind)

# core NAME COMMAND...: the core that the command dies with, as $dir/NAME.core.
core() {
	local name=$1
	shift
	mkdir "$dir/$name"
	(cd "$dir/$name" && ulimit -c unlimited && echo 0x31 >/proc/self/coredump_filter && exec "$@") >>"$dir/log" 2>&1 || true
	mv "$dir/$name"/core* "$dir/$name.core"
}

# "MILLISECONDS KIB": least wall time and least peak memory over the runs. Memory by time(1), whose
# own is small: what a process had before exec counts as well.
measure() {
	local i least=
	for ((i = 0; i < runs; i++)); do
		local begin=${EPOCHREALTIME/./}
		"$@" >/dev/null 2>&1 || [ $? = 1 ] # eu-stack's at the end of some stacks
		least=$(printf '%s\n' "$least" $((${EPOCHREALTIME/./} - begin)) | sort -n | sed '/^$/d' | head -1)
	done
	/usr/bin/time -q -f %M -o "$dir/peak" "$@" >/dev/null 2>&1 || true
	echo "$(awk -v us="$least" 'BEGIN { printf "%.1f", us / 1000 }') $(cat "$dir/peak")"
}

compare() { # NAME EXECUTABLE
	local ours peer name=$1 executable=$2
	read -r -a ours <<<"$(measure "$BUILD/afterglow-unwind" --core "$dir/$name.core")"
	for peer in eu-stack eu-stack-source gdb; do
		local theirs
		case $peer in
		eu-stack) read -r -a theirs <<<"$(measure eu-stack --core "$dir/$name.core" --executable "$executable")" ;;
		# As much as we show: modules, inlined functions, source lines.
		eu-stack-source) read -r -a theirs <<<"$(measure eu-stack -m -i -s --core "$dir/$name.core" --executable "$executable")" ;;
		gdb) read -r -a theirs <<<"$(measure gdb -batch -nx -ex 'thread apply all bt' "$executable" "$dir/$name.core")" ;;
		esac
		echo "backtrace: $name: ${ours[0]} ms, $peer ${theirs[0]} ms, ratio $(ratio "${ours[0]}" "${theirs[0]}")"
		echo "backtrace: $name: peak ${ours[1]} KiB, $peer ${theirs[1]} KiB, ratio $(ratio "${ours[1]}" "${theirs[1]}")"
	done
}

gcc -w -g -O2 -o "$dir/crash" "$sources/crash.c" -pthread
core threads "$dir/crash" threads
compare threads "$dir/crash"

g++ -g -O2 -shared -fPIC -I"$(/usr/bin/python3 -c 'import sysconfig; print(sysconfig.get_paths()["include"])')" \
	-o "$dir/boom.so" "$sources/boom.cc"
cat >"$dir/many.py" <<-'EOF'
	import ctypes, glob, importlib, os, sys, threading, time
	for path in sorted(glob.glob(os.path.dirname(os.__file__) + "/lib-dynload/*.so")):
	    name = os.path.basename(path).split(".")[0]
	    try:
	        "tkinter" in name or "test" in name or importlib.import_module(name)
	    except ImportError:
	        pass
	for path in sorted(glob.glob("/usr/lib/*-linux-gnu/lib[b-p]*.so.*"))[:150]:
	    try:
	        ctypes.CDLL(path)
	    except OSError:
	        pass
	for _ in range(8):
	    threading.Thread(target=time.sleep, args=[100], daemon=True).start()
	time.sleep(0.3)
	sys.path.insert(0, sys.argv[1])
	import boom
	def outer(): boom.crash()
	outer()
EOF
core python /usr/bin/python3 "$dir/many.py" "$dir"
echo "backtrace: python: $("$BUILD/afterglow-unwind" --core "$dir/python.core" | sed '1,/^Modules:/d' | wc -l) modules," \
	"core of $(du -k "$dir/python.core" | cut -f1) KiB"
compare python "$(realpath /usr/bin/python3)"
