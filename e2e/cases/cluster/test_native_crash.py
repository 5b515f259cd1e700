# SPDX-License-Identifier: Apache-2.0
"""A crash in native code leaves a backtrace with names, and a core that gdb opens, in each kind of store."""

import base64
import json
import pathlib
import shutil
import subprocess

import pytest

from cluster.conftest import SIDECAR_SOCKET, check_bundle, container, govern
from cluster.stores import STORES
from conftest import wait_for

pytestmark = pytest.mark.long

NATIVE = pathlib.Path(__file__).parent / "native"
MOUNT = "/opt/native"
PYTHON = "/usr/bin/python3.11"

ACTOR = f"""
import sys, ray
for left in reversed(range(5)):
    try:
        ray.init(address='auto', log_to_driver=False, logging_level='error')
        break
    except Exception:  # on a busy machine the head is not there within Ray's patience
        ray.shutdown()
        if not left:
            raise

@ray.remote(max_restarts=0, max_task_retries=0)
class Table:
    def read(self):
        sys.path.insert(0, '{MOUNT}')
        import boom
        return boom.poke()

table = Table.remote()
try:
    ray.get(table.read.remote())
except Exception as error:
    answer(type(error).__name__)
"""


# Its core is to be kept: the sidecar, which the kubelet starts after it, has to be there. It crashes once, as /dev/shm outlives the container:
# restarted, it would crash again within seconds, and who is late by so much on a busy machine sees no status of the first end.
CRASH = f"""
import os, sys, time
if os.path.exists('/dev/shm/crashed'):
    time.sleep(100000)
sys.path.insert(0, '{MOUNT}')
import boom
while not os.path.exists('{SIDECAR_SOCKET}'):
    time.sleep(0.5)
time.sleep(3)
open('/dev/shm/crashed', 'w').close()
boom.poke()
"""


@pytest.fixture(scope="session")
def extension(tmp_path_factory):
    """boom.so, built here for the image's Python: both are Debian's."""
    built = tmp_path_factory.mktemp("native") / "boom.so"
    subprocess.run(["g++", "-O1", "-g", "-fPIC", "-shared", "-I/usr/include/python3.11", "-o", str(built),
                    str(NATIVE / "boom.cc")], check=True)
    return built


def with_extension(template):
    template["volumeMounts"] = [{"name": "native", "mountPath": MOUNT}]
    template["volumes"] = [{"name": "native", "configMap": {"name": "native"}}]
    return template


def plain(command):
    """A container that is no Ray node: its main process is what crashes."""
    template = container("ray-worker", "300Mi", command=["python3", "-c", command])
    template["annotations"] = {"ray.io/overwrite-container-cmd": "true"}
    return with_extension(template)


@pytest.fixture(scope="module", params=[pytest.param(kind, marks=pytest.mark.xdist_group(kind)) for kind in sorted(STORES)])
def store(request, k, namespace):
    """One kind of store, set up as a user would."""
    with STORES[request.param](k, namespace) as made:
        govern(k, recording={"coreDumps": "Full"}, store=made.block)
        yield made


@pytest.fixture(scope="module")
def crashed(store, k, new_cluster, extension):
    """A cluster on which an actor's worker process crashed, and a container beside it."""
    k.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "native", "namespace": k.namespace},
             "binaryData": {"boom.so": base64.b64encode(extension.read_bytes()).decode()}})
    cluster = new_cluster(f"native-{store.kind}", {
        "actors": with_extension(container("ray-worker", "1200Mi")),
        "plain": plain(CRASH),
    })
    cluster.wait_nodes(2)
    # Ray's driver waits a second to be told of the death; until then the actor is merely out of reach.
    assert cluster.python(ACTOR) in ("ActorDiedError", "ActorUnavailableError")
    return cluster


def pod_of(cluster, group):
    return [p["metadata"]["name"] for p in cluster.pods("worker") if p["metadata"]["labels"]["ray.io/group"] == group][0]


@pytest.fixture(scope="module")
def sysroot(crashed, extension, tmp_path_factory):
    """Returns a directory with what gdb needs of the container's files."""
    root = tmp_path_factory.mktemp("sysroot")
    files = [PYTHON, "/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6"]
    packed = crashed.k("exec", crashed.pod_name("head"), "-c", "ray-head", "--", "bash", "-c",
                       f"tar --create --dereference --absolute-names {' '.join(files)} | base64")
    subprocess.run(["tar", "--extract", "--directory", str(root)], input=base64.b64decode(packed), check=True)
    target = root / MOUNT.lstrip("/")
    target.mkdir(parents=True)
    shutil.copy(extension, target)
    return root


@pytest.fixture(scope="module")
def failures(crashed):
    """The RayFailures of the actor's process and of the container."""
    actors, plain = pod_of(crashed, "actors"), pod_of(crashed, "plain")

    def of_actor():
        found = [f["spec"] for f in crashed.failures() if f["spec"]["pod"] == actors]
        crashes = [spec for spec in found if spec["class"] in ("Segfault", "WorkerCrash")]
        assert crashes, [(spec["class"], spec.get("process")) for spec in found]
        return crashes[0]
    return {"container": crashed.wait_failure(pod=plain, exitCode=139, timeout=120),
            "actor": wait_for("the RayFailure of the actor", of_actor, timeout=120)}


@pytest.fixture(scope="module")
def bundles(failures, store, tmp_path_factory):
    """Their bundles as somebody downloads them, with the cores."""
    def complete(failure):
        directory = tmp_path_factory.mktemp("bundle")
        store.fetch(failure["bundle"], directory)
        assert list(directory.glob("core.*")), "no core yet"
        return directory
    return {victim: wait_for(f"the {victim}'s bundle with its core in the store", lambda f=failure: complete(f),
                             timeout=120, interval=2)
            for victim, failure in failures.items()}


@pytest.fixture(params=["actor", "container"])
def victim(request):
    return request.param


@pytest.fixture
def failure(failures, victim):
    return failures[victim]


@pytest.fixture
def bundle(bundles, victim):
    return bundles[victim]


def test_the_rayfailure_is_a_crash_in_native_code(failure):
    assert failure["class"] in ("Segfault", "WorkerCrash")
    assert "boom::read_row" in json.dumps(failure)


def test_the_bundle_is_whole(bundle):
    report = check_bundle(bundle)
    assert report["class"] in ("Segfault", "WorkerCrash")


def test_the_backtrace_names_the_functions_innermost_first(bundle):
    trace = (bundle / "backtrace.txt").read_text()
    assert "SIGSEGV" in trace
    places = [trace.index(name) for name in ("boom::read_row", "boom::look_up", "poke")]
    assert places == sorted(places)
    assert "boom.cc:" in trace


def test_the_report_shows_the_crashed_function(bundle):
    assert "boom::read_row" in (bundle / "report.txt").read_text()
    assert "boom::look_up" in (bundle / "report.html").read_text()


def test_gdb_opens_the_core_and_finds_the_same_function(bundle, sysroot, tmp_path):
    packed, = bundle.glob("core.*")
    core = tmp_path / "core"
    subprocess.run(["zstd", "-q", "-d", str(packed), "-o", str(core)], check=True)
    out = subprocess.run(
        ["gdb", "-nx", "-batch", "-ex", f"set sysroot {sysroot}", "-ex", f"file {sysroot}{PYTHON}",
         "-ex", f"core-file {core}", "-ex", "bt 16"], capture_output=True, text=True, timeout=120, check=False,
        env={"PATH": "/usr/bin:/bin", "DEBUGINFOD_URLS": "", "HOME": "/"})
    assert "SIGSEGV" in out.stdout, out.stdout + out.stderr
    assert "boom::read_row" in out.stdout, out.stdout + out.stderr
