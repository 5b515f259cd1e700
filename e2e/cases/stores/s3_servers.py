# SPDX-License-Identifier: Apache-2.0
"""Runs the S3 tests against servers that people run, MinIO, SeaweedFS and Ceph, in place of versitygw. The objects are read by requests of S3.

Only `make test-s3-servers` runs this."""

import datetime
import hashlib
import hmac
import os
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree

import pytest

from stores.conftest import Server
from stores.shipping import S3Store, check_whole, digest, read_env, shipped, write_credentials

# pylint: disable=unused-import
from stores.test_aws import test_a_real_server_accepts_these_checksums_and_the_upload_that_another_run_began  # noqa: F401
from stores.test_every_store import (  # noqa: F401
    test_a_bundle_arrives_whole_and_says_where,
    test_a_bundle_that_is_not_complete_is_not_read,
    test_a_file_that_is_not_what_the_manifest_says_keeps_the_bundle_incomplete,
    test_a_file_that_reads_like_an_answer_of_the_store_is_a_file,
    test_killed_at_random_moments_it_comes_to_its_end,
    test_of_the_same_size_and_another_content_is_sent,
    test_shipping_again_changes_nothing,
    test_two_at_once_are_one,
    test_what_was_added_to_a_bundle_follows,
    test_what_was_shipped_is_read_back_as_an_archive_the_manifest_first,
)
from stores.test_object_stores import test_no_bucket_and_no_container  # noqa: F401
from stores.test_s3 import (  # noqa: F401
    test_a_clock_that_is_an_hour_off_is_corrected_by_the_stores,
    test_a_core_that_rots_while_it_is_sent_is_never_put_together,
    test_an_upload_that_nobody_remembers_is_aborted,
    test_connections_cut_at_random_bytes,
    test_parts_that_an_earlier_run_read_wrong_are_sent_again,
    test_killed_in_the_middle_it_sends_no_part_twice,
)

NAMESPACE = "{http://s3.amazonaws.com/doc/2006-03-01/}"


class S3Client:
    """Requests to an S3 server, signed here once more."""

    def __init__(self, env):
        self.endpoint, self.bucket, self.region = env["S3_ENDPOINT"], env["S3_BUCKET"], env["S3_REGION"]
        self.key, self.secret = env["S3_ACCESS_KEY_ID"], env["S3_SECRET_ACCESS_KEY"]

    def call(self, method, key="", headers=(), **params):
        path = urllib.parse.quote(f"/{self.bucket}/{key}" if key else f"/{self.bucket}")
        query = urllib.parse.urlencode(sorted(params.items()), quote_via=urllib.parse.quote)
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        scope = f"{now[:8]}/{self.region}/s3/aws4_request"
        signed = {"host": urllib.parse.urlsplit(self.endpoint).netloc, "x-amz-content-sha256": digest(b""), "x-amz-date": now, **dict(headers)}
        names = ";".join(sorted(signed))
        lines = "".join(f"{name}:{value}\n" for name, value in sorted(signed.items()))
        text = f"{method}\n{path}\n{query}\n{lines}\n{names}\n{digest(b'')}"
        mac = f"AWS4{self.secret}".encode()
        for word in (*scope.split("/"), f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{digest(text.encode())}"):
            mac = hmac.new(mac, word.encode(), hashlib.sha256).digest()
        signed["Authorization"] = f"AWS4-HMAC-SHA256 Credential={self.key}/{scope},SignedHeaders={names},Signature={mac.hex()}"
        url = f"{self.endpoint}{path}" + (f"?{query}" if query else "")
        with urllib.request.urlopen(urllib.request.Request(url, method=method, headers=signed), timeout=60) as answer:
            return answer.read()

    def find(self, what, **params):
        """Returns the texts of the elements of a list."""
        return [found.text for found in xml.etree.ElementTree.fromstring(self.call("GET", **params)).iter(NAMESPACE + what)]


class AskedStore(S3Store):
    """A prefix of the bucket of a server that does not keep objects as files."""

    def __init__(self, directory, credentials, under):
        super().__init__(directory, credentials, under)
        self.client = S3Client(read_env(directory))

    @property
    def top(self):
        return f"pre fix/{self.under}/"

    def read(self, _bundle):
        names = self.client.find("Key", prefix=self.top, **{"list-type": "2"})
        return {name[len(self.top) :]: self.client.call("GET", name) for name in names}

    def clear(self):
        for name in self.client.find("Key", prefix=self.top, **{"list-type": "2"}):
            self.client.call("DELETE", name)

    def uploads(self):
        return self.client.find("UploadId", prefix=f"{self.top}core.python.7.zst", uploads="")

    def parts(self):
        try:
            return [part for upload in self.uploads() for part in self.client.find("PartNumber", key=f"{self.top}core.python.7.zst", uploadId=upload)]
        except urllib.error.HTTPError as error:
            assert error.code == 404  # it was completed or aborted just now
            return []


# Each of them has a worker of its own.
@pytest.fixture(name="s3_server", scope="module", params=[pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in ("minio", "seaweedfs", "ceph")])
def server_that_people_run(request, tmp_path_factory):
    server = Server("s3.sh", tmp_path_factory.mktemp(request.param), env={**os.environ, "S3_SERVER": request.param}).start()
    S3Client(read_env(server.directory)).call("PUT")
    yield server
    server.stop()


@pytest.fixture(name="credentials", scope="module")
def credentials_of_the_server(s3_server, tmp_path_factory):
    env = read_env(s3_server.directory)
    keys = {name: env[f"S3_{name.upper()}"] for name in ("access_key_id", "secret_access_key")}
    return write_credentials(tmp_path_factory.mktemp("credentials"), **keys)


@pytest.fixture(name="s3_store")
def asked_store(s3_server, credentials, place):
    return AskedStore(s3_server.directory, credentials, place)


@pytest.fixture(name="store")
def the_same_store(s3_store):
    return s3_store


def test_a_bucket_with_object_lock_takes_files_and_parts(s3_server, credentials, place, large):
    store = AskedStore(s3_server.directory, credentials, place)
    store.client.bucket = "locked"
    store.client.call("PUT", headers=[("x-amz-bucket-object-lock-enabled", "true")])
    shipped(store.set("--store", "s3://locked/pre fix"), large)
    check_whole(store, large)
