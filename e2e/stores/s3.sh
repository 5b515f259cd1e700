#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# s3.sh build | start DIR [PORT] | stop DIR: an S3 server that verifies signatures, with its data below DIR.
# start prints DIR/env: S3_ENDPOINT, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY, S3_BUCKET (made), S3_REGION.
# AFTERGLOW_STORE_ADDRESS: listens there (127.0.0.1). S3_CERT and S3_KEY, PEM files: with TLS.
# It is versitygw, built from the Go module in s3/, in its default mode. Buckets are directories of DIR/data.
# S3_SERVER=minio: MinIO, from the Go module in minio/. S3_SERVER=seaweedfs: SeaweedFS, from PyPI. S3_SERVER=ceph: Ceph's
# gateway, from Debian 12. The bucket is not made then.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=ceph.sh
. "$here/ceph.sh"

region=eu-test-1 key=AKAFTERGLOWTEST secret=test/secret+key bucket=failures
server=${S3_SERVER:-versitygw}

build() {
	case $server in
	versitygw) go_program s3 versitygw "$here/s3" github.com/versity/versitygw/cmd/versitygw ;;
	minio) go_program minio minio "$here/minio" github.com/minio/minio ;;
	ceph) build_ceph ;;
	seaweedfs)
		local dir
		dir=$cache/seaweedfs-$(sha256sum "$here/seaweedfs/requirements.txt" | cut -c1-16)
		make_once "$dir" fetch_seaweedfs && echo "$dir/bin/weed"
		;;
	*) die "S3_SERVER=$server" ;;
	esac
}

fetch_seaweedfs() { # DIR
	python3 -m pip --version >/dev/null 2>&1 || "$here/../../tools/apt-install.sh" python3-pip
	python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps --require-hashes --only-binary :all: \
		--target "$1" -r "$here/seaweedfs/requirements.txt"
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

# Its master, its volume server and its filer listen beside it. By default it makes a bucket that is missing.
launch_seaweedfs() {
	local ports
	mkdir -p "$1/data"
	printf '{"identities": [{"name": "test", "credentials": [{"accessKey": "%s", "secretKey": "%s"}], "actions": ["Admin", "Read", "Write", "List"]}]}' \
		"$key" "$secret" >"$1/s3.json"
	read -ra ports < <(free_ports 7)
	launch "$1" s3 "$3" server -ip="$address" -ip.bind="$address" -dir="$1/data" -volume.max=100 -master.volumeSizeLimitMB=256 -s3 -s3.config="$1/s3.json" \
		-s3.autoCreateBucket=false -s3.port="$2" -s3.port.grpc="${ports[0]}" -s3.port.iceberg=0 -s3.port.lance=0 -master.port="${ports[1]}" -master.port.grpc="${ports[2]}" \
		-volume.port="${ports[3]}" -volume.port.grpc="${ports[4]}" -filer.port="${ports[5]}" -filer.port.grpc="${ports[6]}"
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
