# SPDX-License-Identifier: Apache-2.0
"""Pods as network namespaces on a bridge of this machine, which is the node, and packet filters in them. They end with the tests."""

import ipaddress
import json
import random
import subprocess
import sys
import uuid

from conftest import AtTheEnd

# Says what becomes of a connection: somebody listens, nobody does, or a filter refuses it.
CONNECT = """
import errno, socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2]))).close()
    print("open")
except OSError as error:
    print({errno.ECONNREFUSED: "closed", errno.EHOSTUNREACH: "filtered"}.get(error.errno, error))
"""
LISTEN = "import http.server, sys; http.server.ThreadingHTTPServer(('', int(sys.argv[1])), http.server.BaseHTTPRequestHandler).serve_forever()"


def run(*command, stdin=None):
    return subprocess.run([str(part) for part in command], input=stdin, check=True, capture_output=True, text=True).stdout


def connect(address, port, inside=()):
    return run(*inside, sys.executable, "-c", CONNECT, address, port).strip()


def free_network():
    """Returns the first three bytes of a network that is meant for tests (RFC 2544) and that this machine does not use yet."""
    routes = [ipaddress.ip_network(r["dst"]) for r in json.loads(run("ip", "-json", "-4", "route", "show", "table", "all"))
              if r["dst"] != "default"]
    tests = ipaddress.ip_network("198.18.0.0/15")
    taken = [r for r in routes if r.prefixlen > tests.prefixlen]
    free = [n for n in tests.subnets(new_prefix=24) if not any(n.overlaps(r) for r in taken)]
    return str(random.choice(free).network_address).rpartition(".")[0]


class Bridge:
    """The node's bridge, with the first address of a free network."""

    def __init__(self):
        self.name = f"afg-{uuid.uuid4().hex[:6]}"
        self.network = free_network()
        self.address, self.pods, self.ends = f"{self.network}.1", {}, []
        run("ip", "link", "add", self.name, "type", "bridge")
        self.ends.append(AtTheEnd("ip", "link", "del", self.name))
        run("ip", "address", "add", f"{self.address}/24", "dev", self.name)
        run("ip", "link", "set", self.name, "up")

    def pod(self, name, peer):
        """peer: what NetworkPolicies see of the pod; its address is set here."""
        self.pods[name] = Pod(self, len(self.pods) + 2, peer)
        return self.pods[name]

    def close(self):
        for end in reversed(self.ends):
            end.now()


class Pod:
    """The network namespace of a pod."""

    def __init__(self, bridge, number, peer):
        self.netns, link = f"{bridge.name}-{number}", f"{bridge.name}v{number}"
        self.address = f"{bridge.network}.{number}"
        self.peer = {**peer, "IP": self.address}
        # Not ip netns exec, which hides /sys/fs/cgroup; and this one becomes the program, so a pid is that of the program.
        self.inside = ("nsenter", f"--net=/run/netns/{self.netns}")
        run("ip", "netns", "add", self.netns)
        bridge.ends.append(AtTheEnd("ip", "netns", "del", self.netns))
        run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", self.netns)
        run("ip", "link", "set", link, "master", bridge.name, "up")
        for command in ("link set lo up", "link set eth0 up", f"address add {self.address}/24 dev eth0", f"route add default via {bridge.address}"):
            run("ip", "-n", self.netns, *command.split())

    def service(self, address, port, to):
        """Sends connections to a Service on to a pod, as kube-proxy does."""
        run(*self.inside, "iptables", "--wait", "-t", "nat", "-A", "OUTPUT", "-p", "tcp", "-d", address, "--dport", port, "-j", "DNAT", "--to-destination", to)

    def connect(self, address, port):
        return connect(address, port, self.inside)

    def allow_only(self, flows):
        """flows: (source's address, destination's address, port) of what may begin. None: everything."""
        rules = ["*filter", ":INPUT ACCEPT", ":OUTPUT ACCEPT"]
        if flows is not None:
            rules += [f"-A {chain} {match} -j ACCEPT" for chain, match in
                      (("INPUT", "-i lo"), ("OUTPUT", "-o lo"), *((c, "-m conntrack --ctstate ESTABLISHED,RELATED") for c in ("INPUT", "OUTPUT")))]
            rules += [f"-A {'INPUT' if to == self.address else 'OUTPUT'} -p tcp -s {source} -d {to} --dport {port} -j ACCEPT"
                      for source, to, port in flows if self.address in (source, to)]
            rules += [f"-A {chain} -j REJECT --reject-with icmp-admin-prohibited" for chain in ("INPUT", "OUTPUT")]
        run(*self.inside, "iptables-restore", "--wait", stdin="\n".join([*rules, "COMMIT", ""]))


def allowed(program, policies, peers, ports):
    """Returns the flows between any two of the peers, at these ports (number, name), that the policies allow, as cyclonus says."""
    flows = [(source, to, *port) for source in peers for to in peers if source is not to for port in ports]
    question = {"policies": policies, "flows": [
        {"Source": source, "Destination": to, "ResolvedPort": port, "ResolvedPortName": name, "Protocol": "TCP"} for source, to, port, name in flows]}
    answers = json.loads(run(program, stdin=json.dumps(question)))
    return [(source["IP"], to["IP"], port) for (source, to, port, _), answer in zip(flows, answers, strict=True) if answer]
