#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# chart_archive.sh ARCHIVE: writes the chart as Helm installs it from a file, without what .helmignore names. Unlike `helm package`, it
# needs no Helm, and the same files always give the same archive.
#
# SOURCE_DATE_EPOCH     the time of all files; default: the commit's
set -euo pipefail

cd "$(dirname "$0")/.."
time=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
tar --sort=name --mtime="@$time" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
	--exclude-from=<(sed 's,/$,,' charts/afterglow/.helmignore) -C charts -c afterglow | gzip -9n >"$1"
