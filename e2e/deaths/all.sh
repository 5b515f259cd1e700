#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the scripts that run.py has written, in the virtual machine, where there is no python: all.sh DIRECTORY JOBS. Prints a
# line "BEGIN NAME" before each, and after it "RESULT NAME BASE64", which is a tar archive of what it left behind.
scripts=$1 jobs=$2
mkdir -p /tmp/deaths

# say COMMAND [ARG...]: runs COMMAND, which prints a line, so that no other output comes between.
say() {
	until mkdir /tmp/deaths/says 2>/dev/null; do sleep 0.1; done
	"$@"
	rmdir /tmp/deaths/says
}

one() { # NAME
	say echo "BEGIN $1"
	export D=/tmp/deaths/$1 LOG=${1##*.}
	mkdir "$D"
	cp "$scripts/$1" "$D/script"
	setsid timeout 200 sh "$D/script" >/dev/null 2>"$D/sherr" </dev/null
	cd "$D" && find . -name '*.html' -exec rm {} +
	echo "RESULT $1 $(tar -cz . | base64 | tr -d '\n')" >"/tmp/deaths/$1.line"
	say cat "/tmp/deaths/$1.line"
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
