/* SPDX-License-Identifier: Apache-2.0 */
/*
 * afterglow-pack compresses a core file into a zstd file. It is a child of the
 * sidecar, which passes two descriptors to it. It confines itself before it reads
 * the core.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/json.h"
#include "lib/undumpable.h"
#include "sidecar/pack/confine.h"
#include "sidecar/pack/pack.h"
#include "sidecar/pack/receive.h"

struct options {
	bool receive;
	enum pack_mode mode;
	int core_fd, out_fd;
	uint64_t max_bytes;
};

static const char usage[] =
	"usage: afterglow-pack --mode summary|full|receive --core-fd N --out-fd N [--max-bytes N]\n"
	"Compresses the core file that is open as descriptor --core-fd into the file that is open\n"
	"as --out-fd, and prints one line of JSON.\n"
	"  --mode summary  keep all notes, each thread's stack and the list of what was loaded,\n"
	"                  without the rest of the memory; a debugger opens it\n"
	"  --mode full     keep all of it, as zstd -d gives it back\n"
	"  --mode receive  read the core from a pipe and write it uncompressed, without what is\n"
	"                  beyond --max-bytes (at least 1048576): stacks come first, large parts of\n"
	"                  the memory last\n"
	"The members of the JSON:\n"
	"  bytesIn, bytesOut         bytes read and written\n"
	"  holes                     bytes in holes, which were not read (summary, full)\n"
	"  complete, why             false: the core, or the file, is cut; the reason (summary, full)\n"
	"  sha256                    of the file written (summary, full)\n"
	"  leftOut                   bytes for which there was no room (receive)\n"
	"Exit code 0: the file is of use, even if it is cut. 1: it is not; stderr says why. 2: wrong options.\n";

static bool parse_count(const char *text, uint64_t max, uint64_t *ret_value)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
	if (!text || *text < '0' || *text > '9' || errno || *end || value > max)
		return false;
	*ret_value = value;
	return true;
}

static int usage_error(const char *option, const char *right)
{
	fprintf(stderr, "afterglow-pack: %s%s (see --help)\n", option, right);
	return 2;
}

/* Returns what values the option takes, for the message about a wrong one. */
static const char *what_is_right(const char *option)
{
	if (strcmp(option, "--mode") == 0)
		return " takes summary, full or receive";
	if (strcmp(option, "--core-fd") == 0 || strcmp(option, "--out-fd") == 0)
		return " takes the number of an open descriptor";
	return strcmp(option, "--max-bytes") == 0 ? " takes a number of bytes, 0 for any" : " is no option";
}

static bool take_mode(struct options *o, const char *name)
{
	o->receive = strcmp(name, "receive") == 0;
	o->mode = strcmp(name, "full") == 0 ? PACK_FULL : PACK_SUMMARY;
	return o->receive || o->mode == PACK_FULL || strcmp(name, "summary") == 0;
}

/* Returns -1 to go on, or the exit code. */
static int parse_options(char **argv, struct options *o)
{
	bool mode_given = false;
	uint64_t n;

	*o = (struct options){ .core_fd = -1, .out_fd = -1 };
	for (int i = 1; argv[i]; i++) {
		const char *value = argv[i + 1];

		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "--version") == 0) {
			fputs(argv[i][2] == 'h' ? usage : "afterglow-pack " AFTERGLOW_VERSION "\n", stdout);
			return 0;
		}
		if (strcmp(argv[i], "--mode") == 0 && value && take_mode(o, value))
			mode_given = true;
		else if (strcmp(argv[i], "--core-fd") == 0 && parse_count(value, INT_MAX, &n))
			o->core_fd = (int)n;
		else if (strcmp(argv[i], "--out-fd") == 0 && parse_count(value, INT_MAX, &n))
			o->out_fd = (int)n;
		else if (strcmp(argv[i], "--max-bytes") == 0 && parse_count(value, INT64_MAX, &n))
			o->max_bytes = n;
		else
			return usage_error(argv[i], what_is_right(argv[i]));
		i++;
	}
	if (!mode_given || o->core_fd < 0 || o->out_fd < 0)
		return usage_error("--mode, --core-fd and --out-fd are needed", "");
	if (fcntl(o->core_fd, F_GETFD) < 0 || fcntl(o->out_fd, F_GETFD) < 0)
		return usage_error("--core-fd and --out-fd", " take the number of an open descriptor");
	return -1;
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
	return rc < 0 ? rc : receive_core(o->core_fd, o->out_fd, o->max_bytes, ret_received, err);
}

static int run(const struct options *o, struct packed *ret_packed, struct err *err)
{
	struct zstream *out;
	int rc = pack_confine_files(o->core_fd, o->out_fd, err);

	if (rc >= 0)
		rc = zstream_new(o->out_fd, o->max_bytes, &out, err);
	if (rc < 0)
		return rc;
	rc = pack_confine_calls(-1, o->out_fd, err);
	if (rc >= 0)
		rc = pack_core(o->core_fd, o->mode, out, ret_packed, err);
	/*
	 * The file is synced before the parent takes it, because the parent must not wait for a
	 * disk.
	 */
	if (rc >= 0 && fdatasync(o->out_fd) < 0 && errno != EINVAL && errno != EROFS)
		rc = err_set(err, errno, "fdatasync");
	zstream_free(out);
	return rc;
}

int main(int argc, char **argv)
{
	struct options options;
	struct packed packed;
	struct received received;
	struct err err = { 0 };
	int code;

	(void)argc;
	undumpable_become();
	code = parse_options(argv, &options);
	if (code >= 0)
		return code;
	if ((options.receive ? run_receive(&options, &received, &err) : run(&options, &packed, &err)) < 0) {
		fprintf(stderr, "afterglow-pack: %s\n", err_text(&err));
		return 1;
	}
	if (options.receive)
		print_received(&received);
	else
		print_result(&packed);
	return fflush(stdout) == 0 ? 0 : 1;
}
