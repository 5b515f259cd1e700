#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""macho.py accepts what a Mac can start and says what is wrong with the rest."""
import hashlib
import struct
import sys
import unittest

sys.dont_write_bytecode = True
import macho

PAGE = 4096


def dylib(name, command=macho.LOAD_DYLIB):
    text = name.encode() + b"\0"
    text += b"\0" * (-len(text) % 8)
    return struct.pack("<6I", command, 24 + len(text), 24, 2, 0, 0) + text


def version(minimum=0xB0000, platform=macho.PLATFORM_MACOS):
    return struct.pack("<6I", macho.BUILD_VERSION, 24, platform, minimum, 0, 0)


def signature_of(covered):
    """A signature as the linker makes it: a code directory with the digest of each page."""
    pages = [covered[i : i + PAGE] for i in range(0, len(covered), PAGE)]
    digests = b"".join(hashlib.sha256(page).digest() for page in pages)
    head = 44
    directory = struct.pack(">9I4BI", macho.DIRECTORY_MAGIC, head + len(digests), 0x20400, macho.FLAG_ADHOC, head, 0, 0,
                            len(pages), len(covered), 32, macho.HASH_SHA256, 0, 12, 0) + digests  # fmt: skip
    return struct.pack(">5I", macho.SIGNATURE_MAGIC, 20 + len(directory), 1, 0, 20) + directory


def program(arch="arm64", kind=macho.EXECUTE, flags=macho.FLAG_PIE, commands=None, signed=True):
    commands = commands or [version(), dylib(macho.LIBRARY)]
    length = 2 * PAGE + 100
    if signed:
        size = len(signature_of(bytes(length)))
        commands = commands + [struct.pack("<4I", macho.CODE_SIGNATURE, 16, length, size)]
    body = b"".join(commands)
    data = struct.pack("<8I", macho.MAGIC_64, macho.CPU_TYPES[arch], 0, kind, len(commands), len(body), flags, 0) + body
    data += b"x" * (length - len(data))
    return data + signature_of(data) if signed else data


class MachO(unittest.TestCase):
    def refused(self, data, words, arch="arm64"):
        with self.assertRaisesRegex(macho.Wrong, words):
            macho.check(data, arch, "11.0")

    def test_a_signed_program_that_needs_libsystem_alone_is_accepted(self):
        macho.check(program(), "arm64", "11.0")
        macho.check(program("amd64"), "amd64", "11.0")

    def test_only_arm64_needs_a_signature(self):
        macho.check(program("amd64", signed=False), "amd64", "11.0")
        self.refused(program(signed=False), "not signed")

    def test_a_program_of_another_kind_is_refused(self):
        self.refused(program("amd64"), "not for arm64")
        self.refused(program(kind=6), "no executable")
        self.refused(program(flags=0), "position-independent")
        self.refused(b"\x7fELF" + bytes(60), "no 64-bit Mach-O")
        self.refused(b"", "too short")

    def test_another_version_of_macos_is_refused(self):
        self.refused(program(commands=[version(0xC0000), dylib(macho.LIBRARY)]), "not for macOS 11.0")
        self.refused(program(commands=[version(platform=2), dylib(macho.LIBRARY)]), "not for macOS 11.0")
        self.refused(program(commands=[dylib(macho.LIBRARY)]), "not for macOS 11.0")

    def test_another_library_is_refused_however_it_is_linked(self):
        for command in [macho.LOAD_DYLIB, *macho.OTHER_DYLIBS]:
            more = dylib("/opt/homebrew/lib/libcrypto.dylib", command)
            self.refused(program(commands=[version(), dylib(macho.LIBRARY), more]), "libcrypto")
        self.refused(program(commands=[version()]), "none")

    def test_a_change_after_the_signature_is_found_wherever_it_is(self):
        for at in [1000, PAGE, 2 * PAGE + 99]:
            data = bytearray(program())
            data[at] ^= 1
            self.refused(bytes(data), f"page {at // PAGE} was changed")

    def test_a_file_that_is_cut_off_is_refused(self):
        whole = program()
        for length in [16, 40, 60, len(whole) - 1]:
            with self.assertRaises((macho.Wrong, struct.error)):
                macho.check(whole[:length], "arm64", "11.0")


if __name__ == "__main__":
    unittest.main()
