#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# upload_in_parts.sh DIRECTORY URL CURL-OPTION...: sends the files of DIRECTORY, in the order of their names, as the parts of
# one S3 object, four at a time, each signed with its digest. It is what afterglow-ship does, by curl and openssl (upload.sh).
set -euo pipefail
directory=$1 url=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
empty=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855

id=$(curl -sSf "$@" -H "x-amz-content-sha256: $empty" -X POST "$url?uploads=" | sed -n 's/.*<UploadId>\(.*\)<\/UploadId>.*/\1/p')
next=()
number=0
while read -r digest part; do
	number=$((number + 1))
	next+=(${next:+--next} -sSf --no-progress-meter -o "$work/answer" -w "$number %header{etag}\n" "$@" -H "x-amz-content-sha256: $digest"
		-T "${part#\*}" "$url?partNumber=$number&uploadId=$id")
done < <(openssl dgst -sha256 -r "$directory"/*)
curl --no-progress-meter --parallel --parallel-max 4 "${next[@]}" | sort -n >"$work/tags"
{
	printf '<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
	sed 's/\([0-9]*\) \(.*\)/<Part><PartNumber>\1<\/PartNumber><ETag>\2<\/ETag><\/Part>/' "$work/tags"
	printf '</CompleteMultipartUpload>'
} >"$work/list"
curl -sSf -o "$work/answer" "$@" -H "x-amz-content-sha256: $(openssl dgst -sha256 -r "$work/list" | cut -d' ' -f1)" \
	-H 'Content-Type: application/xml' --data-binary "@$work/list" "$url?uploadId=$id"
