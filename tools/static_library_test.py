#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""static-library.sh where the mirror has no source packages: programs of this machine take shared libraries, and a release is refused."""
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
        done = self.run_script("--or-shared")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(b"!<arch>\n", self.archive.read_bytes())
        for words in ("Unable to find a source package", "shared library", "memory", "no release"):
            self.assertIn(words, done.stderr)

    def test_a_missing_source_package_ends_a_build_for_another_machine(self):
        done = self.run_script()
        self.assertEqual(1, done.returncode)
        self.assertIn("Unable to find a source package", done.stderr)
        self.assertFalse(self.archive.exists())

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
        self.run_script("--or-shared")
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
        self.run_script("--or-shared")
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
