#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# man.sh DIR PROGRAM...: makes man pages of kubectl afterglow in DIR from its help, in roff with the macros of man(7):
# kubectl-afterglow(1), and kubectl-afterglow-COMMAND(1) for each command. PROGRAM may begin with an emulator.
set -euo pipefail

dir=$1
shift
program=("$@")
version=$("${program[@]}" --version)

write_page() { # TITLE SUMMARY [COMMAND]
	"${program[@]}" "${@:3}" --help | awk -v title="$1" -v summary="$2" -v version="${version##* }" '
	# Roff reads a backslash as an escape, a minus as a hyphen, and a dot or an apostrophe at the start of a line as a request.
	function escaped(text) {
		gsub(/\\/, "\\e", text)
		gsub(/-/, "\\-", text)
		return (text ~ /^[.\047]/ ? "\\&" : "") text
	}
	function section(name) { print ".SH " name }
	BEGIN {
		print ".\\\" Made from the help of the program."
		print ".TH " escaped(title) " 1 \"\" \"afterglow " version "\" \"kubectl afterglow\""
		section("NAME")
		print escaped(title) " \\- " escaped(summary)
	}
	NR == 1 {
		section("SYNOPSIS")
		print ".B " escaped(substr($0, length("usage: ") + 1))
		section("DESCRIPTION")
		next
	}
	/^$/ && !list { section(list = title == "kubectl-afterglow" ? "COMMANDS" : "OPTIONS") }
	/^$/ { next }
	!list { print escaped($0) }
	# In "  -n, --namespace NAME   look in this namespace" the text before the gap becomes the term. Without a gap the text goes on.
	list && sub(/^ +/, "") {
		gap = match($0, /  +/)
		if (gap)
			print ".TP\n.B " escaped(substr($0, 1, gap - 1))
		print escaped(substr($0, gap + RLENGTH)) (list == "COMMANDS" ? ":\n.BR kubectl\\-afterglow\\-" $1 " (1)" : "")
	}
	END {
		section("EXIT STATUS")
		print "0: all went well. 1: kubectl failed, or something was not found, or the doctor found something broken. " \
			"2: the command line is wrong."
		section("ENVIRONMENT")
		print ".TP\n.B KUBECTL\nThe program that is run to reach the cluster, in place of kubectl."
		section("SEE ALSO")
		print ".BR kubectl (1)" (list == "OPTIONS" ? ",\n.BR kubectl\\-afterglow (1)" : "")
	}' >"$dir/$1.1"
}

write_page kubectl-afterglow "list and explain the failures of Ray clusters"
"${program[@]}" --help | sed -n 's/^  \([a-z]*\) .*  \([^ ]\)/\1 \2/p' | while read -r command summary; do
	write_page "kubectl-afterglow-$command" "$summary" "$command"
done
