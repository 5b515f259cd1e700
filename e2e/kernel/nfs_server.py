#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nfs_server.py EXPORT DIRECTORY: has the kernel's NFS server share EXPORT with this machine, and mounts it at DIRECTORY by NFS 4.1. Prints
"mounted" then. For User Mode Linux alone; in the place of rpc.mountd this process answers the kernel's questions until it ends."""
import ctypes
import os
import selectors
import sys

FLAGS = 0x2402  # this fsid, no subtree check, ports of ordinary users
FOREVER = 1 << 31
# The answer to a question of each table of the kernel, with the words of the question.
ANSWERS = {
    "auth.unix.ip": lambda kind, address: f"{kind} {address} {FOREVER} here",
    "nfsd.export": lambda domain, path: f"{domain} {path} {FOREVER}" + (f" {FLAGS} 65534 65534 0" if path == sys.argv[1] else ""),
    "nfsd.fh": lambda domain, kind, fsid: f"{domain} {kind} {fsid} {FOREVER}" + (f" {sys.argv[1]}" if kind == "1" else ""),
}


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text + "\n")


def mount(what, where, kind, options=""):
    if ctypes.CDLL(None, use_errno=True).mount(what.encode(), where.encode(), kind.encode(), 0, options.encode()) != 0:
        sys.exit(f"nfs_server: mount {kind}: {os.strerror(ctypes.get_errno())}")


mount("nfsd", "/proc/fs/nfsd", "nfsd")
write("/proc/fs/nfsd/versions", "-3 +4 +4.1")
channels = selectors.DefaultSelector()
for name, answer in ANSWERS.items():
    channels.register(os.open(f"/proc/net/rpc/{name}/channel", os.O_RDWR), selectors.EVENT_READ, answer)
for name in ("nfsv4leasetime", "nfsv4gracetime"):  # after a start it waits so long for clients that it knows; at least 10 s
    write(f"/proc/fs/nfsd/{name}", "10")
write("/proc/fs/nfsd/portlist", "tcp 2049")
write("/proc/fs/nfsd/threads", "2")
child = os.fork()
if child == 0:
    mount("127.0.0.1:/", sys.argv[2], "nfs4", "vers=4.1,addr=127.0.0.1,clientaddr=127.0.0.1,proto=tcp,hard,timeo=20")
    print("mounted", flush=True)
    os._exit(0)
while True:
    for key, _ in channels.select():
        question = os.read(key.fd, 8192).decode().split()
        os.write(key.fd, (key.data(*question) + "\n").encode())
