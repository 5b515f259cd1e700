# SPDX-License-Identifier: Apache-2.0
"""The store is a directory, and everything goes wrong that can with a directory."""

import errno
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from conftest import wait_for
from stores.shipping import MIB, ROOT, Bundle, DirectoryStore, check_no_halves, check_whole, command, failed, ship, shipped


def hidden(root):
    return [file for file in root.rglob(".*")]


@pytest.fixture
def tmpfs(tmp_path, place):
    """A filesystem of 8 MiB as the store."""
    root = tmp_path / "tmpfs"
    root.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "afterglow-test", root], check=True)
    yield DirectoryStore(root, place)
    subprocess.run(["umount", root], check=True)


def test_a_full_disk_keeps_the_reports_and_says_what_does_not_fit(tmpfs, tmp_path):
    bundle = Bundle(tmp_path / "b", core=12 * MIB)
    outcome = failed(tmpfs, bundle)
    assert outcome.result["kind"] == "no-space" and outcome.result["retry"]
    assert "core.python.7.zst" in outcome.result["error"] and "12.0 MiB" in outcome.result["error"]
    there = check_no_halves(tmpfs, bundle)
    assert {"report.txt", "report.json", "report.html"} <= set(there)
    assert not hidden(tmpfs.root)
    assert shutil.disk_usage(tmpfs.root).free > 7 * MIB  # nothing of the core was written


def test_a_disk_that_fills_up_meanwhile_is_left_clean(tmpfs, tmp_path):
    """statvfs reports free space, but a write finds none."""
    bundle = Bundle(tmp_path / "b", core=6 * MIB)
    (tmpfs.root / "other").write_bytes(b"x" * (1 * MIB))
    process = subprocess.Popen(command(tmpfs, bundle), stdout=subprocess.PIPE)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not list(tmpfs.root.rglob(".core*")):
        time.sleep(0.001)
    process.send_signal(signal.SIGSTOP)
    with open(tmpfs.root / "other", "ab") as other, pytest.raises(OSError):
        for _ in range(16):
            other.write(b"x" * MIB)
            other.flush()
    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=180)
    check_no_halves(tmpfs, bundle)
    assert not hidden(tmpfs.root)
    (tmpfs.root / "other").unlink()
    shipped(tmpfs, bundle)
    check_whole(tmpfs, bundle)



def test_a_read_only_filesystem(tmpfs, bundle):
    subprocess.run(["mount", "-o", "remount,ro", tmpfs.root], check=True)
    outcome = failed(tmpfs, bundle)
    assert (outcome.code, outcome.result["kind"]) == (3, "read-only")
    subprocess.run(["mount", "-o", "remount,rw", tmpfs.root], check=True)
    shipped(tmpfs, bundle)
    check_whole(tmpfs, bundle)


def test_a_store_that_is_not_mounted_is_not_made(directory_store, bundle):
    directory_store.root.rmdir()
    outcome = failed(directory_store, bundle)
    assert outcome.result["kind"] == "store-missing" and outcome.result["retry"]
    assert not directory_store.root.exists()


def test_removed_under_us(directory_store, tmp_path):
    bundle = Bundle(tmp_path / "b", core=200 * MIB)
    process = subprocess.Popen(command(directory_store, bundle), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for("the core to be under way", lambda: list(directory_store.root.rglob(".core*")), interval=0.001)
    # It waits meanwhile: what it made or renamed now would stay.
    process.send_signal(signal.SIGSTOP)
    shutil.rmtree(directory_store.root)
    process.send_signal(signal.SIGCONT)
    out, _ = process.communicate(timeout=180)
    assert process.returncode == 1, out
    assert '"store-missing"' in out
    directory_store.root.mkdir()
    shipped(directory_store, bundle)
    check_whole(directory_store, bundle)


AS_THE_SIDECAR = ["setpriv", "--reuid=65532", "--regid=65532", "--clear-groups"]


@pytest.fixture
def common_folder():
    """A folder that everybody may enter. Each pytest that starts, also one of another suite, closes the folder above tmp_path to others."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        path.chmod(0o755)
        (path / "store").mkdir()
        yield path


def test_a_directory_of_somebody_else(common_folder, place):
    store, bundle = DirectoryStore(common_folder / "store", place), Bundle(common_folder / "bundle")
    store.root.chmod(0o755)
    outcome = failed(store, bundle, prefix=AS_THE_SIDECAR)
    assert (outcome.code, outcome.result["kind"]) == (3, "permission")
    store.root.chmod(0o777)
    shipped(store, bundle, prefix=AS_THE_SIDECAR)
    check_whole(store, bundle)


def test_a_directory_that_the_kubelet_gave_to_the_sidecars_group(common_folder, place):
    """The kubelet does that for fsGroup (docs/storage.md): the owner stays root, and what is made below belongs to the group as well."""
    store, bundle = DirectoryStore(common_folder / "store", place), Bundle(common_folder / "bundle")
    os.chown(store.root, 0, 65532)
    store.root.chmod(0o2770)
    shipped(store, bundle, prefix=AS_THE_SIDECAR)
    check_whole(store, bundle)
    assert {path.stat().st_gid for path in store.root.rglob("*")} == {65532}


@pytest.mark.parametrize("what", ["directory", "link", "fifo", "link above"])
def test_what_is_not_ours_is_not_overwritten(directory_store, bundle, tmp_path, what):
    top = directory_store.root / directory_store.under
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").write_text("mine")
    if what == "link above":
        top.parent.mkdir(parents=True)
        top.symlink_to(victim)
    else:
        top.mkdir(parents=True)
        if what == "directory":
            (top / "report.txt").mkdir()
        elif what == "link":
            (top / "report.txt").symlink_to(victim / "file")
        else:
            os.mkfifo(top / "report.txt")
    outcome = failed(directory_store, bundle)
    assert (outcome.code, outcome.result["kind"]) == (3, "occupied")
    assert (victim / "file").read_text() == "mine"
    assert os.listdir(victim) == ["file"]


def test_a_server_that_hangs_does_not_hang_the_caller(tmp_path, bundle):
    """A frozen filesystem blocks each writer in the kernel, as an NFS server does that never answers."""
    root = tmp_path / "frozen"
    image = tmp_path / "image"
    root.mkdir()
    with open(image, "wb") as file:
        file.truncate(64 * MIB)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, root], check=True)
    try:
        subprocess.run(["fsfreeze", "--freeze", root], check=True)
        store = DirectoryStore(root, "pod/x")
        started = time.monotonic()
        process = subprocess.Popen([*command(store, bundle), "--deadline", "1"], stdout=subprocess.PIPE, text=True)
        line = process.stdout.readline()
        said = time.monotonic() - started
        subprocess.run(["fsfreeze", "--unfreeze", root], check=True)
        process.wait(timeout=180)
    finally:
        subprocess.run(["umount", root], check=True)
    assert '"deadline"' in line and process.returncode == 1
    assert said < 120


# --- Faults of a kind that cannot be had otherwise ---


@pytest.fixture(scope="session")
def faults(tmp_path_factory):
    library = tmp_path_factory.mktemp("faults") / "faults.so"
    source = ROOT / "e2e/cases/stores/faults.c"
    subprocess.run(["gcc", "-O1", "-Wall", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", library, source, "-ldl"], check=True)
    return library


def test_nobody_may_change_owners_or_modes(directory_store, bundle, faults):
    """An NFS server that squashes root does the same."""
    shipped(directory_store, bundle, env={"LD_PRELOAD": str(faults), "FAULT_OWNER": "1"})
    check_whole(directory_store, bundle)


# "memory": the copy of the manifest that is taken when the run begins.
KINDS = {errno.ENOSPC: {"no-space", "memory"}, errno.EIO: {"io", "memory"}, errno.EDQUOT: {"no-space", "memory"}}


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
@pytest.mark.parametrize("stays", ["0", "1"])
def test_each_write_in_turn_fails(directory_store, tmp_path, faults, code, stays):
    """Every call that writes meets ENOSPC or EIO, once or from then on: no half file and no garbage are left, and the next run goes on."""
    base = directory_store.under
    failures = 0
    for nth in range(1, 1000):
        directory_store.under = f"{base}/{nth}"
        directory_store.set("--as", directory_store.under)
        bundle = Bundle(tmp_path / f"b{nth}", core=MIB)
        mark = tmp_path / f"mark{nth}"
        env = {"LD_PRELOAD": str(faults), "FAULT_NTH": str(nth), "FAULT_ERRNO": str(int(code)), "FAULT_STAYS": stays}
        outcome = ship(directory_store, bundle, env={**env, "FAULT_MARK": str(mark)})
        if not mark.exists():
            assert outcome.code == 0
            break
        there = check_no_halves(directory_store, bundle)
        assert not hidden(directory_store.root / directory_store.under)
        if outcome.code == 0:
            assert "MANIFEST.json" in there  # only the note could not be written
        else:
            failures += 1
            assert outcome.code == 1 and outcome.result["kind"] in KINDS[code], outcome
        shipped(directory_store, bundle)
        check_whole(directory_store, bundle)
        shutil.rmtree(bundle.path)
        shutil.rmtree(directory_store.root / directory_store.under)
    assert nth > 30 and failures > 20
