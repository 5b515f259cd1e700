#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""go.sh finds a Go that is new enough, and fetches one only where there is none. The machine's own is played by a script."""
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).parent / "go.sh"
STUB = """#!/bin/sh
case "$*" in
"env GOVERSION") echo "@VERSION@" ;;
"env GOOS") echo linux ;;
"env GOARCH") echo amd64 ;;
"env GOMODCACHE") echo FOLDER/modules ;;
"mod download golang.org/toolchain@"*)
	echo "$3" >>FOLDER/fetched
	mkdir -p "FOLDER/modules/$3/bin" "FOLDER/modules/$3/pkg/tool/linux_amd64"
	for program in bin/go bin/gofmt pkg/tool/linux_amd64/compile; do : >"FOLDER/modules/$3/$program"; done ;;
*) exit 1 ;;
esac
"""


class Go(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def found(self, version):
        """Returns what go.sh prints where the machine's own Go has this version."""
        stub = self.folder / "own/go"
        stub.parent.mkdir(exist_ok=True)
        stub.write_text(STUB.replace("@VERSION@", version).replace("FOLDER", str(self.folder)), encoding="utf-8")
        stub.chmod(0o755)
        result = subprocess.run([SCRIPT], env={"PATH": f"{stub.parent}:/usr/bin:/bin"}, stdout=subprocess.PIPE, text=True, check=True)
        return pathlib.Path(result.stdout.strip())

    def fetched(self):
        file = self.folder / "fetched"
        return file.read_text(encoding="utf-8").split() if file.exists() else []

    def test_the_machines_own_is_taken_if_it_is_new_enough(self):
        for version in "go1.26.6", "go1.26.10", "go1.30.0 X:experiment", "go2.0":
            self.assertEqual(self.found(version), self.folder / "own", version)
        self.assertEqual(self.fetched(), [])

    def test_an_old_one_fetches_the_pinned_one_once_and_its_programs_can_be_run(self):
        for version in "go1.19.8", "go1.26.5", "go1.9", "":
            place = self.found(version)
            self.assertRegex(str(place), r"/golang\.org/toolchain@v0\.0\.1-go1\.[0-9.]+\.linux-amd64/bin$", version)
            for program in place / "go", place / "gofmt", place.parent / "pkg/tool/linux_amd64/compile":
                self.assertTrue(program.stat().st_mode & 0o100, program)
        self.assertEqual(len(self.fetched()), 1)


if __name__ == "__main__":
    unittest.main()
