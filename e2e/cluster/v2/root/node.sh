# SPDX-License-Identifier: Apache-2.0
# The network, and the two directories that the machine shares with the one it runs on: its own, and the tests' volumes, which have
# the same path on both sides. The kernel's command line names them. Runs once, before all else.
set -eu
shared() { sed -n "s/.*\<afterglow\.$1=\([^ ]*\).*/\1/p" /proc/cmdline; }

ip link set lo up
ip address add 10.249.0.2/30 dev vec0
ip link set vec0 up
ip route add default via 10.249.0.1
mkdir -p /run/node /run/volumes
mount -t hostfs -o "$(shared node)" none /run/node
# hostfs makes files as the user whose process the kernel is, root. bindfs gives them to the one who made them.
volumes=$(shared volumes)
mkdir -p "$volumes"
mount -t hostfs -o "$volumes" none /run/volumes
bindfs /run/volumes "$volumes"
# The kubelet ends where no processor has a clock speed, and those of User Mode Linux have none.
sed 's/^model name.*/&\ncpu MHz\t\t: 2000.000/' /proc/cpuinfo >/run/cpuinfo
mount --bind /run/cpuinfo /proc/cpuinfo
