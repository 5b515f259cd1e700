# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables are of ../lib.sh, and for those who source this
# What the scripts of the node in User Mode Linux share: names, addresses, and where its disk is kept. Sourced after ../lib.sh.

v2=$here/v2
v2_node=afterglow-v2
v2_dir=$run/v2

# A link of the cluster's network namespace with the machine, and the machine's pods behind it.
v2_link=afg-v2
v2_machine_link=afg-v2-machine
v2_link_ip=10.249.0.1
v2_ip=10.249.0.2
v2_pod_cidr=10.248.0.0/24
# Both of them, for the routes of those farther away.
v2_cidr=10.248.0.0/15

# The name of the directory is a hash of all that its contents are made from.
v2_disk_dir() {
	printf '%s/v2-disk-%s\n' "$cache" "$({
		cat "$v2/disk.sh" "$v2"/root/*
		bin_dir
		"$here/../../images/ray/name.sh"
	} | sha256sum | cut -c1-16)"
}
