#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# hdfs.sh build | start DIR | httpfs DIR | stop DIR: a real HDFS, one NameNode and one DataNode, with its data below DIR.
# start prints DIR/env: WEBHDFS (HOST:PORT), WEBHDFSS (the same with TLS, if asked for), HDFS_USER (may write to
# /failures), HDFS_SUPERUSER. httpfs starts an HttpFS gateway before a started one and prints its HOST:PORT. Started again on the same DIR it has the same ports and what was written before.
# AFTERGLOW_STORE_ADDRESS: listens there (127.0.0.1). HDFS_CERT and HDFS_KEY, PEM files: WebHDFS with TLS, too. HDFS_KDC, the DIR of a
# started kdc.sh: all servers want Kerberos, DIR/hdfs.keytab has the superuser's key, and delegation tokens are valid for HDFS_TOKEN_MS.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

user=ray superuser=$(id -un)
# With Kerberos the NameNode is the superuser, by the name of its principal.
[ -z "${HDFS_KDC:-}" ] || superuser=hdfs
realm=AFTERGLOW.TEST

# Hadoop's jars with all that they need, as pom.xml pins them.
fetch() { # DIR
	"$here/../../tools/apt-install.sh" openjdk-17-jre-headless maven || return
	echo "fetching HDFS into $1"
	mvn --batch-mode --quiet --file "$here/hdfs/pom.xml" dependency:copy-dependencies \
		-DincludeScope=runtime -DoutputDirectory="$1"
}

build() {
	local dir
	dir=$cache/hdfs-$(sha256sum "$here/hdfs/pom.xml" | cut -c1-16)
	make_once "$dir" fetch
	command -v java >/dev/null || "$here/../../tools/apt-install.sh" openjdk-17-jre-headless >&2
	printf '%s\n' "$dir"
}

property() { printf '  <property><name>%s</name><value>%s</value></property>\n' "$1" "$2"; }

# The key pair in the form that Java takes.
keystore() { # DIR
	openssl pkcs12 -export -in "$HDFS_CERT" -inkey "$HDFS_KEY" -name hdfs -passout pass:afterglow -out "$1/conf/keystore.p12"
	{
		echo '<configuration>'
		property ssl.server.keystore.location "$1/conf/keystore.p12"
		property ssl.server.keystore.type pkcs12
		property ssl.server.keystore.password afterglow
		property ssl.server.keystore.keypassword afterglow
		echo '</configuration>'
	} >"$1/conf/ssl-server.xml"
}

# One keytab is for both daemons and the gateway. A DataNode with Kerberos wants ports below 1024, or protected data,
# unless it is told that this is a test.
kerberos_core() { # DIR
	property hadoop.security.authentication kerberos
	property hadoop.http.authentication.type kerberos
	property hadoop.http.authentication.kerberos.principal "HTTP/$address@$realm"
	property hadoop.http.authentication.kerberos.keytab "$1/hdfs.keytab"
	property hadoop.http.authentication.signature.secret.file "$1/conf/signature.secret"
}

kerberos_hdfs() { # DIR
	local daemon
	for daemon in namenode datanode; do
		property "dfs.$daemon.kerberos.principal" "hdfs/localhost@$realm"
		property "dfs.$daemon.keytab.file" "$1/hdfs.keytab"
	done
	property dfs.web.authentication.kerberos.principal "HTTP/$address@$realm"
	property dfs.web.authentication.kerberos.keytab "$1/hdfs.keytab"
	property dfs.block.access.token.enable true
	property ignore.secure.ports.for.testing true
	property dfs.namenode.delegation.token.renew-interval "${HDFS_TOKEN_MS:-86400000}"
}

kerberos_httpfs() { # DIR
	kerberos_core "$1"
	property httpfs.hadoop.authentication.type kerberos
	property httpfs.hadoop.authentication.kerberos.principal "hdfs/localhost@$realm"
	property httpfs.hadoop.authentication.kerberos.keytab "$1/hdfs.keytab"
}

kerberos_keys() { # DIR
	local name
	for name in hdfs/localhost "HTTP/$address"; do
		"$here/kdc.sh" admin "$HDFS_KDC" "addprinc -randkey $name"
		"$here/kdc.sh" admin "$HDFS_KDC" "ktadd -norandkey -k $1/hdfs.keytab $name"
	done
	head -c 32 /dev/urandom | base64 >"$1/conf/signature.secret"
}

configure() { # DIR
	local dir=$1 ports
	read -ra ports <<<"$(free_ports 8)"
	# The jar has no pages for the web servers' roots, and they do not start without.
	mkdir -p "$dir/conf/webapps/hdfs" "$dir/conf/webapps/datanode"
	sed "s|^|log4j.|" >"$dir/conf/log4j.properties" <<-LOG4J
		rootLogger=WARN,stderr
		appender.stderr=org.apache.log4j.ConsoleAppender
		appender.stderr.target=System.err
		appender.stderr.layout=org.apache.log4j.PatternLayout
		appender.stderr.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
	LOG4J
	{
		echo '<configuration>'
		property fs.defaultFS "hdfs://$address:${ports[0]}"
		property hadoop.tmp.dir "$dir/tmp"
		# The gateway is this user and speaks for others.
		property "hadoop.proxyuser.$superuser.hosts" '*'
		property "hadoop.proxyuser.$superuser.groups" '*'
		[ -z "${HDFS_KDC:-}" ] || kerberos_core "$dir"
		echo '</configuration>'
	} >"$dir/conf/core-site.xml"
	{
		echo '<configuration>'
		property dfs.namenode.name.dir "file://$dir/name"
		property dfs.datanode.data.dir "file://$dir/data"
		property dfs.namenode.http-address "$address:${ports[1]}"
		property dfs.namenode.https-address "$address:${ports[2]}"
		property dfs.datanode.address "$address:${ports[3]}"
		property dfs.datanode.ipc.address "$address:${ports[4]}"
		property dfs.datanode.http.address "$address:${ports[5]}"
		property dfs.datanode.https.address "$address:${ports[6]}"
		property dfs.datanode.hostname "$address"
		property dfs.replication 1
		property dfs.namenode.safemode.extension 0
		property dfs.namenode.datanode.registration.ip-hostname-check false
		property dfs.http.policy "$([ -n "${HDFS_CERT:-}" ] && echo HTTP_AND_HTTPS || echo HTTP_ONLY)"
		[ -z "${HDFS_KDC:-}" ] || kerberos_hdfs "$dir"
		echo '</configuration>'
	} >"$dir/conf/hdfs-site.xml"
	if [ -n "${HDFS_CERT:-}" ]; then keystore "$dir"; fi
	if [ -n "${HDFS_KDC:-}" ]; then kerberos_keys "$dir"; fi
	cat >"$dir/env" <<-ENV
		WEBHDFS=$address:${ports[1]}
		WEBHDFSS=$address:${ports[2]}
		HDFS_USER=$user
		HDFS_SUPERUSER=$superuser
	ENV
}

as_superuser() { # DIR CURL-ARG...
	local who=()
	if [ -n "${HDFS_KDC:-}" ]; then
		export KRB5_CONFIG=$HDFS_KDC/krb5.conf KRB5_CLIENT_KTNAME=$1/hdfs.keytab KRB5CCNAME=MEMORY:
		who=(--negotiate --user :)
	fi
	curl -fsS "${who[@]}" "${@:2}"
}

up() { # DIR HOST:PORT: out of safe mode, and somebody is there to write to
	as_superuser "$1" "http://$2/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState" | grep -q '"NumLiveDataNodes" : 1' &&
		as_superuser "$1" "http://$2/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo" | grep -q '"Safemode" : ""'
}

start() { # DIR
	local jars java
	jars=$(build)
	"$here/../../tools/apt-install.sh" curl >&2
	mkdir -p "$1"
	dir=$(cd "$1" && pwd) # not local: the trap wants it, too
	[ -e "$dir/env" ] || configure "$dir"
	java=(java -Xmx256m -cp "$dir/conf:$jars/*" --add-opens java.base/java.lang=ALL-UNNAMED)
	[ -z "${HDFS_KDC:-}" ] || java+=("-Djava.security.krb5.conf=$HDFS_KDC/krb5.conf")
	if [ ! -e "$dir/name" ]; then
		"${java[@]}" org.apache.hadoop.hdfs.server.namenode.NameNode -format -nonInteractive >"$dir/format.log" 2>&1 ||
			die "formatting failed: $(tail -n 5 "$dir/format.log")"
	fi
	trap 'stop_all "$dir"' EXIT
	launch "$dir" namenode "${java[@]}" org.apache.hadoop.hdfs.server.namenode.NameNode
	launch "$dir" datanode "${java[@]}" org.apache.hadoop.hdfs.server.datanode.DataNode
	# shellcheck source=/dev/null
	. "$dir/env"
	wait_for "$dir" namenode 300 "a NameNode with a DataNode" up "$dir" "$WEBHDFS"
	as_superuser "$dir" -X PUT "http://$WEBHDFS/webhdfs/v1/failures?op=MKDIRS&user.name=$superuser" >/dev/null
	as_superuser "$dir" -X PUT "http://$WEBHDFS/webhdfs/v1/failures?op=SETOWNER&owner=$user&user.name=$superuser" >/dev/null
	trap - EXIT
	cat "$dir/env"
}

httpfs() { # DIR
	local dir=$1 jars java port
	jars=$(build)
	port=$(free_ports 1)
	mkdir -p "$dir/httpfs/conf" "$dir/httpfs/log" "$dir/httpfs/temp"
	cp "$dir"/conf/{core-site.xml,hdfs-site.xml,log4j.properties} "$dir/httpfs/conf"
	java=(java)
	[ -z "${HDFS_KDC:-}" ] || java+=("-Djava.security.krb5.conf=$HDFS_KDC/krb5.conf")
	head -c 32 /dev/urandom | base64 >"$dir/httpfs/conf/httpfs-signature.secret"
	{
		echo '<configuration>'
		property httpfs.http.hostname "$address"
		property httpfs.http.port "$port"
		property httpfs.hadoop.config.dir "$dir/httpfs/conf"
		[ -z "${HDFS_KDC:-}" ] || kerberos_httpfs "$dir"
		echo '</configuration>'
	} >"$dir/httpfs/conf/httpfs-site.xml"
	launch "$dir" httpfs "${java[@]}" -Xmx256m "-Dhttpfs.home.dir=$dir/httpfs" "-Dhttpfs.config.dir=$dir/httpfs/conf" \
		"-Dhttpfs.log.dir=$dir/httpfs/log" "-Dhttpfs.temp.dir=$dir/httpfs/temp" -cp "$dir/httpfs/conf:$jars/*" \
		--add-opens java.base/java.lang=ALL-UNNAMED org.apache.hadoop.fs.http.server.HttpFSServerWebServer
	wait_for "$dir" httpfs 300 "an HttpFS gateway" \
		as_superuser "$dir" -o /dev/null "http://$address:$port/webhdfs/v1/failures?op=GETFILESTATUS&user.name=$user"
	printf '%s\n' "$address:$port"
}

case ${1:-} in
build) build ;;
start) start "$2" ;;
httpfs) httpfs "$2" ;;
stop) stop_all "$2" ;;
*) die "build | start DIR | httpfs DIR | stop DIR" ;;
esac
