# SPDX-License-Identifier: Apache-2.0
"""Another operator makes Ray pods, and a real API server asks the webhook about them."""

import base64
import shlex
import signal
import subprocess

import pytest

from conftest import wait_for
from apiserver.api import ApiError
from apiserver.conftest import BUILD, ROOT, group, ray_cluster
from apiserver.test_chart import named, only, rendered
from apiserver.webhook import HOST, SECRET, Webhook


@pytest.fixture
def webhook(api, start):
    made = Webhook(api, start)
    yield made
    made.close()


@pytest.fixture
def served(webhook):
    webhook.operator()
    webhook.wait_bundle()
    webhook.wait_works(ray_pod("probe"))
    return webhook


def ray_pod(name, cluster="demo", annotations=None, labels=None, **spec):
    """Returns a worker as KubeRay makes it."""
    return {"metadata": {"name": name, "annotations": annotations or {},
                         "labels": {"ray.io/is-ray-node": "yes", "ray.io/cluster": cluster, "ray.io/group": "small",
                                    "ray.io/node-type": "worker", **(labels or {})}},
            "spec": {"containers": [{"name": "ray-worker", "image": "ray:test", "command": ["/bin/bash", "-c", "--"],
                                     "args": ["ulimit -n 65536; ray start  --block "],
                                     "resources": {"limits": {"cpu": "1", "memory": "2Gi"}}}], **spec}}


def names(pod):
    return [c["name"] for c in pod["spec"]["containers"]]


def annotation(pod, name="afterglow.dev/sidecar"):
    return pod["metadata"].get("annotations", {}).get(name)


def test_a_ray_pod_gets_the_sidecar_and_says_so(api, served):
    pod = api.create("pods", ray_pod("worker"))
    assert names(pod) == ["ray-worker", "afterglow"]
    assert annotation(pod) == "added"
    ray = pod["spec"]["containers"][0]
    assert ray["args"][-1] == "ulimit -n 65536; ray start  --block " and ray["command"][:3] == ["/bin/bash", "--posix", "-c"]
    assert pod["status"]["qosClass"] == "Guaranteed"
    assert served.operators[0].metric("afterglow_admissions_total", kind="Pod", outcome="Changed") >= 1


def test_one_command_shows_that_the_api_server_asks_the_webhook(plane, api, served):
    # As docs/install.md has it: no pod is made.
    line = (ROOT / "docs/install.md").read_text(encoding="utf-8").split("kubectl -n NAMESPACE run ")[1].split("\n")[0]
    command = ["-n", api.namespace, "run", *shlex.split(line)]
    assert plane.kubectl(*command).split() == ["probe", "afterglow"]
    assert not api.items("pods")


def test_the_charts_test_asks_for_the_webhooks_certificate(plane, api, served, tmp_path):
    objects = rendered(plane)
    pod = only(objects, "Pod")["spec"]
    (volume,) = pod["volumes"]
    service = named(objects, "Service", "afterglow-webhook")
    url = f"https://afterglow-webhook.{service['metadata']['namespace']}.svc/"
    assert service["spec"]["ports"][0]["port"] == 443 and volume["secret"]["secretName"] == SECRET
    # The pod gets the CA of the Secret, and no key.
    (item,) = volume["secret"]["items"]
    path = tmp_path / item["path"]
    path.write_bytes(base64.b64decode(api.get("secrets", SECRET)["data"][item["key"]]))
    here = {url: f"https://{HOST}:{served.port}/", f"/ca/{item['path']}": str(path)}
    arguments = pod["containers"][1]["args"]
    assert set(here) < set(arguments)
    asked = subprocess.run([BUILD / "afterglow-operator", *(here.get(a, a) for a in arguments)], capture_output=True, text=True,
                           timeout=300, check=False)
    assert asked.returncode == 0 and "answers, with a certificate" in asked.stdout, asked
    assert not only(rendered(plane, "webhook.enabled=false"), "Pod")["spec"].get("volumes")


def test_a_pod_of_kuberay_says_whose_it_is(api, served):
    cluster = ray_cluster("owned", group("small"))
    cluster["metadata"]["labels"] = {"ray.io/originated-from-crd": "RayJob", "ray.io/originated-from-cr-name": "train"}
    api.create("rayclusters", cluster)
    wait_for("the cluster in the cache", lambda: annotation(
        api.request("POST", api.path("pods") + "?dryRun=All", ray_pod("dry", "owned")), "afterglow.dev/owner"), interval=0.1)
    assert annotation(api.create("pods", ray_pod("worker", "owned")), "afterglow.dev/owner") == "RayJob/train"


def test_pods_and_clusters_opt_out(api, served):
    assert names(api.create("pods", ray_pod("by-itself", annotations={"afterglow.dev/inject": "false"}))) == ["ray-worker"]
    cluster = ray_cluster("quiet", group("small"))
    cluster["metadata"]["annotations"] = {"afterglow.dev/inject": "false"}
    api.create("rayclusters", cluster)

    def left_alone():
        pod = api.request("POST", api.path("pods") + "?dryRun=All", ray_pod("dry", "quiet"))
        return names(pod) == ["ray-worker"] and annotation(pod) is None
    wait_for("pods of a cluster that opted out to be left alone", left_alone, interval=0.1)


def test_a_pod_that_cannot_have_the_sidecar_comes_without_and_says_why(api, served):
    pod = ray_pod("bare")
    del pod["spec"]["containers"][0]["command"]
    made = api.create("pods", pod)
    assert names(made) == ["ray-worker"] and annotation(made) == "none: NoCommand"
    pod = ray_pod("init")
    pod["spec"]["containers"][0]["command"] = ["/init"]
    made = api.create("pods", pod)
    assert made["spec"]["containers"][0]["command"] == ["/init"] and annotation(made) == "none: MustBeProcess1"
    pod = ray_pod("taken")
    pod["spec"]["containers"].append({"name": "afterglow", "image": "mine:1"})
    made = api.create("pods", pod)
    assert made["spec"]["containers"][1]["image"] == "mine:1" and annotation(made) == "none: NameTaken"
    assert served.operators[0].metric("afterglow_admissions_total", outcome="NameTaken") == 1


def test_a_proxy_in_front_does_not_get_the_launcher(api, served):
    pod = ray_pod("meshed")
    pod["spec"]["containers"].insert(0, {"name": "mesh-proxy", "image": "proxy:1", "command": ["proxy"]})
    made = api.create("pods", pod)
    proxy, ray, sidecar = made["spec"]["containers"]
    assert (proxy["command"], sidecar["name"], annotation(made)) == (["proxy"], "afterglow", "added")
    assert "afterglow-bin" in [m["name"] for m in ray["volumeMounts"]]
    del pod["spec"]["containers"][1]["command"], pod["spec"]["containers"][1]["args"]
    pod["metadata"]["name"], pod["spec"]["containers"][1]["name"] = "nobodys", "app"
    assert annotation(api.create("pods", pod)) == "none: NoRayContainer"


def test_budgets_are_set_only_where_a_policy_or_an_annotation_asks_for_them(api, served):
    assert served.operators

    def params(made):
        return {**made["spec"]["headGroupSpec"]["rayStartParams"], "worker": made["spec"]["workerGroupSpecs"][0]["rayStartParams"]}

    def cluster(name, **annotations):
        made = ray_cluster(name, group("small"))
        made["metadata"]["annotations"] = {f"afterglow.dev/{key}": value for key, value in annotations.items()}
        return made
    assert params(api.create("rayclusters", cluster("plain"))) == {"dashboard-host": "0.0.0.0", "num-cpus": "0", "worker": {}}
    assert "num-cpus" not in params(api.create("rayclusters", cluster("off", memory="off")))
    budget = {"memory": "1288699904", "object-store-memory": "643825664"}
    assert params(api.create("rayclusters", cluster("asked", memory="apply")))["worker"] == budget
    api.create("raypolicies", {"apiVersion": "afterglow.dev/v1alpha1", "kind": "RayPolicy", "metadata": {"name": "budgets"},
                               "spec": {"memory": {"budgets": "Apply"}}})
    wait_for("the policy to hold", lambda: params(api.request(
        "POST", api.path("rayclusters") + "?dryRun=All", cluster("dry")))["worker"] == budget, interval=0.1)
    api.create("rayclusters", cluster("by-policy"))
    # What was set stays with the cluster when nobody asks for it any more.
    api.delete("raypolicies", "budgets")
    wait_for("the policy to be gone", lambda: params(api.request(
        "POST", api.path("rayclusters") + "?dryRun=All", cluster("dry")))["worker"] == {}, interval=0.1)
    replaced = api.get("rayclusters", "by-policy")
    replaced["spec"] = cluster("x")["spec"]
    assert params(api.request("PUT", api.path("rayclusters", "by-policy"), replaced))["worker"] == budget


@pytest.mark.parametrize("rule, refusal, memory", [
    ({"maxLimitRequestRatio": {"memory": "4"}}, "max limit to request ratio", {"requests": "64Mi", "limits": "256Mi"}),
    ({"max": {"memory": "128Mi"}}, "maximum memory usage", {"requests": "16Mi", "limits": "128Mi"}),
    ({"min": {"memory": "64Mi"}}, "minimum memory usage", {"requests": "64Mi", "limits": "256Mi"}),
])
def test_a_sidecar_keeps_what_a_limit_range_says_of_a_container(api, served, rule, refusal, memory):
    api.create("limitranges", {"metadata": {"name": "rule"}, "spec": {"limits": [{"type": "Container", **rule}]}})
    pod = ray_pod("bounded")
    pod["spec"]["containers"][0]["resources"] = {"requests": {"memory": "64Mi"}, "limits": {"memory": "128Mi"}}

    def it_keeps_the_rule():
        # Until the operator has seen the LimitRange, the API server refuses the pod.
        try:
            made = api.request("POST", api.path("pods") + "?dryRun=All", pod)
        except ApiError as e:
            assert refusal in str(e)
            return None
        resources = made["spec"]["containers"][1]["resources"]
        return {kind: resources[kind]["memory"] for kind in memory} == memory
    try:
        wait_for("a sidecar that keeps the rule", it_keeps_the_rule, interval=0.1)
        assert names(api.create("pods", pod)) == ["ray-worker", "afterglow"]
    finally:
        api.delete("limitranges", "rule")
    assert served.operators[0].running()


def test_another_pod_is_none_of_our_business(api, served):
    made = api.create("pods", ray_pod("other", labels={"ray.io/is-ray-node": "no"}))
    assert names(made) == ["ray-worker"] and annotation(made) is None
    assert served.operators[0].metric("afterglow_admissions_total", kind="Pod") == \
        served.operators[0].metric("afterglow_admissions_total", kind="Pod", outcome="Changed")


def test_a_pod_for_which_it_is_called_twice_gets_one_sidecar(api, served):
    again = {**served.configuration(), "metadata": {"name": f"{served.name}-again"}}
    api.create("mutatingwebhookconfigurations", again)
    try:
        # The API server takes up the second configuration a little later.
        wait_for("the second call", lambda: api.request("POST", api.path("pods") + "?dryRun=All", ray_pod("dry")) and
                 served.operators[0].metric("afterglow_admissions_total", outcome="Present"), interval=0.1)
        pod = api.create("pods", ray_pod("worker"))
    finally:
        api.delete("mutatingwebhookconfigurations", again["metadata"]["name"])
    assert names(pod) == ["ray-worker", "afterglow"] and annotation(pod) == "added"


def test_a_claim_is_mounted_only_where_it_exists(api, webhook):
    webhook.operator("--store-claim", "failures")
    webhook.wait_bundle()
    webhook.wait_works(ray_pod("probe"))
    before = api.create("pods", ray_pod("before"))
    assert "does not exist" in annotation(before, "afterglow.dev/sidecar-notes")
    assert not [v for v in before["spec"]["volumes"] if v["name"] == "afterglow-store"]
    api.create("persistentvolumeclaims", {"metadata": {"name": "failures"}, "spec": {
        "accessModes": ["ReadWriteMany"], "storageClassName": "later", "resources": {"requests": {"storage": "1Gi"}}}})
    wait_for("the claim to be mounted", lambda: [v for v in api.request(
        "POST", api.path("pods") + "?dryRun=All", ray_pod("dry"))["spec"]["volumes"] if v["name"] == "afterglow-store"],
        interval=0.1)


def test_a_namespace_that_refuses_the_sidecar_gets_the_pod_without_it(api, served):
    """Creates the pod again and again, as KubeRay does."""
    api.create("limitranges", {"metadata": {"name": "small-only"}, "spec": {"limits": [
        {"type": "Pod", "max": {"memory": "2Gi"}}]}})

    api.create("rayclusters", ray_cluster("demo", group("small")))

    def comes():
        try:
            return api.create("pods", ray_pod("worker"))
        except ApiError as error:
            assert error.status == 403 and "maximum memory usage per Pod is 2Gi" in str(error)
            say_refused(api, "demo", str(error))
            return None
    pod = wait_for("the pod to be let in", comes, timeout=60, interval=1)
    assert names(pod) == ["ray-worker"] and annotation(pod) == "none: Refused"
    # A group that was not refused yet is tried with it.
    with pytest.raises(ApiError, match="maximum memory usage"):
        api.create("pods", ray_pod("other", cluster="other"))


def test_a_sidecar_gets_the_cpu_limit_that_a_quota_asks_for(api, served):
    api.create("rayclusters", ray_cluster("demo", group("small")))
    pod = ray_pod("worker")
    pod["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "100m"}

    def dry():
        return api.request("POST", api.path("pods") + "?dryRun=All", pod)["spec"]["containers"][1]["resources"]
    assert "cpu" not in dry()["limits"]
    say_refused(api, "demo", "failed quota: q: must specify limits.cpu for: afterglow")
    wait_for("a CPU limit", lambda: dry()["limits"].get("cpu") == "100m", interval=0.1)
    assert dry()["requests"]["cpu"] == "10m"


def say_refused(api, cluster, why):
    """Says in the RayCluster's status, as KubeRay does, that a pod was refused."""
    api.patch("rayclusters", cluster, {"status": {"conditions": [
        {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreateWorkerPod", "message": why[:1000],
         "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}, "status")


def test_an_image_that_cannot_be_pulled_leaves_the_next_pods_without_the_sidecar(api, served):
    pod = api.create("pods", ray_pod("stuck"))
    waiting = {"waiting": {"reason": "ImagePullBackOff"}}
    statuses = [{"name": n, "image": "i", "imageID": "", "ready": False, "restartCount": 0,
                 "state": waiting if n == "afterglow" else {"running": {}}} for n in names(pod)]
    api.patch("pods", "stuck", {"status": {"phase": "Pending", "containerStatuses": statuses}}, "status")
    wait_for("pods to come without it", lambda: annotation(api.request(
        "POST", api.path("pods") + "?dryRun=All", ray_pod("dry"))) == "none: ImageUnavailable", interval=0.1)
    statuses[1]["state"] = {"running": {}}
    api.patch("pods", "stuck", {"status": {"phase": "Running", "containerStatuses": statuses}}, "status")
    served.wait_works(ray_pod("again"))


def test_an_image_without_a_shell_leaves_the_next_pods_as_they_are(api, served):
    def shell_less(name):
        pod = ray_pod(name)
        pod["spec"]["containers"][0].update(image="app:1", command=["/app"])
        return pod
    pod = api.create("pods", shell_less("stuck"))
    ended = {"reason": "StartError", "exitCode": 128, "message": "failed to create containerd task: unable to start container "
             "process: exec: \"/bin/sh\": stat /bin/sh: no such file or directory: unknown"}
    statuses = [{"name": n, "image": "i", "imageID": "", "ready": False, "restartCount": 0,
                 "state": {"terminated": ended} if n == "ray-worker" else {"running": {}}} for n in names(pod)]
    api.patch("pods", "stuck", {"status": {"phase": "Running", "containerStatuses": statuses}}, "status")

    def comes_as_it_is():
        made = api.request("POST", api.path("pods") + "?dryRun=All", shell_less("dry"))
        return annotation(made) == "none: NoShell" and made["spec"]["containers"][0]["command"] == ["/app"]
    wait_for("pods of that image to come as they are", comes_as_it_is, interval=0.1)
    # Other images have theirs.
    served.wait_works(ray_pod("other"))


def test_pods_come_while_no_replica_is_there(api, served):
    served.operators[0].stop(signal.SIGKILL)
    assert names(api.create("pods", ray_pod("alone"))) == ["ray-worker"]


def test_pods_come_while_the_replica_hangs(api, served):
    served.operators[0].send(signal.SIGSTOP)
    try:
        assert names(api.create("pods", ray_pod("patient"))) == ["ray-worker"]
    finally:
        served.operators[0].send(signal.SIGCONT)
    served.wait_works(ray_pod("again"))


def test_a_replica_that_does_not_act_serves_with_the_same_certificate(api, webhook):
    first = webhook.operator("--leader-elect")
    bundles = webhook.wait_bundle()
    webhook.wait_works(ray_pod("probe"))
    second = webhook.operator("--leader-elect")
    assert first.metric("leader_election_master_status") == 1 and second.metric("leader_election_master_status") == 0
    webhook.point_at(second)
    webhook.wait_works(ray_pod("second"))
    assert webhook.bundles() == bundles


@pytest.mark.long
def test_a_replica_is_not_ready_before_the_api_server_knows_its_ca(api, served):
    """After a new installation the Secret may still be there, and the new configuration has no caBundle yet."""
    served.operators[0].stop(signal.SIGTERM)
    config = served.configuration()
    for hook in config["webhooks"]:
        hook["clientConfig"].pop("caBundle")
    api.request("PUT", api.path("mutatingwebhookconfigurations", served.name), config)
    # Nobody acts: another one holds the Lease for a while.
    api.create("leases", {"metadata": {"name": f"afterglow-operator.{api.namespace}"}, "spec": {
        "holderIdentity": "somebody", "leaseDurationSeconds": 15, "acquireTime": "2026-01-01T00:00:00.000000Z",
        "renewTime": "2026-01-01T00:00:00.000000Z", "leaseTransitions": 1}})
    operator = served.operator("--leader-elect", ready=False)
    wait_for("the certificate to be served", lambda: "does not know its CA yet" in operator.http("/readyz")[1], interval=0.1)
    assert operator.http("/readyz")[0] == 503
    wait_for("the replica to act and be ready", lambda: operator.http("/readyz")[0] == 200, timeout=60, interval=0.2)
    assert all(served.bundles())


@pytest.mark.long
def test_a_secret_that_was_deleted_and_a_ca_bundle_that_was_emptied_come_back(api, served):
    """This is one test, because the operator looks at both every 30 s."""
    before = api.get("secrets", SECRET)
    api.delete("secrets", SECRET)
    # No admission fails for want of the Secret.
    for n in range(5):
        assert names(api.create("pods", ray_pod(f"meanwhile-{n}"))) == ["ray-worker", "afterglow"]
    config = served.configuration()
    for hook in config["webhooks"]:
        hook["clientConfig"].pop("caBundle")
    api.request("PUT", api.path("mutatingwebhookconfigurations", served.name), config)

    def is_back():
        try:
            return api.get("secrets", SECRET)["metadata"]["uid"] != before["metadata"]["uid"]
        except ApiError as error:
            assert error.status == 404
            return False
    wait_for("the caBundle", lambda: all(served.bundles()), timeout=120, interval=0.5)
    wait_for("the Secret", is_back, timeout=120, interval=0.5)
    served.wait_works(ray_pod("again"))


def test_a_burst_of_pods_all_get_the_sidecar(api, served):
    for n in range(100):
        assert names(api.create("pods", ray_pod(f"burst-{n}"))) == ["ray-worker", "afterglow"]
