# SPDX-License-Identifier: Apache-2.0
"""Runs the operator as a webhook of the test's API server: as the chart sets it up, but by a URL of this machine's loopback."""

import base64

from conftest import wait_for
from apiserver.control_plane import free_port

SECRET = "afterglow-webhook-tls"
# What the certificate is for: the name of the chart's Service there, and of this machine here.
HOST = "localhost"


def configuration(name, namespace, port, timeout=15):
    """Returns the configuration as charts/afterglow/templates/webhook.yaml has it, but for a timeout that fits a busy machine."""
    def hook(title, path, rules, **more):
        return {"name": title, "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Ignore",
                "reinvocationPolicy": "IfNeeded", "timeoutSeconds": timeout, "rules": rules,
                "clientConfig": {"url": f"https://{HOST}:{port}{path}"},
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}, **more}

    return {"metadata": {"name": name}, "webhooks": [
        hook("pods.afterglow.dev", "/mutate/pods",
             [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}],
             objectSelector={"matchLabels": {"ray.io/is-ray-node": "yes"}}),
        hook("ray.afterglow.dev", "/mutate/ray",
             [{"operations": ["CREATE", "UPDATE"], "apiGroups": ["ray.io"], "apiVersions": ["v1"],
               "resources": ["rayclusters", "rayjobs", "rayservices"]}])]}


class Webhook:
    """Operators that serve the webhook of one namespace."""

    def __init__(self, api, start):
        self.api, self.start = api, start
        self.name = f"afterglow-{api.namespace}"
        self.port = free_port()
        self.operators = []
        self.api.create("mutatingwebhookconfigurations", configuration(self.name, api.namespace, self.port))

    def operator(self, *args, **kwargs):
        """Starts another replica, at a port of its own."""
        port = self.port if not self.operators else free_port()
        operator = self.start(
            "--webhook-address", f"127.0.0.1:{port}", "--webhook-service", HOST, "--webhook-secret", SECRET,
            "--webhook-configuration", self.name, "--lease-namespace", self.api.namespace, *args,
            **{"manage": False, **kwargs})
        operator.webhook_port = port
        self.operators.append(operator)
        return operator

    def point_at(self, operator):
        """Lets the API server ask another replica, as a Service does when a replica is gone."""
        config = self.configuration()
        for hook in config["webhooks"]:
            path = hook["clientConfig"]["url"].rsplit("/mutate", 1)[1]
            hook["clientConfig"]["url"] = f"https://{HOST}:{operator.webhook_port}/mutate{path}"
        self.api.request("PUT", self.api.path("mutatingwebhookconfigurations", self.name), config)

    def configuration(self):
        return self.api.get("mutatingwebhookconfigurations", self.name)

    def bundles(self):
        """Returns the caBundle of each webhook, as text."""
        return [base64.b64decode(h["clientConfig"].get("caBundle", "")).decode() for h in self.configuration()["webhooks"]]

    def wait_bundle(self):
        wait_for("a caBundle", lambda: all("BEGIN CERTIFICATE" in b for b in self.bundles()), interval=0.05)
        return self.bundles()

    def wait_works(self, dry_pod, timeout=30):
        """Waits until a dry run of a pod gets the sidecar: the API server takes up a new caBundle a little later."""
        def works():
            pod = self.api.request("POST", self.api.path("pods") + "?dryRun=All", dry_pod)
            assert "afterglow" in [c["name"] for c in pod["spec"]["containers"]], pod["metadata"].get("annotations")
        wait_for("the webhook to work", lambda: works() or True, timeout=timeout, interval=0.1)

    def close(self):
        self.api.delete("mutatingwebhookconfigurations", self.name)
