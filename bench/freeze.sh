#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# freeze.sh: the longest gap between two samples over the interval that was asked for, while
# something around the sidecar hangs and a container fills its memory and dies
# (e2e/kernel/freeze_test.sh). The interval that is asked for follows from the samples themselves:
# less the nearer the limit is, and the faster it comes. Claim: 2. And the longest answer of
# /healthz meanwhile; claim: 1 s. Beside it a process sleeps for 20 ms at a time and does nothing
# else: what it oversleeps is the machine's, and no gap of the sidecar's.
set -euo pipefail
cd "$(dirname "$0")/.."
bundles=$(mktemp -d /var/tmp/freeze_bench.XXXXXX)
python3 - >"$bundles/sleeper" <<-'END' &
	import time
	before = time.time()
	while True:
	    time.sleep(0.02)
	    now = time.time()
	    print(now, now - before, flush=True)
	    before = now
END
sleeper=$!
trap 'kill "$sleeper"; rm -rf "$bundles"' EXIT
AFTERGLOW_BUILD=${BUILD:-build} FREEZE_BUNDLES=$bundles e2e/kernel/freeze_test.sh >"$bundles/log" || { cat "$bundles/log"; exit 1; }
for file in "$bundles"/*.jsonl; do
	python3 - "$file" "$bundles/sleeper" <<-'END'
		import datetime, json, os, sys
		samples = [json.loads(line) for line in open(sys.argv[1])]
		at = [datetime.datetime.fromisoformat(s["time"].replace("Z", "+00:00")).timestamp() for s in samples]
		memory = [s["memory"] for s in samples]
		FAST, FLOOR = 120, 1 << 30  # history.c keeps the last 128 samples, of those before one a second; sampler.h's SAMPLE_FLOOR_RATE
		worst = longest = fastest = 0.0
		for i in range(1, len(samples)):
		    gap = at[i] - at[i - 1]
		    left = memory[i - 1]["limitBytes"] - memory[i - 1]["usageBytes"]
		    # Half of the way to the limit at the fastest rate so far; of what follows
		    # faster than 20 ms not every sample is kept.
		    asked = min(max(left / max(fastest, FLOOR) / 2, 0.02), 1.0)
		    if i > len(samples) - FAST:
		        worst, longest = max(worst, gap / asked), max(longest, gap)
		    if gap > 0:
		        fastest = max(fastest, (memory[i]["usageBytes"] - memory[i - 1]["usageBytes"]) / gap)
		name = os.path.basename(sys.argv[1]).removesuffix(".jsonl")
		sleeps = [tuple(map(float, line.split())) for line in open(sys.argv[2]) if line.endswith("\n")]
		bare = max((gap for end, gap in sleeps if at[max(len(at) - FAST, 0)] <= end <= at[-1] + 0.1), default=0)
		print(f"freeze: {name}: longest gap {longest * 1000:.0f} ms, claim: twice what was asked for, ratio {worst / 2:.2f}; "
		      f"a bare sleep of 20 ms took {bare * 1000:.0f} ms at the most")
	END
done
for file in "$bundles"/*.health; do
	printf 'freeze: %s: longest answer of /healthz %s s of %d, claim: 1 s\n' "$(basename "$file" .health)" \
		"$(sort -g "$file" | tail -n 1)" "$(wc -l <"$file")"
done
