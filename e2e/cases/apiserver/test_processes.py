# SPDX-License-Identifier: Apache-2.0
"""The operator asks the sidecar in the pod, which alone knows of holds, and of processes that died while their container lives."""

import datetime
import http.server
import itertools
import json
import signal
import socketserver
import threading
import time

import pytest

from conftest import wait_for
from apiserver.conftest import RayCluster, failures_of, failures_written, group, settle
from apiserver.kubelet import ENDED, ended, running, sign
from apiserver.pod_sidecar import PORT, PodSidecar, own_address

POLLS = "afterglow_sidecar_polls_total"
LEADER = "leader_election_master_status"


@pytest.fixture
def record(tmp_path):
    """Starts the sidecar of a pod."""
    started = []

    def start(pod, *args):
        directory = tmp_path / f"pod-{len(started)}"
        directory.mkdir()
        started.append(PodSidecar(pod, directory, *args))
        return started[-1]
    yield start
    for sidecar in started:
        sidecar.close()


@pytest.fixture
def look(kubelet):
    """
    Makes the operator ask the sidecar of a pod, and waits until it has. It may have asked by itself: since is how many such
    results there were before there was something to be told.
    """
    restarts = itertools.count(1)

    def ask(operator, pod, address, result=None, since=None):
        before = since if since is not None else operator.metric(POLLS, **({"result": result} if result else {}))
        kubelet.run_at(pod, address, next(restarts))
        wait_for("the question", lambda: operator.metric(POLLS, **({"result": result} if result else {})) > before,
                 interval=0.05)
    return ask


def wait_failures(api, pod, count):
    def find():
        found = failures_of(api, pod)
        assert len(found) == count, [(f["metadata"]["name"], f["spec"]["class"]) for f in found]
        return found
    return wait_for(f"{count} RayFailures", find, interval=0.05)


def test_a_process_that_dies_while_its_container_lives_is_a_failure(operator, worker, record, look, api):
    sidecar = record(worker).run_raylet()
    sidecar.memory_kill("hoard", 4711)
    look(operator, worker, sidecar.address)
    (failure,) = wait_failures(api, worker, 1)
    spec = failure["spec"]
    assert (spec["class"], spec["containerLives"], spec["container"]) == ("RayMemoryMonitor", True, "ray-worker")
    assert "exitCode" not in spec and spec["podUID"] == worker["metadata"]["uid"]
    assert "killed ray::hoard (PID 4711)" in spec["verdict"]
    assert spec["processes"][0]["name"] == "raylet"
    assert any(e["source"] == "raylet.out" for e in spec["evidence"])
    assert spec["bundle"].startswith(f"pvc:ray-failures/{api.namespace}/demo/{worker['metadata']['name']}.")
    assert failure["metadata"]["labels"]["afterglow.dev/class"] == "RayMemoryMonitor"


def test_whoever_restarts_each_such_death_is_one_failure(start, worker, record, look, api, plane, operator):
    sidecar = record(worker).run_raylet()
    sidecar.memory_kill("first", 101)
    look(operator, worker, sidecar.address)
    wait_failures(api, worker, 1)
    changes = operator.metric(POLLS, result="changed")
    sidecar.daemon.stop(signal.SIGKILL)
    sidecar.start()
    look(operator, worker, sidecar.address, result="changed", since=changes)
    operator.stop(signal.SIGKILL)
    operator = start()
    look(operator, worker, sidecar.address, result="changed", since=0)
    # Its launcher has found the new sidecar, and what comes next is another death.
    wait_for("the launcher", lambda: '"attached"' in sidecar.daemon.text() and sidecar.logs_open())
    sidecar.memory_kill("second", 102)
    look(operator, worker, sidecar.address)
    wait_failures(api, worker, 2)
    created = [w for w in plane.writes(api.namespace, "rayfailures", "create")]
    assert len(created) == 2


def test_what_did_not_change_is_not_sent_again(operator, worker, record, look):
    sidecar = record(worker).run_raylet()
    look(operator, worker, sidecar.address, result="changed")
    look(operator, worker, sidecar.address, result="unchanged")
    changes = operator.metric(POLLS, result="changed")
    sidecar.memory_kill("hoard", 5)
    look(operator, worker, sidecar.address, result="changed", since=changes)


def test_a_containers_end_is_recorded_once_although_both_tell_of_it(operator, worker, record, look, api, kubelet):
    sidecar = record(worker)
    sidecar.launch("/bin/bash", "-c", "exit 3")
    wait_for("the report", sidecar.failures)
    look(operator, worker, sidecar.address)
    kubelet.restart(worker, 1, 3)
    wait_failures(api, worker, 1)
    look(operator, worker, sidecar.address)
    settle(operator, api, kubelet)
    (failure,) = failures_of(api, worker)
    assert failure["spec"]["exitCode"] == 3 and "containerLives" not in failure["spec"]


def moment(text):
    """Returns the time as the kubelet writes it, in whole seconds."""
    return text[:19] + "Z"


def restarted(kubelet, pod, address, end, count):
    """Sets that the Ray container ended with this end and runs again. The status has forgotten the ends before."""
    states = [running(pod, c["name"], count if c["name"] == "ray-worker" else 0) for c in pod["spec"]["containers"]]
    # A second before its end: it was a short one.
    began = datetime.datetime.fromisoformat(end["endedAt"]) - datetime.timedelta(seconds=1)
    states[0]["lastState"] = ended(pod, "ray-worker", count - 1, end["exitCode"], finishedAt=moment(end["endedAt"]),
                                   startedAt=moment(began.isoformat()))
    states[0]["state"] = {"running": {"startedAt": moment(end["endedAt"])}}
    kubelet.say_at(pod, address, states)


def check_nothing_new(operator, plane, api, worker, kubelet, count):
    """Checks that an operator that starts anew finds the RayFailures that are there, and makes no others."""
    wait_for("the next question", lambda: operator.metric(POLLS, result="changed") >= 1)
    settle(operator, api, kubelet)
    assert len(failures_of(api, worker)) == count
    # The API server may not have noted the last one as a success: its operator was killed as soon as it could be seen.
    assert failures_written(plane, api, worker) <= count


def test_ends_that_the_status_has_forgotten_while_nobody_looked_are_failures_once(
        operator, start, worker, record, api, plane, kubelet):
    sidecar = record(worker)

    def end(code):
        sidecar.launch("bash", "-c", f"sleep 1.2; exit {code}")
        return wait_for(f"exit {code}", lambda: next((f for f in sidecar.failures() if f["exitCode"] == code), None))
    restarted(kubelet, worker, sidecar.address, end(11), 1)
    wait_failures(api, worker, 1)
    operator.stop(signal.SIGKILL)
    for code in 12, 13, 14:
        last = end(code)
    restarted(kubelet, worker, sidecar.address, last, 4)
    operator = start()
    found = wait_failures(api, worker, 4)
    assert sorted(f["spec"]["exitCode"] for f in found) == [11, 12, 13, 14]
    forgotten = [f["spec"] for f in found if "containerID" not in f["spec"]]
    assert sorted(f["exitCode"] for f in forgotten) == [12, 13]
    for failure in forgotten:
        assert (failure["class"], "containerLives" in failure) == ("ApplicationError", False), failure
        assert failure["bundle"]
    operator.stop(signal.SIGKILL)
    check_nothing_new(start(), plane, api, worker, kubelet, 4)


def test_ends_that_nobody_saw_are_one_failure_that_says_so(operator, start, worker, record, api, plane, kubelet):
    sidecar = record(worker)
    operator.stop(signal.SIGKILL)
    # An hour ago, so that nothing can still be reported: three ends are forgotten, and the status shows the fourth.
    states = [running(worker, c["name"], 4 if c["name"] == "ray-worker" else 0) for c in worker["spec"]["containers"]]
    states[0]["lastState"] = ended(worker, "ray-worker", 3, 7)
    kubelet.say_at(worker, sidecar.address, states)
    operator = start()
    found = {f["spec"]["restartCount"]: f["spec"] for f in wait_failures(api, worker, 2)}
    assert (found[3]["class"], found[3]["exitCode"]) == ("ApplicationError", 7)
    assert (found[2]["class"], found[2]["confidence"], "exitCode" in found[2]) == ("Unknown", "unknown", False)
    assert "ended 3 times" in found[2]["verdict"]
    assert any("exit codes" in m["what"] for m in found[2]["missing"])
    operator.stop(signal.SIGKILL)
    check_nothing_new(start(), plane, api, worker, kubelet, 2)


def test_in_a_pod_without_a_sidecar_too_ends_that_nobody_saw_are_one_failure_once(start, api, plane, kubelet):
    made = api.create("pods", {
        "metadata": {"name": "bare", "labels": {"ray.io/is-ray-node": "yes", "ray.io/cluster": "demo", "ray.io/group": "small",
                                                "ray.io/node-type": "worker"}},
        "spec": {"containers": [{"name": "ray-worker", "image": "ray:test"}]}})
    kubelet.restart(made, 4, 7)
    operator = start()
    found = {f["spec"]["restartCount"]: f["spec"] for f in wait_failures(api, made, 2)}
    assert (found[3]["class"], found[3]["exitCode"]) == ("ApplicationError", 7)
    assert (found[2]["class"], found[2]["confidence"], "exitCode" in found[2]) == ("Unknown", "unknown", False)
    assert "ended 3 times" in found[2]["verdict"]
    operator.stop(signal.SIGKILL)
    operator = start()
    # The next operator looks within ten seconds of its start; another such pod shows that it has.
    other = api.create("pods", {**{k: made[k] for k in ("spec",)},
                                "metadata": {"name": "other", "labels": made["metadata"]["labels"]}})
    kubelet.restart(other, 2, 7)
    wait_failures(api, other, 2)
    settle(operator, api, kubelet)
    assert len(failures_of(api, made)) == 2
    assert failures_written(plane, api, made) == 2


def test_an_end_while_the_sidecar_was_away_is_recorded_once_though_it_reports_it_later(
        operator, worker, record, api, kubelet, tmp_path):
    sidecar = record(worker, "--reconnect", "1")
    sidecar.launch("bash", "-c", f"until [ -e {tmp_path}/away ]; do sleep 0.1; done; exit 11")
    sidecar.daemon.stop(signal.SIGKILL)
    (tmp_path / "away").touch()
    assert sidecar.launcher.process.wait(120) == 11
    now = datetime.datetime.now(datetime.timezone.utc)
    restarted(kubelet, worker, sidecar.address, {"exitCode": 11, "endedAt": now.isoformat()}, 1)
    (failure,) = wait_failures(api, worker, 1)
    assert (failure["spec"]["class"], failure["spec"]["exitCode"]) == ("ApplicationError", 11)
    assert any("the sidecar's report" in m["what"] for m in failure["spec"]["missing"])
    sidecar.start()
    wait_for("its late report", lambda: any(f["class"] == "Unknown" for f in sidecar.failures()))
    sidecar.launch("bash", "-c", "sleep 1.2; exit 12")
    end = wait_for("exit 12", lambda: next((f for f in sidecar.failures() if f["exitCode"] == 12), None))
    questions = operator.metric(POLLS)
    restarted(kubelet, worker, sidecar.address, end, 2)
    wait_for("the next question", lambda: operator.metric(POLLS) > questions)
    wait_failures(api, worker, 2)
    settle(operator, api, kubelet)
    assert sorted(f["spec"]["exitCode"] for f in failures_of(api, worker)) == [11, 12]


def test_a_hold_is_told_as_an_event_of_the_pod_once(start, worker, record, look, api, operator):
    sidecar = record(worker, "--hold-on-failure", "600")
    sidecar.launch("/bin/bash", "-c", "exit 3")
    (failure,) = wait_for("the report", sidecar.failures)

    def held():
        return [e for e in api.items("events") if e["reason"] == "Held"]
    look(operator, worker, sidecar.address)
    (event,) = wait_for("the event", held)
    assert event["regarding"]["kind"] == "Pod" and event["regarding"]["uid"] == worker["metadata"]["uid"]
    assert f"held until {failure['heldUntil']}" in event["note"]
    name = worker["metadata"]["name"]
    assert f"kubectl exec -n {api.namespace} {name} -c ray-worker -- /afterglow/bin/afterglow-launch --release" in event["note"]
    operator.stop(signal.SIGKILL)
    operator = start()
    look(operator, worker, sidecar.address, result="changed", since=0)
    look(operator, worker, sidecar.address, result="unchanged")
    assert len(held()) == 1


def test_only_the_replica_that_acts_asks(start, make, api, record, look):
    leader = start("--leader-elect", "--lease-namespace", api.namespace)
    wait_for("the leader", lambda: leader.metric(LEADER) == 1)
    standby = start("--leader-elect", "--lease-namespace", api.namespace)
    _, (pod,) = make("demo", group("small", 1)).wait_pods(1, 1)
    sidecar = record(pod).run_raylet()
    sidecar.memory_kill("hoard", 7)
    look(leader, pod, sidecar.address)
    wait_failures(api, pod, 1)
    wait_for("the standby to know the sidecar", lambda: standby.metric("afterglow_sidecars") == 1)
    assert standby.metric(POLLS) == 0
    assert leader.stop() == 0
    wait_for("the standby to act", lambda: standby.metric(LEADER) == 1)
    # It may have asked by itself already; the first answer was news to it in any case.
    look(standby, pod, sidecar.address)
    assert standby.metric(POLLS, result="changed") >= 1
    wait_failures(api, pod, 1)


def test_a_sidecar_that_cannot_be_reached_is_told_of_and_ends_are_recorded_all_the_same(
        operator, worker, look, api, kubelet):
    for _ in range(3):
        look(operator, worker, own_address(), result="unreachable")
    event = wait_for("the event", lambda: [e for e in api.items("events") if e["reason"] == "SidecarUnreachable"])[0]
    assert event["regarding"]["name"] == worker["metadata"]["name"] and "NetworkPolicy" in event["note"]
    assert operator.metric("afterglow_sidecars", answers="false") == 1
    kubelet.restart(worker, 1, 137, reason="OOMKilled")
    wait_failures(api, worker, 1)


def test_a_store_that_takes_nothing_is_an_event_of_the_pod_that_says_why(operator, worker, record, look, api):
    sidecar = record(worker).run_raylet()
    (sidecar.directory / "store").rmdir()
    sidecar.memory_kill("hoard", 7)
    wait_for("the store to fail", lambda: (sidecar.answer()["store"] or {}).get("failing"))
    look(operator, worker, sidecar.address, result="changed")
    (event,) = wait_for("the event", lambda: [e for e in api.items("events") if e["reason"] == "StoreFailing"])
    assert event["regarding"]["name"] == worker["metadata"]["name"] and "store-missing: " in event["note"]


class Impostor:
    """A server that answers in place of a sidecar."""

    def __init__(self, answer):
        self.address = own_address()
        self.asked = 0

        class Handler(http.server.BaseHTTPRequestHandler):
            """Gives the same answer to each request."""
            def do_GET(handler):  # pylint: disable=invalid-name,no-self-argument
                self.asked += 1
                try:
                    answer(handler)
                except OSError:
                    pass  # the operator hung up

            def log_message(self, *args):  # pylint: disable=arguments-differ
                pass

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            """The server runs until the test ends."""
            daemon_threads = True

        self.server = Server((self.address, PORT), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def body(handler, data, code=200, **headers):
    handler.send_response(code)
    for name, value in {"Content-Length": str(len(data)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(data)


def endless(handler):
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b"[" * 65536)


def silent(handler):
    handler.connection.settimeout(20)
    handler.rfile.read(1)


def test_what_happens_during_a_question_is_asked_for_right_after_it(operator, worker, look, api, kubelet):
    seen = threading.Event()
    seen.set()

    def answer(handler):
        seen.wait(4)
        body(handler, b"", 500)

    impostor = Impostor(answer)
    try:
        # By itself the operator asks a sidecar that has refused so often only after 160 s.
        for _ in range(4):
            look(operator, worker, impostor.address, result="refused")
        seen.clear()
        asked = impostor.asked
        kubelet.run_at(worker, impostor.address, 11)
        wait_for("the question", lambda: impostor.asked > asked, interval=0.01)
        pods = operator.metric("afterglow_watch_objects", resource="pods")
        kubelet.run_at(worker, impostor.address, 12)
        # What comes after it in the same watch.
        api.create("pods", {"metadata": {"name": "stranger", "labels": {"ray.io/is-ray-node": "yes"}},
                            "spec": {"containers": [{"name": "ray", "image": "ray:test"}]}})
        wait_for("the operator to see it", lambda: operator.metric("afterglow_watch_objects", resource="pods") == pods + 1,
                 interval=0.01)
        seen.set()
        wait_for("the next question", lambda: impostor.asked > asked + 1, timeout=40)
    finally:
        impostor.close()


def answer_of(pod, **members):
    """Returns what the pod's sidecar answers, signed."""
    return sign(pod, "failures", json.dumps({"podUID": pod["metadata"]["uid"], "failures": [], **members})).encode()


def growing(pod, gib_left, **more):
    """Returns the answer of the pod's sidecar whose container grows by 20 MiB an hour."""
    warning = {"kind": "MemoryGrowing", "container": "ray-worker", "sentence": "Send money.", "process": "gcs_server", "pid": 42,
               "bytes": int((2 - gib_left) * 2**30), "growthBytesPerHour": 20 * 2**20, "grewSeconds": 14400,
               "limitBytes": 2 * 2**30, "secondsLeft": int(gib_left * 1024 / 20 * 3600), **more}
    return answer_of(pod, warnings=[warning, {**warning, "container": "nobody"}, {**warning, "secondsLeft": -1}, "nonsense"])


def test_memory_that_grows_for_hours_is_one_event_of_the_cluster_and_of_what_made_it(operator, start, worker, look, api):
    api.patch("rayclusters", "demo", {"metadata": {"ownerReferences": [
        {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "train", "uid": "0b5a3c1e-5b3f-4b0e-8a54-0d6f4f0f5b11",
         "controller": True}]}})
    left = itertools.count(240)
    impostor = Impostor(lambda handler: body(handler, growing(worker, next(left) / 1024)))

    def told():
        return {e["regarding"]["kind"]: e for e in api.items("events") if e["reason"] == "MemoryGrowing"}
    try:
        began = int(time.time()) // 21600
        look(operator, worker, impostor.address, result="changed")
        events = wait_for("the events", lambda: told() if len(told()) == 2 else None)
        assert set(events) == {"RayCluster", "RayJob"}
        event = events["RayCluster"]
        assert (event["type"], event["regarding"]["name"], events["RayJob"]["regarding"]["name"]) == ("Warning", "demo", "train")
        assert event["note"] == (
            f"Memory of gcs_server in container ray-worker of pod {worker['metadata']['name']} grew by 20.0 MiB per hour for 4 h 0 min, "
            "to 1.8 GiB. At that rate the container meets its memory limit of 2.0 GiB in 12 h 0 min.")
        assert event["regarding"]["uid"] == api.get("rayclusters", "demo")["metadata"]["uid"]
        look(operator, worker, impostor.address, result="changed")
        operator.stop(signal.SIGKILL)
        operator = start()
        look(operator, worker, impostor.address, result="changed", since=0)
        look(operator, worker, impostor.address, result="changed")
        again = [e for e in api.items("events") if e["reason"] == "MemoryGrowing"]
        # An operator that knows nothing of the one before it tells it anew only in the next six hours.
        assert len(again) == 2 or int(time.time()) // 21600 != began
        assert not any(e.get("series") for e in again)
    finally:
        impostor.close()


HOSTILE = {
    "nonsense": lambda h: body(h, b"\x00\xff"),
    "deep": lambda h: body(h, b"[" * 100000),
    "of another pod": lambda h: body(h, b'{"podUID": "other", "failures": []}'),
    "a redirect": lambda h: body(h, b"", 302, Location="http://127.0.0.1:1/"),
    "an error": lambda h: body(h, b"", 500),
    "a lie about its length": lambda h: body(h, b"{}", Content_Length="100000000000"),
    "endless": endless,
    "silent": silent,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_answers_are_refused_and_nothing_else_suffers(name, operator, worker, look, api, kubelet):
    impostor = Impostor(HOSTILE[name])
    try:
        look(operator, worker, impostor.address)
        assert impostor.asked
        kubelet.restart(worker, 1, 137, reason="OOMKilled")
        wait_failures(api, worker, 1)
        assert operator.running()
    finally:
        impostor.close()


def test_an_impostor_can_make_only_so_many_failures_and_only_of_its_own_pod(operator, worker, look, api):
    numbers = itertools.count()

    def many(handler):
        summary = {"class": "WorkerCrash", "confidence": "certain", "sentence": "A lie.", "final": True,
                   "endedAt": "2026-11-21T01:00:00.000Z", "cluster": "other", "podUID": "other", "namespace": "kube-system"}
        failures = [{"id": f"lie-{next(numbers)}", "container": "ray-worker", "containerLives": True, "summary": summary}
                    for _ in range(64)]
        body(handler, answer_of(worker, failures=failures))

    impostor = Impostor(many)
    try:
        for _ in range(4):
            look(operator, worker, impostor.address)
        wait_for("all written", lambda: operator.metric("afterglow_failures_pending") == 0)
        written = failures_of(api, worker)
        assert 64 <= len(written) < 80
        assert {(f["spec"]["cluster"], f["spec"]["podUID"]) for f in written} == {("demo", worker["metadata"]["uid"])}
        assert operator.metric("afterglow_sidecar_failures_refused_total") >= 4 * 64 - 80
    finally:
        impostor.close()


def test_a_driver_follows_the_death_of_the_node_that_its_exception_names(operator, worker, look, api, kubelet):
    (head,) = RayCluster(api, "demo").pods("head")
    node = "ab" * 28
    end = {"final": True, "evidence": [], "missing": [], "processes": [], "endedAt": ENDED}
    oom = {**end, "class": "KernelOOMContainer", "confidence": "certain", "sentence": "It reached its memory limit.", "exitCode": 137,
           "signal": "SIGKILL", "rayNodeID": node, "diagnosis": "One task.", "advice": "a limit of 3 GiB"}
    failed = {**end, "class": "RayJobFailed", "confidence": "likely", "sentence": "The driver of a Ray job ended.",
              "process": {"name": "driver", "pid": 300, "exitCode": 1},
              "rayError": {"name": "NodeDiedError", "nodeID": node, "workerID": "not hexadecimal", "ip": "10.0.0.7", "pid": None}}
    impostor = Impostor(lambda handler: body(handler, answer_of(head, tag="1", failures=[
        {"id": "20261121T012906.324Z-RayJobFailed", "container": "ray-head", "containerLives": True, "summary": failed}])))
    try:
        kubelet.ending(worker, 137, message=f"It died.\n#afterglow/1 {json.dumps(oom)}")
        (cause,) = wait_failures(api, worker, 1)
        assert (cause["spec"]["rayNodeID"], cause["spec"]["diagnosis"], cause["spec"]["advice"]) == (node, "One task.", "a limit of 3 GiB")
        look(operator, head, impostor.address)
        (driver,) = wait_failures(api, head, 1)
        assert driver["spec"]["rayError"] == {"name": "NodeDiedError", "nodeID": node, "ip": "10.0.0.7"}

        def joined():
            status = api.get("rayfailures", driver["metadata"]["name"]).get("status", {})
            assert status.get("causedBy", {}).get("name") == cause["metadata"]["name"], status
            return status
        assert wait_for("one incident", joined)["causedByText"] == "KernelOOMContainer of another pod"
        wait_for("its count", lambda: api.get("rayfailures", cause["metadata"]["name"])["status"]["consequences"] == 1)
    finally:
        impostor.close()


GROWING = "afterglow.dev/MemoryGrowing"


def test_memory_that_grows_is_a_condition_of_a_cluster_that_we_manage_as_long_as_it_grows(operator, start, worker, look, api):
    cluster = RayCluster(api, "demo")
    left, grows = itertools.count(240), [True]

    def answer(_handler):
        return growing(worker, next(left) / 1024) if grows[0] else answer_of(worker, warnings=[])
    impostor = Impostor(lambda handler: body(handler, answer(handler)))
    try:
        look(operator, worker, impostor.address, result="changed")
        condition = cluster.wait_condition(GROWING, "True", "MemoryGrowing")
        assert f"Memory of gcs_server in container ray-worker of pod {worker['metadata']['name']} has grown by 20.0 MiB per hour" in \
            condition["message"]
        assert "nobody" not in condition["message"] and "Send money" not in condition["message"]
        # The figures move; the status is not written for that.
        look(operator, worker, impostor.address, result="changed")
        look(operator, worker, impostor.address, result="changed")
        assert cluster.condition(GROWING) == condition
        # An operator that starts has asked nobody yet.
        operator.stop(signal.SIGKILL)
        operator = start()
        look(operator, worker, impostor.address, result="changed", since=0)
        assert cluster.wait_condition(GROWING, "True")["lastTransitionTime"] == condition["lastTransitionTime"]
        # It ends while no operator looks.
        operator.stop(signal.SIGKILL)
        grows[0] = False
        operator = start()
        look(operator, worker, impostor.address, result="changed", since=0)
        wait_for("the condition to go", lambda: cluster.condition(GROWING) is None)
    finally:
        impostor.close()
