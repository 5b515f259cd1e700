#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""macho.py FILE ARCH VERSION: whether FILE is a program that macOS VERSION and newer can start on ARCH, as far as that can be seen
without a Mac. ARCH is amd64 or arm64, VERSION such as 11.0.

It must be a position-independent executable for that processor and that version of macOS, it must need no library but libSystem,
and its signature must be right: the kernel of an arm64 Mac ends a program without a signature, so an ad-hoc signature (without a
certificate) has to be there, and the digest of each page in it has to be that of the page. Exits 1 and says what is wrong."""

import hashlib
import struct
import sys

MAGIC_64 = 0xFEEDFACF
CPU_TYPES = {"amd64": 0x01000007, "arm64": 0x0100000C}
EXECUTE, FLAG_PIE = 2, 0x200000
LOAD_DYLIB, CODE_SIGNATURE, BUILD_VERSION = 0xC, 0x1D, 0x32
# Other ways to need a library: weak, re-exported, lazy, upward.
OTHER_DYLIBS = {0x80000018, 0x8000001F, 0x20, 0x80000023}
PLATFORM_MACOS = 1
LIBRARY = "/usr/lib/libSystem.B.dylib"
SIGNATURE_MAGIC, DIRECTORY_MAGIC = 0xFADE0CC0, 0xFADE0C02
FLAG_ADHOC, HASH_SHA256 = 0x2, 2


class Wrong(Exception):
    """What is wrong with the file, as a sentence."""


def expect(condition, sentence):
    if not condition:
        raise Wrong(sentence)


def load_commands(data):
    """Yields (command, bytes of the command)."""
    count = struct.unpack_from("<I", data, 16)[0]
    at = 32
    for _ in range(count):
        command, size = struct.unpack_from("<II", data, at)
        expect(size >= 8 and at + size <= len(data), "a load command reaches beyond the file")
        yield command, data[at : at + size]
        at += size


def check_header(data, arch):
    expect(len(data) >= 32, "the file is too short")
    magic, cpu, _, kind, _, _, flags = struct.unpack_from("<7I", data)
    expect(magic == MAGIC_64, "it is no 64-bit Mach-O file")
    expect(cpu == CPU_TYPES[arch], f"it is not for {arch}")
    expect(kind == EXECUTE, "it is no executable")
    expect(flags & FLAG_PIE, "it is not position-independent")


def check_version(commands, version):
    major, minor = map(int, version.split("."))
    found = [struct.unpack_from("<II", body, 8) for command, body in commands if command == BUILD_VERSION]
    expect(found == [(PLATFORM_MACOS, major << 16 | minor << 8)], f"it is not for macOS {version} and newer")


def check_libraries(commands):
    names = []
    for command, body in commands:
        if command == LOAD_DYLIB or command in OTHER_DYLIBS:
            names.append(body[struct.unpack_from("<I", body, 8)[0] :].split(b"\0")[0].decode())
    expect(names == [LIBRARY], f"it needs other libraries than libSystem: {', '.join(names) or 'none'}")


def code_directory(data, offset, size):
    """The part of the signature with the digests, which is in network order."""
    expect(offset + size <= len(data), "the signature reaches beyond the file")
    blob = data[offset : offset + size]
    magic, _, count = struct.unpack_from(">III", blob)
    expect(magic == SIGNATURE_MAGIC, "the signature has another form")
    for i in range(count):
        at = struct.unpack_from(">I", blob, 12 + 8 * i + 4)[0]
        if struct.unpack_from(">I", blob, at)[0] == DIRECTORY_MAGIC:
            return blob[at:]
    raise Wrong("the signature has no code directory")


def check_signature(data, commands):
    found = [struct.unpack_from("<II", body, 8) for command, body in commands if command == CODE_SIGNATURE]
    expect(len(found) == 1, "it is not signed")
    offset, size = found[0]
    directory = code_directory(data, offset, size)
    flags, hash_at, _, _, slots, limit = struct.unpack_from(">6I", directory, 12)
    hash_size, hash_type, _, page_bits = struct.unpack_from(">4B", directory, 36)
    expect(flags & FLAG_ADHOC, "its signature is not ad-hoc")
    expect(hash_type == HASH_SHA256 and hash_size == 32, "its signature is not by SHA-256")
    expect(limit == offset, "its signature does not cover all that is before it")
    page = 1 << page_bits
    expect(slots == -(-limit // page), "its signature has the digests of too few pages, or too many")
    for i in range(slots):
        signed = directory[hash_at + 32 * i : hash_at + 32 * (i + 1)]
        expect(hashlib.sha256(data[i * page : min((i + 1) * page, limit)]).digest() == signed,
               f"page {i} was changed after it was signed")


def check(data, arch, version):
    check_header(data, arch)
    commands = list(load_commands(data))
    check_version(commands, version)
    check_libraries(commands)
    # Only the kernel for arm64 insists on it; a signature that is there has to be right everywhere.
    if arch == "arm64" or any(command == CODE_SIGNATURE for command, _ in commands):
        check_signature(data, commands)


def main():
    path, arch, version = sys.argv[1:]
    with open(path, "rb") as file:
        data = file.read()
    try:
        check(data, arch, version)
    except (Wrong, struct.error) as wrong:
        sys.exit(f"macho.py: {path}: {wrong}")


if __name__ == "__main__":
    main()
