/* SPDX-License-Identifier: Apache-2.0 */
/* The line of shell in front of a Ray container's command. */
#include "operator/injection/launch_script.h"

#include "lib/strbuf.h"

/* How far behind a Ray container the recorder may start; so old a container that failed may become for its report. */
#define WAIT_RECORDER_S 10

/* As uname -m calls the machine that the operator and its launcher are made for. */
#if defined(__x86_64__)
#define MACHINE "x86_64"
#elif defined(__aarch64__)
#define MACHINE "aarch64"
#else
#error "name the machine as uname -m does"
#endif

/* " OPTION 'TEXT'", safe in the shell and from Kubernetes. */
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
	strbuf_addf(sb, " --wait-recorder %d", WAIT_RECORDER_S);
	if (in->cores)
		strbuf_adds(sb, " --cores");
	if (in->wait_port)
		strbuf_addf(sb, " --wait-tcp \"$FQ_RAY_IP:%s\"", in->wait_port);
}

/* Without the launcher a worker still has to wait for the head. What it waits with is bash's own. */
static void add_wait(struct strbuf *sb, const char *port)
{
	strbuf_addf(sb,
		    "[ ! -x /bin/bash ] || /bin/bash -c 'for i in {1..300}; do (exec 3<>\"/dev/tcp/$FQ_RAY_IP/%s\") "
		    "2>/dev/null && break; sleep 1; done'; ",
		    port);
}

/* --version comes last: whoever prints it knows all that is before it. */
char *launch_script(const struct launch_script *in)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(16384);

	strbuf_addf(&sb, "L=%s; if %s\"$L\"", in->launcher,
		    in->simple_shell ? "[ \"$$(uname -m)\" = " MACHINE " ] && " : "");
	add_options(&sb, in);
	strbuf_adds(&sb, " --version >/dev/null 2>&1; then exec \"$L\"");
	add_options(&sb, in);
	strbuf_adds(&sb, " -- \"$@\"; fi; ");
	if (in->wait_port)
		add_wait(&sb, in->wait_port);
	strbuf_adds(&sb, "exec \"$@\"");
	return strbuf_detach(&sb);
}
