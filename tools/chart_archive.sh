#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# chart_archive.sh ARCHIVE [REGISTRY DIGESTS]: writes the chart as Helm installs it from a file, without what .helmignore names. With
# REGISTRY, its values name the images there, by the digests of the file DIGESTS (lines of NAME@DIGEST, as in a release). Unlike
# `helm package`, it needs no Helm, and the same files always give the same archive.
#
# DOCS_URL              the address of the pages that the chart names: its notes, and the runbooks of its alerts; default: their place in the source
# SOURCE_DATE_EPOCH     the time of all files; default: the commit's
set -euo pipefail

archive=$(realpath -m "$1") registry=${2:-} digests=${3:+$(realpath "$3")}
cd "$(dirname "$0")/.."
time=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
work=$(mktemp -d "${TMPDIR:-/tmp}/afterglow-chart-XXXXXX")
trap 'rm -rf "$work"' EXIT
cp -rL charts/afterglow "$work"

# Each image has its digest some lines below its repository.
name_images() { # NAME@DIGEST...
	local image name values=$work/afterglow/values.yaml
	echo '  artifacthub.io/images: |' >>"$work/afterglow/Chart.yaml"
	for image; do
		printf '    - {name: %s, image: "%s", platforms: [linux/amd64, linux/arm64]}\n' "${image%@*}" "$registry/$image" >>"$work/afterglow/Chart.yaml"
		name=${image%@*}
		sed -i "\\,^ *repository: localhost/$name\$,,/^ *digest: / {
			s,localhost/$name\$,$registry/$name,
			s,digest: \"\",digest: ${image#*@},
		}" "$values"
		if [ "$(grep -cE "repository: $registry/$name\$|digest: ${image#*@}\$" "$values")" != 2 ]; then
			echo "chart_archive.sh: values.yaml has no place for $image" >&2
			return 1
		fi
	done
}
if [ -n "$registry" ]; then
	mapfile -t images <"$digests"
	name_images "${images[@]}"
fi
if [ -n "${DOCS_URL:-}" ]; then
	sed -i "s,^  afterglow.dev/docs: .*,  afterglow.dev/docs: ${DOCS_URL%/}," "$work/afterglow/Chart.yaml"
	sed -i "s,^  runbookURL: .*,  runbookURL: ${DOCS_URL%/}/runbooks," "$work/afterglow/values.yaml"
fi
tar --sort=name --mtime="@$time" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
	--exclude-from=<(sed 's,/$,,' charts/afterglow/.helmignore) -C "$work" -c afterglow | gzip -9n >"$archive"
