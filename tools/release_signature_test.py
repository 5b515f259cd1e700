#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""release_signature.sh: a signed release is accepted as it is, and nothing else is. `make release` runs it, which has ssh-keygen."""
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).parent / "release_signature.sh"
FILES = {"digests.txt": b"afterglow-operator@sha256:00\n", "kubectl-afterglow-darwin-arm64.tar.gz": b"archive"}


def run(*words):
    return subprocess.run([TOOL, *words], capture_output=True, text=True, check=False)


def make_key(folder, name):
    """A key pair, and the list in which it is that of the release."""
    key = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key], check=True)
    signers = folder / f"{name}.signers"
    signers.write_text(f"release@afterglow.dev {(folder / f'{name}.pub').read_text()}")
    return key, signers


class Signature(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.release = self.folder / "release"
        self.release.mkdir()
        for name, data in FILES.items():
            (self.release / name).write_bytes(data)
        sums = (f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(FILES.items()))
        (self.release / "SHA256SUMS").write_text("".join(sums))
        self.key, self.signers = make_key(self.folder, "key")
        done = run("sign", self.key, self.release)
        self.assertEqual(0, done.returncode, done.stderr)

    def refused(self, words, signers=None):
        done = run("verify", signers or self.signers, self.release)
        self.assertEqual(1, done.returncode, done.stdout)
        self.assertIn(words, done.stderr)

    def test_what_was_signed_is_accepted(self):
        done = run("verify", self.signers, self.release)
        self.assertEqual(0, done.returncode, done.stderr)

    def test_it_can_be_signed_again(self):
        self.assertEqual(0, run("sign", self.key, self.release).returncode)
        self.assertEqual(0, run("verify", self.signers, self.release).returncode)

    def test_a_changed_file_is_refused(self):
        (self.release / "digests.txt").write_text("afterglow-operator@sha256:11\n")
        self.refused("other files than those that were signed")

    def test_a_missing_file_is_refused(self):
        (self.release / "digests.txt").unlink()
        self.refused("other files than those that were signed")

    def test_a_file_that_was_added_is_refused(self):
        (self.release / "more.txt").write_text("more")
        self.refused("more.txt has no checksum")

    def test_checksums_that_were_changed_are_refused(self):
        with (self.release / "SHA256SUMS").open("a") as file:
            file.write(f"{'0' * 64}  more.txt\n")
        self.refused("no signature of")

    def test_a_signature_by_another_key_is_refused(self):
        self.refused("no signature of", make_key(self.folder, "other")[1])

    def test_a_signature_for_another_purpose_is_refused(self):
        (self.release / "SHA256SUMS.sig").unlink()
        subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-f", self.key, "-n", "file", self.release / "SHA256SUMS"], check=True)
        self.refused("no signature of")

    def test_a_release_without_a_signature_is_refused(self):
        (self.release / "SHA256SUMS.sig").unlink()
        self.refused("no signature of")

    def test_a_key_that_is_missing_leaves_no_old_signature(self):
        self.assertEqual(1, run("sign", self.folder / "none", self.release).returncode)
        self.assertFalse((self.release / "SHA256SUMS.sig").exists())


if __name__ == "__main__":
    if not shutil.which("ssh-keygen"):
        sys.exit("release_signature_test.py: there is no ssh-keygen (Debian: openssh-client)")
    unittest.main()
