#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""krew.py writes a manifest that krew takes, and refuses what krew would refuse."""
import copy
import hashlib
import io
import pathlib
import sys
import tarfile
import tempfile
import unittest

sys.dont_write_bytecode = True
import krew

URL = "https://example.com/v1.2.3"
PLATFORM = """\
    - selector:
        matchLabels:
          os: "darwin"
          arch: "arm64"
      uri: "https://example.com/v1.2.3/kubectl-afterglow-darwin-arm64.tar.gz"
      sha256: "%s"
      bin: "kubectl-afterglow"
"""


def write_archive(path, members):
    with tarfile.open(path, "w:gz") as archive:
        for name, mode in members.items():
            member = tarfile.TarInfo(name)
            member.mode, member.size = mode, len(name)
            archive.addfile(member, io.BytesIO(name.encode()))


class Krew(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for system, arch in krew.PLATFORMS:
            write_archive(self.folder / krew.archive_name(system, arch), {"kubectl-afterglow": 0o755, "LICENSE": 0o644, arch: 0o644})
        self.manifest = krew.make("1.2.3", URL, self.folder)

    def refused(self, words, change):
        manifest = copy.deepcopy(self.manifest)
        change(manifest["spec"])
        with self.assertRaisesRegex(krew.Wrong, words):
            krew.check(manifest)

    def test_the_manifest_has_all_four_platforms_with_the_digests_of_their_archives(self):
        krew.check(self.manifest)
        text = "\n".join(krew.to_yaml(self.manifest)) + "\n"
        digest = hashlib.sha256((self.folder / "kubectl-afterglow-darwin-arm64.tar.gz").read_bytes()).hexdigest()
        self.assertTrue(text.endswith(PLATFORM % digest), text)
        self.assertTrue(text.startswith('apiVersion: "krew.googlecontainertools.github.com/v1alpha2"\nkind: "Plugin"\nmetadata:\n'
                                        '  name: "afterglow"\nspec:\n  version: "v1.2.3"\n'), text)  # fmt: skip
        self.assertIn("  description: |\n    Shows what ended", text)
        self.assertEqual(4, text.count("sha256:"))

    def test_what_krew_refuses_is_refused(self):
        self.refused("semantic version", lambda spec: spec.update(version="v1.2"))
        self.refused("semantic version", lambda spec: spec.update(version="1.2.3"))
        self.refused("more than one line", lambda spec: spec.update(shortDescription="a\nb"))
        self.refused("too long", lambda spec: spec.update(shortDescription="a" * 51))
        self.refused("no https", lambda spec: spec["platforms"][0].update(uri="http://example.com/a"))
        self.refused("no SHA-256", lambda spec: spec["platforms"][0].update(sha256="AB" * 32))
        self.refused("other fields", lambda spec: spec["platforms"][0].pop("bin"))
        self.refused("selector", lambda spec: spec["platforms"][0]["selector"]["matchLabels"].pop("os"))
        self.refused("two for the same", lambda spec: spec["platforms"].append(spec["platforms"][0]))
        self.refused("no platform", lambda spec: spec["platforms"].clear())

    def test_an_archive_needs_the_program_and_the_license(self):
        path = self.folder / "a.tar.gz"
        for members, words in [({"kubectl-afterglow": 0o755}, "LICENSE"), ({"LICENSE": 0o644}, "no program"),
                               ({"LICENSE": 0o644, "kubectl-afterglow": 0o644}, "no program")]:  # fmt: skip
            write_archive(path, members)
            with self.assertRaisesRegex(krew.Wrong, words):
                krew.check_archive(path)
        krew.check_archive(self.folder / "kubectl-afterglow-linux-amd64.tar.gz")


if __name__ == "__main__":
    unittest.main()
