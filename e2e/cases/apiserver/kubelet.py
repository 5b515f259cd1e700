# SPDX-License-Identifier: Apache-2.0
"""Plays the kubelet: writes into the status of pods what a kubelet would write."""

import datetime
import hashlib
import hmac


def minutes_ago(minutes):
    then = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(minutes=minutes)
    return then.strftime("%Y-%m-%dT%H:%M:%SZ")


NOW, ENDED = minutes_ago(60), minutes_ago(55)


def sign(pod, kind, text):
    """Signs a JSON object as the pod's sidecar does (lib/digest/report_mac.h), if the pod has a key."""
    key = pod["metadata"].get("annotations", {}).get("afterglow.dev/report-key")
    if not key or not text.endswith("}"):
        return text
    mac = hmac.new(key.encode(), (kind + text[:-1]).encode(), "sha256").hexdigest()[:32]
    return f'{text[:-1]},"mac":"{mac}"}}'


def signed_message(pod, message):
    """Signs the last line of a termination message."""
    before, mark, line = message.rpartition("#afterglow/1 ")
    return before + mark + sign(pod, "termination", line) if mark else message


def container_id(pod, name, restart):
    seed = f"{pod['metadata']['uid']}/{name}/{restart}"
    return "containerd://" + hashlib.sha256(seed.encode()).hexdigest()


def running(pod, name, restart=0):
    """Returns the status of a container that is running and ready."""
    return {"name": name, "image": "image", "imageID": "image", "containerID": container_id(pod, name, restart),
            "ready": True, "started": True, "restartCount": restart, "state": {"running": {"startedAt": NOW}}}


def ended(pod, name, restart, exit_code, **more):
    """Returns the state of a container that has ended. The message is the sidecar's, unless forged."""
    if not more.pop("forged", False) and "message" in more:
        more["message"] = signed_message(pod, more["message"])
    return {"terminated": {"exitCode": exit_code, "reason": "Error", "startedAt": NOW, "finishedAt": ENDED,
                           "containerID": container_id(pod, name, restart), **more}}


def status(phase, containers, ready):
    conditions = [{"type": kind, "status": str(ready), "lastTransitionTime": NOW}
                  for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")]
    return {"status": {"phase": phase, "podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}], "hostIP": "10.9.9.9",
                       "startTime": NOW, "conditions": conditions, "containerStatuses": containers}}


class Kubelet:
    """The kubelet of one namespace. Pods have no node, so a deleted one is gone at once."""

    def __init__(self, api):
        self.api = api

    def say(self, pod, phase, containers, ready):
        """Writes conditions. Those of other components (DisruptionTarget) stay, as with a real kubelet."""
        body = status(phase, containers, ready)
        own = {c["type"] for c in body["status"]["conditions"]}
        now = self.api.get("pods", pod["metadata"]["name"])["status"]
        body["status"]["conditions"] += [c for c in now.get("conditions", []) if c["type"] not in own]
        return self.api.patch("pods", pod["metadata"]["name"], body, "status")

    def run(self, pod):
        """Sets that all containers are running and ready."""
        return self.say(pod, "Running", [running(pod, c["name"]) for c in pod["spec"]["containers"]], True)

    def run_at(self, pod, address, restarts=0):
        """Sets that all containers run, and that the pod has this address. The sidecar's restarts make the operator look at once."""
        states = [running(pod, c["name"], restarts if c["name"] == "afterglow" else 0) for c in pod["spec"]["containers"]]
        return self.say_at(pod, address, states)

    def say_at(self, pod, address, containers, ready=True):
        """Sets that the pod runs at this address, and the states of its containers."""
        body = status("Running", containers, ready)
        body["status"].update(podIP=address, podIPs=[{"ip": address}])
        return self.api.patch("pods", pod["metadata"]["name"], body, "status")

    def run_all(self, selector=""):
        for pod in self.api.items("pods", selector):
            self.run(pod)

    def end(self, pod, exit_code, **more):
        """Sets that the Ray container ended and is not started again: the pod failed."""
        names = [c["name"] for c in pod["spec"]["containers"]]
        states = [{**running(pod, names[0]), "ready": False, "started": False,
                   "state": ended(pod, names[0], 0, exit_code, **more)}]
        states += [{**running(pod, n), "ready": False, "started": False,
                    "state": ended(pod, n, 0, 0, reason="Completed")} for n in names[1:]]
        return self.say(pod, "Failed", states, False)

    def ending(self, pod, exit_code, **more):
        """Sets that the Ray container ended. The others still run, and the status does not say yet what becomes of the pod."""
        names = [c["name"] for c in pod["spec"]["containers"]]
        ray = {**running(pod, names[0]), "ready": False, "started": False, "state": ended(pod, names[0], 0, exit_code, **more)}
        return self.say(pod, "Running", [ray] + [running(pod, n) for n in names[1:]], False)

    def evicted(self, pod, exit_code, **more):
        """Sets that the node evicted the pod: all containers have ended, and the pod's status says why."""
        self.api.patch("pods", pod["metadata"]["name"], {"status": {
            "reason": "Evicted", "message": "The node was low on resource: memory."}}, "status")
        return self.end(pod, exit_code, **more)

    def restart(self, pod, restart, exit_code, **more):
        """Sets that the Ray container ended and was started again, for the restart-th time."""
        names = [c["name"] for c in pod["spec"]["containers"]]
        ray = {**running(pod, names[0], restart), "lastState": ended(pod, names[0], restart - 1, exit_code, **more)}
        return self.say(pod, "Running", [ray] + [running(pod, n) for n in names[1:]], True)


