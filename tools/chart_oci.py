#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""chart_oci.py ARCHIVE DIR: writes the archive of a chart as an OCI layout into DIR, in the form in which `helm push` brings one to a registry,
and prints the digest of its manifest. `helm push` writes the time into it; here the same archive always has the same digest."""

import hashlib
import json
import pathlib
import re
import sys
import tarfile

CONFIG = "application/vnd.cncf.helm.config.v1+json"
CONTENT = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def metadata(archive):
    """The fields of Chart.yaml that are plain text. Helm reads all of them from the archive itself."""
    with tarfile.open(archive) as tar:
        text = next(tar.extractfile(m).read().decode() for m in tar if m.name.count("/") == 1 and m.name.endswith("/Chart.yaml"))
    return {name: value.strip('"') for name, value in re.findall(r"^([A-Za-z]+): ([^\[|>\s].*)$", text, re.M)}


class Layout:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        (self.folder / "blobs/sha256").mkdir(parents=True)
        (self.folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')

    def add(self, data, media_type):
        digest = hashlib.sha256(data).hexdigest()
        (self.folder / "blobs/sha256" / digest).write_bytes(data)
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}

    def add_json(self, value, media_type):
        return self.add(json.dumps(value, sort_keys=True).encode(), media_type)


def write(archive, folder):
    layout, chart = Layout(folder), metadata(archive)
    manifest = layout.add_json({
        "schemaVersion": 2, "mediaType": MANIFEST, "config": layout.add_json(chart, CONFIG),
        "layers": [layout.add(pathlib.Path(archive).read_bytes(), CONTENT)],
        "annotations": {f"org.opencontainers.image.{key}": chart[name] for key, name in
                        (("title", "name"), ("version", "version"), ("description", "description"))},
    }, MANIFEST)  # fmt: skip
    tag = {"org.opencontainers.image.ref.name": chart["version"]}
    (layout.folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [{**manifest, "annotations": tag}]}))
    return manifest["digest"]


if __name__ == "__main__":
    print(write(*sys.argv[1:]))
