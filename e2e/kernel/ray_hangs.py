# SPDX-License-Identifier: Apache-2.0
"""ray_hangs.py DIR: tasks and actors of the Ray below 127.0.0.1 hang, each in a way of its own. A process writes its PID to the file DIR/NAME
just before it hangs; only a raylet is stopped from outside."""
import asyncio
import ctypes
import os
import subprocess
import sys
import threading
import time

import numpy
import ray

DIR = sys.argv[1]
HERE = {"num_cpus": 0, "resources": {"here": 0.001}}  # on the head


def hangs_now(name):
    with open(os.path.join(DIR, name), "w", encoding="ascii") as file:
        file.write(str(os.getpid()))


@ray.remote(**HERE)
def deadlock():
    one, other = threading.Lock(), threading.RLock()
    one.acquire()

    def holds_other():
        with other:
            one.acquire()

    threading.Thread(target=holds_other, daemon=True).start()
    time.sleep(1)
    hangs_now("deadlock")
    other.acquire()


@ray.remote(**HERE)
class Rank:
    def train(self, rank):
        if rank == 2:
            hangs_now("rank_sleeps")
            time.sleep(100000)
        time.sleep(0)
        hangs_now(f"rank_{rank}")
        return ray.get(never.remote())


@ray.remote(num_cpus=0, resources={"nowhere": 1})
def never():
    pass


@ray.remote(num_cpus=0, resources={"nowhere": 1})
class NeverStarts:
    def answer(self):
        pass


@ray.remote(**HERE)
def full_store():
    # A worker that starts while the store is full hangs in its own start, so all others come first.
    others = ["deadlock", "rank_0", "rank_1", "rank_sleeps", "waits_for_resources", "dead_file_server", "holds_the_gil", "loops_in_cython",
              "child_in_the_kernel", "blocks_its_loop", "made"]
    others += [f"barrier_{rank}" for rank in range(3)] if os.path.exists(os.path.join(DIR, "has_torch")) else []
    while not all(os.path.exists(os.path.join(DIR, other)) for other in others):
        time.sleep(0.1)
    # What is read is pinned, so Ray cannot spill it.
    pinned = [ray.get(ray.put(numpy.zeros(6 << 20, dtype=numpy.uint8))) for _ in range(10)]
    hangs_now("full_store")
    while True:
        pinned.append(ray.get(ray.put(numpy.zeros(6 << 20, dtype=numpy.uint8))))


@ray.remote(**HERE)
def waits_for_resources():
    hangs_now("waits_for_resources")
    ray.get(NeverStarts.remote().answer.remote())


@ray.remote(**HERE)
def dead_file_server():
    hangs_now("dead_file_server")
    with open(os.path.join(DIR, "dead", "data"), "rb") as file:
        file.read()


@ray.remote(**HERE)
def holds_the_gil():
    hangs_now("holds_the_gil")
    ctypes.PyDLL(None).sleep(100000)


@ray.remote(**HERE)
def loops_in_cython():
    sys.path.insert(0, DIR)
    import loops

    hangs_now("loops_in_cython")
    loops.spin()


@ray.remote(**HERE)
def child_in_the_kernel():
    # The parent of a vfork is in state D until its child has ended, which here never does.
    libc = ctypes.CDLL(None)
    hangs_now("child_in_the_kernel")
    if libc.vfork() == 0:
        while True:
            libc.pause()


@ray.remote(**HERE)
class BlocksItsLoop:
    async def handler(self):
        await asyncio.sleep(0)
        hangs_now("blocks_its_loop")
        time.sleep(100000)


@ray.remote(**HERE)
def barrier(rank):
    import torch.distributed

    torch.distributed.init_process_group("gloo", init_method=f"file://{DIR}/gloo", rank=rank, world_size=3)
    hangs_now(f"barrier_{rank}")
    if rank == 2:
        return loads_data()
    torch.distributed.barrier()


def loads_data():
    time.sleep(100000)


@ray.remote(num_cpus=0, resources={"gone": 1}, max_retries=5)
def made_there():
    return numpy.zeros(1 << 20, dtype=numpy.uint8)


@ray.remote(**HERE)
def lost_object():
    made = made_there.remote()
    ray.wait([made], fetch_local=False)
    subprocess.run(["touch", os.path.join(DIR, "made")], check=True)
    while not os.path.exists(os.path.join(DIR, "lost")):
        time.sleep(0.1)
    hangs_now("lost_object")
    ray.get(made)


ray.init(address="127.0.0.1:6379", logging_level="error", log_to_driver=False)
ranks = [Rank.remote() for _ in range(3)]
loop = BlocksItsLoop.remote()
waits = [task.remote() for task in (deadlock, full_store, waits_for_resources, dead_file_server, holds_the_gil, loops_in_cython, child_in_the_kernel, lost_object)]
waits += [barrier.remote(rank) for rank in range(3)] if os.path.exists(os.path.join(DIR, "has_torch")) else []
waits += [loop.handler.remote()] + [actor.train.remote(rank) for rank, actor in enumerate(ranks)]
hangs_now("driver")
ray.get(waits)
