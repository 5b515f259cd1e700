#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# s3.sh build | start DIR [PORT] | stop DIR: an S3 server that verifies signatures, with its data below DIR.
# start prints DIR/env: S3_ENDPOINT, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY, S3_BUCKET (made), S3_REGION.
# AFTERGLOW_STORE_ADDRESS: listens there (127.0.0.1). S3_CERT and S3_KEY, PEM files: with TLS.
# It is versitygw, built from the Go module in s3/, in its default mode. Buckets are directories of DIR/data.
# S3_SERVER=minio: MinIO, from the Go module in minio/; the bucket is not made then.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

region=eu-test-1 key=AKAFTERGLOWTEST secret=test/secret+key bucket=failures
server=${S3_SERVER:-versitygw}

build() {
	case $server in
	versitygw) go_program s3 versitygw "$here/s3" github.com/versity/versitygw/cmd/versitygw ;;
	minio) go_program minio minio "$here/minio" github.com/minio/minio ;;
	*) die "S3_SERVER=$server" ;;
	esac
}

launch_versitygw() { # DIR PORT PROGRAM
	local tls=()
	[ -z "${S3_CERT:-}" ] || tls=(--cert "$S3_CERT" --key "$S3_KEY")
	mkdir -p "$1/data/$bucket"
	ROOT_ACCESS_KEY_ID=$key ROOT_SECRET_ACCESS_KEY=$secret launch "$1" s3 "$3" --port "$address:$2" \
		--region "$region" --keep-alive --virtual-domain localhost "${tls[@]}" posix "$1/data"
}

launch_minio() {
	MINIO_ROOT_USER=$key MINIO_ROOT_PASSWORD=$secret MINIO_SITE_REGION=$region MINIO_BROWSER=off MINIO_UPDATE=off \
		launch "$1" s3 "$3" server --address "$address:$2" "$1/data"
}

start() { # DIR [PORT]
	local dir=$1 port program scheme=http
	program=$(build)
	port=${2:-$(free_ports 1)}
	[ -z "${S3_CERT:-}" ] || scheme=https
	"launch_$server" "$dir" "$port" "$program"
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
