# SPDX-License-Identifier: Apache-2.0
"""Bundles are shipped through a network in which one packet of twenty is lost, in both directions."""

import subprocess
import uuid

import pytest

from conftest import AtTheEnd
from stores.conftest import Server
from stores.shipping import HdfsStore, S3Store, check_whole, shipped


@pytest.fixture(name="lossy")
def namespace():
    """The kernel has no netem everywhere; the firewall's statistic match drops packets as well."""
    name = f"afg-ship-{uuid.uuid4().hex[:6]}"
    inside = ["ip", "netns", "exec", name]
    subprocess.run(["ip", "netns", "add", name], check=True)
    end = AtTheEnd("ip", "netns", "del", name)
    try:
        subprocess.run([*inside, "ip", "link", "set", "lo", "up"], check=True)
        yield inside
    finally:
        end.now()


def lose(inside):
    rule = ["-m", "statistic", "--mode", "random", "--probability", "0.05", "-j", "DROP"]
    subprocess.run([*inside, "iptables", "-A", "INPUT", *rule], check=True)


def dropped(inside):
    lines = subprocess.run(
        [*inside, "iptables", "-L", "INPUT", "-v", "-x", "-n"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    return int(next(line for line in lines if "statistic" in line).split()[0])


@pytest.mark.parametrize("kind", ["s3", "hdfs"])
def test_five_of_a_hundred_packets_lost(lossy, kind, credentials, tmp_path, large):
    server = Server(f"{kind}.sh", tmp_path / "server", prefix=lossy).start()
    try:
        if kind == "s3":
            store = S3Store(server.directory, credentials, "pod/x")
        else:
            store = HdfsStore(server.directory, "pod/x")
            read_all = store.call
            store.call = lambda *args: fetch(lossy, store, read_all, *args)
        lose(lossy)
        shipped(store, large, prefix=lossy, timeout=600)
        assert dropped(lossy) > 20
        check_whole(store, large)
    finally:
        server.stop()


def fetch(inside, store, _call, method, path, operation, user=None):
    """Does inside the namespace what HdfsStore.call does."""
    url = f"{store.web}{path.replace(' ', '%20')}?op={operation}&user.name={user or store.superuser}"
    return subprocess.run([*inside, "curl", "-sfSL", "-X", method, url], check=True, capture_output=True).stdout
