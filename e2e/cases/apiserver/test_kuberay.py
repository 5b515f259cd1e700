# SPDX-License-Identifier: Apache-2.0
"""
This operator makes the same RayClusters as KubeRay's did for e2e/kuberay/recorded.json (make kuberay-compare): every
place where the two differ is a row of e2e/kuberay/differences.yaml, and every row is of use.
"""

import json
import os
import pathlib

import pytest

from apiserver import kuberay
from apiserver.conftest import Operators, empty, new_namespace, settle_with_events
from apiserver.kubelet import Kubelet

SAMPLES = os.environ.get("AFTERGLOW_KUBERAY_SAMPLES")
RECORDED = pathlib.Path(os.environ.get("AFTERGLOW_KUBERAY_RECORDED", kuberay.FOLDER / "recorded.json"))
RECORD = json.loads(RECORDED.read_text(encoding="utf-8"))
THEIRS = kuberay.unpack(RECORD["clusters"])
TABLE = kuberay.Table()
pytestmark = pytest.mark.xdist_group("kuberay")  # one performance for all


@pytest.fixture(name="ours", scope="module")
def played(plane, tmp_path_factory):
    """What this operator makes of the clusters."""
    usual, login = kuberay.scenes(SAMPLES)
    done = play(plane, tmp_path_factory.mktemp("kuberay"), usual)
    if login:
        done.facts |= play(plane, tmp_path_factory.mktemp("kuberay-login"), login, "loginShell: true\n").facts
    return done


def play(plane, directory, scene, config=""):
    api = new_namespace(plane, "kuberay")
    operators = Operators(plane, api.namespace, directory)
    (directory / "config.yaml").write_text(config, encoding="utf-8")
    try:
        operator = operators("--config", directory / "config.yaml")
        return kuberay.Play(api, lambda: settle_with_events(operator, api, Kubelet(api))).play(scene)
    finally:
        operators.close()
        empty(api)


@pytest.mark.parametrize("name", THEIRS)
def test_a_cluster_comes_out_as_kuberay_makes_it(ours, name):
    found = [f"{place}\n    KubeRay: {a!r}\n    ours:    {b!r}" for place, a, b in
             kuberay.differences(THEIRS[name], ours.facts[name]) if not TABLE.explains(name, place)]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("name", RECORD["refused"])
def test_what_kuberay_refuses_is_refused_for_the_same_reason(ours, name):
    theirs, answer = RECORD["refused"][name], ours.answers[name]
    found = [f"{place}: KubeRay {a!r}, ours {b!r}" for place, a, b in
             kuberay.differences(theirs, {k: v for k, v in answer.items() if k in theirs})
             if not TABLE.explains(name, f"refused.{place}")]
    assert not found, f"{found}, {answer}"


def test_users_are_told_each_reason():
    told = (kuberay.FOLDER.parents[1] / "docs/raycluster.md").read_text(encoding="utf-8")
    assert not [row["why"] for row in TABLE.rows if row["why"] not in told]


@pytest.mark.skipif(bool(SAMPLES), reason="samples do not show all differences")
def test_every_row_of_the_table_explains_a_difference(ours):
    for name, facts in THEIRS.items():
        for place, _, _ in kuberay.differences(facts, ours.facts[name]):
            TABLE.explains(name, place)
    for name, theirs in RECORD["refused"].items():
        for place, _, _ in kuberay.differences(theirs, ours.answers[name]):
            TABLE.explains(name, f"refused.{place}")
    assert not TABLE.unused()
