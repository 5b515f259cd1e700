# SPDX-License-Identifier: Apache-2.0
"""Bundles are shipped to HDFS: to a real NameNode and a real DataNode, and through what lies between."""

import os
import random
import subprocess

import pytest

from stores.conftest import Server
from stores.proxy import Proxy
from stores.shipping import MIB, HdfsStore, Store, check_no_halves, check_whole, command, failed, read_env, ship, shipped, write_credentials
from stores.stand_in import StandIn

SEED = int(os.environ.get("AFTERGLOW_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 30)


def address(server):
    host, port = read_env(server.directory)["WEBHDFS"].split(":")
    return host, int(port)


def admin(server, java_class, *args):
    """Runs a command of Hadoop's own, as its superuser."""
    directory = server.directory
    jars = subprocess.run([server.launcher[-1], "build"], capture_output=True, text=True, check=True).stdout.strip()
    return subprocess.run(
        ["java", "-cp", f"{directory}/conf:{jars}/*", java_class, *args],
        capture_output=True, text=True, check=True, timeout=300,
    ).stdout  # fmt: skip


def dfsadmin(server, *args):
    return admin(server, "org.apache.hadoop.hdfs.tools.DFSAdmin", *args)


def test_no_permission(hdfs_store, bundle):
    hdfs_store.args[1] = hdfs_store.args[1].replace("/failures/pre%20fix", "/elsewhere")
    outcome = failed(hdfs_store, bundle)
    assert (outcome.code, outcome.result["kind"]) == (3, "permission")
    assert "user=ray" in outcome.result["error"]


def test_a_directory_has_the_name(hdfs_store, bundle):
    hdfs_store.call("PUT", f"/failures/pre fix/{hdfs_store.under}/report.txt", "MKDIRS", hdfs_store.user)
    assert failed(hdfs_store, bundle).result["kind"] == "occupied"


def test_a_file_is_where_a_directory_should_be(hdfs_store, bundle):
    shipped(hdfs_store, bundle)
    hdfs_store.set("--as", f"{hdfs_store.under}/report.txt/below")
    assert failed(hdfs_store, bundle).result["kind"] == "occupied"


def test_safe_mode_passes(hdfs_server, hdfs_store, bundle):
    dfsadmin(hdfs_server, "-safemode", "enter")
    try:
        outcome = failed(hdfs_store, bundle, "--deadline", "3")
    finally:
        dfsadmin(hdfs_server, "-safemode", "leave")
    assert outcome.result["retry"] and outcome.result["kind"] in ("server", "deadline")
    shipped(hdfs_store, bundle)
    check_whole(hdfs_store, bundle)


def test_the_quota_is_used_up(hdfs_server, hdfs_store, bundle):
    top = f"/failures/pre fix/{hdfs_store.under}"
    hdfs_store.call("PUT", top, "MKDIRS", hdfs_store.user)
    dfsadmin(hdfs_server, "-setSpaceQuota", "1k", top)
    outcome = failed(hdfs_store, bundle)
    assert outcome.result["kind"] == "no-space" and outcome.result["retry"]
    assert "quota of space" in outcome.result["error"]
    dfsadmin(hdfs_server, "-clrSpaceQuota", top)
    dfsadmin(hdfs_server, "-setQuota", "3", top)
    assert "quota of names" in failed(hdfs_store, bundle).result["error"]
    dfsadmin(hdfs_server, "-clrQuota", top)
    shipped(hdfs_store, bundle)
    check_whole(hdfs_store, bundle)


def test_the_data_do_not_go_through_the_namenode(hdfs_server, hdfs_store, large):
    proxy = Proxy(address(hdfs_server))
    store = HdfsStore(hdfs_server.directory, hdfs_store.under, address=proxy.address)
    shipped(store, large)
    check_whole(store, large)
    assert proxy.sent < MIB
    proxy.close()


def test_connections_to_the_namenode_cut_at_random_bytes(hdfs_server, hdfs_store, bundle):
    rng = random.Random(SEED)
    print(f"AFTERGLOW_SEED={SEED}")
    proxy = Proxy(address(hdfs_server), cut=lambda: rng.randrange(1, 3000))
    store = HdfsStore(hdfs_server.directory, hdfs_store.under, address=proxy.address)
    for _ in range(40):
        outcome = ship(store, bundle)
        if outcome.code == 0:
            break
        assert outcome.result["retry"], outcome
        check_no_halves(store, bundle)
    assert outcome.code == 0
    assert proxy.cuts >= 3
    check_whole(store, bundle)
    proxy.close()


@pytest.mark.long
def test_down_and_back(tmp_path, large):
    server = Server("hdfs.sh", tmp_path / "server").start()
    store = HdfsStore(server.directory, "pod/x")
    server.stop()
    outcome = failed(store, large, "--deadline", "3")
    assert outcome.result["kind"] in ("network", "deadline") and outcome.result["retry"]
    process = subprocess.Popen(command(store, large), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        server.start()
        process.communicate(timeout=300)
        assert process.returncode in (0, 1)
        shipped(store, large)
        check_whole(store, large)
    finally:
        server.stop()


def test_a_token_goes_to_the_namenode_alone(bundle, tmp_path):
    """user.name is not sent with it, and the NameNode's URL alone decides where the data go."""
    namenode, datanode = StandIn(), StandIn()
    token = write_credentials(tmp_path / "credentials", delegation_token="KAAEdG9rZW4/+")
    missing = '{"RemoteException":{"exception":"FileNotFoundException","message":"no"}}'
    namenode.answers["GET"] = [(404, {}, missing)]
    location = {"Location": f"{datanode.url}/webhdfs/v1/x?op=CREATE&overwrite=true"}
    namenode.answers["PUT"] = [(200, {}, '{"boolean":true}'), (307, location, "")]
    datanode.answers["PUT"] = [(403, {}, '{"RemoteException":{"exception":"InvalidToken","message":"no"}}')]
    store = Store("--store", f"webhdfs://{namenode.address}/f", "--webhdfs-user", "ray", "--credentials", str(token))
    outcome = failed(store, bundle)
    assert (outcome.code, outcome.result["kind"]) == (3, "credentials")
    asked = namenode.requests["GET"] + namenode.requests["PUT"]
    assert asked and all("delegation=KAAEdG9rZW4%2F%2B" in request.path for request in asked)
    assert all("user.name" not in request.path for request in asked)
    (sent,) = datanode.requests["PUT"]
    assert sent.path == "/webhdfs/v1/x?op=CREATE&overwrite=true"
    assert "KAAE" not in str(sent.headers) and "KAAE" not in outcome.stderr + str(outcome.lines)
    namenode.close()
    datanode.close()


@pytest.mark.parametrize(
    "method, status, location",
    [
        ("GET", 307, "http://127.0.0.1:1/webhdfs/v1/x?op=GETFILESTATUS"),
        ("PUT", 307, "ftp://127.0.0.1/webhdfs/v1/x?op=CREATE"),
        ("PUT", 307, "http://127.0.0.1:1/steal?op=CREATE"),
        ("PUT", 307, "http://a@127.0.0.1:1/webhdfs/v1/x?op=CREATE"),
        ("PUT", 307, ""),
    ],
)
def test_other_redirects_are_not_followed(bundle, method, status, location):
    namenode = StandIn()
    missing = (404, {}, '{"RemoteException":{"exception":"FileNotFoundException","message":"no"}}')
    redirect = (status, {"Location": location} if location else {}, "")
    namenode.answers["GET"] = [redirect if method == "GET" else missing]
    namenode.answers["PUT"] = [(200, {}, '{"boolean":true}'), redirect]
    store = Store("--store", f"webhdfs://{namenode.address}/f")
    outcome = failed(store, bundle)
    assert (outcome.code, outcome.result["kind"]) == (3, "redirect"), outcome
    namenode.close()


def test_where_something_else_answers(bundle, s3_server):
    address_of_s3 = read_env(s3_server.directory)["S3_ENDPOINT"].split("://")[1]
    store = Store("--store", f"webhdfs://{address_of_s3}/f")
    outcome = failed(store, bundle)
    assert outcome.result["kind"] in ("protocol", "server", "permission")


@pytest.mark.long
def test_attributes_turned_off_cost_nothing_but_a_note(tmp_path, bundle):
    server = Server("hdfs.sh", tmp_path / "server").start()
    server.stop()
    site = server.directory / "conf" / "hdfs-site.xml"
    off = "<property><name>dfs.namenode.xattrs.enabled</name><value>false</value></property>"
    site.write_text(site.read_text().replace("</configuration>", off + "</configuration>"))
    server.start()
    try:
        store = HdfsStore(server.directory, "pod/x")
        shipped(store, bundle)
        check_whole(store, bundle)
        modified = times(store)
        shipped(store, bundle)
        assert times(store) == modified
        (bundle.path / ".ship").unlink()
        shipped(store, bundle)
        check_whole(store, bundle)
    finally:
        server.stop()


def times(store):
    return store.call("GET", f"/failures/pre fix/{store.under}", "LISTSTATUS")


@pytest.fixture(name="gateway", scope="module")
def httpfs_before_it(hdfs_server):
    """Starts Hadoop's HttpFS: the same protocol, with all data through one server. It ends with the HDFS."""
    done = subprocess.run([*hdfs_server.launcher, "httpfs", str(hdfs_server.directory)], capture_output=True, text=True, check=True)
    return done.stdout.strip().splitlines()[-1]


def test_httpfs_is_a_store_too(hdfs_server, gateway, place, large):
    store = HdfsStore(hdfs_server.directory, place, address=gateway)
    shipped(store, large)
    check_whole(store, large)
    core = f"/failures/pre fix/{place}/core.python.7.zst"
    before = store.call("GET", core, "GETFILESTATUS")
    shipped(store, large)
    assert store.call("GET", core, "GETFILESTATUS") == before  # not sent again


def test_httpfs_says_no_in_the_same_words(hdfs_server, gateway, place, bundle):
    store = HdfsStore(hdfs_server.directory, place, address=gateway)
    store.args[1] = store.args[1].replace("/failures/pre%20fix", "/elsewhere")
    outcome = failed(store, bundle)
    assert (outcome.code, outcome.result["kind"]) == (3, "permission"), outcome
