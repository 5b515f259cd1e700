#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""chart_readme.py [--check]: writes charts/afterglow/README.md from the comments of values.yaml.

With --check it writes nothing, and exits 1 if the file is not what it would write, or if a value has no comment of its own and
none above it.
"""
import pathlib
import re
import sys

CHART = pathlib.Path(__file__).parent.parent / "charts/afterglow"
HEAD = """# The Afterglow chart

It installs the operator, the webhook and the CRDs. [docs/install.md](../../docs/install.md) leads through an installation,
[docs/monitoring.md](../../docs/monitoring.md) through metrics, alerts and dashboards.

    helm install afterglow charts/afterglow --namespace afterglow-system --create-namespace \\
        --set image.repository=REGISTRY/afterglow-operator --set sidecar.image.repository=REGISTRY/afterglow-sidecar
    helm test afterglow --namespace afterglow-system

The sections below are the values with their defaults; `tools/chart_readme.py` writes them from the comments of `values.yaml`. A wrong
name or type is refused before anything is installed (`values.schema.json`).
"""


class Value:
    def __init__(self, path, depth, default, comment):
        self.path, self.depth, self.default, self.comment = path, depth, default, comment
        self.has_children = False


def values(text):
    """The values in their order. A comment belongs to the key below it."""
    found, above, comment = [], [], []
    for line in text.splitlines():
        key = re.match(r"( *)([A-Za-z][\w./-]*): *(.*)$", line)
        if re.match(r" *#", line):
            comment.append(re.sub(r"^ *# ?", "", line))
        elif re.match(r" *- ", line):
            found[-1].default = "see `values.yaml`"
            comment = []
        elif key:
            depth = len(key[1]) // 2
            # What stands below an item of a list is no value of its own.
            if depth <= len(above):
                above = above[:depth] + [key[2]]
                if depth:
                    parent = next(v for v in reversed(found) if v.depth == depth - 1)
                    parent.has_children = True
                found.append(Value(".".join(above), depth, f"`{key[3]}`" if key[3] else "", " ".join(comment)))
            comment = []
        else:
            comment = []
    return found


def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;")


def page(text):
    lines = [HEAD]
    table = False
    for value in values(text):
        if value.depth == 0 and value.has_children:
            lines += ["", f"## {value.path}", ""] + ([value.comment, ""] if value.comment else []) + ["| value | default | meaning |", "| --- | --- | --- |"]
            table = True
        elif value.comment or not value.has_children:
            if value.depth == 0 and table != "top":
                lines += ["", *(["## More", ""] if table else []), "| value | default | meaning |", "| --- | --- | --- |"]
            lines.append(f"| `{value.path}` | {value.default} | {cell(value.comment)} |")
            table = "top" if value.depth == 0 else True
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def without_comment(text):
    """Values that nobody explains: they have no comment, and no value above them has one."""
    found = values(text)
    explained = {v.path for v in found if v.comment}

    def is_explained(value):
        names = value.path.split(".")
        return any(".".join(names[:n]) in explained for n in range(1, len(names) + 1))
    return [v.path for v in found if not v.has_children and not is_explained(v)]


def main(arguments):
    text = (CHART / "values.yaml").read_text(encoding="utf-8")
    readme = CHART / "README.md"
    if arguments != ["--check"]:
        readme.write_text(page(text), encoding="utf-8")
        return 0
    mistakes = [f"charts/afterglow/values.yaml: {path} has no comment" for path in without_comment(text)]
    if not readme.exists() or readme.read_text(encoding="utf-8") != page(text):
        mistakes.append("charts/afterglow/README.md is older than values.yaml: run tools/chart_readme.py")
    print(*mistakes, sep="\n", end="\n" if mistakes else "")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
