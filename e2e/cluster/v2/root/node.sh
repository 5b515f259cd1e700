# SPDX-License-Identifier: Apache-2.0
# The network, and the two directories that the machine shares with the one it runs on: its own, and the tests' volumes, which have
# the same path on both sides. Runs once, before all else.
set -eu
ip link set lo up
ip address add 10.249.0.2/30 dev eth0
ip link set eth0 up
ip route add default via 10.249.0.1
mkdir -p /run/node
mount -t virtiofs node /run/node
volumes=$(cat /run/node/volumes)
mkdir -p "$volumes"
mount -t virtiofs volumes "$volumes"
