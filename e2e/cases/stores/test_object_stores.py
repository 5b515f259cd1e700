# SPDX-License-Identifier: Apache-2.0
"""These tests hold for S3 and Azure Blob Storage alike. A stand-in gives the answers that our real servers cannot be brought to give."""

import pytest

from stores.proxy import Proxy
from stores.shipping import failed, shipped
from stores.stand_in import azure_error, s3_error


@pytest.fixture(name="store", params=["s3", "azure"])
def object_store(request):
    return request.getfixturevalue(f"{request.param}_store")


@pytest.fixture(params=["s3", "azure"])
def stood_in(request):
    return request.getfixturevalue(f"stood_in_{request.param}")


def test_a_server_that_takes_everything_and_never_answers(store, bundle):
    proxy = Proxy(store.target)
    proxy.hang = True
    outcome = failed(store.through(proxy), bundle, "--stall", "1", "--deadline", "4")
    assert outcome.result["kind"] in ("network", "deadline") and outcome.result["retry"]
    proxy.close()


def test_no_bucket_and_no_container(store, bundle):
    store.set("--store", {"s3": "s3://no-such-bucket/x", "azure": "azure://devstoreaccount1/no-such-bucket/x"}[store.kind])
    outcome = failed(store, bundle)
    assert (outcome.code, outcome.result["kind"]) == (3, "bucket-missing")
    assert "no-such-bucket" in outcome.result["error"]


# --- What the servers of ours do not say ---

S3_SAYS = [
    (400, s3_error("ExpiredToken"), {}, "credentials-expired", True, "has expired"),
    (403, s3_error("AccessDenied"), {}, "permission", False, "may not"),
    (404, s3_error("NoSuchBucket"), {}, "bucket-missing", False, "does not exist"),
    (301, s3_error("PermanentRedirect"), {"x-amz-bucket-region": "ap-x-1"}, "redirect", False, "ap-x-1"),
    (307, "", {"Location": "http://127.0.0.1:1/steal"}, "redirect", False, "not followed"),
    (507, s3_error("XMinioStorageFull"), {}, "no-space", True, "full"),
    (403, s3_error("QuotaExceeded"), {}, "no-space", True, "quota"),
    (400, "<html>It works!</html>", {}, "protocol", False, "is it an S3 server?"),
    (400, "\x00" * 100, {}, "protocol", False, "is it an S3 server?"),
    (400, '<!DOCTYPE x [<!ENTITY a "b">]><Error><Code>&a;</Code></Error>', {}, "protocol", False, "is it an S3"),
    (400, "<a>" * 100000, {}, "protocol", False, "is it an S3 server?"),
]
AZURE_SAYS = [
    (403, azure_error("AuthorizationPermissionMismatch"), {}, "permission", False, "Storage Blob Data Contributor"),
    (403, azure_error("AuthorizationFailure"), {}, "permission", False, "network rules exclude"),
    (403, azure_error("UnauthorizedBlobOverwrite"), {}, "permission", False, "the permission w"),
    (409, azure_error("BlobImmutableDueToPolicy"), {}, "occupied", False, "immutability policy"),
    (400, azure_error("Md5Mismatch"), {}, "bundle-changed", True, "not what was sent"),
    (307, "", {"Location": "http://127.0.0.1:1/steal?sig=x"}, "redirect", False, "http://127.0.0.1:1, which is not followed"),
    (400, "<html>It works!</html>", {}, "protocol", False, "is it an Azure Blob Storage server?"),
    (400, "\x00" * 100, {}, "protocol", False, "is it an Azure"),
    (400, "<a>" * 100000, {}, "protocol", False, "is it an Azure"),
]
SAYS = [("s3", *row) for row in S3_SAYS] + [("azure", *row) for row in AZURE_SAYS]


@pytest.mark.parametrize("stood_in, status, body, headers, kind, retry, words", SAYS, indirect=["stood_in"],
                         ids=[f"{row[0]}-{n}" for n, row in enumerate(SAYS)])
def test_answers_in_words(stand_in, stood_in, bundle, status, body, headers, kind, retry, words):
    stand_in.answers["PUT"] = [(status, headers, body)]
    outcome = failed(stood_in, bundle)
    assert (outcome.result["kind"], outcome.result["retry"]) == (kind, retry), outcome
    assert words in outcome.result["error"]
    assert len(stand_in.requests["PUT"]) == 1  # none of these is tried again at once


BUSY = {"s3": s3_error("SlowDown"), "azure": azure_error("ServerBusy")}
STORED = {"s3": (200, {"ETag": '"x"'}, ""), "azure": (201, {}, "")}


def test_a_pause_that_the_store_asks_for_is_made(stand_in, stood_in, bundle):
    stand_in.answers["PUT"] = [(503, {"Retry-After": "2"}, BUSY[stood_in.kind]), STORED[stood_in.kind]]
    shipped(stood_in, bundle)
    first, second = stand_in.requests["PUT"][:2]
    assert first.path == second.path and second.time - first.time >= 2


def test_a_long_pause_is_left_to_the_caller(stand_in, stood_in, bundle):
    stand_in.answers["PUT"] = [(503, {"Retry-After": "900"}, BUSY[stood_in.kind])]
    outcome = failed(stood_in, bundle)
    assert outcome.result["retryAfterSeconds"] == 900 and outcome.result["retry"]
    assert len(stand_in.requests["PUT"]) == 1
