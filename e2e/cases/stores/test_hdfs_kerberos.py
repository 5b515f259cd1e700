# SPDX-License-Identifier: Apache-2.0
"""Bundles are shipped to HDFS with Kerberos: a real KDC gives the tickets that NameNode, DataNode and Hadoop's gateway want."""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import textwrap

import pytest

from conftest import wait_for
from stores.conftest import Server
from stores.shipping import MIB, ROOT, HdfsStore, Store, check_whole, failed, read_back, read_env, ship, shipped, write_credentials
from stores.stand_in import StandIn
from stores.test_s3 import FAKETIME
from stores.test_tls import certificates  # noqa: F401 # pylint: disable=unused-import

# Its servers are started once, by one worker.
pytestmark = pytest.mark.xdist_group("kerberos")

TICKET = "Authorization"
# For how long a delegation token is valid: every run ends sooner, except the one that is slow on purpose.
TOKEN_S = 8


class Kdc(Server):
    """Runs a KDC, and makes Secrets for its principals."""

    def __init__(self, directory):
        super().__init__("kdc.sh", directory)
        self.conf = directory / "krb5.conf"

    def admin(self, query):
        subprocess.run([*self.launcher, "admin", str(self.directory), query], check=True, timeout=60)

    def add(self, name, *options):
        self.admin(f"addprinc -randkey {' '.join(options)} {name}")
        return self.keytab(name)

    def keytab(self, name):
        file = self.directory / f"{name}.keytab"
        self.admin(f"ktadd -norandkey -k {file} {name}")
        return file

    def secret(self, directory, keytab, conf=None, **others):
        """Makes a Secret with a keytab, as it is mounted."""
        write_credentials(directory, **others)
        for name, data in (("keytab", keytab.read_bytes()), ("krb5.conf", (conf or self.conf.read_text()).encode())):
            (directory / name).write_bytes(data)
            (directory / name).chmod(0o400)
        return directory

    def tickets(self, service):
        """Returns how often the KDC gave a ticket for a service."""
        return len(re.findall(rf"TGS_REQ.*ISSUE.* for {re.escape(service)}@", (self.directory / "kdc.log").read_text()))


@pytest.fixture(scope="module", name="kdc")
def kdc_of_all(tmp_path_factory):
    kdc = Kdc(tmp_path_factory.mktemp("kdc")).start()
    # Tickets end sooner than the slowest of these runs.
    kdc.add("ray", "-maxlife", '"10 seconds"')
    yield kdc
    kdc.stop()


@pytest.fixture(scope="module", name="secured")
def hdfs_with_kerberos(kdc, tls, tmp_path_factory):
    env = {
        **os.environ, "HDFS_KDC": str(kdc.directory), "HDFS_TOKEN_MS": str(TOKEN_S * 1000),
        "HDFS_CERT": str(tls / "server.crt"), "HDFS_KEY": str(tls / "server.key"),
    }  # fmt: skip
    server = Server("hdfs.sh", tmp_path_factory.mktemp("hdfs"), env=env).start()
    yield server
    server.stop()


class KerberosStore(HdfsStore):
    """A directory of this HDFS. The tests look into it as its superuser, by a ticket."""

    def __init__(self, server, kdc, secret, under, **kwargs):
        super().__init__(server.directory, under, **kwargs)
        self.env = {**os.environ, "KRB5_CONFIG": str(kdc.conf), "KRB5_CLIENT_KTNAME": str(server.directory / "hdfs.keytab"), "KRB5CCNAME": "MEMORY:"}
        option = self.args.index("--webhdfs-user")
        self.args[option : option + 2] = ["--credentials", str(secret)]

    def get(self, *args):
        return subprocess.run(["curl", "-fsSL", "--negotiate", "--user", ":", *args], env=self.env, capture_output=True, check=True, timeout=180).stdout

    def call(self, method, path, op, user=None):
        try:
            return self.get("-X", method, f"{self.web}{path.replace(' ', '%20')}?op={op}")
        except subprocess.CalledProcessError as error:
            assert b"404" in error.stderr, error.stderr
            return b'{"FileStatuses":{"FileStatus":[]}}'

    def tokens(self):
        """Returns how many delegation tokens the NameNode remembers."""
        text = self.get(self.web.replace("/webhdfs/v1", "/jmx?qry=Hadoop:service=NameNode,name=FSNamesystem"))
        return json.loads(text)["beans"][0]["CurrentTokensCount"]


@pytest.fixture(name="secret")
def ray_secret(kdc, tmp_path):
    return kdc.secret(tmp_path / "secret", kdc.directory / "ray.keytab")


@pytest.fixture(name="store")
def kerberos_store(secured, kdc, secret, place):
    return KerberosStore(secured, kdc, secret, place)


def test_a_keytab_ships_and_reads_back_and_leaves_nothing_behind(store, large):
    outcome = shipped(store, large)
    done, files = read_back(store)
    assert files == large.files, done.stderr
    check_whole(store, large)
    said = outcome.stderr + str(outcome.lines) + done.stderr.decode()

    def leaves_nothing():
        """Tries again, because here tokens are short-lived, and one that expires before its run ends cannot be cancelled."""
        before = store.tokens()
        shipped(store, large)
        read_back(store)
        return store.tokens() <= before

    wait_for("runs that cancel their tokens", leaves_nothing)
    assert "Negotiate" not in said and "delegation=" not in said
    assert "in plain text" in said


def test_with_tls_nothing_is_in_plain_text(secured, kdc, secret, place, tls, bundle):
    (secret / "ca.crt").write_bytes((tls / "ours.crt").read_bytes())
    store = KerberosStore(secured, kdc, secret, place, address=read_env(secured.directory)["WEBHDFSS"], scheme="webhdfss")
    assert "in plain text" not in shipped(store, bundle).stderr
    check_whole(store, bundle)


@pytest.mark.long
def test_a_run_outlives_its_tickets_and_tokens(kdc, store, bundle):
    for i in range(8):
        bundle.write(f"core.python.{i}.zst", bundle.random.randbytes(MIB))
    bundle.commit()
    before = kdc.tickets("HTTP/127.0.0.1")
    outcome = shipped(store, bundle, "--limit-rate", str(8 * MIB // (TOKEN_S + 2)))
    # One is enough for a run that is over within the life of a token.
    assert kdc.tickets("HTTP/127.0.0.1") >= before + 2, outcome
    check_whole(store, bundle)


def token_of(store, secured):
    url = f"http://{read_env(secured.directory)['WEBHDFS']}/webhdfs/v1/?op=GETDELEGATIONTOKEN"
    return json.loads(store.get(url))["Token"]["urlString"]


def test_a_delegation_token_of_the_secret(kdc, store, secured, tmp_path, bundle):
    store.env["KRB5_CLIENT_KTNAME"] = str(kdc.directory / "ray.keytab")
    secret = tmp_path / "token"
    store.set("--credentials", str(secret))

    def goes():
        """Tries again, because a token is short-lived here, and may expire before the run ends."""
        if secret.exists():
            (secret / "delegation-token").unlink()
        write_credentials(secret, delegation_token=token_of(store, secured))
        outcome = ship(store, bundle)
        assert outcome.code == 0 or outcome.result["kind"] == "credentials-expired", outcome
        return outcome.code == 0

    wait_for("a run within the life of a token", goes)
    token = (secret / "delegation-token").read_text().strip()
    store.call("PUT", "/", f"CANCELDELEGATIONTOKEN&token={token}")
    outcome = failed(store, bundle)
    assert (outcome.code, outcome.result["kind"]) == (1, "credentials-expired"), outcome
    assert token not in outcome.stderr + str(outcome.lines)


def test_without_proof_nobody_comes_in(secured, place, bundle):
    outcome = failed(HdfsStore(secured.directory, place), bundle)
    assert (outcome.code, outcome.result["kind"]) == (3, "credentials"), outcome
    assert "keytab" in outcome.result["error"]


@pytest.mark.parametrize(
    "change, says",
    [
        ("modprinc -expire 2020-01-01 {}", "has expired"),
        ("modprinc -allow_tix {}", "is locked"),
        ("cpw -randkey {}", "not the one that the KDC has"),
        ("delprinc -force {}", "does not know this principal"),
    ],
)
def test_the_kdc_says_no(kdc, secured, place, tmp_path, bundle, change, says):
    name = re.sub(r"\W+", "", change)
    keytab = kdc.add(name)
    kdc.admin(change.format(name))
    store = KerberosStore(secured, kdc, kdc.secret(tmp_path / "secret", keytab), place)
    outcome = failed(store, bundle)
    assert (outcome.code, outcome.result["kind"]) == (3, "credentials"), outcome
    assert says in outcome.result["error"] and f"{name}@AFTERGLOW.TEST" in outcome.result["error"]


def replace(secret, name, text):
    (secret / name).unlink(missing_ok=True)
    (secret / name).write_text(text)


@pytest.mark.parametrize(
    "spoil, says",
    [
        (lambda s: (s / "krb5.conf").unlink(), "no krb5.conf"),
        (lambda s: replace(s, "krb5.conf", "[libdefaults\n"), "krb5.conf: "),
        (lambda s: replace(s, "keytab", "this is none"), "is no keytab"),
        (lambda s: replace(s, "principal", "somebody"), "has no key of this principal"),
    ],
)
def test_what_is_wrong_with_a_secret(store, secret, bundle, spoil, says):
    spoil(secret)
    outcome = failed(store, bundle)
    assert (outcome.code, outcome.result["kind"]) == (3, "credentials"), outcome
    assert says in outcome.result["error"]


def test_a_realm_without_a_kdc(store, secret, bundle):
    replace(secret, "krb5.conf", "[libdefaults]\ndefault_realm = AFTERGLOW.TEST\ndns_lookup_kdc = false\n")
    outcome = failed(store, bundle, "--deadline", "1")
    assert (outcome.code, outcome.result["kind"]) == (1, "network"), outcome
    assert "names no KDC" in outcome.result["error"]


@pytest.fixture(name="with_dns")
def name_server(kdc, tmp_path):
    """Starts a name server that knows where the KDC is, and yields the words before a command that uses it."""
    host, port = read_env(kdc.directory)["KDC"].split(":")
    address = f"127.53.{os.getpid() // 256 % 256}.{os.getpid() % 256}"
    options = ["--no-daemon", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--local=/afterglow.test/", "--user=root", "--bind-interfaces", f"--listen-address={address}"]
    options += [f"--srv-host=_kerberos._{by}.afterglow.test,kdc.afterglow.test,{port}" for by in ("udp", "tcp")]
    resolv = tmp_path / "resolv.conf"
    resolv.write_text(f"nameserver {address}\n")
    with subprocess.Popen(["dnsmasq", *options, f"--address=/kdc.afterglow.test/{host}"], stderr=subprocess.PIPE, text=True) as server:
        assert "started" in server.stderr.readline()
        yield ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$@"', resolv]
        server.terminate()


def test_a_kdc_that_dns_alone_names(store, secret, bundle, with_dns):
    replace(secret, "krb5.conf", "[libdefaults]\ndefault_realm = AFTERGLOW.TEST\ndns_canonicalize_hostname = false\n")
    shipped(store, bundle, prefix=with_dns)
    check_whole(store, bundle)


def test_a_secret_that_everybody_may_read(store, secret, bundle):
    (secret / "keytab").chmod(0o444)
    assert "can be read by every user" in shipped(store, bundle).stderr


def test_of_several_principals_the_secret_names_one(kdc, secured, place, tmp_path, bundle):
    both = tmp_path / "both.keytab"
    kdc.add("first")
    for name in ("first", "ray"):
        kdc.admin(f"ktadd -norandkey -k {both} {name}")
    store = KerberosStore(secured, kdc, kdc.secret(tmp_path / "first", both), place)
    outcome = failed(store, bundle)
    assert outcome.result["kind"] == "permission" and "user=first" in outcome.result["error"]
    shipped(store.set("--credentials", str(kdc.secret(tmp_path / "ray", both, principal="ray@AFTERGLOW.TEST"))), bundle)
    check_whole(store, bundle)


@pytest.mark.parametrize("offset", ["-20m", "+20m"])
def test_a_wrong_clock(kdc, store, secret, bundle, offset):
    env = {"LD_PRELOAD": FAKETIME, "FAKETIME": offset, "DONT_FAKE_MONOTONIC": "1"}
    # libkrb5 takes the time from the KDC, unless krb5.conf forbids it.
    shipped(store, bundle, env=env)
    check_whole(store, bundle)
    replace(secret, "krb5.conf", kdc.conf.read_text().replace("[libdefaults]", "[libdefaults]\nkdc_timesync = 0"))
    outcome = failed(store, bundle, env=env)
    assert (outcome.code, outcome.result["kind"], outcome.result["retryAfterSeconds"]) == (1, "clock", 300), outcome


def test_the_kdc_is_down_and_comes_back(kdc, store, bundle):
    kdc.stop()
    try:
        outcome = failed(store, bundle, "--deadline", "3")
    finally:
        kdc.start()
    assert outcome.code == 1 and outcome.result["kind"] in ("network", "deadline"), outcome
    assert outcome.result["kind"] == "deadline" or "no KDC of this realm answers" in outcome.result["error"]
    shipped(store, bundle)
    check_whole(store, bundle)


@contextlib.contextmanager
def silent_kdc(kdc, secret):
    """Runs a KDC that takes requests and answers none."""
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        udp.bind(tcp.getsockname())
        replace(secret, "krb5.conf", kdc.conf.read_text().replace(read_env(kdc.directory)["KDC"], f"127.0.0.1:{tcp.getsockname()[1]}"))
        yield


def test_a_kdc_that_is_silent_ends_with_the_deadline(kdc, store, secret, bundle):
    with silent_kdc(kdc, secret):
        outcome = failed(store, bundle, "--deadline", "1")
    assert outcome.code == 1 and outcome.result["kind"] in ("deadline", "network"), outcome


def test_a_server_that_the_kdc_does_not_know(secured, kdc, secret, place, bundle):
    port = read_env(secured.directory)["WEBHDFS"].split(":")[1]
    store = KerberosStore(secured, kdc, secret, place, address=f"localhost:{port}")
    outcome = failed(store, bundle)
    assert (outcome.code, outcome.result["kind"]) == (3, "credentials"), outcome
    assert "does not know the service" in outcome.result["error"] and "localhost" in outcome.result["error"]


MISSING = (404, {}, '{"RemoteException":{"exception":"FileNotFoundException","message":"no"}}')
TOKEN = (200, {}, '{"Token":{"urlString":"KAAEdG9rZW4"}}')
EXPIRED = (403, {}, '{"RemoteException":{"exception":"InvalidToken","message":"token (x) is expired"}}')


@pytest.mark.parametrize(
    "answer, kind, says",
    [
        ((401, {}, "<html>"), "credentials", "does not accept the Kerberos ticket of ray@AFTERGLOW.TEST"),
        ((403, {}, "GSSException: Checksum failed"), "credentials", "does not accept the Kerberos ticket"),
        ((200, {}, '{"Token":null}'), "protocol", "gives no delegation token"),
        ((200, {}, '{"Token":{"urlString":"two words\\r\\nX-Header: x"}}'), "protocol", "gives no delegation token"),
        ((200, {}, json.dumps({"Token": {"urlString": "K" * 20000}})), "protocol", "gives no delegation token"),
        ((200, {}, "no JSON"), "protocol", "HDFS at"),
        ((307, {"Location": "http://127.0.0.1:1/webhdfs/v1/?op=GETDELEGATIONTOKEN"}, ""), "redirect", "not followed"),
    ],
)
def test_a_namenode_that_gives_no_token(kdc, secured, secret, bundle, answer, kind, says):
    with contextlib.closing(StandIn()) as namenode:
        namenode.answers["GET"] = [answer]
        store = Store("--store", f"webhdfs://{namenode.address}/f", "--credentials", str(secret))
        outcome = failed(store, bundle)
    assert outcome.result["kind"] == kind and says in outcome.result["error"], outcome
    assert "X-Header" not in str(outcome.lines) + outcome.stderr


def test_a_ticket_goes_to_the_namenode_alone_and_a_token_in_its_place_to_the_rest(kdc, secured, secret, bundle):
    """A NameNode that refuses each token that it gave is asked for a second one, and for no third."""
    with contextlib.closing(StandIn()) as namenode, contextlib.closing(StandIn()) as datanode:
        location = {"Location": f"{datanode.url}/webhdfs/v1/x?op=CREATE"}
        namenode.answers["PUT"] = [(200, {}, '{"boolean":true}'), (307, location, "")]
        datanode.answers["PUT"] = [EXPIRED]
        namenode.answers["GET"] = [TOKEN, MISSING, TOKEN]
        store = Store("--store", f"webhdfs://{namenode.address}/f", "--credentials", str(secret))
        outcome = failed(store, bundle)
        assert outcome.result["kind"] == "credentials-expired", outcome
        asked = namenode.requests["GET"] + namenode.requests["PUT"]
        with_ticket = [request for request in asked if TICKET in request.headers]
        assert [request.path for request in with_ticket] == ["/webhdfs/v1/?op=GETDELEGATIONTOKEN"] * 2
        assert len({request.headers[TICKET] for request in with_ticket}) == 2
        assert all("delegation=KAAEdG9rZW4" in request.path for request in asked if request not in with_ticket)
        assert len(datanode.requests["PUT"]) == 2 and all(TICKET not in request.headers for request in datanode.requests["PUT"])


def refused(secret, bundle, *args):
    """Returns the outcome of a run whose NameNode accepts no ticket."""
    with contextlib.closing(StandIn()) as namenode:
        namenode.answers["GET"] = [(401, {}, "<html>")]
        return failed(Store("--store", f"webhdfs://{namenode.address}/f", "--credentials", str(secret)), bundle, *args)


def logged_in(outcome):
    """Returns whether the KDC knew us. Whether it knows the service, too, depends on the cases that ran before."""
    return re.search(r"does not accept the Kerberos ticket of ray@|ray@\S+ for the service .* does not know the service", outcome.result["error"])


def test_the_krb5_conf_of_the_documents(kdc, secret, bundle):
    lines = (ROOT / "docs" / "stores.md").read_text().splitlines()
    start = lines.index("    [libdefaults]")
    text = textwrap.dedent("\n".join(lines[start : lines.index("", start)]))
    text = text.replace("EXAMPLE.COM", "AFTERGLOW.TEST").replace("kdc.example.com", read_env(kdc.directory)["KDC"])
    replace(secret, "krb5.conf", text + "\n")
    outcome = refused(secret, bundle)
    assert logged_in(outcome), outcome


def test_a_library_that_krb5_conf_names_is_not_loaded(kdc, secret, tmp_path, bundle):
    marker, source, library = tmp_path / "loaded", tmp_path / "plugin.c", secret / "plugin.so"
    source.write_text(f'#include <fcntl.h>\n__attribute__((constructor)) static void load(void) {{ open("{marker}", O_CREAT | O_WRONLY, 0600); }}\n')
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    subprocess.run([sys.executable, "-c", f"import ctypes; ctypes.CDLL('{library}')"], check=True)
    marker.unlink()  # so it leaves one when it is loaded
    plugins = "".join(f"{name} = {{\nmodule = x:{library}\n}}\n" for name in ("clpreauth", "hostrealm"))
    replace(secret, "krb5.conf", f"{kdc.conf.read_text()}\n[plugins]\n{plugins}")
    outcome = refused(secret, bundle)
    assert logged_in(outcome), outcome
    assert not marker.exists()


@pytest.mark.long
def test_a_run_that_waits_for_a_silent_kdc_gives_signs_of_life(kdc, secret, bundle):
    """The sidecar ends a run that prints nothing for two minutes, and then does not know why it failed."""
    with silent_kdc(kdc, secret):
        outcome = refused(secret, bundle, "--deadline", "60")
    assert outcome.code == 1 and outcome.result["kind"] in ("deadline", "network"), outcome
    assert any("file" in line for line in outcome.lines), outcome


def test_httpfs_wants_a_ticket_too(secured, kdc, secret, place, bundle):
    done = subprocess.run([*secured.launcher, "httpfs", str(secured.directory)], env=secured.env, capture_output=True, text=True, check=True)
    store = KerberosStore(secured, kdc, secret, place, address=done.stdout.strip().splitlines()[-1])
    shipped(store, bundle)
    check_whole(store, bundle)
