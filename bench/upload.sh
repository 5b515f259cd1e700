#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# upload.sh: afterglow-ship's throughput beside curl's own signed PUT of the same file to the same
# S3 server, in turns, the best of each, which other load disturbs least; and afterglow-ship's peak
# memory. afterglow-ship asks first what is there, signs the content, which the server then
# verifies, and sends large files in parts. curl sends one stream: with the content signed, too (its
# digest is in the manifest and costs neither of them anything), and without, which no longer tells
# a damaged upload from a good one. The server's data are in memory: parts are written twice there,
# once when they come and once when they are put together, and it is not its disk that is measured.
# Needs root for that, and Go once, to build the server.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=lib.sh
. ./lib.sh

runs=${RUNS:-7}
../tools/apt-install.sh curl time
mkdir "$dir/server"
mount -t tmpfs -o size=4g afterglow-bench "$dir/server"
trap '../e2e/stores/s3.sh stop "$dir/server"; umount "$dir/server"; cleanup' EXIT
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

timed() { command time -f '%e %M' -o "$dir/time" "$@" >/dev/null && cat "$dir/time"; } # seconds and peak KiB, start to end

by_curl() { # FILE KEY DIGEST
	timed curl -sSf -o /dev/null --aws-sigv4 "aws:amz:$S3_REGION:s3" --user "$S3_ACCESS_KEY_ID:$S3_SECRET_ACCESS_KEY" \
		-H "x-amz-content-sha256: $3" -T "$1" "$S3_ENDPOINT/$S3_BUCKET/$2"
}

by_ship() { # BUNDLE KEY
	timed "$BUILD/afterglow-ship" --store "s3://$S3_BUCKET" --s3-endpoint "$S3_ENDPOINT" \
		--s3-region "$S3_REGION" --credentials "$dir/credentials" --as "$2" "$1"
}

best() { cut -d' ' -f1 "$1" | sort -g | head -n 1; }

measure() { # MIB
	local i digest memory bundle=$dir/bundle$1
	make_bundle "$bundle" "$1"
	digest=$(sha256sum "$bundle/core.python.7.zst" | cut -d' ' -f1)
	for ((i = 0; i < runs; i++)); do
		by_curl "$bundle/core.python.7.zst" "curl/$1/$i" UNSIGNED-PAYLOAD >>"$dir/unsigned$1"
		by_curl "$bundle/core.python.7.zst" "curl/$1/s$i" "$digest" >>"$dir/signed$1"
		rm -f "$bundle/.ship"
		by_ship "$bundle" "ship/$1/$i" >>"$dir/ship$1"
		rm -rf "$dir"/server/data/*/{curl,ship}
	done
	memory=$(cut -d' ' -f2 "$dir/ship$1" | sort -g | tail -n 1)
	awk -v mib="$1" -v u="$(best "$dir/unsigned$1")" -v c="$(best "$dir/signed$1")" -v s="$(best "$dir/ship$1")" -v m="$memory" 'BEGIN {
		printf "upload of %d MiB to S3: afterglow-ship %.0f MiB/s, curl %.0f MiB/s, ratio %.2f (aim >= 0.95)", mib, mib / s, mib / c, c / s
		printf "; curl without signed content %.0f MiB/s, ratio %.2f; peak memory %.1f MiB\n", mib / u, u / s, m / 1024 }'
}

measure 30
measure 512
