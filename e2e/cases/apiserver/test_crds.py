# SPDX-License-Identifier: Apache-2.0
"""The CRDs agree with the table that they are made from, and keep the rules of structural schemas."""
import json
import pathlib
import re

import yaml

ROOT = pathlib.Path(__file__).parents[3]
POLICIES = ("afterglow.dev_raypolicies.yaml", "afterglow.dev_clusterraypolicies.yaml")
ALL = ("afterglow.dev_rayfailures.yaml", "ray.io_rayclusters.yaml", *POLICIES)


def crd(name):
    return yaml.safe_load((ROOT / "crds" / name).read_text())


def version(definition):
    (only,) = definition["spec"]["versions"]
    return only


def schema(definition):
    return version(definition)["schema"]["openAPIV3Schema"]


def test_every_class_of_the_table_is_in_the_enum_in_its_order():
    table = (ROOT / "lib" / "failure_class.def").read_text()
    names = re.findall(r'^FAILURE_CLASS(?:_OF_CONTAINER)?\(\w+, "(\w+)"', table, re.M)
    spec = schema(crd("afterglow.dev_rayfailures.yaml"))["properties"]["spec"]
    assert names
    assert spec["properties"]["class"]["enum"] == names


def test_everybody_who_ends_pods_is_in_the_enum_in_the_order_of_the_table():
    table = (ROOT / "operator" / "failures" / "ended_by.def").read_text()
    names = re.findall(r'^ENDED_BY\(\w+, "(\w+)"', table, re.M)
    spec = schema(crd("afterglow.dev_rayfailures.yaml"))["properties"]["spec"]
    assert names
    assert spec["properties"]["endedBy"]["properties"]["kind"]["enum"] == names


def test_the_documentation_tells_of_every_class_in_its_order_and_by_which_file_it_was_shown():
    table = (ROOT / "lib" / "failure_class.def").read_text()
    names = re.findall(r'^FAILURE_CLASS(?:_OF_CONTAINER)?\(\w+, "(\w+)"', table, re.M)
    rows = re.findall(r"^\| (\w+) \|.*\| (.*) \|$", (ROOT / "docs" / "failure-classes.md").read_text(), re.M)
    assert [name for name, _ in rows if name != "class"] == names
    for name, shown in rows:
        files = re.findall(r"`([\w/.]+)`", shown)
        assert name == "class" or files or shown.startswith("not "), name
        assert [f for f in files if not (ROOT / f).exists()] == [], name
        # What is said to be shown somewhere is spoken of there.
        for file in files:
            constant = re.search(rf'^FAILURE_CLASS(?:_OF_CONTAINER)?\((\w+), "{name}"', table, re.M).group(1)
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

    for name in ALL:
        walk(schema(crd(name)), name)


def test_printer_columns_read_members_that_exist():
    for name in ALL:
        definition = crd(name)
        for column in version(definition)["additionalPrinterColumns"]:
            node = schema(definition)
            for member in re.sub(r"\[.*\]", "", column["jsonPath"]).lstrip(".").split("."):
                if member == "metadata":
                    break
                node = node["properties"][member] if "properties" in node else node["items"]["properties"][member]


def test_a_cluster_written_for_kuberay_uses_known_members_only():
    cluster = yaml.safe_load((ROOT / "operator/raycluster/testdata/cluster.yaml").read_text())
    spec = schema(crd("ray.io_rayclusters.yaml"))["properties"]["spec"]["properties"]
    assert set(cluster["spec"]) <= set(spec)
    assert set(cluster["spec"]["headGroupSpec"]) <= set(spec["headGroupSpec"]["properties"])
    for group in cluster["spec"]["workerGroupSpecs"]:
        assert set(group) <= set(spec["workerGroupSpecs"]["items"]["properties"])


# --- Policies --------------------------------------------------------------------------------------------------

def policy_keys():
    """Returns the rows of operator/policy/policy_keys.def that policy objects have, by their field."""
    table = (ROOT / "operator/policy/policy_keys.def").read_text()
    text = r'"((?:[^"\\]|\\.)*)"'
    keys = re.findall(rf'^POLICY_KEY\((\w+), (\w+|"\w+"), (NULL|"[\w.]+"), (\w+), ([\w.]+), ([\d.]+), ([\d.]+),\n\t{text}\)$', table, re.M)
    parts = re.findall(rf'^POLICY_FIELD\((\w+), ("[\w.]+"), (\w+), ([\d.]+), ([\d.]+),\n\t{text}\)$', table, re.M)
    assert len(keys) + len(parts) == len(re.findall(r"^POLICY_(?:KEY|FIELD)\(", table, re.M))
    rows = {field.strip('"'): (kind, float(low), float(high), wants) for _, _, field, kind, _, low, high, wants in keys}
    rows |= {field.strip('"'): (kind, float(low), float(high), wants) for _, field, kind, low, high, wants in parts}
    del rows["NULL"]
    return {field: (*row[:3], row[3].replace('\\"', '"')) for field, row in rows.items()}


def leaves(node, path, known):
    """Returns the fields of a schema that the table has or should have."""
    for name, child in node.get("properties", {}).items():
        field = f"{path}.{name}" if path else name
        if "properties" in child and field not in known:
            yield from leaves(child, field, known)
        else:
            yield field, child


WORDS = {"MEMORY_MODE": ["Apply", "Warn", "Off"], "CORE_DUMPS": ["Summary", "Off", "Full"], "STORE_TYPE": ["claim", "s3", "azure", "webhdfs"],
         "ENCRYPTION": ["AES256", "aws:kms", "aws:kms:dsse"]}


def check_field(field, node, kind, low, high, wants):
    messages = [rule["message"] for rule in node.get("x-kubernetes-validations", [])]
    if kind == "BOOLEAN":
        assert node["type"] == "boolean", field
    elif kind in WORDS:
        assert sorted(node["enum"]) == sorted(WORDS[kind]) and sorted(re.findall(r"[\w:]+", wants.replace(" or ", " "))) == sorted(WORDS[kind]), field
    elif kind in ("NUMBER", "INTEGER", "COUNT"):
        assert node["type"] == ("number" if kind == "NUMBER" else "integer"), field
        assert (node["minimum"], node["maximum"]) == (low, high), field
        assert all(f"{bound:g}" in wants or str(int(bound)) in wants for bound in (low, high)), field
    elif kind == "HOOKS":
        assert {c["maxItems"] for c in node["properties"].values()} == {high} and set(node["properties"]) == {"atThreshold", "atDeath"}
    elif kind == "RESOURCES":
        assert {c["maxProperties"] for c in node["properties"].values()} == {high} and set(node["properties"]) == {"requests", "limits"}
    else:
        # All others are texts, which the API server would only call "not matching": the words are the table's.
        assert messages == [f"must be {wants}"], field
        assert node["maxLength"] == high and node.get("minLength", 0) >= low, field
        assert node.get("type") == "string" or kind in ("QUANTITY", "CPUS"), field


def test_policies_have_the_fields_bounds_and_words_of_the_operators_table():
    table = policy_keys()
    assert len(table) > 30
    for name in POLICIES:
        spec = schema(crd(name))["properties"]["spec"]
        fields = dict(leaves(spec, "", table))
        others = {"selector", "namespaceSelector", "locked"} if "cluster" in name else {"selector"}
        assert {f for f in fields if f.split(".")[0] not in others} == set(table), name
        for field, row in table.items():
            check_field(field, fields[field], *row)


def test_a_cluster_policy_is_a_policy_with_a_namespace_selector_and_locks():
    one, all_of_them = (schema(crd(name))["properties"]["spec"]["properties"] for name in POLICIES)
    assert set(all_of_them) - set(one) == {"namespaceSelector", "locked"}
    assert all(all_of_them[name] == one[name] for name in one)
    assert sorted(all_of_them["locked"]["items"]["enum"]) == sorted(set(one) - {"selector"})


def test_the_defaults_of_policies_are_the_charts():
    values = yaml.safe_load((ROOT / "charts/afterglow/values.yaml").read_text())
    recording = {**values["sidecar"], **values["recording"]}
    spec = schema(crd(POLICIES[0]))["properties"]["spec"]["properties"]
    for block, ours in (("memory", values["memory"]), ("recording", recording), ("retention", values["retention"])):
        for name, node in spec[block]["properties"].items():
            if "default" in node:
                assert node["default"] == ours[name], f"{block}.{name}"
    assert spec["recording"]["properties"]["kernelLog"]["properties"]["enabled"]["default"] == recording["kernelLog"]["enabled"]


# --- The chart, which passes an option of each key ------------------------------------------------------------------

# Not the chart's: what is not recorded has no sidecar.
NOT_OF_THE_CHART = {"recordingEnabled"}


def chart_value(root, field):
    """Returns the schema of a value of the chart; None: the chart has none of that name."""
    node = root
    for name in field.split("."):
        node = node.get("properties", {}).get(name)
        while node and "$ref" in node:
            node = root["definitions"][node["$ref"].rsplit("/", 1)[1]]
        if node is None:
            return None
    return node


def test_the_charts_template_gives_the_operator_every_key_of_the_table_and_no_other():
    table = (ROOT / "operator/policy/policy_keys.def").read_text()
    template = (ROOT / "charts/afterglow/templates/_config.tpl").read_text()
    keys = set(re.findall(r'^POLICY_KEY\(\w+, "(\w+)"', table, re.M))
    assert set(re.findall(r"^(\w+):", template, re.M)) == keys - NOT_OF_THE_CHART


def test_the_charts_values_have_the_fields_and_bounds_of_the_table():
    root = json.loads((ROOT / "charts/afterglow/values.schema.json").read_text())
    for field, (kind, low, high, _) in policy_keys().items():
        # What is of the sidecar alone stands there in the chart.
        node = chart_value(root, field) or chart_value(root, field.replace("recording.", "sidecar."))
        if field == "recording.enabled":
            continue
        assert node, f"the chart has no value {field}"
        if kind == "BOOLEAN":
            assert node["type"] == "boolean", field
        elif kind in WORDS:
            assert sorted(filter(None, node["enum"])) == sorted(WORDS[kind]), field
        elif kind in ("NUMBER", "INTEGER", "COUNT"):
            assert (node["minimum"], node["maximum"]) == (low, high), field
        elif kind not in ("HOOKS", "RESOURCES"):
            assert node["maxLength"] == high, field
