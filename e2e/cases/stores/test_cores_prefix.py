# SPDX-License-Identifier: Apache-2.0
"""Cores go below a prefix of their own on S3, Azure and HDFS, so that a lifecycle rule can remove them sooner. A directory refuses that."""

import json

import pytest

from stores.azure import AzureStore
from stores.shipping import MIB, Bundle, HdfsStore, S3Store, check_whole, kill_when, read_back, ship, shipped

PREFIX = "_cores/ray"
CORE = "core.python.7.zst"


@pytest.fixture(params=["s3", "azure", "hdfs"])
def apart(request, place):
    """A store that puts cores apart, and what is there below the prefix for the same bundle."""
    if request.param == "s3":
        server, credentials = request.getfixturevalue("s3_server"), request.getfixturevalue("credentials")
        stores = [S3Store(server.directory, credentials, under) for under in (place, f"{PREFIX}/{place}")]
    elif request.param == "azure":
        azure, key = request.getfixturevalue("azure"), request.getfixturevalue("azure_key")
        stores = [AzureStore(azure, key, under) for under in (place, f"{PREFIX}/{place}")]
    else:
        server = request.getfixturevalue("hdfs_server")
        stores = [HdfsStore(server.directory, under) for under in (place, f"{PREFIX}/{place}")]
    stores[0].args += ["--cores-prefix", PREFIX]
    return stores


def manifest_of(files):
    return {file["name"]: file for file in json.loads(files["MANIFEST.json"])["files"]}


def without_option(store):
    """Returns the store as a reader has it who does not know of the prefix."""
    at = store.args.index("--cores-prefix")
    del store.args[at : at + 2]
    return store


def check_apart(store, cores, bundle):
    """Checks that the core is below the prefix, that all else is in the bundle, and that the manifest says so of each."""
    there = store.read(bundle)
    assert {name: data for name, data in there.items() if name != "MANIFEST.json"} == {
        name: data for name, data in bundle.files.items() if name not in (CORE, "MANIFEST.json")
    }
    assert cores.read(bundle) == {CORE: bundle.files[CORE]}
    listed, local = manifest_of(there), manifest_of(bundle.files)
    assert listed[CORE].pop("path") == f"{PREFIX}/{store.under}/{CORE}"
    assert listed == local


@pytest.fixture
def crashed(tmp_path):
    """A bundle with a core that is sent at once."""
    return Bundle(tmp_path / "crashed", core=MIB // 2)


def test_a_core_goes_below_the_prefix_where_the_manifest_says_and_a_reader_finds_it(apart, crashed):
    store, cores = apart
    outcome = shipped(store, crashed)
    assert outcome.result["url"].endswith(store.under)
    check_apart(store, cores, crashed)
    (crashed.path / ".ship").unlink()
    shipped(store, crashed)
    check_apart(store, cores, crashed)
    done, files = read_back(without_option(store))
    assert done.returncode == 0, done.stderr
    assert {name: data for name, data in files.items() if name != "MANIFEST.json"} == {
        name: data for name, data in crashed.files.items() if name != "MANIFEST.json"
    }


def test_a_core_that_is_added_later_goes_there_too(apart, bundle):
    store, cores = apart
    shipped(store, bundle)
    assert cores.read(bundle) == {} and store.read(bundle) == bundle.files
    bundle.write(CORE, b"core" * 1000)
    bundle.commit()
    shipped(store, bundle)
    check_apart(store, cores, bundle)


def test_once_a_lifecycle_rule_has_removed_the_core_the_rest_is_read(apart, crashed):
    store, cores = apart
    shipped(store, crashed)
    cores.clear()
    done, files = read_back(store)
    assert done.returncode == 0, done.stderr
    assert set(files) == set(crashed.files) - {CORE}
    assert f"{CORE} is left out".encode() in done.stderr


def test_a_bundle_that_was_shipped_before_the_option_was_set_is_whole_after_it(s3_server, credentials, s3_store, crashed):
    """The notes of the bundle speak of the old place, so the core is sent to the new one."""
    cores = S3Store(s3_server.directory, credentials, f"{PREFIX}/{s3_store.under}")
    shipped(s3_store, crashed)
    check_whole(s3_store, crashed)
    assert read_back(s3_store)[1] == crashed.files
    shipped(s3_store, crashed, "--cores-prefix", PREFIX)
    assert cores.read(crashed) == {CORE: crashed.files[CORE]}
    assert read_back(s3_store)[1][CORE] == crashed.files[CORE]


def test_a_manifest_cannot_name_the_core_of_another_bundle(s3_store, crashed):
    """Whoever may write to the store cannot give a reader what belongs to somebody else."""
    shipped(s3_store, crashed)
    listed = json.loads(crashed.files["MANIFEST.json"])
    for file in listed["files"]:
        if file["name"] == CORE:
            file["path"] = f"secret/{s3_store.under}x/{CORE}"
    (s3_store.data / "pre fix" / s3_store.under / "MANIFEST.json").write_text(json.dumps(listed))
    done, files = read_back(s3_store)
    assert done.returncode == 0 and CORE not in files and "report.txt" in files
    assert b"is no place of this bundle" in done.stderr


def test_a_saved_bundle_goes_whole_to_another_store(s3_store, directory_store, crashed, tmp_path):
    """Its manifest names a place in the store that it came from, which means nothing in the other one."""
    s3_store.args += ["--cores-prefix", PREFIX]
    shipped(s3_store, crashed)
    _, files = read_back(s3_store)
    for name, data in files.items():
        file = tmp_path / "saved" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    saved = Bundle.__new__(Bundle)
    saved.path, saved.files = tmp_path / "saved", files
    shipped(directory_store, saved)
    there = directory_store.read(saved)
    assert there[CORE] == crashed.files[CORE] and manifest_of(there) == manifest_of(crashed.files)


def test_killed_in_the_middle_of_a_core_the_next_run_ends_it(s3_server, credentials, s3_store, large):
    s3_store.args += ["--cores-prefix", PREFIX]
    cores = S3Store(s3_server.directory, credentials, f"{PREFIX}/{s3_store.under}")
    kill_when(s3_store, large, "1Mi", "an upload", cores.uploads)
    s3_store.wait_answered()
    assert "MANIFEST.json" not in s3_store.read(large) and cores.read(large) == {}
    shipped(s3_store, large)
    check_apart(s3_store, cores, large)
    assert not cores.uploads()


@pytest.mark.parametrize("prefix, words", [("_cores", "is for a store s3://, azure:// or webhdfs://"), ("cores", "begins with '_'")])
def test_what_makes_no_sense_is_refused_in_words(directory_store, s3_store, bundle, prefix, words):
    store = directory_store if prefix == "_cores" else s3_store
    outcome = ship(store, bundle, "--cores-prefix", prefix)
    assert outcome.code == 2 and words in outcome.stderr
    assert store.read(bundle) == {}
