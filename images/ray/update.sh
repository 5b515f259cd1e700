#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# update.sh VERSION: writes requirements.txt anew for that version of ray[default,serve]. Run with CPython 3.11.
set -euo pipefail

cd "$(dirname "$0")"
report=$(mktemp)
trap 'rm -f "$report"' EXIT
python3 -m pip install --quiet --dry-run --ignore-installed --only-binary :all: --report "$report" "ray[default,serve]==$1"
python3 - "$1" "$report" >requirements.txt <<'END'
import json, sys

print(f"# ray[default,serve]=={sys.argv[1]} and what it needs, for CPython 3.11 on x86-64 Linux. Made anew by update.sh.")
with open(sys.argv[2]) as file:
    for item in sorted(json.load(file)["install"], key=lambda i: i["metadata"]["name"].lower()):
        digest = item["download_info"]["archive_info"]["hashes"]["sha256"]
        print(f"{item['metadata']['name'].lower()}=={item['metadata']['version']} \\\n    --hash=sha256:{digest}")
END
