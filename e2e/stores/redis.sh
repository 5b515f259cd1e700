#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# redis.sh start DIR [PORT] | stop DIR: a Redis with a password, as Ray's GCS keeps its state in (fault tolerance).
# start prints DIR/env: REDIS_ADDRESS, REDIS_PASSWORD. AFTERGLOW_STORE_ADDRESS: listens there (127.0.0.1).
# It is Debian's, and keeps nothing on disk: it outlives the heads, not the test.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

password=test-redis-password

start() { # DIR [PORT]
	local dir=$1 port
	"$here/../../tools/apt-install.sh" redis-server >&2
	port=${2:-$(free_ports 1)}
	mkdir -p "$dir"
	# Not in the arguments, which everybody reads.
	(umask 077 && printf '%s\n' "bind $address" "port $port" "requirepass $password" 'save ""' 'appendonly no' \
		"dir $dir" >"$dir/redis.conf")
	launch "$dir" redis redis-server "$dir/redis.conf"
	wait_for_port "$dir" redis "$port"
	cat >"$dir/env" <<-ENV
		REDIS_ADDRESS=$address:$port
		REDIS_PASSWORD=$password
	ENV
	cat "$dir/env"
}

case ${1:-} in
start) start "${@:2}" ;;
stop) stop_all "$2" ;;
*) die "start DIR [PORT] | stop DIR" ;;
esac
