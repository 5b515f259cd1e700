/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_line DIR SOCKET: the line of shell in front of a Ray container's command, for the
 * launchers in DIR, as the shell gets it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "operator/injection/launch_script.h"

int main(int argc, char **argv)
{
	struct launchers launchers;
	struct err err = { 0 };
	char *script;

	if (argc != 3 || launchers_load(argv[1], &launchers, &err) < 0) {
		fprintf(stderr, "usage: launch_line DIR SOCKET (%s)\n", err_text(&err));
		return 2;
	}
	script = launch_script(&(struct launch_script){ .launchers = &launchers,
							.dir = argv[1],
							.socket = argv[2],
							.container = "ray-worker",
							.cores = true });
	for (const char *p = script; p && *p; p++) {
		putchar(*p);
		p += p[0] == '$' && p[1] == '$'; /* as Kubernetes does it */
	}
	free(script);
	return script ? 0 : 1;
}
