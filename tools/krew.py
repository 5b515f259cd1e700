#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""krew.py VERSION URL DIR: prints the manifest by which krew installs kubectl afterglow, for the four archives of the plugin in DIR
(kubectl-afterglow-OS-ARCH.tar.gz). URL is where the release's files will be; VERSION has no leading v.

The rules are those of krew's guide for plugin developers (API v1alpha2), and check() holds the manifest against them."""

import hashlib
import json
import pathlib
import re
import sys
import tarfile

PLATFORMS = [("linux", "amd64"), ("linux", "arm64"), ("darwin", "amd64"), ("darwin", "arm64")]
NAME = "afterglow"
PROGRAM = "kubectl-afterglow"
LICENSE = "LICENSE"
SHORT = "Explain why Ray pods died"
SHORT_MAX = 50
DESCRIPTION = """\
Shows what ended in your Ray clusters, and why: out of memory, crashes, evictions, lost nodes.
It reads the failures that the Afterglow operator records, and runs kubectl to reach the cluster.
"""
CAVEATS = """\
The cluster needs the Afterglow operator. Try: kubectl afterglow doctor
"""


class Wrong(Exception):
    """What is wrong with a manifest or an archive, as a sentence."""


def expect(condition, sentence):
    if not condition:
        raise Wrong(sentence)


def archive_name(system, arch):
    return f"{PROGRAM}-{system}-{arch}.tar.gz"


def platform(url, folder, system, arch):
    data = (pathlib.Path(folder) / archive_name(system, arch)).read_bytes()
    return {
        "selector": {"matchLabels": {"os": system, "arch": arch}},
        "uri": f"{url}/{archive_name(system, arch)}",
        "sha256": hashlib.sha256(data).hexdigest(),
        "bin": PROGRAM,
    }


def make(version, url, folder):
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": NAME},
        "spec": {
            "version": f"v{version}",
            "shortDescription": SHORT,
            "description": DESCRIPTION,
            "caveats": CAVEATS,
            "platforms": [platform(url, folder, system, arch) for system, arch in PLATFORMS],
        },
    }


def check_platform(entry):
    expect(set(entry) == {"selector", "uri", "sha256", "bin"}, "a platform has other fields than those that are needed")
    expect(entry["uri"].startswith("https://"), f"{entry['uri']} is no https address")
    expect(re.fullmatch(r"[0-9a-f]{64}", entry["sha256"]), f"{entry['sha256']} is no SHA-256")
    expect(set(entry["selector"]["matchLabels"]) == {"os", "arch"}, "a selector must name the system and the architecture")


def check(manifest):
    """Raises Wrong where krew, or the rules of its index, would refuse the manifest."""
    spec = manifest["spec"]
    expect(re.fullmatch(r"[\w-]+", manifest["metadata"]["name"]), "the name has characters that krew refuses")
    expect(re.fullmatch(r"v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?", spec["version"]), f"{spec['version']} is no semantic version with a v")
    expect(0 < len(spec["shortDescription"]) <= SHORT_MAX, "the short description is empty or too long")
    expect("\n" not in spec["shortDescription"], "the short description has more than one line")
    for entry in spec["platforms"]:
        check_platform(entry)
    labels = [tuple(sorted(entry["selector"]["matchLabels"].items())) for entry in spec["platforms"]]
    expect(len(set(labels)) == len(labels) > 0, "there is no platform, or two for the same machine")


def check_archive(path):
    """krew wants the license in the archive, and the program has to be executable."""
    with tarfile.open(path) as archive:
        members = {member.name: member for member in archive.getmembers()}
    expect(LICENSE in members, f"{path} has no {LICENSE}")
    expect(PROGRAM in members and members[PROGRAM].isfile() and members[PROGRAM].mode & 0o111, f"{path} has no program {PROGRAM}")


def to_yaml(value, indent=""):
    """The lines of a block of YAML. Strings are as in JSON, which YAML reads; those of several lines are literal blocks."""
    for key, item in value.items():
        if isinstance(item, dict):
            yield f"{indent}{key}:"
            yield from to_yaml(item, indent + "  ")
        elif isinstance(item, list):
            yield f"{indent}{key}:"
            for entry in item:
                first, *rest = to_yaml(entry, indent + "    ")
                yield f"{indent}  - {first.strip()}"
                yield from rest
        elif item.endswith("\n"):
            yield f"{indent}{key}: |"
            yield from (f"{indent}  {line}" for line in item.splitlines())
        else:
            yield f"{indent}{key}: {json.dumps(item)}"


def main():
    version, url, folder = sys.argv[1:]
    try:
        for system, arch in PLATFORMS:
            check_archive(pathlib.Path(folder) / archive_name(system, arch))
        manifest = make(version, url.rstrip("/"), folder)
        check(manifest)
    except (Wrong, OSError) as wrong:
        sys.exit(f"krew.py: {wrong}")
    print("\n".join(to_yaml(manifest)))


if __name__ == "__main__":
    main()
