#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dead_fuse.py DIRECTORY: mounts a FUSE there whose server answers the kernel's greeting and nothing after it. Prints "dead" then.

Whoever looks up a path below DIRECTORY hangs until this process ends."""
import ctypes
import os
import struct
import sys
import time

device = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"dead", sys.argv[1].encode(), b"fuse", 0, options.encode()) != 0:
    sys.exit(f"dead_fuse: mount: {os.strerror(ctypes.get_errno())}")
request = os.read(device, 1 << 17)
unique = struct.unpack_from("<IIQ", request)[2]
# struct fuse_out_header, struct fuse_init_out: version 7.23, 64 KiB at most for a write.
body = struct.pack("<IIIIHHI", 7, 23, 65536, 0, 12, 9, 65536) + bytes(40)
os.write(device, struct.pack("<IiQ", 16 + len(body), 0, unique) + body)
print("dead", flush=True)
while True:
    time.sleep(3600)
