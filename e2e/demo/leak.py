# SPDX-License-Identifier: Apache-2.0
"""A task that allocates without end, as a job on the head's own Ray: some 100 MB/s, so that it can be watched."""
import time

import ray


@ray.remote(max_retries=0)
def allocate_memory():
    chunks = []
    while True:
        chunks.append(bytearray(b"x") * (10 << 20))
        time.sleep(0.1)


def main():
    ray.init(log_to_driver=False, logging_level="ERROR")
    while sum(node["Alive"] for node in ray.nodes()) < 2:
        time.sleep(0.5)
    for node in ray.nodes():
        print(f"node {node['NodeManagerAddress']}: {node['Resources'].get('CPU', 0):.0f} CPUs", flush=True)
    try:
        ray.get(allocate_memory.remote(), timeout=120)
    except ray.exceptions.GetTimeoutError:
        raise
    except Exception as error:  # whichever of its many ways Ray chooses to tell it
        print(f"{type(error).__name__}: {error}")


main()
