# SPDX-License-Identifier: Apache-2.0
"""What AWS documents of S3 and STS, and our real S3 server neither asks for nor says. A stand-in does both."""

import base64
import datetime
import hashlib
import json
import re

import pytest

from stores.shipping import check_whole, failed, kill_when, shipped
from stores.stand_in import s3_error
from stores.test_s3 import FAKETIME

CREATED = "<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>"
COMPLETED = "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>"


@pytest.fixture(name="aws")
def aws_stand_in(stand_in):
    """It accepts objects, whole and in parts."""
    stand_in.answers["PUT"] = [(200, {"ETag": '"x"'}, "")]
    stand_in.answers["POST"] = [(200, {}, CREATED), (200, {}, COMPLETED)]
    return stand_in


# --- Object Lock ---


def locked(request):
    """Answers as a bucket with Object Lock and a default retention: the digest of what is put must be in its headers."""
    digest = request.headers.get("Content-MD5")
    if request.method != "PUT":
        return None
    if not digest:
        return 400, {}, s3_error("InvalidRequest", "Content-MD5 OR x-amz-checksum- HTTP header is required "
                                                   "for Put Object requests with Object Lock parameters")
    if digest != base64.b64encode(hashlib.md5(request.body).digest()).decode():
        return 400, {}, s3_error("BadDigest", "The Content-MD5 you specified did not match what we received.")
    return None


def test_a_bucket_of_another_server_with_object_lock_takes_files_and_parts(aws, stood_in_s3, large):
    aws.judge = locked
    shipped(stood_in_s3, large)
    assert len([request for request in aws.requests["PUT"] if "partNumber=" in request.path]) == 10
    assert all("content-md5" in request.headers["Authorization"] for request in aws.requests["PUT"])


# --- Checksums, as policies of buckets on AWS want them ---


def at_aws(store):
    """Requests are for a host of AWS, and go to the store as to a proxy."""
    store.args += ["--proxy", store.endpoint, "--no-proxy", "none.invalid"]
    return store.set("--s3-endpoint", "http://s3.eu-test-1.amazonaws.com")


def checksum(data):
    return base64.b64encode(hashlib.sha256(data).digest()).decode()


def checksummed(request):
    """Answers as a bucket with Object Lock, whose policy denies what has no SHA-256; and as AWS answers where an upload and its parts disagree."""
    if "uploads=" in request.path:
        return None if request.headers.get("x-amz-checksum-algorithm") == "SHA256" else (403, {}, s3_error("AccessDenied"))
    if request.method == "PUT" and request.headers.get("x-amz-checksum-sha256") != checksum(request.body):
        return 400, {}, s3_error("BadDigest", "The SHA256 you specified did not match the calculated checksum.")
    if request.method == "POST" and request.body.count(b"</ChecksumSHA256></Part>") != request.body.count(b"<Part>"):
        return 400, {}, s3_error("InvalidRequest", "The upload was created using a sha256 checksum. The complete request must include the checksum for each part.")
    return None


def test_on_aws_each_file_and_part_has_its_sha256(aws, stood_in_s3, large):
    aws.judge = checksummed
    shipped(at_aws(stood_in_s3), large)
    sent = [request for request in aws.requests["PUT"] if "partNumber=" in request.path]
    assert len(sent) == 10
    sums = {int(re.search("partNumber=([0-9]+)", request.path)[1]): request.headers["x-amz-checksum-sha256"] for request in sent}
    listed = re.findall("<PartNumber>([0-9]+)</PartNumber><ETag>[^<]*</ETag><ChecksumSHA256>([^<]*)</ChecksumSHA256>", aws.requests["POST"][-1].body.decode())
    assert {int(number): value for number, value in listed} == sums
    assert all("x-amz-checksum-sha256" in request.headers["Authorization"] for request in aws.requests["PUT"])


def test_a_real_server_accepts_these_checksums_and_the_upload_that_another_run_began(s3_store, large):
    """It has the name of AWS here, and compares each checksum with what it received."""
    at_aws(s3_store).args.append("--s3-path-style")
    kill_when(s3_store, large, "8Mi", "three parts", lambda: len(s3_store.parts()) >= 3)
    s3_store.wait_answered()
    shipped(s3_store, large)
    check_whole(s3_store, large)


def test_an_upload_that_an_older_version_began_without_them_begins_anew(s3_store, large):
    """Amazon takes no part with a checksum for an upload that was begun without one."""
    kill_when(s3_store, large, "8Mi", "three parts", lambda: len(s3_store.parts()) >= 3)
    s3_store.wait_answered()
    note = json.loads((large.path / ".ship").read_text())
    assert note["upload"].pop("sha256Parts") is False
    (large.path / ".ship").write_text(json.dumps(note))
    at_aws(s3_store).args.append("--s3-path-style")
    shipped(s3_store, large)
    check_whole(s3_store, large)


# --- Encryption ---

KEY = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
ENCRYPTION = "x-amz-server-side-encryption"


def encrypted(request):
    """Answers as a bucket whose policy wants SSE-KMS with one key of each object; AWS takes these headers where an object begins only."""
    begins = request.method == "PUT" and "partNumber=" not in request.path or request.path.endswith("?uploads=")
    given = {name.lower(): value for name, value in request.headers.items() if name.lower().startswith(ENCRYPTION)}
    wanted = {ENCRYPTION: "aws:kms", f"{ENCRYPTION}-aws-kms-key-id": KEY, f"{ENCRYPTION}-bucket-key-enabled": "true"}
    if given == (wanted if begins else {}):
        return None
    if begins:
        return 403, {}, s3_error("AccessDenied", "explicit deny in a resource-based policy")
    return 400, {}, s3_error("InvalidArgument", f"{ENCRYPTION} header is not supported for this operation.")


def test_objects_are_encrypted_as_the_bucket_policy_wants(aws, stood_in_s3, large):
    aws.judge = encrypted
    assert failed(stood_in_s3, large).result["kind"] == "permission"
    shipped(stood_in_s3, large, "--s3-encryption", "aws:kms", "--s3-kms-key-id", KEY, "--s3-bucket-key")


def test_a_real_server_accepts_the_headers_of_encryption(s3_store, large):
    shipped(s3_store, large, "--s3-encryption", "AES256")
    check_whole(s3_store, large)


# --- Refusals, in the words of AWS ---


def denied(action, reason):
    who = "arn:aws:sts::111122223333:assumed-role/ray-failures/afterglow-ship"
    return 403, {}, s3_error("AccessDenied", f"User: {who} is not authorized to perform: {action} on resource: {KEY} {reason}")


@pytest.mark.parametrize("action, reason, sentence", [
    ("kms:GenerateDataKey", "because no resource-based policy allows the kms:GenerateDataKey action", "may not use the key of KMS"),
    ("s3:PutObject", "with an explicit deny in a resource-based policy", "a policy denies this explicitly"),
    ("s3:PutObject", "because no identity-based policy allows the s3:PutObject action", "may not do this"),
])
def test_a_refusal_says_who_may_not_do_what(aws, stood_in_s3, bundle, action, reason, sentence):
    aws.answers["PUT"] = [denied(action, reason)]
    outcome = failed(stood_in_s3, bundle)
    assert (outcome.code, outcome.result["kind"]) == (3, "permission")
    for words in sentence, f"ray-failures/afterglow-ship is not authorized to perform: {action} on", reason.split()[0]:
        assert words in outcome.result["error"]


# --- Errors that pass ---


def test_errors_that_pass_are_tried_again(aws, stood_in_s3, bundle):
    elsewhere = {"Location": "http://failures.s3.eu-test-1.example/", "x-amz-bucket-region": "eu-test-1"}
    aws.answers["PUT"] = [
        (307, elsewhere, s3_error("TemporaryRedirect", "Please re-send this request to the specified temporary endpoint.")),
        (503, {}, s3_error("SlowDown", "Please reduce your request rate.")),
        (400, {}, s3_error("ThrottlingException", "You have exceeded the rate at which you may call KMS.")),
        (200, {"ETag": '"x"'}, ""),
    ]
    outcome = shipped(stood_in_s3, bundle)
    assert len(aws.requests["PUT"]) == len(bundle.files) + 3
    assert "the bucket is new" in outcome.stderr


def too_skewed(request):
    """Answers as S3 does to a request that is more than 15 minutes off."""
    date = next(value for name, value in request.headers.items() if name.lower() == "x-amz-date")
    said = datetime.datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
    if abs(datetime.datetime.now(datetime.timezone.utc) - said) < datetime.timedelta(minutes=15):
        return None
    return 403, {}, s3_error("RequestTimeTooSkewed", "The difference between the request time and the current time is too large.")


def test_a_wrong_clock_is_corrected_for_parts_too(aws, stood_in_s3, large):
    aws.judge = too_skewed
    outcome = shipped(stood_in_s3, large, env={"LD_PRELOAD": FAKETIME, "FAKETIME": "-3600", "DONT_FAKE_MONOTONIC": "1"})
    assert outcome.stderr.count("until then requests have the store's time") == 1


def test_a_wrong_clock_is_not_blamed_for_what_the_store_refuses_then(aws, stood_in_s3, bundle):
    aws.judge = lambda request: too_skewed(request) or denied("s3:PutObject", "because no identity-based policy allows it")
    outcome = failed(stood_in_s3, bundle, env={"LD_PRELOAD": FAKETIME, "FAKETIME": "-3600", "DONT_FAKE_MONOTONIC": "1"})
    assert outcome.result["kind"] == "permission"


def test_a_clock_that_the_store_refuses_again_is_left_to_a_person(aws, stood_in_s3, bundle):
    aws.answers["PUT"] = [(403, {}, s3_error("RequestTimeTooSkewed"))]
    outcome = failed(stood_in_s3, bundle, env={"LD_PRELOAD": FAKETIME, "FAKETIME": "-3600", "DONT_FAKE_MONOTONIC": "1"})
    assert (outcome.result["kind"], outcome.result["retryAfterSeconds"], len(aws.requests["PUT"])) == ("clock", 300, 2)


# --- Egress by a proxy only ---


def test_the_store_is_reached_by_the_proxy_alone(aws, stood_in_s3, bundle):
    stood_in_s3.set("--s3-endpoint", "http://s3.example.invalid:9000")
    elsewhere = {"http_proxy": "http://127.0.0.1:1", "no_proxy": ""}
    shipped(stood_in_s3, bundle, "--proxy", aws.url, env=elsewhere)
    assert len(aws.requests["PUT"]) == len(bundle.files)
    assert all(request.path.startswith("http://failures.s3.example.invalid:9000/") for request in aws.requests["PUT"])


def test_hosts_that_need_no_proxy_are_reached_without_it(s3_store, bundle):
    assert failed(s3_store, bundle, "--proxy", "http://127.0.0.1:1", "--deadline", "2").result["retry"]
    shipped(s3_store, bundle, "--proxy", "http://127.0.0.1:1", "--no-proxy", ".svc,127.0.0.0/8")
    check_whole(s3_store, bundle)
