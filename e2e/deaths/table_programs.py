# SPDX-License-Identifier: Apache-2.0
"""Deaths of Python programs and of shells that only this machine has."""
from common import BOTH, HERE, PYTHON
from truth import Death, exits, oom, signalled

GROW = "x = []\\nwhile True: x.append(bytearray(1 << 20))"


def python(name, truth, code, **more):
    return Death(f"Python: {name}", truth, argv=("/usr/bin/python3", "-c", code.replace("\\n", "\n")), needs=PYTHON, **more)


DEATHS = [
    python("an exception", exits(1), "raise ValueError('no')"),
    python("sys.exit(3)", exits(3), "import sys; sys.exit(3)"),
    python("sys.exit of a text", exits(1), "import sys; sys.exit('out of memory, killed')"),
    python("os._exit(137)", exits(137, honest={"Killed"}), "import os; os._exit(137)"),
    python("KeyboardInterrupt", signalled(2), "import os, signal; os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(5)"),
    python("a leak", oom(), GROW, memory="64Mi", ooms=1),
    python("MemoryError by a limit on the address space", exits(1, victim="none"),
           "import resource; resource.setrlimit(resource.RLIMIT_AS, (150 << 20, 150 << 20))\\n" + GROW, memory="300Mi"),
    python("MemoryError at once by one huge allocation", exits(1, victim="none"), "x = bytearray(1 << 50)", memory="64Mi"),
    python("a fault in ctypes", signalled(11), "import ctypes; ctypes.string_at(0)"),
    python("a fault with faulthandler", signalled(11), "import faulthandler, ctypes; faulthandler.enable(); ctypes.string_at(0)"),
    python("os.abort()", signalled(6), "import os; os.abort()"),
    python("recursion without end", exits(1), "def f(): f()\\nf()"),
    python("kill -9 of itself", signalled(9, victim="none"), "import os; os.kill(os.getpid(), 9)", memory="64Mi"),
    python("subprocess.run(check=True) of a child that is OOM-killed", oom(*BOTH, exit=1, signal=0, honest={"ApplicationError"}),
           "import subprocess; subprocess.run(['hog', '300M', '--rate', '200M'], check=True)", memory="64Mi", ooms=1),
    python("subprocess.run of a child that is OOM-killed, and exit 0",
           exits(0, "KernelOOMProcess", reported=True, lives={"KernelOOMProcess"}, never=(r"^Container \S+ was killed",)),
           "import subprocess; subprocess.run(['hog', '300M', '--rate', '200M'])", memory="64Mi", ooms=1),
    python("a child that is OOM-killed, and a ValueError 3 s later",
           exits(1, "ApplicationError", "KernelOOMProcess", honest={"KernelOOMContainer"}, lives={"KernelOOMProcess"}),
           "import subprocess, time; subprocess.run(['hog', '300M', '--rate', '200M']); time.sleep(3); raise ValueError('no')", memory="64Mi", ooms=1),
    python("a child that is killed with kill -9, and exit 1", exits(1, victim="none"),
           "import subprocess; subprocess.run(['hog', '30M', '--die', '9'], check=True)", memory="64Mi"),
    python("a pool whose worker is OOM-killed", oom(*BOTH, exit=1, signal=0, honest={"ApplicationError"}),
           "from concurrent.futures import ProcessPoolExecutor as P\\ndef f(n):\\n    x = []\\n    while True: x.append(bytearray(1 << 20))\\n"
           "with P(2) as p: print(p.submit(f, 1).result())", memory="96Mi", ooms=1),
    python("a pool whose worker is killed with kill -9", exits(1, victim="none"),
           "import os\\nfrom concurrent.futures import ProcessPoolExecutor as P\\nwith P(2) as p: print(p.submit(os.kill, 0, 0).result() or "
           "p.submit(os._exit, 137).result())", memory="96Mi"),
    Death("Python: a module that is not there", exits(1), argv=("/usr/bin/python3", "-m", "no_such_module"), needs=PYTHON),
    Death("Python: a script that is not there", exits(2), argv=("/usr/bin/python3", "/no/such.py"), needs=PYTHON),
    Death("bash: a pipeline whose first command is OOM-killed", oom(*BOTH, signal=0), needs=HERE, memory="64Mi", ooms=1,
          argv=("bash", "-o", "pipefail", "-c", "hog 300M --rate 200M | cat")),
    Death("bash: a pipeline whose first command is killed with kill -9", exits(137, "Killed", "ApplicationError", victim="none"), needs=HERE, memory="64Mi",
          argv=("bash", "-o", "pipefail", "-c", "sh -c 'kill -9 $$' | cat")),
    Death("bash: a pipeline whose first command gets SIGPIPE", exits(141, "Signaled", "ApplicationError"), needs=HERE,
          argv=("bash", "-o", "pipefail", "-c", "yes | head -n 1")),
    Death("bash: kill 0", signalled(15), needs=HERE, argv=("setsid", "-w", "bash", "-c", "kill 0")),
    Death("xargs of a command that is killed with kill -9", exits(125), needs=HERE, inside="echo 1 | xargs sh -c 'kill -9 $$'"),
    Death("perl: die", exits(255), needs=HERE, argv=("perl", "-e", "die 'no'")),
    Death("perl: alarm", signalled(14), needs=HERE, argv=("perl", "-e", "alarm 1; sleep 60")),
]
