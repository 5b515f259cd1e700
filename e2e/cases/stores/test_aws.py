# SPDX-License-Identifier: Apache-2.0
"""What AWS documents of S3 and STS, and our real S3 server neither asks for nor says. A stand-in does both."""

import base64
import hashlib

import pytest

from stores.shipping import shipped
from stores.stand_in import s3_error

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


def test_a_bucket_with_object_lock_takes_files_and_parts(aws, stood_in_s3, large):
    aws.judge = locked
    shipped(stood_in_s3, large)
    assert len([request for request in aws.requests["PUT"] if "partNumber=" in request.path]) == 10
    assert all("content-md5" in request.headers["Authorization"] for request in aws.requests["PUT"])
