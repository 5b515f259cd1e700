#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# static-library.sh [--or-less] cjson|curl|krb5 ARCHIVE: a library as an archive, where Debian has none that will do. Built from Debian's own source
# package of the version whose headers are installed, with Debian's flags; the source's checksum is in Debian's signed lists.
# ARCHIVE.source names the package and the version that it was built from.
# A new version of the headers is a new archive. For another architecture CC and AR are its compiler's, and SYSROOT has the headers
# (see sysroot.sh); for another system (tools/zig.sh) the headers are this machine's. No root is needed. Kept in ~/.cache/afterglow, which may be deleted.
# --or-less: a mirror may lack that source. Then an older revision of the same version will do, of which tools/sbom.py makes no release; and where
# there is none either, ARCHIVE is empty, by which the Makefile knows that programs have to take Debian's shared library.
set -euo pipefail

or_less=''
if [ "$1" = --or-less ]; then or_less=yes && shift; fi
name=$1 archive=$2
case $name in
cjson) headers=libcjson-dev ;;
curl) headers=libcurl4-openssl-dev ;;
krb5) headers=libkrb5-dev ;;
*) echo "static-library.sh: no way to build $name" >&2 && exit 2 ;;
esac
if [ -n "${SYSROOT:-}" ]; then
	version=$(awk -v name="$headers" '$1 == name { print $4 }' "$SYSROOT/packages")
else
	version=$(dpkg-query -W -f '${source:Version}\n' "$headers" | head -n 1)
fi
# Both may have options.
read -ra compiler <<<"${CC:-cc}"
read -ra archiver <<<"${AR:-ar}"
key=$({ echo "$name $version ${CC:-cc}" && "${compiler[@]}" --version && cat "$0"; } | sha256sum | cut -c1-16)
cached=${AFTERGLOW_CACHE:-$HOME/.cache/afterglow}/static-$name-$key/lib$name.a

finish() {
	[ $? = 0 ] || { tail -n 20 "$work/log"; echo "lib$name: the build failed, for the reason above. 'make shared' does without it."; } >&2
	rm -rf "$work"
}

# Debian's sources, or Ubuntu's, from where this machine has its packages, in lists of our own.
fetch() {
	local list parts
	mkdir -p "$work"/{sources,lists/partial,cache/archives/partial}
	eval "$(apt-config shell list Dir::Etc::SourceList/f parts Dir::Etc::SourceParts/d)"
	for file in "$list" "$parts"{debian,ubuntu}.sources; do
		[ ! -e "$file" ] || sed -E 's/^deb(\s)/deb-src\1/; s/^Types:.*/Types: deb-src/' "$file" >"$work/sources/${file##*/}"
	done
	local apt=(apt-get -q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$work/sources" -o Dir::State::Lists="$work/lists"
		-o Dir::Cache="$work/cache" -o APT::Sandbox::User=)
	cd "$work"
	# A list that is missing matters only if what we look for is not in the others.
	"${apt[@]}" update || true
	# A mirror's lists may name a revision whose files it does not have.
	local candidate
	for candidate in "$version" $(apt-cache "${apt[@]:2}" showsrc --only-source "$name" | revisions); do
		if "${apt[@]}" source "$name=$candidate"; then
			echo "$name $candidate" >"$work/source"
			return
		fi
	done
	return 1
}

# Of the lines of apt-cache, the other revisions of our version that have its interface: a stable Debian changes nothing but faults. The newest is
# first, and what is older than the headers is for --or-less alone.
revisions() {
	sed -n 's/^Version: //p' | sort -rVu | while read -r candidate; do
		[ "${candidate%-*}" = "${version%-*}" ] && [ "$candidate" != "$version" ] || continue
		[ -n "$or_less" ] || dpkg --compare-versions "$candidate" gt "$version" || continue
		echo "$candidate"
	done
}

enter_source() {
	cd "$work/$name"-*/
	eval "$(DEB_BUILD_MAINT_OPTIONS=hardening=+all dpkg-buildflags --export=sh)"
	CFLAGS+=" -ffunction-sections -fdata-sections" # the linker leaves out what nobody calls
}

build_cjson() {
	# shellcheck disable=SC2086 # flags are words
	"${compiler[@]}" $CPPFLAGS $CFLAGS -c cJSON.c
	"${archiver[@]}" rcs libcjson.a cJSON.o
}

# HTTP and HTTPS, through proxies too, and signing for S3. Debian's libcurl speaks twenty-four protocols with thirty libraries.
# Names are asked for in threads, not by c-ares, which holds 110 KB for each transfer.
build_curl() {
	local off=(alt-svc cookies dict dnsshuffle doh file ftp get-easy-options gopher hsts imap ldap ldaps libcurl-option manual
		mime mqtt netrc ntlm ntlm-wb pop3 rtsp smb smtp telnet tftp tls-srp unix-sockets websockets)
	# Tables for thousands of sockets are not for us. It is said to configure, which adds flags that make has to have as well.
	CPPFLAGS+=" -DCURL_SOCKET_HASH_TABLE_SIZE=61"
	./configure --host="$("${compiler[@]}" -dumpmachine)" --disable-shared --disable-dependency-tracking --with-openssl --enable-threaded-resolver "${off[@]/#/--disable-}" \
		--without-{brotli,libgsasl,libidn2,libpsl,librtmp,libssh2,nghttp2,zlib,zstd} \
		--with-ca-bundle=/etc/ssl/certs/ca-certificates.crt --with-ca-path=/etc/ssl/certs
	make -C lib -j"$(nproc)"
}

# Tickets for a client: Kerberos itself without GSS-API, which would be as large again (sidecar/ship/negotiate.h). Ciphers are those of
# libcrypto, which is linked anyway. The three answers are glibc's and the compiler's, and configure can find them only by running a program.
build_krb5() {
	local folder
	cd src
	./configure --host="$("${compiler[@]}" -dumpmachine)" --enable-static --disable-{shared,nls,pkinit,rpath,aesni} \
		--with-crypto-impl=openssl --with-tls-impl=no --without-{keyutils,ldap,libedit,lmdb} \
		krb5_cv_attr_constructor_destructor=yes,yes ac_cv_func_regcomp=yes ac_cv_printf_positional=yes
	for folder in util/support util/et include util/profile lib/crypto lib/krb5; do
		make -C "$folder" -j"$(nproc)"
	done
	# One archive of the four that need each other, and the only one of its name.
	"${archiver[@]}" -M <<-SCRIPT
		CREATE whole.a
		ADDLIB lib/krb5/libkrb5.a
		ADDLIB lib/crypto/libk5crypto.a
		ADDLIB util/et/libcom_err.a
		ADDLIB util/support/libkrb5support.a
		SAVE
		END
	SCRIPT
	rm lib/libkrb5.a lib/krb5/libkrb5.a
	mv whole.a libkrb5.a
}

# Nothing of these two is kept in the cache: the next tree asks the mirror again.
take_older() {
	cat >&2 <<-END
		lib$name: this mirror does not have the files of Debian's source package $name $version, so it is built from $older. It works the same, but lacks
		what Debian mended since, perhaps faults of security: good for this machine and a wheel of your own, and for no release. 'make clean' and 'make'
		try again.
	END
	install -D -m 644 "$built" "$archive"
	cp "$work/source" "$archive.source"
}
take_shared() {
	tail -n 3 "$work/log" >&2
	cat >&2 <<-END
		lib$name: Debian's source package cannot be had, for the reason above. What needs it is linked with Debian's shared library. Such programs
		take up to twice the memory, run on this release of Debian alone, and are for no release and no wheel. 'make clean' and 'make' try again.
	END
	mkdir -p "${archive%/*}"
	"${archiver[@]}" qc "$archive"
}

if [ ! -e "$cached" ]; then
	echo "  STATIC lib$name $version" >&2
	work=$(mktemp -d "${TMPDIR:-/tmp}/afterglow-static-XXXXXX")
	trap finish EXIT
	if ! (fetch) >"$work/log" 2>&1; then
		[ -n "$or_less" ] || exit 1
		take_shared
		exit
	fi
	(
		enter_source
		"build_$name"
	) >>"$work/log" 2>&1
	built=$(find "$work" -name "lib$name.a")
	read -r _ older <"$work/source"
	if dpkg --compare-versions "$older" lt "$version"; then
		take_older
		exit
	fi
	mkdir -p "${cached%/*}"
	mv "$work/source" "${cached%/*}/source"
	mv "$built" "$cached"
fi
install -D -m 644 "$cached" "$archive"
cp "${cached%/*}/source" "$archive.source"
