#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""static-library.sh where the mirror lacks the source package: programs of this machine take an older one or shared libraries, and a release is refused."""
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[1]


class NoSource(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        apt = self.folder / "bin/apt-get"
        apt.parent.mkdir()
        apt.write_text("#!/bin/sh\necho 'E: Unable to find a source package' >&2\nexit 100\n")
        apt.chmod(0o755)
        self.archive = self.folder / "static/libcjson.a"
        self.env = {**os.environ, "PATH": f"{apt.parent}:{os.environ['PATH']}", "AFTERGLOW_CACHE": str(self.folder / "cache")}

    def run_script(self, *words):
        return subprocess.run([ROOT / "tools/static-library.sh", *words, "cjson", self.archive], env=self.env, capture_output=True,
                              text=True, check=False)  # fmt: skip

    def test_a_missing_source_package_leaves_an_empty_archive_and_says_what_it_costs(self):
        done = self.run_script("--or-less")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(b"!<arch>\n", self.archive.read_bytes())
        for words in ("Unable to find a source package", "shared library", "memory", "no release"):
            self.assertIn(words, done.stderr)

    def test_a_missing_source_package_ends_a_build_for_another_machine(self):
        done = self.run_script()
        self.assertEqual(1, done.returncode)
        self.assertIn("Unable to find a source package", done.stderr)
        self.assertFalse(self.archive.exists())

    def mirror_has(self, *suffixes, lists):
        """A mirror whose lists name revisions of cJSON, as suffixes of the version whose headers are installed, and which has the files of some."""
        form = "${source:Version}"
        version = subprocess.run(["dpkg-query", "-W", "-f", form, "libcjson-dev"], capture_output=True, text=True, check=True).stdout
        upstream = version.rpartition("-")[0]
        versions = [f"{upstream}-{suffix}" if suffix else version for suffix in suffixes]
        listed = [f"{upstream}-{suffix}" if suffix else version for suffix in lists]
        entries = "".join(f"Package: cjson\nVersion: {one}\n" for one in [*listed, "9.9-1"])
        (self.folder / "bin/apt-cache").write_text(f"#!/bin/sh\ncat <<END\n{entries}END\n")
        (self.folder / "bin/apt-cache").chmod(0o755)
        unpack = "mkdir cjson-1 && echo 'int cjson_is_here;' >cjson-1/cJSON.c"
        cases = "".join(f"*' cjson={one} ') {unpack}; exit ;;\n" for one in versions)
        (self.folder / "bin/apt-get").write_text(
            f"#!/bin/sh\ncase \"$* \" in\n{cases}*' update ') exit ;;\nesac\necho \"E: $* 404\" >&2\nexit 100\n")
        return version, upstream

    def test_an_older_revision_of_the_same_version_is_built_and_said_to_be_older(self):
        version, upstream = self.mirror_has("0.1", "0.2", lists=["0.1", "", "0.2"])
        done = self.run_script("--or-less")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertGreater(self.archive.stat().st_size, 8)
        self.assertEqual(f"cjson {upstream}-0.2\n", self.archive.with_name("libcjson.a.source").read_text())
        for words in (version, f"built from {upstream}-0.2", "no release", "security"):
            self.assertIn(words, done.stderr)

    def test_an_older_revision_is_not_taken_again_where_the_mirror_has_the_right_one_by_then(self):
        self.mirror_has("0.1", lists=["0.1"])
        self.run_script("--or-less")
        version, _ = self.mirror_has("", "0.1", lists=["0.1", ""])
        self.run_script("--or-less")
        self.assertEqual(f"cjson {version}\n", self.archive.with_name("libcjson.a.source").read_text())

    def test_a_build_for_another_machine_takes_no_older_revision_and_does_take_a_newer_one(self):
        self.mirror_has("0.1", lists=["0.1", ""])
        self.assertEqual(1, self.run_script().returncode)
        self.assertFalse(self.archive.exists())
        _, upstream = self.mirror_has("999", lists=["0.1", "", "999"])
        done = self.run_script()
        self.assertEqual((0, f"cjson {upstream}-999\n"), (done.returncode, self.archive.with_name("libcjson.a.source").read_text()), done.stderr)

    def test_sources_are_asked_for_where_debian_and_ubuntu_keep_the_addresses_of_packages(self):
        etc, seen = self.folder / "etc", self.folder / "seen"
        (etc / "sources.list.d").mkdir(parents=True)
        (etc / "sources.list").write_text("deb [trusted=yes] http://one.invalid/debian bookworm main\n")
        for name, types in ("debian", "deb"), ("ubuntu", "deb deb-src"), ("docker", "deb"):
            (etc / "sources.list.d" / f"{name}.sources").write_text(f"Types: {types}\nURIs: http://{name}.invalid/\nSuites: noble\nComponents: main\n")
        config = self.folder / "apt.conf"
        config.write_text(f'Dir::Etc "{etc}";\n')
        apt = self.folder / "bin/apt-get"
        apt.write_text(f'#!/bin/sh\nfor word; do case $word in Dir::Etc::SourceParts=*) cat "${{word#*=}}"/* >{seen} ;; esac; done\nexit 100\n')
        self.env["APT_CONFIG"] = str(config)
        self.run_script("--or-less")
        text = seen.read_text()
        self.assertIn("deb-src [trusted=yes] http://one.invalid/debian bookworm main\n", text)
        self.assertIn("Types: deb-src\nURIs: http://debian.invalid/\n", text)
        self.assertIn("Types: deb-src\nURIs: http://ubuntu.invalid/\n", text)
        self.assertNotIn("docker.invalid", text)

    def link_command(self):
        """Of a program with three such libraries."""
        archives = [self.archive.with_name(f"lib{name}.a") for name in ("cjson", "curl", "krb5")]
        for archive in archives:
            if not archive.exists():
                archive.write_bytes(b"!<arch>\n" + bytes(100))
        program = f"{self.folder}/afterglow-ship"
        words = [word for archive in archives for word in ("--old-file", archive)]
        dry_run = ["make", "-C", ROOT, f"BUILD={self.folder}", "V=1", "--dry-run", *words, program]
        makes = subprocess.run(dry_run, env=self.env, stdout=subprocess.PIPE, text=True, check=True)
        (link,) = [line for line in makes.stdout.splitlines() if f"-o {program} " in line]
        return link

    def test_a_program_with_a_library_that_has_no_source_takes_the_shared_one(self):
        self.run_script("--or-less")
        link = self.link_command()
        self.assertNotIn("-static-pie", link)
        # Those that keep a static program from loading libraries.
        self.assertNotIn("lib/static/no_plugins.o", link)

    def test_a_program_whose_libraries_are_there_is_static(self):
        self.archive.parent.mkdir()
        link = self.link_command()
        self.assertIn("-static-pie", link)
        self.assertIn("lib/static/no_plugins.o", link)


if __name__ == "__main__":
    unittest.main()
