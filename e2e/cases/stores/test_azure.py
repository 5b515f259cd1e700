# SPDX-License-Identifier: Apache-2.0
"""Bundles are shipped to Azure Blob Storage: Microsoft's emulator, and a stand-in for what that cannot be brought to say. The authority that
gives tokens is a stand-in: its form and its answers are those that Microsoft documents for the client credentials flow."""

import base64
import hashlib
import json
import subprocess
import time
import urllib.parse

import pytest

from conftest import wait_for
from stores.azure import HOST, AzureStore
from stores.conftest import start_azure
from stores.proxy import Proxy
from stores.shipping import MIB, Bundle, check_whole, failed, kill_when, read_back, shipped, write_credentials
from stores.stand_in import StandIn, azure_error
from stores.test_s3 import FAKETIME

CORE = "core.python.7.zst"
LARGE = 64 * MIB


@pytest.fixture
def crashed(tmp_path):
    """A bundle with a core that is uploaded in 24 blocks."""
    return Bundle(tmp_path / "crashed", core=24 * MIB - 7)


@pytest.fixture(name="blockwise")
def store_with_small_blocks(azure_store):
    return azure_store.set("--azure-block-size", "1Mi")


def check_silent(outcome, *secrets):
    said = outcome.stderr + str(outcome.lines)
    assert not any(secret in said for secret in secrets), said


# --- What is stored ---


def test_a_browser_shows_the_report_and_metadata_tell_what_it_holds(azure, azure_store, bundle):
    bundle.write(CORE, b"core" * 1000)
    bundle.commit()
    shipped(azure_store, bundle)
    types = {name: azure.headers(azure_store.top + name)["Content-Type"] for name in bundle.files}
    assert types["report.html"] == "text/html; charset=utf-8" and types[CORE] == "application/zstd"
    listed = json.loads(bundle.files["MANIFEST.json"])["files"]
    for file in listed:
        assert azure.headers(azure_store.top + file["name"])["x-ms-meta-sha256"] == file["sha256"]


def test_an_account_in_the_host_as_real_ones_are(azure, azure_store, bundle):
    azure_store.set("--azure-endpoint", f"https://{HOST}:{azure.target[1]}/")
    shipped(azure_store, bundle)
    check_whole(azure_store, bundle)
    assert read_back(azure_store)[1] == bundle.files


def test_what_is_there_is_not_sent_again(azure, azure_store, tmp_path):
    bundle = Bundle(tmp_path / "bundle", core=2 * MIB)
    shipped(azure_store, bundle)
    (bundle.path / ".ship").unlink()
    proxy = Proxy(azure.target)
    shipped(azure_store.through(proxy), bundle)
    assert proxy.sent < MIB
    proxy.close()


@pytest.mark.long
def test_a_large_core_goes_in_blocks_of_the_usual_size(azure, azure_store, tmp_path):
    bundle = Bundle(tmp_path / "huge")
    with open(bundle.path / CORE, "wb") as core:
        core.write(b"first")
        core.seek(LARGE - 4)
        core.write(b"last")
    digest = subprocess.run(["sha256sum", bundle.path / CORE], capture_output=True, text=True, check=True).stdout.split()[0]
    manifest = json.loads(bundle.files["MANIFEST.json"])
    manifest["files"].append({"name": CORE, "sizeBytes": LARGE, "sha256": digest})
    (bundle.path / "MANIFEST.json").write_text(json.dumps(manifest))
    azure_store.set("--azure-block-size", "16Mi")  # a single request takes up to 32 MiB
    shipped(azure_store, bundle)
    headers = azure.headers(azure_store.top + CORE)
    assert int(headers["Content-Length"]) == LARGE and headers["x-ms-meta-sha256"] == digest
    assert not azure_store.blocks()
    azure_store.clear()


# --- Faults ---


def test_killed_in_the_middle_it_sends_no_block_twice(azure, blockwise, crashed):
    """The run is killed when three blocks are there, and the next one sends the rest and not those."""
    proxy = Proxy(azure.target)
    kill_when(blockwise.through(proxy), crashed, "1Mi", "blocks", lambda: len(blockwise.blocks()) >= 3)
    wait_for("the dead to be heard out", lambda: proxy.open == 0, interval=0.02)
    there = len(blockwise.blocks())
    assert there >= 3 and CORE not in blockwise.read(crashed)
    before = proxy.sent
    shipped(blockwise, crashed)
    check_whole(blockwise, crashed)
    assert proxy.sent - before < (24 - there) * MIB + MIB
    proxy.close()


def test_blocks_of_another_core_are_not_mixed_in(blockwise, crashed, tmp_path):
    kill_when(blockwise, crashed, "1Mi", "a block", blockwise.blocks)
    other = Bundle(tmp_path / "other", core=24 * MIB - 7, seed=1)
    shipped(blockwise, other)
    check_whole(blockwise, other)
    assert not blockwise.blocks()


def test_a_connection_that_breaks_in_the_middle_costs_no_more_than_its_block(azure, blockwise, crashed):
    cuts = iter([3 * MIB + 7777, 4 * MIB + 7777])
    proxy = Proxy(azure.target, cut=lambda: next(cuts, None))
    shipped(blockwise.through(proxy), crashed)
    assert proxy.cuts >= 1 and proxy.sent < 30 * MIB
    check_whole(blockwise, crashed)
    proxy.close()


def test_down_and_back(tmp_path, azure_key, bundle):
    directory = tmp_path / "server"
    directory.mkdir()
    server, client = start_azure(directory)
    try:
        store = AzureStore(client, azure_key, "pod/x")
        server.stop()
        outcome = failed(store, bundle, "--deadline", "3")
        assert outcome.result["kind"] in ("network", "deadline") and outcome.result["retry"]
        server.start()
        shipped(store, bundle)
        check_whole(store, bundle)
    finally:
        server.stop()


def test_a_core_that_rots_while_it_is_sent_is_never_put_together(blockwise, crashed):
    core = bytearray(crashed.files[CORE])
    core[20 * MIB] ^= 1
    (crashed.path / CORE).write_bytes(core)
    outcome = failed(blockwise, crashed)
    assert outcome.result["kind"] == "bundle-changed" and "is not what MANIFEST.json says" in outcome.result["error"]
    there = blockwise.read(crashed)
    assert CORE not in there and "MANIFEST.json" not in there
    # Once it is right, the blocks that were right are used, and the wrong one is not.
    (crashed.path / CORE).write_bytes(crashed.files[CORE])
    shipped(blockwise, crashed)
    check_whole(blockwise, crashed)


# --- Credentials ---


@pytest.mark.parametrize(
    "values, words",
    [
        ({"account_key": base64.b64encode(b"another key" * 5).decode()}, "does not accept"),
        ({"account_key": "no base64!"}, "holds blanks"),
        ({"account_key": "nobase64!"}, "account-key: it is no base64"),
        ({"sas_token": "sv=1&se=2"}, "is no SAS token"),
        ({}, "needs account-key or sas-token"),
    ],
    ids=range(5),
)
def test_wrong_credentials(azure_store, bundle, tmp_path, values, words):
    azure_store.set("--credentials", str(write_credentials(tmp_path / "wrong", **values)))
    outcome = failed(azure_store, bundle)
    assert (outcome.code, outcome.result["kind"]) == (3, "credentials"), outcome
    assert words in outcome.result["error"]
    check_silent(outcome, *values.values())


def test_a_sas_token_lets_in(azure, blockwise, crashed, tmp_path):
    token = azure.sas()
    blockwise.set("--credentials", str(write_credentials(tmp_path / "sas", sas_token="?" + token)))
    outcome = shipped(blockwise, crashed)
    check_silent(outcome, urllib.parse.parse_qs(token)["sig"][0], token)
    check_whole(blockwise, crashed)
    assert read_back(blockwise)[1] == crashed.files


def test_a_sas_token_that_may_only_write_writes(azure, azure_store, bundle, tmp_path):
    bundle.write(CORE, b"core" * MIB)
    bundle.commit()
    azure_store.set("--credentials", str(write_credentials(tmp_path / "sas", sas_token=azure.sas("cw"))))
    azure_store.set("--azure-block-size", "1Mi")
    shipped(azure_store, bundle)
    shipped(azure_store, bundle)  # its own notes say what is there
    check_whole(azure_store, bundle)


@pytest.mark.parametrize(
    "token",
    [{"permissions": "r"}, {"hours": -1}, {"container": "other"}],
    ids=["read", "expired", "container"],
)
def test_a_sas_token_that_does_not_let_in(azure, azure_store, bundle, tmp_path, token):
    token = azure.sas(**token)
    azure_store.set("--credentials", str(write_credentials(tmp_path / "sas", sas_token=token)))
    outcome = failed(azure_store, bundle)
    # Azure calls the last two wrong credentials, the emulator calls them forbidden.
    assert outcome.code == 3 and outcome.result["kind"] in ("permission", "credentials"), outcome
    check_silent(outcome, token, urllib.parse.parse_qs(token)["sig"][0])


# --- Workload identity ---

FEDERATED = "eyJhbGciOiJSUzI1NiJ9.eyJhdWQiOiJhcGk6Ly9BenVyZUFEVG9rZW5FeGNoYW5nZSJ9.c2ln"
TENANT, CLIENT = "72f988bf-86f1-41af-91ab-2d7cd011db47", "11111111-2222-3333-4444-555555555555"


def bearer(name="token", **claims):
    """Returns a token that Azurite believes: it looks at issuer, audience and times, and not at the signature."""
    now = int(time.time())
    claims = {
        "aud": "https://storage.azure.com", "iss": f"https://sts.windows.net/{TENANT}/", "iat": now - 60, "nbf": now - 60,
        "exp": now + 3600, "ver": "1.0", "jti": name, **claims,
    }  # fmt: skip
    parts = [json.dumps(part).encode() for part in ({"alg": "none", "typ": "JWT"}, claims)] + [b"signature"]
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


def granted(token, seconds=3599):
    return (200, {}, json.dumps({"token_type": "Bearer", "expires_in": seconds, "ext_expires_in": seconds, "access_token": token}))


class Identity:
    """The authority, and what AKS puts into the environment of each container."""

    def __init__(self, tmp_path):
        self.authority = StandIn()
        self.token = bearer()
        self.authority.answers["POST"] = [granted(self.token)]
        self.file = tmp_path / "azure-identity-token"
        self.file.write_text(FEDERATED)
        self.env = {
            "AZURE_FEDERATED_TOKEN_FILE": str(self.file), "AZURE_TENANT_ID": TENANT, "AZURE_CLIENT_ID": CLIENT,
            "AZURE_AUTHORITY_HOST": f"{self.authority.url}/",
        }  # fmt: skip

    def asked(self):
        return [dict(urllib.parse.parse_qsl(r.body.decode(), strict_parsing=True)) for r in self.authority.requests["POST"]]


@pytest.fixture
def identity(tmp_path):
    identity = Identity(tmp_path)
    yield identity
    identity.authority.close()


@pytest.fixture
def keyless(azure, place):
    """A store without a Secret."""
    return AzureStore(azure, None, place)


def test_workload_identity_exchanges_the_token_of_the_pod(keyless, identity, crashed):
    outcome = shipped(keyless.set("--azure-block-size", "1Mi"), crashed, env=identity.env)
    check_whole(keyless, crashed)
    (request,) = identity.authority.requests["POST"]
    assert request.path == f"/{TENANT}/oauth2/v2.0/token"
    assert request.headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert identity.asked() == [{
        "grant_type": "client_credentials",
        "client_id": CLIENT,
        "scope": "https://storage.azure.com/.default",
        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        "client_assertion": FEDERATED,
    }]  # fmt: skip
    check_silent(outcome, FEDERATED, identity.token)


def test_a_token_that_ends_soon_is_renewed_with_the_pods_token_that_is_there_then(keyless, identity, bundle):
    """The kubelet exchanges the pod's token after the first request."""
    identity.authority.seen = lambda method: identity.file.write_text("the.next.token")
    identity.authority.answers["POST"] = [granted(identity.token, seconds=1)]
    shipped(keyless, bundle, env=identity.env)
    check_whole(keyless, bundle)
    shown = [form["client_assertion"] for form in identity.asked()]
    assert shown[0] == FEDERATED and set(shown[1:]) == {"the.next.token"}


def test_a_token_does_not_go_over_the_network_in_plain_text(keyless, identity, bundle):
    plain = StandIn()
    try:
        outcome = failed(keyless.set("--azure-endpoint", plain.url), bundle, env=identity.env)
        assert not plain.requests and not identity.authority.requests
    finally:
        plain.close()
    assert outcome.result["kind"] == "credentials" and "by https alone" in outcome.result["error"]


@pytest.mark.parametrize(
    "status, answer, kind, retry, words",
    [
        (401, {"error": "invalid_client", "error_description": "AADSTS700016: no such application.\r\nTrace ID: 1"}, "credentials",
         False, "invalid_client: AADSTS700016: no such application."),
        (401, {"error": "invalid_client", "error_description": "AADSTS700024: Client assertion is not within its valid time range."},
         "credentials-expired", True, "AADSTS700024"),
        (400, {"error": "invalid_request"}, "credentials", False, "invalid_request"),
        (503, {}, "server", True, "answered 503"),
        (200, {"token_type": "Bearer"}, "protocol", False, "no access_token"),
        (200, {"access_token": "a\r\nHost: b", "expires_in": 5}, "protocol", False, "no access_token"),
        (302, {}, "credentials", False, "answered 302"),
    ],
    ids=range(7),
)  # fmt: skip
def test_what_the_authority_answers_is_reported(keyless, identity, bundle, status, answer, kind, retry, words):
    # A pause that is too long to be made here, so that the result comes at once.
    headers = {302: {"Location": "http://127.0.0.1:1/"}, 503: {"Retry-After": "900"}}.get(status, {})
    identity.authority.answers["POST"] = [(status, headers, json.dumps(answer))]
    outcome = failed(keyless, bundle, env=identity.env)
    assert (outcome.result["kind"], outcome.result["retry"]) == (kind, retry), outcome
    assert "workload identity" in outcome.result["error"] and words in outcome.result["error"]
    check_silent(outcome, FEDERATED)


def test_a_token_that_the_store_does_not_believe(keyless, identity, bundle):
    token = bearer(aud="https://graph.microsoft.com")
    identity.authority.answers["POST"] = [granted(token)]
    outcome = failed(keyless, bundle, env=identity.env)
    assert (outcome.code, outcome.result["kind"]) == (3, "credentials"), outcome
    check_silent(outcome, token)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"AZURE_AUTHORITY_HOST": "http://login.example/"}, "AZURE_AUTHORITY_HOST is no address"),
        ({"AZURE_TENANT_ID": "a/../b"}, "AZURE_TENANT_ID names no tenant"),
        ({"AZURE_CLIENT_ID": ""}, "AZURE_CLIENT_ID names no client"),
        ({"AZURE_FEDERATED_TOKEN_FILE": "/nowhere"}, "/nowhere"),
    ],
    ids=range(4),
)
def test_an_environment_that_is_not_that_of_aks(keyless, identity, bundle, change, words):
    outcome = failed(keyless, bundle, env={**identity.env, **change})
    assert (outcome.code, outcome.result["kind"]) == (3, "credentials"), outcome
    assert words in outcome.result["error"] and not identity.authority.requests


# --- What the emulator does not say ---


@pytest.mark.parametrize("offset, words", [("-3600", "1 h 0 min behind"), ("+3600", "1 h 0 min ahead of")])
def test_a_clock_that_is_an_hour_off(stand_in, stood_in_azure, bundle, offset, words):
    stand_in.answers["PUT"] = [(403, {}, azure_error("AuthenticationFailed"))]
    env = {"LD_PRELOAD": FAKETIME, "FAKETIME": offset, "DONT_FAKE_MONOTONIC": "1"}
    outcome = failed(stood_in_azure, bundle, env=env)
    assert outcome.result["kind"] == "clock" and outcome.result["retry"], outcome
    assert words in outcome.result["error"]


def test_what_the_store_keeps_in_the_archive_is_left_out(stand_in, stood_in_azure, bundle):
    """Reading a bundle gets the other files."""
    manifest = (206, {}, bundle.files["MANIFEST.json"].decode())
    stand_in.answers["GET"] = [manifest, (416, {}, ""), (409, {}, azure_error("BlobArchived"))]
    done, files = read_back(stood_in_azure)
    assert done.returncode == 0 and list(files) == ["MANIFEST.json"], done.stderr
    assert b"report.txt is left out" in done.stderr and b"rehydrate it" in done.stderr


def test_a_sas_token_that_has_expired_is_named(stand_in, stood_in_azure, bundle, azure, tmp_path):
    """The kubelet may bring another one: it is tried again."""
    stand_in.answers["PUT"] = [(403, {}, azure_error("AuthenticationFailed"))]
    token = azure.sas(hours=-1)
    stood_in_azure.set("--credentials", str(write_credentials(tmp_path / "sas", sas_token=token)))
    outcome = failed(stood_in_azure, bundle)
    assert outcome.result["kind"] == "credentials-expired" and outcome.result["retry"], outcome
    assert "the SAS token has expired" in outcome.result["error"]
    assert "the SAS token goes over the network in plain text" in outcome.stderr
    check_silent(outcome, token, urllib.parse.parse_qs(token)["sig"][0])


def test_every_request_with_content_has_its_md5(stand_in, stood_in_azure, tmp_path):
    stand_in.answers["PUT"] = [(201, {}, "")]
    shipped(stood_in_azure.set("--azure-block-size", "2Mi"), Bundle(tmp_path / "blocks", core=24 * MIB))
    requests = stand_in.requests["PUT"]
    for request in requests:
        assert request.headers["Content-MD5"] == base64.b64encode(hashlib.md5(request.body).digest()).decode(), request.path
    assert sum(request.path.endswith("comp=block") for request in requests) == 12
    assert sum(request.path.endswith("comp=blocklist") for request in requests) == 1
