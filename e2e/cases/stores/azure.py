# SPDX-License-Identifier: Apache-2.0
"""Tests reach Azure Blob Storage by requests of our own, which are signed here once more, and as a store."""

import base64
import datetime
import hashlib
import hmac
import ssl
import subprocess
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree

from stores.shipping import Store

VERSION = "2021-12-02"
CONTAINER = "failures"
HOST = "devstoreaccount1.blob.localhost"


def make_certificate(directory):
    """Makes a certificate that signs itself, for the address and for a name as real accounts have them."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=azure",
         "-addext", f"subjectAltName=IP:127.0.0.1,DNS:{HOST}", "-keyout", directory / "key.pem", "-out", directory / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    return directory / "cert.pem"


def mac(key, text):
    return base64.b64encode(hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()).decode()


class AzureClient:
    """Requests to a server that azure.sh has started, signed with the account's key."""

    def __init__(self, env, ca):
        self.endpoint, self.account, self.key = (env[f"AZURE_{name}"] for name in ("ENDPOINT", "ACCOUNT", "ACCOUNT_KEY"))
        self.ca = ca
        self.target = ("127.0.0.1", urllib.parse.urlsplit(self.endpoint).port)

    def call(self, method, path, params=(), container=CONTAINER):
        params = sorted(dict(params).items())
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%a, %d %b %Y %H:%M:%S GMT")
        headers = {"x-ms-date": now, "x-ms-version": VERSION}
        url = f"{self.endpoint}/{container}{urllib.parse.quote(path)}"
        lines = "".join(f"{name}:{value}\n" for name, value in sorted(headers.items()))
        resource = f"/{self.account}{urllib.parse.urlsplit(url).path}" + "".join(f"\n{name}:{value}" for name, value in params)
        text = method + "\n" * 12 + lines + resource
        headers["Authorization"] = f"SharedKey {self.account}:{mac(self.key, text)}"
        query = "?" + urllib.parse.urlencode(params, quote_via=urllib.parse.quote) if params else ""
        request = urllib.request.Request(url + query, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=120, context=ssl.create_default_context(cafile=str(self.ca))) as answer:
            return answer.read(), answer.headers

    def make_container(self):
        try:
            self.call("PUT", "", {"restype": "container"})
        except urllib.error.HTTPError as error:
            assert error.code == 409  # it is there already

    def names(self, prefix):
        found, marker = [], ""
        while True:
            params = {"restype": "container", "comp": "list", "prefix": prefix, **({"marker": marker} if marker else {})}
            text, _ = self.call("GET", "", params)
            tree = xml.etree.ElementTree.fromstring(text)
            found += [name.text for name in tree.iter("Name")]
            marker = tree.findtext("NextMarker")
            if not marker:
                return found

    def get(self, name):
        return self.call("GET", f"/{name}")[0]

    def headers(self, name):
        return self.call("HEAD", f"/{name}")[1]

    def uncommitted(self, name):
        """Returns the sizes of the blocks of a blob that no list has named yet."""
        try:
            text, _ = self.call("GET", f"/{name}", {"comp": "blocklist", "blocklisttype": "uncommitted"})
        except urllib.error.HTTPError as error:
            assert error.code == 404
            return []
        return [int(size.text) for size in xml.etree.ElementTree.fromstring(text).iter("Size")]

    def sas(self, permissions="rcw", hours=1, container=CONTAINER):
        """Returns a SAS token for a container."""
        until = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")
        fields = [permissions, "", until, f"/blob/{self.account}/{container}", "", "", "https", VERSION, "c", "", "", "", "", "", "", ""]
        values = {"sp": permissions, "se": until, "spr": "https", "sv": VERSION, "sr": "c", "sig": mac(self.key, "\n".join(fields))}
        return urllib.parse.urlencode(values)


class AzureStore(Store):
    """A prefix of the container."""

    kind = "azure"

    def __init__(self, client, credentials, under, endpoint=None):
        self.client = client
        self.under = under
        self.target = client.target
        super().__init__("--store", f"azure://{client.account}/{CONTAINER}/pre fix", "--azure-endpoint", endpoint or client.endpoint,
                         "--azure-block-size", "5Mi", "--ca", str(client.ca), "--as", under,
                         *(["--credentials", str(credentials)] if credentials else []))

    def through(self, proxy):
        """Returns the same store with a proxy before it."""
        return self.set("--azure-endpoint", f"https://{proxy.address}/{self.client.account}")

    @property
    def top(self):
        return f"pre fix/{self.under}/"

    def read(self, _bundle):
        return {name[len(self.top) :]: self.client.get(name) for name in self.client.names(self.top)}

    def clear(self):
        for name in self.client.names(self.top):
            self.client.call("DELETE", f"/{name}")

    def blocks(self):
        return self.client.uncommitted(f"{self.top}core.python.7.zst")
