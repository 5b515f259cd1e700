#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the scripts that run.py has written, in the virtual machine, where there is no python: all.sh DIRECTORY JOBS. Prints a
# line "RESULT NAME BASE64" for each, which is a tar archive of what it left behind.
scripts=$1 jobs=$2
mkdir -p /tmp/deaths

one() { # NAME
	export D=/tmp/deaths/$1 LOG=${1##*.}
	mkdir "$D"
	cp "$scripts/$1" "$D/script"
	setsid timeout 200 sh "$D/script" >/dev/null 2>"$D/sherr" </dev/null
	# One write of one line: others print at the same time.
	cd "$D" && find . -name '*.html' -exec rm {} +
	echo "RESULT $1 $(tar -cz . | base64 | tr -d '\n')" >"/tmp/deaths/$1.line"
	cat "/tmp/deaths/$1.line"
	cd / && rm -rf "$D" "/tmp/deaths/$1.line"
}

# The kernel prints ten reports of OOM kills in five seconds: a slow machine with three deaths at once stays below that, but
# for those that have many.
if [ "$jobs" = one ]; then
	one "$3"
	exit
fi
if [ -e "$scripts/together" ]; then
	cut -d' ' -f1 "$scripts/together" | xargs -n 1 -P "$jobs" sh "$0" "$scripts" one
fi
if [ -e "$scripts/alone" ]; then
	cut -d' ' -f1 "$scripts/alone" | xargs -n 1 sh "$0" "$scripts" one
fi
