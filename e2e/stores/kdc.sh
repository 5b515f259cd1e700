#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kdc.sh build | start DIR | stop DIR | admin DIR QUERY: a real KDC of MIT Kerberos for the realm AFTERGLOW.TEST, with its data below DIR.
# start prints DIR/env: KRB5_CONFIG and KDC (HOST:PORT). admin runs a query of kadmin, also while the KDC runs. DIR/kdc.log
# has a line for each ticket. A KDC that is started again on the same DIR has the same port and the same principals.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

realm=AFTERGLOW.TEST

build() { "$here/../../tools/apt-install.sh" krb5-kdc krb5-admin-server >&2; }

configure() { # DIR
	local dir=$1 port
	port=$(free_ports 1)
	cat >"$dir/krb5.conf" <<-CONF
		[libdefaults]
		default_realm = $realm
		dns_lookup_kdc = false
		dns_lookup_realm = false
		dns_canonicalize_hostname = false
		rdns = false
		[realms]
		$realm = {
			kdc = $address:$port
		}
	CONF
	cat >"$dir/kdc.conf" <<-CONF
		[kdcdefaults]
		kdc_listen = $address:$port
		kdc_tcp_listen = $address:$port
		[realms]
		$realm = {
			database_name = $dir/principals
			key_stash_file = $dir/stash
			supported_enctypes = aes256-cts:normal aes128-cts:normal
			default_principal_flags = +preauth
		}
		[logging]
		kdc = FILE:$dir/kdc.log
	CONF
	printf 'KRB5_CONFIG=%s\nKDC=%s\n' "$dir/krb5.conf" "$address:$port" >"$dir/env"
}

use() { # DIR
	dir=$(cd "$1" && pwd)
	export KRB5_CONFIG=$dir/krb5.conf KRB5_KDC_PROFILE=$dir/kdc.conf
}

start() { # DIR
	build
	mkdir -p "$1"
	use "$1"
	[ -e "$dir/env" ] || configure "$dir"
	[ -e "$dir/principals" ] || kdb5_util create -s -P afterglow -r "$realm" >"$dir/create.log" 2>&1 || die "$(cat "$dir/create.log")"
	launch "$dir" kdc krb5kdc -n -r "$realm"
	wait_for "$dir" kdc 60 "a KDC" bash -c ": >/dev/tcp/$(sed -n 's/^KDC=\(.*\):/\1\//p' "$dir/env")"
	cat "$dir/env"
}

# It says what is wrong, and ends with 0 nevertheless.
admin() { # QUERY
	kadmin.local -r "$realm" -q "$1" >"$dir/kadmin.log" 2>&1 || die "$(cat "$dir/kadmin.log")"
	! grep -q '^[a-z_]*: ' "$dir/kadmin.log" || die "$(cat "$dir/kadmin.log")"
}

case ${1:-} in
build) build ;;
start) start "$2" ;;
stop) stop_all "$2" ;;
admin)
	use "$2"
	admin "$3"
	;;
*) die "build | start DIR | stop DIR | admin DIR QUERY" ;;
esac
