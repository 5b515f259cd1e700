# SPDX-License-Identifier: Apache-2.0
"""S3 without a Secret: the kubelet's token, mounted into the sidecar alone, is what STS sees, and the API server vouches for it.
STS and S3 are stand-ins here; e2e/cases/stores/test_federation.py has real ones, which verify the token."""

import base64
import contextlib
import json
import os
import urllib.parse

import pytest

from cluster.conftest import container, govern
from conftest import wait_for
from stores.stand_in import KEYS, StandIn

ROLE = "arn:aws:iam::123456789012:role/ray-failures"
AUDIENCE = "sts.amazonaws.com"


@pytest.fixture(scope="module", name="servers")
def sts_and_s3():
    host = os.environ["AFTERGLOW_STORE_ADDRESS"]
    with contextlib.closing(StandIn(host)) as sts, contextlib.closing(StandIn(host)) as s3:
        sts.answers["POST"] = [(200, {}, KEYS)]
        s3.answers["PUT"] = [(200, {"ETag": '"x"'}, "")]
        yield sts, s3


@pytest.fixture(scope="module", name="asked")
def what_sts_was_asked(servers, k, new_cluster):
    """Returns the form that STS got after a container failed."""
    sts, s3 = servers
    govern(k, store={"type": "s3", "s3": {
        "bucket": "failures", "endpoint": s3.url, "pathStyle": True,
        "webIdentity": {"roleARN": ROLE, "stsEndpoint": sts.url, "expirySeconds": 600}}})
    worker = container("ray-worker", "300Mi", command=["/bin/bash", "-c", "--", "sleep 3; exit 7"])
    worker["annotations"] = {"ray.io/overwrite-container-cmd": "true", "afterglow.dev/hold-on-failure": "600"}
    cluster = new_cluster("identity", {"fails": worker})
    wait_for("the bundle", lambda: [r for r in s3.requests["PUT"] if r.path.endswith("/MANIFEST.json")], timeout=120)
    form = dict(urllib.parse.parse_qsl(sts.requests["POST"][0].body.decode(), strict_parsing=True))
    return cluster, form


def review(k, token, audience):
    made = k.run("create", "-o", "json", "-f", "-", stdin=json.dumps({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
        "spec": {"token": token, **({"audiences": [audience]} if audience else {})}}))
    return json.loads(made.stdout)["status"]


def test_sts_sees_a_token_of_the_pods_own_service_account(asked, k):
    _, form = asked
    assert (form["Action"], form["RoleArn"]) == ("AssumeRoleWithWebIdentity", ROLE)
    token = form["WebIdentityToken"]
    status = review(k, token, AUDIENCE)
    assert status["authenticated"] and status["user"]["username"] == f"system:serviceaccount:{k.namespace}:default"
    payload = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    assert claims["aud"] == [AUDIENCE] and claims["exp"] - claims["iat"] == 600


def test_it_opens_nothing_at_the_api_server(asked, k):
    _, form = asked
    assert not review(k, form["WebIdentityToken"], None).get("authenticated")


def test_the_ray_container_does_not_have_it(asked):
    cluster, _ = asked
    pod = cluster.pod("worker")
    mounts = {c["name"]: {m["name"] for m in c["volumeMounts"]} for c in pod["spec"]["containers"]}
    assert [name for name, names in mounts.items() if "afterglow-credentials" in names] == ["afterglow"]
    seen = cluster.k.run("exec", pod["metadata"]["name"], "-c", "ray-worker", "--", "ls", "/afterglow")
    assert "credentials" not in seen.stdout.split()


def test_what_is_shipped_is_signed_with_its_keys(asked, servers):
    assert asked
    for request in servers[1].requests["PUT"]:
        assert "Credential=ASIATEMPORARY/" in request.headers["Authorization"]
        assert request.headers["x-amz-security-token"] == "temporary+token=="
