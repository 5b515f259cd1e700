# SPDX-License-Identifier: Apache-2.0
"""The CRDs against the table they are made from, and against the structural schema's own rules."""
import pathlib
import re

import yaml

ROOT = pathlib.Path(__file__).parents[3]


def crd(name):
    return yaml.safe_load((ROOT / "crds" / name).read_text())


def version(definition):
    (only,) = definition["spec"]["versions"]
    return only


def schema(definition):
    return version(definition)["schema"]["openAPIV3Schema"]


def test_every_class_of_the_table_is_in_the_enum_in_its_order():
    table = (ROOT / "lib" / "failure_class.def").read_text()
    names = re.findall(r'^FAILURE_CLASS\(\w+, "(\w+)"', table, re.M)
    spec = schema(crd("afterglow.dev_rayfailures.yaml"))["properties"]["spec"]
    assert names
    assert spec["properties"]["class"]["enum"] == names


def test_the_documentation_tells_of_every_class_in_its_order_and_by_which_file_it_was_shown():
    table = (ROOT / "lib" / "failure_class.def").read_text()
    names = re.findall(r'^FAILURE_CLASS\(\w+, "(\w+)"', table, re.M)
    rows = re.findall(r"^\| (\w+) \|.*\| (.*) \|$", (ROOT / "docs" / "failure-classes.md").read_text(), re.M)
    assert [name for name, _ in rows if name != "class"] == names
    for name, shown in rows:
        files = re.findall(r"`([\w/.]+)`", shown)
        assert name == "class" or files or shown.startswith("not "), name
        assert [f for f in files if not (ROOT / f).exists()] == [], name
        # What is said to be shown somewhere is spoken of there.
        for file in files:
            constant = re.search(rf'^FAILURE_CLASS\((\w+), "{name}"', table, re.M).group(1)
            text = (ROOT / file).read_text()
            assert name in text or f"FAILURE_{constant}" in text, f"{file} does not speak of {name}"


def test_every_schema_is_structural():
    def walk(node, path):
        if node.get("x-kubernetes-int-or-string"):
            return
        assert "type" in node, path
        for name, child in node.get("properties", {}).items():
            walk(child, f"{path}.{name}")
        if isinstance(node.get("additionalProperties"), dict):
            walk(node["additionalProperties"], path + ".*")
        if node["type"] == "array":
            walk(node["items"], path + "[]")

    for name in ("afterglow.dev_rayfailures.yaml", "ray.io_rayclusters.yaml"):
        walk(schema(crd(name)), name)


def test_printer_columns_read_members_that_exist():
    for name in ("afterglow.dev_rayfailures.yaml", "ray.io_rayclusters.yaml"):
        definition = crd(name)
        for column in version(definition)["additionalPrinterColumns"]:
            node = schema(definition)
            for member in column["jsonPath"].lstrip(".").split("."):
                if member == "metadata":
                    break
                node = node["properties"][member]


def test_a_cluster_written_for_kuberay_uses_known_members_only():
    cluster = yaml.safe_load((ROOT / "operator/raycluster/testdata/cluster.yaml").read_text())
    spec = schema(crd("ray.io_rayclusters.yaml"))["properties"]["spec"]["properties"]
    assert set(cluster["spec"]) <= set(spec)
    assert set(cluster["spec"]["headGroupSpec"]) <= set(spec["headGroupSpec"]["properties"])
    for group in cluster["spec"]["workerGroupSpecs"]:
        assert set(group) <= set(spec["workerGroupSpecs"]["items"]["properties"])
