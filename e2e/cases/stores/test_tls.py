# SPDX-License-Identifier: Apache-2.0
"""The store's certificate is always verified."""

import os
import ssl
import subprocess

import pytest

from stores.conftest import Server
from stores.shipping import HdfsStore, S3Store, Store, check_whole, failed, read_env, ship, shipped, write_credentials
from stores.stand_in import KEYS, StandIn
from stores.test_aws import too_skewed
from stores.test_s3 import FAKETIME

# Its servers are started once, by one worker.
pytestmark = pytest.mark.xdist_group("tls")


def authority(directory, name):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
         "-keyout", directory / f"{name}.key", "-out", directory / f"{name}.crt"],
        check=True, capture_output=True,
    )  # fmt: skip
    return directory / f"{name}.crt"


@pytest.fixture(scope="module", name="tls")
def certificates(tmp_path_factory):
    """ours.crt signed server.crt for 127.0.0.1; other.crt did not."""
    directory = tmp_path_factory.mktemp("tls")
    authority(directory, "ours")
    authority(directory, "other")
    (directory / "extensions").write_text("subjectAltName=IP:127.0.0.1\n")
    subprocess.run(
        ["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=store", "-keyout", directory / "server.key",
         "-out", directory / "server.csr"],
        check=True, capture_output=True,
    )  # fmt: skip
    subprocess.run(
        ["openssl", "x509", "-req", "-in", directory / "server.csr", "-CA", directory / "ours.crt", "-CAkey",
         directory / "ours.key", "-days", "2", "-extfile", directory / "extensions", "-out", directory / "server.crt"],
        check=True, capture_output=True,
    )  # fmt: skip
    return directory


@pytest.fixture(scope="module", name="secure_s3")
def s3_with_tls(tls, tmp_path_factory):
    env = {**os.environ, "S3_CERT": str(tls / "server.crt"), "S3_KEY": str(tls / "server.key")}
    server = Server("s3.sh", tmp_path_factory.mktemp("s3tls"), env=env).start()
    yield server
    server.stop()


@pytest.fixture(scope="module", name="secure_hdfs")
def hdfs_with_tls(tls, tmp_path_factory):
    env = {**os.environ, "HDFS_CERT": str(tls / "server.crt"), "HDFS_KEY": str(tls / "server.key")}
    server = Server("hdfs.sh", tmp_path_factory.mktemp("hdfstls"), env=env).start()
    yield server
    server.stop()


@pytest.fixture(name="secure_store", params=["s3", "hdfs"])
def a_store_with_tls(request, credentials, place):
    server = request.getfixturevalue(f"secure_{request.param}")
    if request.param == "s3":
        return S3Store(server.directory, credentials, place)
    return HdfsStore(server.directory, place, address=read_env(server.directory)["WEBHDFSS"], scheme="webhdfss")


def test_our_own_authority(secure_store, tls, large):
    shipped(secure_store, large, "--ca", str(tls / "ours.crt"))
    check_whole(secure_store, large)


def test_an_authority_among_the_credentials(secure_store, tls, bundle, tmp_path, credentials):
    values = {file.name.replace("-", "_"): file.read_text().strip() for file in credentials.iterdir()}
    both = write_credentials(tmp_path / "credentials", **values)
    (both / "ca.crt").write_bytes((tls / "ours.crt").read_bytes())
    shipped(secure_store, bundle, "--credentials", str(both))
    check_whole(secure_store, bundle)


@pytest.mark.parametrize("ca", [None, "other.crt", "server.key", "nowhere"])
def test_anybody_else_is_not_believed(secure_store, tls, bundle, ca):
    outcome = failed(secure_store, bundle, *(["--ca", str(tls / ca)] if ca else []))
    assert (outcome.code, outcome.result["kind"]) == (3, "tls"), outcome
    assert secure_store.read(bundle) == {}


@pytest.fixture(name="proxy")
def proxy_with_tls(tls, stand_in):
    """The stand-in as a proxy that speaks TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tls / "server.crt", tls / "server.key")
    stand_in.server.socket = context.wrap_socket(stand_in.server.socket, server_side=True)
    stand_in.answers["PUT"] = [(200, {}, "")]
    return f"https://{stand_in.address}"


@pytest.mark.parametrize("ca, believed", [("ours.crt", True), ("other.crt", False)])
def test_what_the_machine_trusts_makes_no_proxy_believed_once_an_authority_is_named(
    proxy, stand_in, stood_in_s3, tls, tmp_path, bundle, ca, believed
):
    trusted = tmp_path / "trusted"
    trusted.mkdir()
    (trusted / "ours.pem").write_bytes((tls / "ours.crt").read_bytes())
    subprocess.run(["openssl", "rehash", trusted], check=True)
    machine = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/ssl/certs && exec "$@"', str(trusted)]
    stood_in_s3.set("--s3-endpoint", "http://s3.example.invalid:9000")
    outcome = ship(stood_in_s3, bundle, "--proxy", proxy, "--ca", str(tls / ca), prefix=machine)
    assert outcome.result["result"] == ("shipped" if believed else "failed"), outcome
    assert believed or outcome.result["kind"] == "tls", outcome
    assert bool(stand_in.requests["PUT"]) == believed


def test_a_store_in_plain_text_does_not_set_the_time_by_which_sts_is_judged(proxy, stand_in, tls, tmp_path, bundle):
    """Somebody on the way to the store could else make an old certificate of STS, whose key was stolen, a valid one."""
    stand_in.answers["POST"] = [(200, {}, KEYS)]
    plain = StandIn()
    plain.answers["PUT"], plain.judge = [(200, {"ETag": '"x"'}, "")], too_skewed
    credentials = write_credentials(tmp_path / "credentials", role_arn="arn:aws:iam::123456789012:role/afterglow", web_identity_token="a.b.c")
    store = Store("--store", "s3://bucket/x", "--s3-endpoint", plain.url, "--s3-sts-endpoint", proxy, "--credentials", str(credentials))
    env = {"LD_PRELOAD": FAKETIME, "FAKETIME": "+3600", "DONT_FAKE_MONOTONIC": "1"}
    outcome = failed(store, bundle, "--ca", str(tls / "ours.crt"), env=env)
    plain.close()
    assert outcome.result["kind"] == "clock" and stand_in.requests["POST"] and plain.requests["PUT"], outcome
    assert "requests have the store's time" not in outcome.stderr
