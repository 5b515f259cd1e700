# SPDX-License-Identifier: Apache-2.0
"""Starts real servers, and ends them."""

import itertools
import os
import subprocess
import urllib.parse

import pytest

from conftest import AtTheEnd
from stores.azure import AzureClient, AzureStore, make_certificate
from stores.shipping import LAUNCHERS, MIB, Bundle, DirectoryStore, HdfsStore, S3Store, read_env, write_credentials
from stores.stand_in import StandIn


class Server:
    """One of e2e/stores/*.sh with its data in a directory."""

    def __init__(self, launcher, directory, env=None, prefix=()):
        self.launcher = [*prefix, str(LAUNCHERS / launcher)]
        self.directory = directory
        self.env = env
        self.port = None
        self.end = None

    def start(self):
        args = [str(self.port)] if self.port else []
        self.end = AtTheEnd(*self.launcher, "stop", self.directory)
        done = subprocess.run(
            [*self.launcher, "start", str(self.directory), *args],
            capture_output=True, text=True, timeout=400, env=self.env, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        env = read_env(self.directory)
        endpoint = env.get("S3_ENDPOINT") or env.get("AZURE_ENDPOINT")
        if endpoint:
            self.port = urllib.parse.urlsplit(endpoint).port
        return self

    def stop(self):
        self.end.now()


@pytest.fixture(name="s3_server", scope="session")
def s3_server_of_all(tmp_path_factory):
    server = Server("s3.sh", tmp_path_factory.mktemp("s3")).start()
    yield server
    server.stop()


def start_azure(directory):
    """Starts a server of Azure Blob Storage with a container, and returns it with a client."""
    ca = make_certificate(directory)
    env = {**os.environ, "AZURE_CERT": str(ca), "AZURE_CERT_KEY": str(directory / "key.pem")}
    server = Server("azure.sh", directory, env=env).start()
    client = AzureClient(read_env(directory), ca)
    client.make_container()
    return server, client


@pytest.fixture(name="azure", scope="session")
def azure_of_all(tmp_path_factory):
    server, client = start_azure(tmp_path_factory.mktemp("azure"))
    yield client
    server.stop()


@pytest.fixture(name="azure_key", scope="session")
def azure_credentials(azure, tmp_path_factory):
    return write_credentials(tmp_path_factory.mktemp("azure_key"), account_key=azure.key)


@pytest.fixture(name="hdfs_server", scope="session")
def hdfs_server_of_all(tmp_path_factory):
    server = Server("hdfs.sh", tmp_path_factory.mktemp("hdfs")).start()
    yield server
    server.stop()


@pytest.fixture(name="credentials", scope="session")
def s3_credentials(s3_server, tmp_path_factory):
    env = read_env(s3_server.directory)
    return write_credentials(
        tmp_path_factory.mktemp("credentials"),
        access_key_id=env["S3_ACCESS_KEY_ID"],
        secret_access_key=env["S3_SECRET_ACCESS_KEY"],
    )


numbers = itertools.count(1)


@pytest.fixture
def place():
    """A path below a store that no other test has."""
    return f"ml/demo/pod.{next(numbers):08x}/ray-worker/20261121T012906Z-Segfault"


@pytest.fixture
def directory_store(tmp_path, place):
    (tmp_path / "store").mkdir()
    return DirectoryStore(tmp_path / "store", place)


@pytest.fixture
def s3_store(s3_server, credentials, place):
    return S3Store(s3_server.directory, credentials, place)


@pytest.fixture
def azure_store(azure, azure_key, place):
    return AzureStore(azure, azure_key, place)


@pytest.fixture
def hdfs_store(hdfs_server, place):
    return HdfsStore(hdfs_server.directory, place)


@pytest.fixture
def stand_in():
    server = StandIn()
    yield server
    server.close()


@pytest.fixture
def stood_in_s3(stand_in, s3_server, credentials, place):
    return S3Store(s3_server.directory, credentials, place, endpoint=stand_in.url)


@pytest.fixture
def stood_in_azure(stand_in, azure, azure_key, place):
    return AzureStore(azure, azure_key, place, endpoint=stand_in.url)


@pytest.fixture(params=["directory", "s3", "azure", "hdfs"])
def store(request):
    return request.getfixturevalue(f"{request.param}_store")


@pytest.fixture
def bundle(tmp_path):
    """A bundle without a core."""
    return Bundle(tmp_path / "bundle")


@pytest.fixture
def large(tmp_path):
    """A bundle with a core that is uploaded to S3 and Azure in ten parts."""
    return Bundle(tmp_path / "large", core=48 * MIB - 7)
