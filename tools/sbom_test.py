#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sbom.py accounts for each file of an image, or says which one it cannot."""
import io
import json
import os
import pathlib
import sys
import tarfile
import tempfile
import unittest

sys.dont_write_bytecode = True
import sbom

DIGEST = "sha256:" + "ab" * 32


class Packages:
    """A machine with three packages."""

    owners = {"/usr/lib/t/libssl.a": "libssl-dev", "/lib/t/libc.so.6": "libc6", "/etc/ssl/certs/ca-certificates.crt": "ca-certificates"}
    sources = {"libssl-dev": ("openssl", "3.0+deb"), "libc6": ("glibc", "2.36"), "libcjson-dev": ("cjson", "1:1.7"),
               "ca-certificates": ("ca-certificates", "2025")}  # fmt: skip

    def owner_of(self, path):
        return self.owners.get(path)

    def source_of(self, package):
        return self.sources[package]


class Sbom(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = folder.name

    def write_inputs(self, program, text):
        pathlib.Path(self.build, f"{program}.inputs").write_text(text)

    def write_built_archive(self, version):
        archive = f"{self.build}/static/libcjson.a"
        os.mkdir(f"{self.build}/static")
        pathlib.Path(f"{archive}.source").write_text(f"cjson {version}\n")
        return archive

    def test_a_program_is_made_of_what_the_linker_read_and_is_not_ours(self):
        self.write_inputs("afterglow-ship", "build/afterglow-ship: build/obj/lib/err.o \\\n  /usr/lib/t/libssl.a "
                          f"{self.write_built_archive('1:1.7')} /tmp/ccAb12.o\n\n/usr/lib/t/libssl.a:\n")
        parts = sbom.parts_of(["etc/passwd", "usr/bin/afterglow-ship", "lib/t/libc.so.6"], self.build, Packages(), None)
        self.assertEqual(parts, [("cjson", "1:1.7"), ("glibc", "2.36"), ("openssl", "3.0+deb")])

    def test_an_archive_is_of_the_version_that_it_was_built_from(self):
        self.write_inputs("x", f"x: {self.write_built_archive('1:1.7+deb12u1')}\n")
        self.assertEqual(sbom.parts_of(["usr/bin/x"], self.build, Packages(), None), [("cjson", "1:1.7+deb12u1")])

    def test_an_archive_of_an_older_source_than_its_headers_is_for_no_release(self):
        self.write_inputs("x", f"x: {self.write_built_archive('1:1.7~rc1')}\n")
        with self.assertRaisesRegex(SystemExit, "built from cjson 1:1.7~rc1, which is older than 1:1.7"):
            sbom.parts_of(["usr/bin/x"], self.build, Packages(), None)

    def test_a_launcher_is_made_of_what_its_own_machine_has(self):
        class Other(Packages):
            """Another machine's libraries, newer than this one's."""

            sources = {**Packages.sources, "libc6": ("glibc", "2.99")}

        self.write_inputs("launch", "launch: /lib/t/libc.so.6\n")
        sbom.LAUNCHERS["aarch64"] = f"{self.build}/launch"
        others = {"aarch64": Other()}
        parts = sbom.parts_of(["usr/libexec/afterglow/launchers/aarch64"], self.build, Packages(), others.get)
        self.assertEqual(parts, [("glibc", "2.99")])

    def test_a_file_of_no_package_is_an_error(self):
        with self.assertRaisesRegex(SystemExit, "/lib/t/libmine.so is of no package"):
            sbom.parts_of(["lib/t/libmine.so"], self.build, Packages(), None)
        self.write_inputs("x", "x: /opt/libother.a\n")
        with self.assertRaisesRegex(SystemExit, "/opt/libother.a"):
            sbom.parts_of(["usr/bin/x"], self.build, Packages(), None)

    def test_the_files_are_those_of_the_layer(self):
        layer = io.BytesIO()
        with tarfile.open(fileobj=layer, mode="w") as inner:
            inner.addfile(tarfile.TarInfo("lib/t/libc.so.6"), io.BytesIO())
            folder = tarfile.TarInfo("tmp")
            folder.type = tarfile.DIRTYPE
            inner.addfile(folder)
        archive = os.path.join(self.build, "image.tar")
        with tarfile.open(archive, "w") as outer:
            for name, data in ("manifest.json", json.dumps([{"Layers": ["l.tar"]}]).encode()), ("l.tar", layer.getvalue()):
                member = tarfile.TarInfo(name)
                member.size = len(data)
                outer.addfile(member, io.BytesIO(data))
        self.assertEqual(sbom.files_of(archive), ["lib/t/libc.so.6"])

    def test_the_document_names_each_part_once_and_is_the_same_each_time(self):
        parts = [("cjson", "1:1.7"), ("openssl", "3.0+deb")]
        made = [sbom.document("afterglow-ship", "0.1.0", "arm64", DIGEST, parts, 86400) for _ in range(2)]
        self.assertEqual(*made)
        one = made[0]
        self.assertEqual(one["creationInfo"]["created"], "1970-01-02T00:00:00Z")
        self.assertEqual([p["SPDXID"] for p in one["packages"]], ["SPDXRef-Image", "SPDXRef-Debian-cjson", "SPDXRef-Debian-openssl"])
        purl = one["packages"][2]["externalRefs"][0]["referenceLocator"]
        self.assertEqual(purl, "pkg:deb/debian/openssl@3.0%2Bdeb?arch=source&distro=debian-12")
        known = {p["SPDXID"] for p in one["packages"]} | {"SPDXRef-DOCUMENT"}
        self.assertTrue(all({r["spdxElementId"], r["relatedSpdxElement"]} <= known for r in one["relationships"]))


if __name__ == "__main__":
    unittest.main()
