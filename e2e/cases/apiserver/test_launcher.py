# SPDX-License-Identifier: Apache-2.0
"""The operator keeps a ConfigMap with the launchers in each namespace with Ray, no matter which operator makes the pods."""

import base64
import hashlib
import re
import uuid

import pytest

from conftest import wait_for
from apiserver.api import ApiError
from apiserver.conftest import group
from apiserver.webhook import Webhook

NAME = "afterglow-launch"


class Launchers:
    """A directory of launchers, and the keys that their content gives them."""

    def __init__(self, directory):
        self.directory = directory
        directory.mkdir()

    def put(self, machine, content):
        (self.directory / machine).write_bytes(content)
        return f"launch-{machine}-{hashlib.sha256(content).hexdigest()[:16]}"

    @property
    def option(self):
        return ("--launcher", self.directory)


@pytest.fixture(name="launchers")
def two_machines(tmp_path):
    return Launchers(tmp_path / "launchers")


def content(api):
    try:
        return api.get("configmaps", NAME).get("binaryData") or {}
    except ApiError as error:
        assert error.status == 404
        return {}


def wait_content(api, wanted):
    def same():
        return {k: base64.b64decode(v) for k, v in content(api).items()} == wanted
    wait_for("the launchers", same, interval=0.05)


def items_of(pod):
    (volume,) = [v for v in pod["spec"]["volumes"] if v["name"] == "afterglow-bin"]
    assert volume["configMap"]["name"] == NAME and volume["configMap"]["optional"]
    assert volume["configMap"]["defaultMode"] == 0o555
    return {i["key"]: i["path"] for i in volume["configMap"]["items"]}


def foreign_pod(api, key=None):
    """Makes a Ray pod as KubeRay does; with a launcher, if it is given one."""
    spec = {"containers": [{"name": "ray-worker", "image": "ray:test"}]}
    if key:
        spec["volumes"] = [{"name": "afterglow-bin", "configMap": {
            "name": NAME, "optional": True, "items": [{"key": key, "path": "afterglow-launch"}]}}]
    return api.create("pods", {"metadata": {"name": f"foreign-{uuid.uuid4().hex[:5]}", "labels": {"ray.io/is-ray-node": "yes",
                                                                       "ray.io/cluster": "theirs"}}, "spec": spec})


def test_pods_name_the_launchers_by_content_and_their_command_the_whole_sum(start, launchers, make, api):
    amd, arm = launchers.put("x86_64", b"amd"), launchers.put("aarch64", b"arm")
    start(*launchers.option)
    (head,), _ = make("demo", group("small")).wait_pods(1, 1)
    assert items_of(head) == {amd: "afterglow-launch", arm: "afterglow-launch-aarch64"}
    for machine in (b"amd", b"arm"):
        assert f"afterglow_sum={hashlib.sha256(machine).hexdigest()};;" in head["spec"]["containers"][0]["command"][-2]
    # It was there before them.
    assert {k: base64.b64decode(v) for k, v in content(api).items()} == {amd: b"amd", arm: b"arm"}


def test_another_release_adds_its_launcher_and_leaves_those_that_pods_refer_to(start, launchers, make, api):
    old = launchers.put("x86_64", b"old")
    first = start(*launchers.option)
    cluster = make("demo")
    (head,), _ = cluster.wait_pods(1, 0)
    first.stop()
    new = launchers.put("x86_64", b"new")
    second = start(*launchers.option)
    wait_content(api, {old: b"old", new: b"new"})
    second.stop()
    # A rollback finds its own, and removes nothing either.
    launchers.put("x86_64", b"old")
    start(*launchers.option)
    wait_content(api, {old: b"old", new: b"new"})
    assert [p["metadata"]["uid"] for p in cluster.pods()] == [head["metadata"]["uid"]]


@pytest.mark.parametrize("what", [{"binaryData": "ZXZpbA=="}, {"binaryData": None}, {"binaryData": None, "data": "evil"}])
def test_a_launcher_that_was_tampered_with_is_repaired_and_other_keys_stay(start, launchers, api, what):
    key = launchers.put("x86_64", b"right")
    api.create("configmaps", {"metadata": {"name": NAME}, "binaryData": {"mine": "AAAA"}})
    api.patch("configmaps", NAME, {place: {key: value} for place, value in what.items()})
    foreign_pod(api)
    start(*launchers.option)
    wait_content(api, {key: b"right", "mine": b"\0\0\0"})
    assert not api.get("configmaps", NAME).get("data")


@pytest.fixture(name="webhook")
def webhook_of_the_namespace(api, start):
    made = Webhook(api, start)
    yield made
    made.close()


def test_where_another_operator_makes_the_pods_the_launchers_come_with_the_cluster(webhook, launchers, make, api):
    key = launchers.put("x86_64", b"amd")
    operator = webhook.operator(*launchers.option)
    assert content(api) == {}
    make("demo")
    wait_content(api, {key: b"amd"})
    # Another reader may see the ConfigMap before the operator has its answer and writes its line.
    wait_for("the line", lambda: "created the ConfigMap" in operator.text())
    assert operator.text().count("created the ConfigMap") == 1


def test_who_cannot_write_it_says_so_once_and_ray_runs_all_the_same(start, launchers, make, api):
    launchers.put("x86_64", b"amd")
    # A ConfigMap that cannot be changed is as good as no right to.
    api.create("configmaps", {"metadata": {"name": NAME}, "immutable": True})
    operator = start(*launchers.option)
    make("demo", group("small")).wait_pods(1, 1)
    make("other", group("small")).wait_pods(1, 1)
    wait_for("the line", lambda: "cannot be kept, so Ray pods may run without the launcher" in operator.text())
    assert len(re.findall("cannot be kept, so Ray pods may run without the launcher", operator.text())) == 1
