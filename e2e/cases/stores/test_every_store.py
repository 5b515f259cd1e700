# SPDX-License-Identifier: Apache-2.0
"""These tests hold for each store: a directory, S3, Azure and HDFS."""

import fcntl
import os
import random
import signal
import subprocess
import time

import pytest

from stores.shipping import MIB, Bundle, Outcome, check_no_halves, check_whole, command, failed, read_back, ship, shipped

SEED = int(os.environ.get("AFTERGLOW_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 30)


def test_a_bundle_arrives_whole_and_says_where(store, large):
    outcome = shipped(store, large)
    check_whole(store, large)
    assert outcome.result["url"].endswith(store.under)
    files = list(dict.fromkeys(line["file"] for line in outcome.lines if "file" in line))
    assert files[:3] == ["report.txt", "report.json", "report.html"]
    assert files[-2:] == ["core.python.7.zst", "MANIFEST.json"]
    last = {line["file"]: line for line in outcome.lines if "file" in line}
    assert all(line["sent"] == line["total"] == len(large.files[name]) for name, line in last.items())


def test_what_was_shipped_is_read_back_as_an_archive_the_manifest_first(store, large):
    shipped(store, large)
    done, files = read_back(store)
    assert done.returncode == 0, done.stderr
    assert files == large.files
    assert list(files)[:4] == ["MANIFEST.json", "report.txt", "report.json", "report.html"] and list(files)[-1].startswith("core")


def test_a_file_that_reads_like_an_answer_of_the_store_is_a_file(store, bundle):
    bundle.write("logs/raylet.out", b"<Error><Code>NoSuchKey</Code><Message>gone</Message></Error>\n" * 3)
    bundle.write(f"logs/job-driver-{'x' * 120}.log", b"no archive has room for this name\n")
    bundle.commit()
    shipped(store, bundle)
    done, files = read_back(store)
    assert done.returncode == 0, done.stderr
    long_name = {name for name in bundle.files if len(name) > 120}
    assert files == {name: data for name, data in bundle.files.items() if name not in long_name}
    assert b"is left out" in done.stderr


def test_a_bundle_that_is_not_complete_is_not_read(store, bundle):
    done, _ = read_back(store)
    assert done.returncode == 3 and b"no complete bundle" in done.stderr and not done.stdout
    assert bundle.files


def test_shipping_again_changes_nothing(store, bundle):
    shipped(store, bundle)
    (bundle.path / ".ship").unlink()
    shipped(store, bundle)
    shipped(store, bundle)
    check_whole(store, bundle)


def test_what_was_added_to_a_bundle_follows(store, bundle):
    shipped(store, bundle)
    bundle.write("core.python.7.zst", b"core" * 1000)
    bundle.write("report.txt", b"with a backtrace\n")
    bundle.commit()
    outcome = shipped(store, bundle)
    check_whole(store, bundle)
    assert outcome.lines[-2]["file"] == "MANIFEST.json"


def test_of_the_same_size_and_another_content_is_sent(store, bundle):
    shipped(store, bundle)
    bundle.write("report.txt", bundle.files["report.txt"].swapcase())
    bundle.commit()
    shipped(store, bundle)
    check_whole(store, bundle)


def test_a_bundle_without_a_manifest_is_refused(store, bundle):
    (bundle.path / "MANIFEST.json").unlink()
    assert failed(store, bundle).result["kind"] == "bundle"
    assert store.read(bundle) == {}


def test_a_file_that_is_not_what_the_manifest_says_keeps_the_bundle_incomplete(store, bundle):
    (bundle.path / "logs/raylet.out").write_bytes(b"tiny")
    assert failed(store, bundle).result["kind"] == "bundle-changed"
    there = store.read(bundle)
    assert "report.txt" in there and "MANIFEST.json" not in there
    rotten = bytearray(bundle.files["logs/raylet.out"])
    rotten[77] ^= 1
    (bundle.path / "logs/raylet.out").write_bytes(rotten)
    if store.kind != "hdfs":  # which cannot check a digest; what arrives there is what was read
        assert failed(store, bundle).result["kind"] == "bundle-changed"
        assert "logs/raylet.out" not in store.read(bundle)


def test_two_at_once_are_one(store, large):
    """Two runs begin together, and the second one says so, or finds everything there."""
    first = subprocess.Popen(
        command(store, large), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )  # fmt: skip
    second = ship(store, large)
    out, error = first.communicate(timeout=300)
    first = Outcome(first.returncode, out, error)
    assert 0 in (first.code, second.code)
    for outcome in (first, second):
        assert outcome.code == 0 or outcome.result["kind"] == "busy", outcome
    check_whole(store, large)


def test_a_bundle_to_which_a_core_is_being_added_is_shipped_once_that_is_done(directory_store, bundle):
    lock = os.open(bundle.path, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with subprocess.Popen(command(directory_store, bundle), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        said = process.stderr.readline()
        os.close(lock)
        process.communicate(timeout=120)
    assert "is in use: waiting for it" in said and process.returncode == 0
    check_whole(directory_store, bundle)


def test_a_read_only_bundle_is_shipped(store, bundle, tmp_path):
    """Bundles are shipped although there is no room for notes."""
    subprocess.run(["mount", "--bind", bundle.path, bundle.path], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", bundle.path], check=True)
        shipped(store, bundle)
        check_whole(store, bundle)
    finally:
        subprocess.run(["umount", bundle.path], check=True)
    assert not (bundle.path / ".ship").exists()


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"store": 7}', "\x00\xff" * 1000, '{"store":"?","sent":{"report.txt":1}}'])
def test_a_damaged_note_is_as_none(s3_store, bundle, damage):
    (bundle.path / ".ship").write_text(damage, encoding="utf-8")
    shipped(s3_store, bundle)
    check_whole(s3_store, bundle)


KILLS = {"directory": 75, "s3": 100, "azure": 3, "hdfs": 25}
ROUNDS = {"azure": 2}  # the emulator is slow


def kill_after(store, bundle, seconds):
    """Returns whether the run was killed: it may have been quicker."""
    with subprocess.Popen(command(store, bundle), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
        process.wait()
    assert process.returncode in (0, -signal.SIGKILL)
    if store.kind == "s3":
        store.wait_answered()
    return process.returncode != 0


@pytest.mark.long
def test_killed_at_random_moments_it_comes_to_its_end(store, tmp_path):
    """Runs get SIGKILL again and again: nothing visible is ever half, and the next run goes on."""
    rng = random.Random(SEED)
    print(f"AFTERGLOW_SEED={SEED}")
    base = store.under
    bundle = Bundle(tmp_path / "bundle", core=34 * MIB)
    kills, rounds, usual = 0, 0, None
    while kills < KILLS[store.kind] or rounds < ROUNDS.get(store.kind, 6):
        rounds += 1
        store.under = f"{base}/{rounds}"
        store.set("--as", store.under)
        (bundle.path / ".ship").unlink(missing_ok=True)
        if rounds > 1:
            while kill_after(store, bundle, rng.uniform(0, usual)):
                kills += 1
                # What one takes changes with what else the machine does: it comes to its end neither always nor never.
                usual *= 1.05
                check_no_halves(store, bundle)
            usual *= 0.95
        started = time.monotonic()
        shipped(store, bundle)
        usual = usual or time.monotonic() - started
        check_whole(store, bundle)
        if store.kind == "s3":
            assert not store.uploads()
        store.clear()
