#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# upload.sh: afterglow-ship's throughput beside curl's own signed PUT of the same file to the same
# S3 server, in turns, the best of each, which other load disturbs least; and afterglow-ship's peak
# memory. afterglow-ship asks first what is there, signs the content, which the server then
# verifies, and sends large files in parts. curl sends one stream: with the content signed, too (its
# digest is in the manifest and costs neither of them anything), and without, which no longer tells
# a damaged upload from a good one. For a large file, curl also does what afterglow-ship does: the
# same parts, as many at a time, each signed with its digest, which is computed first. The
# seconds of processor time of client and server say what each way costs a machine that has no core
# free. The server's data are in memory: parts are written twice there, once when they come and once
# when they are put together, and it is not its disk that is measured.
# Needs root for that, and Go once, to build the server.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=lib.sh
. ./lib.sh

runs=${RUNS:-7}
../tools/apt-install.sh curl time
mkdir "$dir/server"
mount -t tmpfs -o size=4g afterglow-bench "$dir/server"
trap '../e2e/stores/s3.sh stop "$dir/server"; umount -l "$dir/server"; cleanup' EXIT
../e2e/stores/s3.sh start "$dir/server" >"$dir/env"
# shellcheck source=/dev/null
. "$dir/env"
mkdir "$dir/credentials"
printf '%s' "$S3_ACCESS_KEY_ID" >"$dir/credentials/access-key-id"
printf '%s' "$S3_SECRET_ACCESS_KEY" >"$dir/credentials/secret-access-key"
chmod 400 "$dir"/credentials/*

make_bundle() { # DIRECTORY MIB
	local digest
	mkdir "$1"
	head -c "$2M" /dev/urandom >"$1/core.python.7.zst"
	digest=$(sha256sum "$1/core.python.7.zst" | cut -d' ' -f1)
	printf '{"files":[{"name":"core.python.7.zst","sizeBytes":%d,"sha256":"%s"}]}' $(($2 << 20)) "$digest" >"$1/MANIFEST.json"
}

server_seconds() { # of processor time so far
	awk -v hz="$(getconf CLK_TCK)" '{ print ($14 + $15) / hz }' "/proc/$(cut -d' ' -f1 "$dir/server/pids/s3")/stat"
}

# Seconds, peak KiB, and seconds of processor time of the client and of the server.
timed() {
	local before
	before=$(server_seconds)
	command time -f '%e %M %U %S' -o "$dir/time" "$@" >/dev/null &&
		awk -v before="$before" -v after="$(server_seconds)" '{ printf "%s %s %.2f %.2f\n", $1, $2, $3 + $4, after - before }' "$dir/time"
}

sign=(--aws-sigv4 "aws:amz:$S3_REGION:s3" --user "$S3_ACCESS_KEY_ID:$S3_SECRET_ACCESS_KEY")

by_curl() { # FILE KEY DIGEST
	timed curl -sSf -o /dev/null "${sign[@]}" -H "x-amz-content-sha256: $3" -T "$1" "$S3_ENDPOINT/$S3_BUCKET/$2"
}

by_parts() { # DIRECTORY KEY
	timed ./upload_in_parts.sh "$1" "$S3_ENDPOINT/$S3_BUCKET/$2" "${sign[@]}"
}

by_ship() { # BUNDLE KEY
	timed "$BUILD/afterglow-ship" --store "s3://$S3_BUCKET" --s3-endpoint "$S3_ENDPOINT" \
		--s3-region "$S3_REGION" --credentials "$dir/credentials" --as "$2" "$1"
}

best() { cut -d' ' -f1 "$1" | sort -g | head -n 1; }
median() { cut -d' ' -f"$2" "$1" | sort -g | sed -n "$(((runs + 1) / 2))p"; }

costs() { # WHAT FILE
	awk -v what="$1" -v client="$(median "$2" 3)" -v server="$(median "$2" 4)" 'BEGIN {
		printf "  seconds of processor time: %s: client %.2f, server %.2f, together %.2f\n", what, client, server, client + server }'
}

measure() { # MIB
	local i digest memory parts='' bundle=$dir/bundle$1
	make_bundle "$bundle" "$1"
	digest=$(sha256sum "$bundle/core.python.7.zst" | cut -d' ' -f1)
	# afterglow-ship sends up to 32 MiB in one request.
	if [ "$1" -gt 32 ]; then
		parts=$dir/parts$1
		mkdir "$parts"
		split -b 16M -d -a 4 "$bundle/core.python.7.zst" "$parts/"
	fi
	for ((i = 0; i < runs; i++)); do
		by_curl "$bundle/core.python.7.zst" "curl/$1/$i" UNSIGNED-PAYLOAD >>"$dir/unsigned$1"
		by_curl "$bundle/core.python.7.zst" "curl/$1/s$i" "$digest" >>"$dir/signed$1"
		[ -z "$parts" ] || by_parts "$parts" "curl/$1/p$i" >>"$dir/in_parts$1"
		rm -f "$bundle/.ship"
		by_ship "$bundle" "ship/$1/$i" >>"$dir/ship$1"
		rm -rf "$dir"/server/data/*/{curl,ship}
	done
	memory=$(cut -d' ' -f2 "$dir/ship$1" | sort -g | tail -n 1)
	awk -v mib="$1" -v u="$(best "$dir/unsigned$1")" -v c="$(best "$dir/signed$1")" -v s="$(best "$dir/ship$1")" -v m="$memory" 'BEGIN {
		printf "upload of %d MiB to S3: afterglow-ship %.0f MiB/s, curl %.0f MiB/s, ratio %.2f (aim >= 0.95)", mib, mib / s, mib / c, c / s
		printf "; curl without signed content %.0f MiB/s, ratio %.2f; peak memory %.1f MiB\n", mib / u, u / s, m / 1024 }'
	[ -n "$parts" ] || return 0
	awk -v mib="$1" -v p="$(best "$dir/in_parts$1")" -v s="$(best "$dir/ship$1")" 'BEGIN {
		printf "  curl with the same parts %.0f MiB/s, ratio %.2f (aim >= 0.95)\n", mib / p, p / s }'
	costs afterglow-ship "$dir/ship$1"
	costs "curl with the same parts" "$dir/in_parts$1"
	costs "curl with one stream" "$dir/signed$1"
}

measure 30
measure 512
