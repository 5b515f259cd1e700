# SPDX-License-Identifier: Apache-2.0
"""Exit codes, also those that look like a signal's, and commands that cannot be started."""
from truth import CLASS_OF_SIGNAL, Death, exits

NOT_STARTED = {126: "CommandNotExecutable", 127: "CommandNotFound"}


def by_itself(code):
    looks_like = NOT_STARTED.get(code) or CLASS_OF_SIGNAL.get(code - 128) or ("Signaled" if 128 < code <= 192 else None)
    return Death(f"exit {code}, and nothing behind it", exits(code, honest={looks_like} if looks_like else ()), inside=f"exit {code}")


DEATHS = [
    *(by_itself(code) for code in (0, 1, 2, 3, 126, 127, 128, 130, 134, 139, 143, 255)),
    Death("a command that is not there", exits(127, "CommandNotFound"), argv=("no-such-command",)),
    Death("a command that is not there, in a shell", exits(127, "CommandNotFound", "ApplicationError"), inside="no-such-command"),
    Death("a script whose interpreter is not there", exits(127, "CommandNotFound", "CommandNotExecutable"), argv=("$D/script.x",),
          before="printf '#!/no/such\\n' >$D/script.x; chmod +x $D/script.x"),
    Death("a shared library that is not there", exits(127, "ApplicationError", honest={"CommandNotFound"}),
          argv=("/lib64/ld-linux-x86-64.so.2", "--inhibit-cache", "--library-path", "/none", "--preload", "/none/libx.so", "$tools/test/absent")),
    Death("a file that is not executable", exits(126, "CommandNotExecutable"), argv=("$D/plain",), before="echo echo >$D/plain"),
    Death("a directory as the command", exits(126, "CommandNotExecutable"), argv=("$D",)),
    Death("a file of no known format", exits(126, "CommandNotExecutable"), argv=("$D/garbage",),
          before="printf '\\001\\002\\003garbage' >$D/garbage; chmod +x $D/garbage"),
]
