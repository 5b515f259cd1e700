/* SPDX-License-Identifier: Apache-2.0 */
/*
 * afterglow-pack compresses a core file into a zstd file. It is a child of the
 * sidecar, which passes two descriptors to it. It confines itself before it reads
 * the core.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/command_line.h"
#include "lib/json.h"
#include "lib/undumpable.h"
#include "sidecar/pack/confine.h"
#include "sidecar/pack/pack.h"
#include "sidecar/pack/receive.h"

enum mode { MODE_SUMMARY, MODE_FULL, MODE_RECEIVE };

struct options {
	int mode; /* enum mode; -1: not given */
	int core_fd, out_fd;
	int64_t max_bytes;
	bool help, version;
};

#define AT(member) offsetof(struct options, member)

/* clang-format off */
static const struct option_row rows[] = {
	{ .help = "usage: afterglow-pack --mode summary|full|receive --core-fd N --out-fd N [--max-bytes N]\n"
		  "Compresses the core file that is open as descriptor --core-fd into the file that is open\n"
		  "as --out-fd, and prints one line of JSON.\n" },
	{ "--mode", "MODE", OPTION_CHOICE, AT(mode),
	  .choices = (const char *const[]){ "summary", "full", "receive", NULL },
	  .help = "summary: keep all notes, each thread's stack and the list of what was loaded,\n"
		  "without the rest of the memory; a debugger opens it\n"
		  "full: keep all of it, as zstd -d gives it back\n"
		  "receive: read the core from a pipe and write it uncompressed, without what is\n"
		  "beyond --max-bytes (at least 1048576): stacks come first, large parts of\n"
		  "the memory last" },
	{ "--core-fd", "N", OPTION_INT, AT(core_fd), .max = INT_MAX },
	{ "--out-fd", "N", OPTION_INT, AT(out_fd), .max = INT_MAX, .help = "descriptors that are open" },
	{ "--max-bytes", "N", OPTION_COUNT, AT(max_bytes), .max = INT64_MAX,
	  .help = "write no more than this (default 0: any number)" },
	{ "--help", .kind = OPTION_FLAG, .at = AT(help) },
	{ "--version", .kind = OPTION_FLAG, .at = AT(version), .help = "" },
	{ .help = "The members of the JSON:\n"
		  "  bytesIn, bytesOut         bytes read and written\n"
		  "  holes                     bytes in holes, which were not read (summary, full)\n"
		  "  complete, why             false: the core, or the file, is cut; the reason (summary, full)\n"
		  "  sha256                    of the file written (summary, full)\n"
		  "  leftOut                   bytes for which there was no room (receive)\n"
		  "Exit code 0: the file is of use, even if it is cut. 1: it is not; stderr says why. 2: wrong options.\n" },
};
/* clang-format on */

static const struct option_table table = OPTION_TABLE(rows, 18);

static int pack_options_parse(char **argv, struct options *o, struct err *err)
{
	*o = (struct options){ .mode = -1, .core_fd = -1, .out_fd = -1 };
	int n = options_take(&table, 0, argv + 1, o, err);
	if (n < 0 || o->help || o->version)
		return n;
	if (argv[1 + n])
		return err_set(err, EINVAL, "unexpected argument %s (see --help)", argv[1 + n]);
	if (o->mode < 0 || o->core_fd < 0 || o->out_fd < 0)
		return err_set(err, EINVAL,
			       "--mode, --core-fd and --out-fd are needed (see --help)");
	if (fcntl(o->core_fd, F_GETFD) < 0 || fcntl(o->out_fd, F_GETFD) < 0)
		return err_set(
			err, EINVAL,
			"--core-fd and --out-fd take the number of an open descriptor (see --help)");
	return 0;
}

static void print_json(const cJSON *json)
{
	_cleanup_free_ char *text = cJSON_PrintUnformatted(json);

	if (text)
		puts(text);
}

static void print_received(const struct received *r)
{
	_cleanup_json_ cJSON *json = cJSON_CreateObject();

	json_set_int(json, "bytesIn", (int64_t)r->bytes_in);
	json_set_int(json, "bytesOut", (int64_t)r->bytes_out);
	json_set_int(json, "leftOut", (int64_t)r->left_out);
	print_json(json);
}

static void print_result(const struct packed *r)
{
	_cleanup_json_ cJSON *json = cJSON_CreateObject();

	json_set_int(json, "bytesIn", (int64_t)r->bytes_in);
	json_set_int(json, "bytesOut", (int64_t)r->bytes_out);
	json_set_int(json, "holes", (int64_t)r->holes);
	json_set(json, "complete", cJSON_CreateBool(r->complete));
	json_set_str(json, "why", r->why[0] ? r->why : NULL);
	json_set_str(json, "sha256", r->sha256);
	print_json(json);
}

static int run_receive(const struct options *o, struct received *ret_received, struct err *err)
{
	int rc = pack_confine_files(o->core_fd, o->out_fd, err);

	if (rc >= 0)
		rc = pack_confine_calls(o->core_fd, o->out_fd, err);
	return rc < 0 ? rc :
			receive_core(o->core_fd, o->out_fd, (uint64_t)o->max_bytes, ret_received,
				     err);
}

static int run(const struct options *o, struct packed *ret_packed, struct err *err)
{
	struct zstream *out;
	int rc = pack_confine_files(o->core_fd, o->out_fd, err);

	if (rc >= 0)
		rc = zstream_new(o->out_fd, (uint64_t)o->max_bytes, &out, err);
	if (rc < 0)
		return rc;
	rc = pack_confine_calls(-1, o->out_fd, err);
	if (rc >= 0)
		rc = pack_core(o->core_fd, o->mode == MODE_FULL ? PACK_FULL : PACK_SUMMARY, out,
			       ret_packed, err);
	/*
	 * The file is synced before the parent takes it, because the parent must not wait for a
	 * disk.
	 */
	if (rc >= 0 && fdatasync(o->out_fd) < 0 && errno != EINVAL && errno != EROFS)
		rc = err_set(err, errno, "fdatasync");
	zstream_free(out);
	return rc;
}

int main(int, char **argv)
{
	struct options options;
	struct packed packed;
	struct received received;
	struct err err = { 0 };

	undumpable_become();
	if (pack_options_parse(argv, &options, &err) < 0) {
		fprintf(stderr, "afterglow-pack: %s\n", err_text(&err));
		return 2;
	}
	if (options.help)
		return options_print_help(&table, 0);
	if (options.version)
		return puts("afterglow-pack " AFTERGLOW_VERSION) == EOF;
	bool receive = options.mode == MODE_RECEIVE;
	if ((receive ? run_receive(&options, &received, &err) : run(&options, &packed, &err)) < 0) {
		fprintf(stderr, "afterglow-pack: %s\n", err_text(&err));
		return 1;
	}
	if (receive)
		print_received(&received);
	else
		print_result(&packed);
	return fflush(stdout) == 0 ? 0 : 1;
}
