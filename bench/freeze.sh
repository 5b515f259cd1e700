#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# freeze.sh: the longest gap between two samples over the interval that was asked for, while something around the sidecar hangs and
# a container fills its memory and dies (e2e/kernel/freeze_test.sh). The interval that is asked for follows from the samples
# themselves: less the nearer the limit is, and the faster it comes. Claim: 2. And the longest answer of /healthz meanwhile; claim: 1 s.
set -euo pipefail
cd "$(dirname "$0")/.."
bundles=$(mktemp -d /var/tmp/freeze_bench.XXXXXX)
trap 'rm -rf "$bundles"' EXIT
AFTERGLOW_BUILD=${BUILD:-build} FREEZE_BUNDLES=$bundles e2e/kernel/freeze_test.sh >"$bundles/log" || { cat "$bundles/log"; exit 1; }
for file in "$bundles"/*.jsonl; do
	python3 - "$file" <<-'END'
		import datetime, json, os, sys
		samples = [json.loads(line) for line in open(sys.argv[1])]
		at = [datetime.datetime.fromisoformat(s["time"].replace("Z", "+00:00")).timestamp() for s in samples]
		memory = [s["memory"] for s in samples]
		FAST, FLOOR = 120, 1 << 30  # history.c keeps the last 128 samples, of those before one a second; sampler.h's SAMPLE_FLOOR_RATE
		worst = longest = fastest = 0.0
		for i in range(1, len(samples)):
		    gap = at[i] - at[i - 1]
		    left = memory[i - 1]["limitBytes"] - memory[i - 1]["usageBytes"]
		    # Half of the way to the limit at the fastest rate so far; of what follows faster than 20 ms not every sample is kept.
		    asked = min(max(left / max(fastest, FLOOR) / 2, 0.02), 1.0)
		    if i > len(samples) - FAST:
		        worst, longest = max(worst, gap / asked), max(longest, gap)
		    if gap > 0:
		        fastest = max(fastest, (memory[i]["usageBytes"] - memory[i - 1]["usageBytes"]) / gap)
		name = os.path.basename(sys.argv[1]).removesuffix(".jsonl")
		print(f"freeze: {name}: longest gap {longest * 1000:.0f} ms, claim: twice what was asked for, ratio {worst / 2:.2f}")
	END
done
for file in "$bundles"/*.health; do
	printf 'freeze: %s: longest answer of /healthz %s s of %d, claim: 1 s\n' "$(basename "$file" .health)" \
		"$(sort -g "$file" | tail -n 1)" "$(wc -l <"$file")"
done
