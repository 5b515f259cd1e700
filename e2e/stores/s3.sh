#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# s3.sh build | start DIR [PORT] | stop DIR: an S3 server that verifies signatures, with its data below DIR.
# start prints DIR/env: S3_ENDPOINT, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY, S3_BUCKET (made), S3_REGION.
# AFTERGLOW_STORE_ADDRESS: listens there (127.0.0.1). S3_CERT and S3_KEY, PEM files: with TLS.
# It is versitygw, built from the Go module in s3/, in its default mode. Buckets are directories of DIR/data.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

region=eu-test-1 key=AKAFTERGLOWTEST secret=test/secret+key bucket=failures

build() { go_program s3 versitygw "$here/s3" github.com/versity/versitygw/cmd/versitygw; }

start() { # DIR [PORT]
	local dir=$1 port program scheme=http tls=()
	program=$(build)
	port=${2:-$(free_ports 1)}
	if [ -n "${S3_CERT:-}" ]; then
		scheme=https
		tls=(--cert "$S3_CERT" --key "$S3_KEY")
	fi
	mkdir -p "$dir/data/$bucket"
	ROOT_ACCESS_KEY_ID=$key ROOT_SECRET_ACCESS_KEY=$secret launch "$dir" s3 "$program" --port "$address:$port" \
		--region "$region" --keep-alive --virtual-domain localhost "${tls[@]}" posix "$dir/data"
	wait_for_port "$dir" s3 "$port"
	cat >"$dir/env" <<-ENV
		S3_ENDPOINT=$scheme://$address:$port
		S3_ACCESS_KEY_ID=$key
		S3_SECRET_ACCESS_KEY=$secret
		S3_BUCKET=$bucket
		S3_REGION=$region
	ENV
	cat "$dir/env"
}

case ${1:-} in
build) build ;;
start) start "${@:2}" ;;
stop) stop_all "$2" ;;
*) die "build | start DIR [PORT] | stop DIR" ;;
esac
