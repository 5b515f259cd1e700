/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the line of shell in front of a Ray container's command. */
#include "operator/injection/launch_script.h"

#include <inttypes.h>

#include "lib/strbuf.h"

/*
 * How much later than a Ray container the sidecar may start: a failed container waits for its
 * report until it is this old. A pod that ends with its sidecar cannot end before anyway, and a
 * sidecar that met nobody would keep it for longer; so its container waits also on a busy node.
 */
#define WAIT_SIDECAR_S 10
#define WAIT_LAST_SIDECAR_S 60

/*
 * bash starts in POSIX mode, in which it ignores BASH_ENV (launch_command.h). An exported SHELLOPTS
 * would hand that mode down. It sets POSIXLY_CORRECT to y itself; another value is the container's
 * own, which the command has to get. Another shell may have BASH_VERSION in its environment, and
 * without `command` it would end at an option that it does not know.
 */
#define LEAVE_POSIX_MODE \
	"[ -z \"$BASH_VERSION\" ] || [ \"$POSIXLY_CORRECT\" != y ] || command set +o posix 2>/dev/null; "

/* Adds " OPTION 'TEXT'", quoted for the shell and for Kubernetes. */
static void add_quoted(struct strbuf *sb, const char *option, const char *text)
{
	strbuf_addf(sb, " %s '", option);
	for (const char *p = text; *p; p++)
		if (*p == '\'')
			strbuf_adds(sb, "'\\''");
		else if (*p == '$')
			strbuf_adds(sb, "$$");
		else
			strbuf_addc(sb, *p);
	strbuf_addc(sb, '\'');
}

static void add_options(struct strbuf *sb, const struct launch_script *in)
{
	if (in->prefix)
		add_quoted(sb, "--prefix", in->prefix);
	strbuf_addf(sb, " --name '%s' --socket %s", in->container, in->socket);
	if (in->termination_log)
		add_quoted(sb, "--termination-log", in->termination_log);
	strbuf_addf(sb, " --wait-sidecar %d",
		    in->never_restarted ? WAIT_LAST_SIDECAR_S : WAIT_SIDECAR_S);
	if (in->ends_pod)
		strbuf_addf(sb, " --wait-after-success %d", WAIT_LAST_SIDECAR_S);
	if (in->cores)
		strbuf_adds(sb, " --cores");
	if (in->cores && in->cores_in_memory)
		strbuf_adds(sb, " --cores-in-memory");
	if (in->cores && in->cores_max > 0)
		strbuf_addf(sb, " --cores-max %" PRId64, in->cores_max);
	if (in->wait_port)
		strbuf_addf(sb, " --wait-tcp \"$FQ_RAY_IP:%s\"", in->wait_port);
}

/* Adds a wait for the head without the launcher, by means of bash alone. */
static void add_wait(struct strbuf *sb, const char *port)
{
	strbuf_addf(
		sb,
		"[ ! -x /bin/bash ] || /bin/bash -c 'for i in {1..300}; do (exec 3<>\"/dev/tcp/$FQ_RAY_IP/%s\") "
		"2>/dev/null && break; sleep 1; done'; ",
		port);
}

/*
 * Adds the choice of the launcher's file. The path contains a dot to have room for
 * "afterglow-launch", the launcher's later name. No image uses the names of the variables: a
 * variable that is already exported would reach the command with our value. bash knows its machine
 * type, which saves a process.
 */
static void add_choice(struct strbuf *sb, const struct launch_script *in)
{
	strbuf_adds(
		sb, LEAVE_POSIX_MODE
		"afterglow() { AFTERGLOW_ENVIRONMENT=${afterglow_lost-} exec /proc/self/fd/./3 --self-fd 3");
	add_options(sb, in);
	strbuf_adds(
		sb,
		" \"$@\"; }; case ${BASH_VERSION:+$HOSTTYPE} in x86_64|aarch64) afterglow_machine=$HOSTTYPE;; "
		"*) afterglow_machine=$$(uname -m);; esac; case $afterglow_machine in ");
	for (size_t i = 0; i < in->launchers->n; i++) {
		const struct launcher *l = &in->launchers->of[i];

		strbuf_addf(sb, "%s) afterglow_file=%s/%s afterglow_sum=%s;; ", l->machine, in->dir,
			    l->file, l->sha256);
	}
	strbuf_adds(sb, "*) afterglow_file=;; esac; ");
}

/*
 * What this shell changes in the environment is handed over as text. As long as that is shorter
 * than this line of shell, which the kernel took before, the launcher's arguments fit, too. If not,
 * the kernel may refuse them (E2BIG), so all of them are tried first.
 */
#define SURELY_FITS 1000

/*
 * The file that is verified is the file that runs, because both use descriptor 3. A file that
 * cannot be opened would end some shells, so this is checked before. An exec that fails ends the
 * shell, too, so the launcher is started in a process of its own first. It says there what this
 * shell changes in the environment (sidecar/launch/environment.h). bash is told to go on if exec
 * fails.
 */
char *launch_script(const struct launch_script *in)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(16384);

	add_choice(&sb, in);
	strbuf_addf(
		&sb,
		"[ ! -r \"$afterglow_file\" ] || [ ! -x \"$afterglow_file\" ] || { "
		"[ \"$$(sha256sum <&3 2>/dev/null)\" = \"$afterglow_sum  -\" ] && "
		"{ shopt -s execfail 2>/dev/null; afterglow_lost=$$(afterglow --environment 2>/dev/null); } && "
		"{ [ ${#afterglow_lost} -lt %d ] || (afterglow --environment -- \"$@\") >/dev/null 2>&1; } && "
		"afterglow -- \"$@\"; } 3<\"$afterglow_file\"; ",
		SURELY_FITS);
	if (in->wait_port)
		add_wait(&sb, in->wait_port);
	strbuf_adds(&sb, "exec \"$@\"");
	return strbuf_detach(&sb);
}

char *wait_script(const char *port)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(1024);

	strbuf_adds(&sb, LEAVE_POSIX_MODE);
	add_wait(&sb, port);
	strbuf_adds(&sb, "exec \"$@\"");
	return strbuf_detach(&sb);
}
