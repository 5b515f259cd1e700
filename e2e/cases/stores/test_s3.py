# SPDX-License-Identifier: Apache-2.0
"""Bundles are shipped to S3: to a real server, and to a stand-in only for what the real one cannot be brought to say."""

import os
import random
import subprocess
import time

import pytest

from conftest import wait_for
from stores.conftest import Server
from stores.proxy import Proxy
from stores.shipping import MIB, S3Store, check_whole, command, failed, kill_when, read_env, ship, shipped, write_credentials
from stores.stand_in import s3_error

SEED = int(os.environ.get("AFTERGLOW_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 30)
CORE = "core.python.7.zst"
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"


def head(store, name):
    """Returns the headers that a browser would get, by curl with its own signature."""
    env = read_env(store.data.parents[1])
    done = subprocess.run(
        ["curl", "-sS", "--head", "--aws-sigv4", f"aws:amz:{env['S3_REGION']}:s3", "--user",
         f"{env['S3_ACCESS_KEY_ID']}:{env['S3_SECRET_ACCESS_KEY']}", "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD",
         f"{env['S3_ENDPOINT']}/{env['S3_BUCKET']}/pre%20fix/{store.under}/{name}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = [line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line]
    return {name.lower(): value.strip() for name, value in lines}


def test_a_browser_shows_the_report(s3_store, large):
    shipped(s3_store, large)
    assert head(s3_store, "report.html")["content-type"] == "text/html; charset=utf-8"
    assert head(s3_store, "report.txt")["content-type"] == "text/plain; charset=utf-8"
    assert head(s3_store, "report.json")["content-type"] == "application/json"
    assert head(s3_store, "core.python.7.zst")["content-type"] == "application/zstd"


def test_the_bucket_in_the_host(s3_store, large):
    s3_store.set("--s3-endpoint", s3_store.endpoint.replace("127.0.0.1", "localhost"))
    shipped(s3_store, large)
    check_whole(s3_store, large)


def test_killed_in_the_middle_it_sends_no_part_twice(s3_store, large):
    """The run is killed when three parts are there, and the next one sends the rest and not those."""
    proxy = Proxy(s3_store.target)
    s3_store.through(proxy)
    kill_when(s3_store, large, "8Mi", "three parts", lambda: len(s3_store.parts()) >= 3)
    # What it had sent before it died still runs through.
    wait_for("the dead to be heard out", lambda: proxy.open == 0, interval=0.005)
    s3_store.wait_answered()
    there = len(s3_store.parts())
    assert there >= 3
    before = proxy.sent
    shipped(s3_store, large)
    check_whole(s3_store, large)
    assert proxy.sent - before < 48 * MIB - there * 5 * MIB + MIB
    assert not s3_store.uploads()
    proxy.close()


def rotten(bundle, at):
    core = bytearray(bundle.files[CORE])
    core[at] ^= 1
    (bundle.path / CORE).write_bytes(core)


def test_a_core_that_rots_while_it_is_sent_is_never_put_together(s3_store, large):
    proxy = Proxy(s3_store.target)
    s3_store.through(proxy)
    rotten(large, 20 * MIB)
    outcome = failed(s3_store, large)
    assert outcome.result["kind"] == "bundle-changed" and "is not what MANIFEST.json says" in outcome.result["error"]
    there = s3_store.read(large)
    assert CORE not in there and "MANIFEST.json" not in there and not s3_store.uploads()
    # As long as it is wrong, it is read and not sent again.
    before = proxy.sent
    assert failed(s3_store, large).result["kind"] == "bundle-changed"
    assert proxy.sent - before < MIB
    (large.path / CORE).write_bytes(large.files[CORE])
    shipped(s3_store, large)
    check_whole(s3_store, large)
    assert not s3_store.uploads()
    proxy.close()


def test_parts_that_an_earlier_run_read_wrong_are_sent_again(s3_store, large):
    rotten(large, MIB)
    kill_when(s3_store, large, "8Mi", "all parts that are sent together", lambda: len(s3_store.parts()) >= 4)
    s3_store.wait_answered()
    (large.path / CORE).write_bytes(large.files[CORE])
    shipped(s3_store, large)
    check_whole(s3_store, large)


def test_an_upload_that_nobody_remembers_is_aborted(s3_store, large):
    kill_when(s3_store, large, "8Mi", "an upload", s3_store.uploads)
    s3_store.wait_answered()
    (large.path / ".ship").unlink()
    shipped(s3_store, large)
    check_whole(s3_store, large)
    assert not s3_store.uploads()


def test_an_upload_that_the_server_forgot_begins_again(s3_store, large):
    kill_when(s3_store, large, "8Mi", "a part", s3_store.parts)
    s3_store.wait_answered()
    for upload in s3_store.uploads():
        subprocess.run(["rm", "-r", upload], check=True)
    shipped(s3_store, large)
    check_whole(s3_store, large)


def test_connections_cut_at_random_bytes(s3_store, large):
    """Every run either ships or says that the network is to blame; in the end all is there."""
    rng = random.Random(SEED)
    print(f"AFTERGLOW_SEED={SEED}")
    proxy = Proxy(s3_store.target, cut=lambda: rng.randrange(1, 9 * MIB))
    s3_store.through(proxy)
    for _ in range(40):
        outcome = ship(s3_store, large, "--stall", "5")
        if outcome.code == 0:
            break
        assert outcome.result["kind"] in ("network", "server") and outcome.result["retry"], outcome
    assert outcome.code == 0
    assert proxy.cuts >= 5
    check_whole(s3_store, large)
    proxy.close()


def test_down_and_back(credentials, tmp_path, large):
    server = Server("s3.sh", tmp_path / "server").start()
    store = S3Store(server.directory, credentials, "pod/x")
    server.stop()
    outcome = failed(store, large, "--deadline", "3")
    assert outcome.result["kind"] in ("network", "deadline") and outcome.result["retry"]
    process = subprocess.Popen(command(store, large), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    started = time.monotonic()
    try:
        server.start()
        quick = time.monotonic() - started < 5
        process.communicate(timeout=300)
        if process.returncode:
            # A server that is away for longer than its attempts take is left to the next run.
            assert process.returncode == 1 and not quick
            shipped(store, large)
    finally:
        server.stop()
    check_whole(store, large)


@pytest.mark.parametrize(
    "change, kind, words",
    [
        ({"access_key_id": "AKNOBODY"}, "credentials", "does not know the access key id"),
        ({"secret_access_key": "not/it"}, "credentials", "secret access key does not belong to the access key id"),
        ({"access_key_id": ""}, "credentials", "access-key-id is empty"),
        ({"session_token": "made-up"}, "credentials", "session token is not one of these keys"),
    ],
)
def test_wrong_credentials(s3_server, credentials, place, bundle, tmp_path, change, kind, words):
    values = {file.name.replace("-", "_"): file.read_text().strip() for file in credentials.iterdir()}
    wrong = write_credentials(tmp_path / "wrong", **{**values, **change})
    store = S3Store(s3_server.directory, wrong, place)
    outcome = failed(store, bundle)
    assert (outcome.code, outcome.result["kind"]) == (3, kind)
    assert words in outcome.result["error"]
    secret = values["secret_access_key"]
    assert secret not in outcome.stderr and secret not in str(outcome.lines) and "not/it" not in outcome.stderr
    # Put right, the same bundle goes.
    shipped(S3Store(s3_server.directory, credentials, place), bundle)


def test_no_credentials_at_all(s3_store, bundle, tmp_path):
    outcome = failed(s3_store.set("--credentials", str(tmp_path / "nowhere")), bundle)
    assert outcome.code == 3 and "access-key-id and secret-access-key" in outcome.result["error"]


def test_the_wrong_region_is_named(s3_store, bundle):
    s3_store.args += ["--s3-region", "us-west-9"]
    outcome = failed(s3_store, bundle)
    assert outcome.code == 3 and "eu-test-1" in outcome.result["error"]


@pytest.mark.parametrize("offset, words", [("-3600", "1 h 0 min behind"), ("+3600", "1 h 0 min ahead of")])
def test_a_clock_that_is_an_hour_off_is_corrected_by_the_stores(s3_store, bundle, offset, words):
    env = {"LD_PRELOAD": FAKETIME, "FAKETIME": offset, "DONT_FAKE_MONOTONIC": "1"}
    outcome = shipped(s3_store, bundle, env=env)
    assert f"this machine's clock is {words} the store's: set it right; until then requests have the store's time" in outcome.stderr
    check_whole(s3_store, bundle)


# --- What a real server of ours does not say ---


def test_a_store_that_always_fails_is_not_tried_for_ever(stand_in, stood_in_s3, bundle):
    """The core is shipped although each try sends the whole file."""
    stand_in.answers["PUT"] = [(500, {}, s3_error("InternalError"))]
    outcome = failed(stood_in_s3, bundle)
    assert outcome.result["kind"] == "server" and outcome.result["retry"]
    assert len(stand_in.requests["PUT"]) == 6


def test_an_answer_of_200_may_hold_an_error(stand_in, stood_in_s3, large):
    """CompleteMultipartUpload begins its answer before it knows the result."""
    created = "<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>"
    stand_in.answers["PUT"] = [(200, {"ETag": '"x"'}, "")]
    stand_in.answers["POST"] = [(200, {}, created), (200, {}, s3_error("AccessDenied"))]
    outcome = failed(stood_in_s3, large)
    assert outcome.result["kind"] == "permission"


def test_who_may_only_write_ships_and_does_not_send_twice(stand_in, stood_in_s3, bundle):
    """Without s3:GetObject a HEAD is refused: then the notes in the bundle decide."""
    stand_in.answers["HEAD"] = [(403, {}, "")]
    stand_in.answers["PUT"] = [(200, {"ETag": '"x"'}, "")]
    shipped(stood_in_s3, bundle)
    assert len(stand_in.requests["PUT"]) == len(bundle.files)
    shipped(stood_in_s3, bundle)
    assert len(stand_in.requests["PUT"]) == len(bundle.files)
