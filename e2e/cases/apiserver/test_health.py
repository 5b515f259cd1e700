# SPDX-License-Identifier: Apache-2.0
"""
/healthz says when something is wrong for long. Minutes pass at once here, as for a machine that was suspended.
"""

import os
import struct
import subprocess

import pytest

from conftest import wait_for
from apiserver.proxy import Proxy

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
/* The time since boot is ahead by the seconds that stand in the file $SLEPT, and nothing else is. */
int clock_gettime(clockid_t id, struct timespec *ts)
{
	static int (*real)(clockid_t, struct timespec *);
	static const volatile long long *slept;
	if (!real) {
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
		slept = mmap(NULL, sizeof(*slept), PROT_READ, MAP_SHARED, open(getenv("SLEPT"), O_RDONLY), 0);
	}
	int r = real(id, ts);
	if (r == 0 && id == CLOCK_BOOTTIME)
		ts->tv_sec += *slept;
	return r;
}
"""


class Sleeper:
    """The environment of a process whose clock the test can move."""

    def __init__(self, directory):
        self.file = directory / "slept"
        self.file.write_bytes(struct.pack("q", 0))
        (directory / "shim.c").write_text(SHIM)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", directory / "shim.so", directory / "shim.c", "-ldl"], check=True)
        self.env = {**os.environ, "LD_PRELOAD": str(directory / "shim.so"), "SLEPT": str(self.file),
                    "ASAN_OPTIONS": "verify_asan_link_order=0"}  # a build with sanitizers wants to be first

    def sleep(self, seconds):
        with self.file.open("r+b") as file:
            file.write(struct.pack("q", seconds))


@pytest.fixture(name="sleeper")
def process_that_slept(tmp_path):
    return Sleeper(tmp_path)


@pytest.fixture(name="proxy")
def proxy_to_the_server(plane):
    p = Proxy(plane.port)
    yield p
    p.close()


def test_who_hears_nothing_of_its_watches_for_ten_minutes_is_not_ready_until_it_does(start, plane, proxy, sleeper):
    operator = start(kubeconfig=plane.kubeconfig("operator", port=proxy.port), env=sleeper.env)
    proxy.swallow()
    sleeper.sleep(300)
    assert operator.http("/readyz")[0] == 200
    sleeper.sleep(660)
    code, text = operator.http("/readyz")
    assert code == 503
    for plural in ("rayclusters", "pods", "services", "rayfailures"):
        assert f"{plural}: synced, but nothing was received for a long time" in text
    # Alive it is: a restart would not help.
    assert operator.http("/healthz") == (200, "ok\n")
    proxy.swallowing = False
    proxy.cut()
    operator.wait_ready()


def test_a_leader_whose_renewal_is_overdue_says_so_until_it_has_ended(start, api, plane, proxy, sleeper):
    operator = start("--leader-elect", "--lease-namespace", api.namespace, env=sleeper.env,
                     kubeconfig=plane.kubeconfig("operator", port=proxy.port))
    wait_for("it to lead", lambda: operator.metric("leader_election_master_status") == 1)
    assert operator.http("/healthz") == (200, "ok\n")
    # A renewal is on its way and does not get through; then it is too late for one.
    proxy.swallow()
    wait_for("the next renewal", lambda: proxy.swallowed)
    sleeper.sleep(11)
    assert operator.http("/healthz") == (503, "the renewal of the lease is overdue\n")
    assert operator.process.wait(180) == 1
