/* SPDX-License-Identifier: Apache-2.0 */
/* Brings a failure's files from the store to this machine. */
#include "plugin/evidence.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/printable.h"
#include "plugin/bundle.h"
#include "plugin/foreign_page.h"
#include "plugin/local.h"
#include "plugin/reads.h"
#include "plugin/terminal.h"

#ifdef __APPLE__
#define OPENER "open"
#else
#define OPENER "xdg-open"
#endif

#define REPORT "report.html"
#define REPORT_MAX ((size_t)16 << 20) /* far above the sidecar's own limit of one MiB */

/*
 * Finds the failure that the command line names, and the Ray pods of its namespace. The caller owns
 * both lists.
 */
static int read_for_bundle(const struct options *o, cJSON **ret_failures, const cJSON **ret_failure,
			   cJSON **ret_pods, struct err *err)
{
	struct options there = *o;
	int r = read_failures(o, ret_failures, err);

	if (r == 0)
		r = find_failure(o, *ret_failures, ret_failure, err);
	if (r < 0)
		return r;
	there.all_namespaces = false;
	there.namespace = json_str(*ret_failure, "metadata.namespace");
	return read_ray_pods(&there, NULL, NULL, ret_pods, err);
}

int evidence_bundle(const struct options *o, struct strbuf *, struct err *err)
{
	_cleanup_json_ cJSON *failures = NULL, *pods = NULL;
	struct kubectl kubectl = kubectl_of(o);
	const cJSON *failure;
	int r = read_for_bundle(o, &failures, &failure, &pods, err);

	return r < 0 ? r : bundle_save(&kubectl, failure, pods, o->image, o->second, err);
}

/*
 * --- report
 * ---------------------------------------------------------------------------------------------
 */

/* Makes a file in a new directory that only this user may enter. */
static int evidence_make_place(char path[static PATH_MAX], struct err *err)
{
	const char *above = getenv("TMPDIR");
	char directory[PATH_MAX - sizeof("/" REPORT)];

	if (snprintf(directory, sizeof(directory), "%s/afterglow-XXXXXX",
		     above && *above ? above : "/tmp") >= (int)sizeof(directory))
		return err_set(err, ENAMETOOLONG, "$TMPDIR");
	if (!mkdtemp(directory))
		return err_set(err, errno, "directory %s", directory);
	snprintf(path, PATH_MAX, "%s/" REPORT, directory);
	return 0;
}

/*
 * Runs the desktop's program for a file, and waits until that has ended. Returns -ENOENT if there
 * is no such program, -EPROTO if it failed.
 */
static int browser_open(const char *path, struct err *err)
{
	pid_t pid = fork();

	if (pid < 0)
		return err_set(err, errno, "start %s", OPENER);
	if (pid == 0) {
		/* Ours is ignored (stream_catch_signals), and the program would inherit that. */
		signal(SIGPIPE, SIG_DFL);
		execlp(OPENER, OPENER, path, (char *)NULL);
		_exit(CHILD_NOT_STARTED);
	}
	int r = child_wait(pid, OPENER, err);
	return r == -ENOENT ? err_set(err, ENOENT, "there is no %s here", OPENER) : r;
}

static int show_place(const struct options *o, const char *path, struct strbuf *out)
{
	struct err err = { 0 };

	if (o->no_open) {
		strbuf_addf(out, "The report is in %s\n", path);
		return 0;
	}
	/*
	 * This goes to stderr at once: `out` is printed later, and some openers do not return
	 * before the browser ends.
	 */
	stderr_note("The report is in %s\n", path);
	/* If no browser can be started here, the user can open the page elsewhere. */
	if (browser_open(path, &err) < 0)
		stderr_note("The page was not opened: %s.\n", err_text(&err));
	return 0;
}

static int evidence_write_report(const struct options *o, const struct strbuf *html,
				 struct strbuf *out, struct err *err)
{
	char place[PATH_MAX];
	const char *path = o->output ? o->output : place;
	int r = o->output ? 0 : evidence_make_place(place, err);

	if (r == 0)
		r = file_put(AT_FDCWD, path, strbuf_str(html), html->len, 0600, err);
	return r < 0 ? r : show_place(o, path, out);
}

int evidence_file(const cJSON *failure, const char *name, struct strbuf *out, struct err *err)
{
	int r = local_bundle_file(failure, name, out, err);

	if (r == 0 && out->len)
		mend_printable(out->data, out->len, "\n\t");
	return r;
}

static int page_of_directory(const struct options *o, cJSON **ret_failures,
			     const cJSON **ret_failure, struct strbuf *html, struct err *err)
{
	int r = read_failures(o, ret_failures, err);

	if (r == 0)
		r = find_failure(o, *ret_failures, ret_failure, err);
	return r < 0 ? r : local_bundle_file(*ret_failure, REPORT, html, err);
}

static int page_of_store(const struct options *o, cJSON **ret_failures, const cJSON **ret_failure,
			 struct strbuf *html, struct err *err)
{
	_cleanup_json_ cJSON *pods = NULL;
	struct kubectl kubectl = kubectl_of(o);
	int r = read_for_bundle(o, ret_failures, ret_failure, &pods, err);

	return r < 0 ? r : bundle_read(&kubectl, *ret_failure, pods, o->image, REPORT, html, err);
}

int evidence_report(const struct options *o, struct strbuf *out, struct err *err)
{
	/* A quotation mark becomes six characters. */
	_cleanup_strbuf_ struct strbuf html = STRBUF_INIT(REPORT_MAX),
				       page = STRBUF_INIT(6 * REPORT_MAX + 4096);
	_cleanup_json_ cJSON *failures = NULL;
	const cJSON *failure;
	int r = (o->store ? page_of_directory : page_of_store)(o, &failures, &failure, &html, err);

	if (r < 0)
		return r;
	foreign_page(json_str(failure, "metadata.name"), o->store, &html, &page);
	return strbuf_failed(&page) ? err_set(err, EFBIG, REPORT " is too large") :
				      evidence_write_report(o, &page, out, err);
}
