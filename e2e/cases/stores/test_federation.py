# SPDX-License-Identifier: Apache-2.0
"""Web identity works without stand-ins: with an issuer of tokens, versitygw's STS and its S3, which verifies session tokens.

STS refuses issuers on private addresses, so all of it lives in a network namespace that has a public one of its own
(TEST-NET-2, RFC 5737)."""

import base64
import http.client
import json
import subprocess
import time
import urllib.parse
import uuid

import pytest

from conftest import AtTheEnd, die_with_parent
from stores.shipping import LAUNCHERS, S3Store, check_whole, failed, shipped, write_credentials

# Its servers are started once, by one worker.
pytestmark = pytest.mark.xdist_group("federation")

ISSUER_IP = "198.51.100.7"
ISSUER = f"https://{ISSUER_IP}"
ACCOUNT_KEY, ACCOUNT_SECRET = "ROOTOFALL", "root/secret"
STS, S3, PRIVATE = "127.0.0.1:7078", "127.0.0.1:7077", "127.0.0.1:7079"

SERVE = f"""
import functools, http.server, ssl, sys
directory, certificate, key = sys.argv[1:]
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=directory)
server = http.server.ThreadingHTTPServer(("{ISSUER_IP}", 443), handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*args, stdin=None):
    return subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True, input=stdin).stdout


def make_certificates(d):
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=ca", "-keyout", d / "ca.key",
            "-out", d / "ca.crt")  # fmt: skip
    (d / "extensions").write_text(f"subjectAltName=IP:{ISSUER_IP},IP:127.0.0.1\n")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=leaf", "-keyout", d / "leaf.key", "-out", d / "leaf.csr")
    openssl("x509", "-req", "-in", d / "leaf.csr", "-CA", d / "ca.crt", "-CAkey", d / "ca.key", "-days", "2", "-extfile",
            d / "extensions", "-out", d / "leaf.crt")  # fmt: skip


def publish_issuer(d):
    """Publishes what STS fetches to verify a token: where the keys are, and the key."""
    modulus = openssl("rsa", "-in", d / "leaf.key", "-noout", "-modulus").decode().strip().split("=")[1]
    key = {"kty": "RSA", "kid": "k1", "use": "sig", "alg": "RS256", "n": encode(bytes.fromhex(modulus)), "e": "AQAB"}
    discovery = {
        "issuer": ISSUER, "jwks_uri": f"{ISSUER}/jwks", "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["RS256"],
    }  # fmt: skip
    well_known = d / "web" / ".well-known"
    well_known.mkdir(parents=True)
    (well_known / "openid-configuration").write_text(json.dumps(discovery))
    (d / "web" / "jwks").write_text(json.dumps({"keys": [key]}))


class Federation:
    """Issuer, IAM with STS, and the S3 gateway that asks it."""

    def __init__(self, inside, directory):
        self.inside = inside
        self.directory = directory
        self.running = []

    def start(self):
        d = self.directory
        make_certificates(d)
        publish_issuer(d)
        program = subprocess.run(
            [LAUNCHERS / "s3.sh", "build"], check=True, capture_output=True, text=True
        ).stdout.strip()  # fmt: skip
        leaf, key, ca = d / "leaf.crt", d / "leaf.key", d / "ca.crt"
        for name in ("iam", "data/failures"):
            (d / name).mkdir(parents=True)
        self.run("python3", "-c", SERVE, d / "web", leaf, key)
        self.wait(f"{ISSUER_IP}:443")
        root = ["--access", ACCOUNT_KEY, "--secret", ACCOUNT_SECRET, "--quiet"]
        self.run("env", f"SSL_CERT_FILE={ca}", program, "-p", STS, *root, "iam", "--dir", d / "iam", "--private-ports",
                 PRIVATE, "--private-cert", leaf, "--private-cert-key", key, "--private-client-ca", ca)  # fmt: skip
        self.wait(STS)
        self.run(program, "-p", S3, *root, "--iam-standalone-endpoint", PRIVATE, "--iam-standalone-client-cert", leaf,
                 "--iam-standalone-client-cert-key", key, "--iam-standalone-server-ca", ca, "posix", d / "data")  # fmt: skip
        self.wait(S3)

    def run(self, *command):
        log = open(self.directory / "log", "ab")  # noqa: SIM115
        # pylint: disable=subprocess-popen-preexec-fn
        self.running.append(subprocess.Popen([*self.inside, *map(str, command)], stdout=log, stderr=log,
                                             preexec_fn=die_with_parent))

    def wait(self, address):
        host, port = address.split(":")
        for _ in range(1200):
            probe = [*self.inside, "bash", "-c", f": >/dev/tcp/{host}/{port}"]
            if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
                return
            time.sleep(0.1)
        raise AssertionError((self.directory / "log").read_text())

    def stop(self):
        for process in self.running:
            process.kill()
            process.wait()

    def iam(self, action, **parameters):
        """Calls IAM's API as its root user."""
        form = urllib.parse.urlencode({"Action": action, "Version": "2010-05-08", **parameters})
        done = subprocess.run(
            [*self.inside, "curl", "-sS", "-w", "\n%{http_code}", "--aws-sigv4", "aws:amz:us-east-1:iam", "--user",
             f"{ACCOUNT_KEY}:{ACCOUNT_SECRET}", "-d", form, f"http://{STS}/"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        body, status = done.stdout.rsplit("\n", 1)
        assert int(status) == http.client.OK, body
        return body

    def token(self, subject="system:serviceaccount:ml:ray", seconds=600):
        """Returns a token as the kubelet projects one."""
        now = int(time.time())
        claims = {"iss": ISSUER, "aud": "sts.amazonaws.com", "sub": subject, "iat": now - 7200, "exp": now + seconds}
        text = encode(b'{"alg":"RS256","typ":"JWT","kid":"k1"}') + "." + encode(json.dumps(claims).encode())
        signature = openssl("dgst", "-sha256", "-sign", self.directory / "leaf.key", stdin=text.encode())
        return text + "." + encode(signature)


@pytest.fixture(scope="module", name="federation")
def in_a_namespace(tmp_path_factory):
    name = f"afg-sts-{uuid.uuid4().hex[:6]}"
    inside = ["ip", "netns", "exec", name]
    subprocess.run(["ip", "netns", "add", name], check=True)
    end = AtTheEnd("ip", "netns", "del", name)
    federation = Federation(inside, tmp_path_factory.mktemp("federation"))
    try:
        subprocess.run([*inside, "ip", "link", "set", "lo", "up"], check=True)
        subprocess.run([*inside, "ip", "address", "add", f"{ISSUER_IP}/32", "dev", "lo"], check=True)
        federation.start()
        yield federation
    finally:
        federation.stop()
        end.now()


@pytest.fixture(scope="module", name="role")
def a_role_that_may_write(federation):
    provider = federation.iam("CreateOpenIDConnectProvider", **{"Url": ISSUER, "ClientIDList.member.1": "sts.amazonaws.com"})
    arn = provider.split("<OpenIDConnectProviderArn>")[1].split("<")[0]
    trust = {"Version": "2012-10-17", "Statement": [{
        "Effect": "Allow", "Principal": {"Federated": arn}, "Action": "sts:AssumeRoleWithWebIdentity",
        "Condition": {"StringEquals": {f"{ISSUER_IP}:sub": "system:serviceaccount:ml:ray"}}}]}  # fmt: skip
    role = federation.iam("CreateRole", RoleName="afterglow", AssumeRolePolicyDocument=json.dumps(trust))
    # What docs/stores.md says is the least that is needed.
    text = (LAUNCHERS.parents[1] / "docs" / "stores.md").read_text()
    policy = text[text.index('    {"Version": "2012-10-17"') :].split("\n\n")[0]
    policy = policy.replace("BUCKET", "failures").replace("PREFIX", "pre fix")
    federation.iam("PutRolePolicy", RoleName="afterglow", PolicyName="ship", PolicyDocument=json.dumps(json.loads(policy)))
    return role.split("<Arn>")[1].split("<")[0]


@pytest.fixture(name="federated")
def a_store(federation, role, tmp_path, place):
    (federation.directory / "env").write_text(f"S3_ENDPOINT=http://{S3}\nS3_BUCKET=failures\nS3_REGION=us-east-1\n")

    def make(token, policy_place=place):
        credentials = write_credentials(tmp_path / uuid.uuid4().hex, role_arn=role, web_identity_token=token)
        store = S3Store(federation.directory, credentials, policy_place)
        store.args += ["--s3-sts-endpoint", f"http://{STS}"]
        return store

    return make


def test_the_role_may_come_by_option_and_then_lasting_keys_do_not_count(federation, role, tmp_path, place, bundle):
    """The sidecar calls it so: the token alone is in the mounted volume."""
    (federation.directory / "env").write_text(f"S3_ENDPOINT=http://{S3}\nS3_BUCKET=failures\nS3_REGION=us-east-1\n")
    token = write_credentials(tmp_path / "token", web_identity_token=federation.token(), access_key_id="WRONG", secret_access_key="w")
    store = S3Store(federation.directory, token, place)
    store.args += ["--s3-role-arn", role, "--s3-sts-endpoint", f"http://{STS}"]
    shipped(store, bundle, prefix=federation.inside)
    check_whole(store, bundle)
    (token / "web-identity-token").unlink()
    outcome = failed(store, bundle, prefix=federation.inside)
    assert (outcome.code, outcome.result["kind"]) == (3, "credentials"), outcome
    assert "web-identity-token" in outcome.result["error"]


def test_a_service_accounts_token_is_enough(federation, federated, large):
    """The role has the policy of docs/stores.md and no more."""
    store = federated(federation.token())
    shipped(store, large, prefix=federation.inside)
    check_whole(store, large)
    assert not store.uploads()
    shipped(store, large, prefix=federation.inside)


@pytest.mark.parametrize(
    "claims, kinds",
    [
        ({"seconds": -3600}, ["credentials-expired"]),
        ({"subject": "system:serviceaccount:ml:other"}, ["credentials", "permission"]),
    ],
)
def test_another_token_is_not(federation, federated, bundle, claims, kinds):
    outcome = failed(federated(federation.token(**claims)), bundle, prefix=federation.inside)
    assert outcome.result["kind"] in kinds, outcome


def test_what_the_policy_does_not_allow_is_said(federation, federated, bundle):
    store = federated(federation.token())
    store.args[1] = "s3://failures/elsewhere"
    outcome = failed(store, bundle, prefix=federation.inside)
    assert (outcome.code, outcome.result["kind"]) == (3, "permission"), outcome
