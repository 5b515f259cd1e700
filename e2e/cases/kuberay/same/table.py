# SPDX-License-Identifier: Apache-2.0
"""The pods that run twice, what happens to them, and the differences that are meant. A new feature adds its row."""

import dataclasses
import fnmatch
import os

from kuberay.objects import SIDECAR
from live import NODE, RAY_IMAGE, VERSION, placed

PYTHON = ["python3", "/same/code/probe.py"]
BASH = ["/bin/bash", "-c", "--"]  # as KubeRay starts Ray
SIDECAR_IMAGE = os.environ.get("SIDECAR_IMAGE", f"localhost/afterglow-sidecar:{VERSION}")
# Seconds until SIGKILL. On a busy machine the preStop hook takes a part of them, and SIGTERM comes late after it; the node with
# cgroup v2 has one slow processor.
GRACE = 30 if NODE else 12
REQUESTS = {"cpu": "10m", "memory": "15Mi"}
# How many rows run at a time. That node would start the sidecars of more of them minutes after Ray's containers.
TOGETHER = 8 if NODE else 100
MOMENT = 0.4 * GRACE  # who works longer works until SIGKILL

ENDS, STOPPED, RESTARTS = "ends by itself", "is asked to stop", "ends and is restarted"


@dataclasses.dataclass
class Row:
    """A pod, and what happens to it. container and pod: more of their specs."""
    happens: str
    command: list
    args: list = dataclasses.field(default_factory=list)
    container: dict = dataclasses.field(default_factory=dict)
    pod: dict = dataclasses.field(default_factory=dict)
    neighbours: list = dataclasses.field(default_factory=list)  # containers in front of Ray's
    env: dict = dataclasses.field(default_factory=dict)


# Kubernetes makes $ of $$.
def shell(line, happens=STOPPED, program="/bin/bash", **more):
    return Row(happens, [program, "-c"], [line.replace("PROBE", " ".join(PYTHON))], **more)


def python(*args, happens=STOPPED, **more):
    return Row(happens, PYTHON, list(args), **more)


RESTRICTED = {"securityContext": {"readOnlyRootFilesystem": True, "runAsUser": 4711, "runAsGroup": 4712, "runAsNonRoot": True,
                                  "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]},
                                  "seccompProfile": {"type": "RuntimeDefault"}}}
ROOT = {"securityContext": {"runAsUser": 0, "capabilities": {"add": ["SYS_NICE"], "drop": ["MKNOD"]}}}
IN_MEMORY = {"volumes": [{"name": "tmp", "emptyDir": {"medium": "Memory"}}]}
ON_DISK = {"volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": "200Mi"}}]}
TMP = {"volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}], "workingDir": "/tmp"}
# What shells do not take for variables, or change, or obey.
ODD = {"a.b": "dots", "with-dash": "1", "BASH_FUNC_greet%%": "() {  echo hello\n}", "lines": "one\ntwo\n", "EMPTY": "", "PWD": "/nowhere",
       "OLDPWD": "/before", "SHLVL": "7", "_": "under", "IFS": "x", "PS1": "$ ", "POSIXLY_CORRECT": "mine", "BASH_ENV": "/same/code/env.sh",
       "ENV": "/same/code/env.sh", "BASH_VERSION": "mine", "HOSTTYPE": "mine", "percent": "100%", "umlaut": "\u00e4\u00f6"}

ROWS = {
    # Shells and programs, with SIGTERM.
    "bash-above": shell("PROBE work; echo over"),
    "dash-above": shell("PROBE work; echo over", program="/bin/sh"),
    "kuberay-like": Row(STOPPED, BASH, [f"ulimit -n 65536; {' '.join(PYTHON)} work"]),
    "bash-trap": shell("trap 'exit 5' TERM; PROBE work & wait"),
    "bash-trap-exec": shell("trap : TERM; exec PROBE work"),
    "bash-ignores": shell("trap '' TERM; exec PROBE work"),
    "background": shell("PROBE work & exec tail -f /dev/null"),
    "default": python("work"),
    "handler": python("work", "exit"),
    "handler-once": python("work", "once"),
    "ignores": python("work", "ignore"),
    "blocks": python("work", "block"),
    "tini-like": python("work", "sigwait"),
    "dumb-init-like": python("work", "forward"),
    "init": Row(STOPPED, ["/same/code/init"]),
    "shared-pid": python("work", "exit", pod={"shareProcessNamespace": True}),
    "user-namespace": python("work", "exit", pod={"hostUsers": False}),
    "closed": shell("exec PROBE work exit 0<&- 2<&- 9</dev/null"),
    # What a command sees.
    "terminal": python("work", container={"tty": True, "stdin": True}),
    "restricted": python("work", "exit", container={**RESTRICTED, **TMP}, pod=IN_MEMORY),
    "root": python("work", "exit", container=ROOT),
    "other-user": shell("exec setpriv --reuid=4711 --regid=4712 --clear-groups PROBE work", container={"securityContext": {"runAsUser": 0}}),
    "guaranteed": python("work", "exit", container={"resources": {"limits": {"cpu": "200m", "memory": "120Mi"}}}),
    "mesh-first": python("work", "exit", neighbours=[{"name": "istio-proxy", "command": PYTHON + ["work", "exit"]}]),
    "odd-environment": python("look", env=ODD, happens=ENDS),
    "odd-environment-bash": shell("exec PROBE look", env=ODD, happens=ENDS),
    "odd-words": python("look", "0", "$(HOME) $$(HOME)", "$HOME", "", "two\nlines", "it's \"quoted\"", "--", "-c", "*", happens=ENDS,
                        container={"workingDir": "/usr/lib"}),
    "no-command": Row(ENDS, []),
    # Ends.
    "fails": python("look", "7", happens=ENDS),
    "at-once": Row(ENDS, ["true"]),
    "own-message": shell("echo mine >/dev/termination-log; exit 7", happens=ENDS),
    "port-of-ours": Row(ENDS, ["python3", "-c", "import socket, time; time.sleep(5); socket.socket().bind(('', 9095))"]),
    "no-such-program": Row(ENDS, ["/no/such/program"]),
    "orphan": python("orphan", happens=ENDS),
    "shell-with-orphan": shell("PROBE orphan", happens=ENDS),
    "segfault": Row(ENDS, ["python3", "-c", "import ctypes; ctypes.string_at(0)"]),
    "abort": Row(ENDS, ["python3", "-c", "import os; os.abort()"]),
    "kills-itself": shell("kill -TERM $$$$; exit 9", happens=ENDS),
    "restarts": Row(RESTARTS, PYTHON, ["look", "3"], pod={"restartPolicy": "Always"}),
    "child-crashes": python("crash", happens=ENDS),
    "child-crashes-in-memory": python("crash", happens=ENDS, container={**RESTRICTED, **TMP}, pod=IN_MEMORY),
    "child-crashes-in-a-volume": python("crash", happens=ENDS, container=TMP, pod=ON_DISK),
    "child-crashes-with-little-disk": python("crash", happens=ENDS, container={"resources": {
        "requests": REQUESTS, "limits": {"memory": "120Mi", "ephemeral-storage": "200Mi"}}}),
    "child-is-too-large": python("hog", happens=ENDS),
    "shell-less": Row(ENDS, ["/usr/bin/afterglow-sidecar", "--version"], container={"image": SIDECAR_IMAGE}),
}

# There runc may not mount the /proc of such a pod, with Afterglow or without.
if NODE:
    del ROWS["user-namespace"]

# Their command is none that a launcher could start.
NOT_INJECTED = {"init", "no-command"}


@dataclasses.dataclass
class Meant:
    """A difference that is meant: in each of the rows (a set of names), observations of these names (patterns) differ."""
    what: list
    rows: set
    reason: str


INJECTED = set(ROWS) - NOT_INJECTED
LOOK = {name for name, row in ROWS.items() if any("look" in word or "work" in word for word in row.args)} & INJECTED
PROCESS_1 = LOOK - {"bash-above", "dash-above", "bash-trap", "background", "shared-pid"}
CORES = {"child-crashes", "child-crashes-in-a-volume", "child-crashes-with-little-disk"}

MEANT = [
    Meant(["containers." + SIDECAR], INJECTED, "the sidecar"),
    Meant(["requests"], INJECTED, "what the sidecar requests"),
    Meant(["sees.mounts./afterglow/bin", "sees.mounts./afterglow/run"], LOOK, "the launcher, and the way to the sidecar's socket"),
    Meant(["sees.processes.afterglow-launc"], LOOK, "the launcher"),
    Meant(["sees.process_1"], PROCESS_1, "process 1 is the launcher"),
    Meant(["sees.environment_of_1*"], {"other-user"}, "process 1 is still root, whose environment another user may not see"),
    Meant(["sees.environment_of_1*"], {"kuberay-like", "bash-trap-exec", "bash-ignores", "background", "closed", "odd-environment-bash"},
          "a shell that was process 1 has handed its own environment to the next; the launcher's is that of the container"),
    Meant(["sees.coredump_filter"], LOOK, "a core has no shared memory, which could fill the disk"),
    Meant(["sees.limits.RLIMIT_CORE"], LOOK - {"restricted"}, "a crash leaves a core, for its backtrace; in memory it does not"),
    Meant(["core"], CORES, "the same"),
    Meant(["sees.session.leader", "sees.session.group_leader"], {"terminal"}, "the terminal belongs to the session of process 1"),
    Meant(["exit"], {"kills-itself", "abort"}, "what a process sends itself does not pass the launcher, and only process 1 survives it"),
    Meant(["exit", "warnings"], {"no-such-program"}, "the launcher starts, and says what is not there; its exit code is a shell's"),
    Meant(["exit", "phase", "warnings", "pod_ends"], {"shell-less"}, "our line of shell does not start; it is remembered, and the next pod has none"),
]


def meant_of(row, what):
    return [meant for meant in MEANT if row in meant.rows and any(fnmatch.fnmatchcase(what, pattern) for pattern in meant.what)]


def pod(name, row, labels):
    """Returns the row's pod, as somebody who uses Ray without KubeRay's generated command might write it."""
    base = {"image": RAY_IMAGE, "imagePullPolicy": "IfNotPresent", "resources": {"requests": REQUESTS, "limits": {"memory": "120Mi"}}}
    spec = dict(row.pod)
    ray = {"name": "ray-worker", **base, **({"command": row.command, "args": row.args} if row.command else {}), **row.container,
           "env": [{"name": key, "value": value.replace("$", "$$")} for key, value in row.env.items()],
           "volumeMounts": [{"name": "same", "mountPath": "/same"}, {"name": "code", "mountPath": "/same/code"},
                            *row.container.get("volumeMounts", [])]}
    if row.happens == STOPPED:
        ray["lifecycle"] = {"preStop": {"exec": {"command": ["touch", "/same/stop"]}}}
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "labels": {"ray.io/is-ray-node": "yes", "ray.io/cluster": "same", "ray.io/group": name,
                                                  "ray.io/node-type": "worker", **labels}},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": GRACE, "enableServiceLinks": False, **placed(), **spec,
                     "volumes": [{"name": "same", "emptyDir": {}}, {"name": "code", "configMap": {"name": "code", "defaultMode": 0o555}},
                                 *spec.get("volumes", [])],
                     "containers": [*({**base, **neighbour, "volumeMounts": ray["volumeMounts"]} for neighbour in row.neighbours), ray]}}
