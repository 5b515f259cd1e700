# SPDX-License-Identifier: Apache-2.0
"""A service account's token is exchanged for keys of an hour: this shows what goes over the wire, and what STS may answer.
test_federation.py works without stand-ins."""

import urllib.parse

import pytest

from stores.shipping import Store, failed, shipped, write_credentials
from stores.stand_in import KEYS, StandIn
from stores.test_s3 import FAKETIME

ROLE = "arn:aws:iam::123456789012:role/afterglow"
TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln+/"


def sts_error(code):
    return f"<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>m</Message></Error></ErrorResponse>"


@pytest.fixture
def servers():
    """STS and S3."""
    both = StandIn(), StandIn()
    both[0].answers["POST"] = [(200, {}, KEYS)]
    both[1].answers["PUT"] = [(200, {"ETag": '"x"'}, "")]
    yield both
    for server in both:
        server.close()


@pytest.fixture
def store(servers, tmp_path):
    sts, s3 = servers
    credentials = write_credentials(tmp_path / "credentials", role_arn=ROLE, web_identity_token=TOKEN)
    return Store("--store", "s3://bucket/x", "--s3-endpoint", s3.url, "--s3-sts-endpoint", sts.url, "--credentials", str(credentials))


def test_keys_are_fetched_once_and_every_request_carries_the_token(store, servers, bundle):
    sts, s3 = servers
    outcome = shipped(store, bundle)
    (asked,) = sts.requests["POST"]
    # Small files of which no note speaks are sent without asking for them.
    assert len(s3.requests["PUT"]) == len(bundle.files) and not s3.requests["HEAD"]
    form = dict(urllib.parse.parse_qsl(asked.body.decode(), strict_parsing=True))
    assert form["Action"] == "AssumeRoleWithWebIdentity"
    assert (form["RoleArn"], form["WebIdentityToken"]) == (ROLE, TOKEN)
    assert "Authorization" not in asked.headers
    shipped(store, bundle)  # which asks what is there
    requests = s3.requests["PUT"] + s3.requests["HEAD"]
    assert len(s3.requests["HEAD"]) == len(bundle.files)
    for request in requests:
        signature = request.headers["Authorization"]
        assert "Credential=ASIATEMPORARY/" in signature and "x-amz-security-token" in signature
        assert request.headers["x-amz-security-token"] == "temporary+token=="
    said = outcome.stderr + str(outcome.lines)
    assert not any(secret in said for secret in (TOKEN, "temporary"))
    assert "the web identity token goes over the network in plain text" in outcome.stderr  # STS is at http:// here


def test_keys_are_renewed_in_time_with_the_token_that_is_there_then(store, servers, bundle, tmp_path):
    """The kubelet exchanges the token, and three quarters of an hour pass, between two files."""
    sts, s3 = servers
    clock = tmp_path / "clock"
    clock.write_text("+0")

    def pass_time(method):
        if method == "PUT" and clock.read_text() == "+0":
            (tmp_path / "credentials" / "web-identity-token").chmod(0o600)
            (tmp_path / "credentials" / "web-identity-token").write_text("the.next.token")
            clock.write_text("+46m")

    s3.seen = pass_time
    shipped(store, bundle, env={"LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1"})
    asked = [dict(urllib.parse.parse_qsl(r.body.decode()))["WebIdentityToken"] for r in sts.requests["POST"]]
    assert asked == [TOKEN, "the.next.token"]
    # The request under way when the clock jumped has seemed to stall, and is made again.
    assert {r.path.rsplit("/bundle/")[1] for r in s3.requests["PUT"]} == set(bundle.files)


@pytest.mark.parametrize(
    "status, body, kind, retry",
    [
        (400, sts_error("ExpiredTokenException"), "credentials-expired", True),
        (400, sts_error("InvalidIdentityToken"), "credentials", False),
        (403, sts_error("AccessDenied"), "permission", False),
        (200, "<html>", "protocol", False),
        (200, KEYS.replace("SecretAccessKey", "Other"), "protocol", False),
        (302, "", "redirect", False),
        (400, sts_error("IDPCommunicationError"), "server", True),
    ],
    ids=range(7),
)
def test_what_sts_says_is_told(store, servers, bundle, status, body, kind, retry):
    sts, s3 = servers
    sts.answers["POST"] = [(status, {"Location": s3.url} if status == 302 else {}, body)]
    outcome = failed(store, bundle)
    assert (outcome.result["kind"], outcome.result["retry"]) == (kind, retry), outcome
    assert "web identity" in outcome.result["error"]
    assert not s3.requests
    assert TOKEN not in outcome.stderr + str(outcome.lines)


def test_sts_is_reached_by_the_proxy_alone_too(store, servers, bundle):
    _, proxy = servers
    proxy.answers["POST"] = [(200, {}, KEYS)]
    store.set("--s3-sts-endpoint", "http://sts.example.invalid").set("--s3-endpoint", "http://s3.example.invalid")
    shipped(store, bundle, "--proxy", proxy.url, env={"http_proxy": "http://127.0.0.1:1", "no_proxy": ""})
    assert [request.path for request in proxy.requests["POST"]] == ["http://sts.example.invalid/"]
    assert len(proxy.requests["PUT"]) == len(bundle.files)
