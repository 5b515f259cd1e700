#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# azure.sh build | start DIR [PORT] | stop DIR: an Azure Blob server that verifies signatures and tokens, with its data below DIR.
# start prints DIR/env: AZURE_ENDPOINT (https), AZURE_ACCOUNT, AZURE_ACCOUNT_KEY. There is no container yet.
# AZURE_CERT and AZURE_CERT_KEY: PEM files of its certificate. AFTERGLOW_STORE_ADDRESS: listens there (127.0.0.1).
# It is Microsoft's own emulator, Azurite, from npm; it needs Node.js 18 or later. Of bearer tokens it checks issuer, audience and times, and not the signature.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# The account that every Azurite has, and the key that its documentation prints.
account=devstoreaccount1
key=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==

install() { # DIR
	local try
	if ! { command -v node && command -v npm; } >/dev/null; then "$here/../../tools/apt-install.sh" nodejs npm; fi
	if [ "$(node -p 'process.versions.node.split(".")[0]')" -lt 18 ]; then die "Azurite needs Node.js 18 or later, and this is $(node --version)"; fi
	cp "$here"/azure/package{,-lock}.json "$1"
	# A registry that did not answer may do so the next time.
	for try in 1 2 3; do
		(cd "$1" && npm ci --ignore-scripts --no-audit --no-fund --omit=dev --loglevel=error) && return
		sleep "$try"
	done
	return 1
}

build() {
	local dir
	dir=$cache/azure-$(cat "$here"/azure/package{,-lock}.json | sha256sum | cut -c1-16)
	make_once "$dir" install
	printf '%s\n' "$dir/node_modules/azurite/dist/src/blob/main.js"
}

start() { # DIR [PORT]
	local dir=$1 port program
	program=$(build)
	port=${2:-$(free_ports 1)}
	mkdir -p "$dir/data"
	launch "$dir" azure node "$program" --blobHost "$address" --blobPort "$port" --location "$dir/data" --disableTelemetry --silent \
		--oauth basic --cert "$AZURE_CERT" --key "$AZURE_CERT_KEY"
	wait_for_port "$dir" azure "$port"
	cat >"$dir/env" <<-ENV
		AZURE_ENDPOINT=https://$address:$port/$account
		AZURE_ACCOUNT=$account
		AZURE_ACCOUNT_KEY=$key
	ENV
	cat "$dir/env"
}

case ${1:-} in
build) build ;;
start) start "${@:2}" ;;
stop) stop_all "$2" ;;
*) die "build | start DIR [PORT] | stop DIR" ;;
esac
