/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and parses headers of a tar archive. */
#include "lib/tar.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/zeros.h"

/* A header in the format of POSIX.1-1988, "ustar". Numbers are written as octal text. */
struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100];
	char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct header) == TAR_BLOCK, "a header is a block");

#define MAGIC "ustar"
#define REGULAR '0'
#define PREFIX_MAX sizeof((struct header){ 0 }.prefix)
#define PART_MAX sizeof((struct header){ 0 }.name)

/* Returns the checksum of the header. Its own bytes count as spaces. */
static unsigned int tar_sum_of(const struct header *h)
{
	struct header copy = *h;
	const unsigned char *bytes = (const unsigned char *)&copy;
	unsigned int sum = 0;

	memset(copy.checksum, ' ', sizeof(copy.checksum));
	for (size_t i = 0; i < sizeof(copy); i++)
		sum += bytes[i];
	return sum;
}

/*
 * Returns where a long name is cut into prefix and name; 0 if it fits as it is; -1 if no cut makes
 * it fit.
 */
static int cut_of(const char *name)
{
	size_t len = strlen(name);

	if (len <= PART_MAX)
		return 0;
	for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/'))
		if ((size_t)(slash - name) <= PREFIX_MAX && strlen(slash + 1) <= PART_MAX)
			return (int)(slash - name);
	return -1;
}

int tar_header_make(const char *name, int64_t size, char ret_block[static TAR_BLOCK],
		    struct err *err)
{
	struct header h = { .mode = "0000640",
			    .uid = "0000000",
			    .gid = "0000000",
			    .mtime = "00000000000",
			    .type = REGULAR,
			    .magic = MAGIC,
			    .version = { '0', '0' } };
	int cut = cut_of(name);
	const char *last = cut > 0 ? name + cut + 1 : name;

	if (cut < 0)
		return err_set(err, ENAMETOOLONG, "%.100s is too long a name for a tar archive",
			       name);
	if (size < 0 || size > TAR_SIZE_MAX)
		return err_set(err, EFBIG, "%.100s is too large for a tar archive", name);
	memcpy(h.prefix, name, (size_t)cut);
	memcpy(h.name, last, strlen(last));
	snprintf(h.size, sizeof(h.size), "%011llo", (unsigned long long)size);
	snprintf(h.checksum, sizeof(h.checksum), "%06o", tar_sum_of(&h));
	h.checksum[7] = ' ';
	memcpy(ret_block, &h, sizeof(h));
	return 0;
}

/*
 * Parses octal digits up to a space, a NUL or the end of the field; returns -1 for anything else.
 */
static int64_t tar_octal(const char *text, size_t len)
{
	int64_t n = 0;
	size_t i = 0;

	for (; i < len && text[i] >= '0' && text[i] <= '7'; i++)
		n = n * 8 + (text[i] - '0');
	return i > 0 && (i == len || text[i] == 0 || text[i] == ' ') ? n : -1;
}

static bool is_safe(const char *name)
{
	for (const char *c = name; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c >= 0x7f || *c == '\\')
			return false;
	for (const char *part = name;; part++) {
		if (*part == '/' || *part == '.' || !*part)
			return false;
		part = strchr(part, '/');
		if (!part)
			return true;
	}
}

int tar_header_parse(const char block[static TAR_BLOCK], char ret_name[static TAR_NAME_MAX],
		     int64_t *ret_size, struct err *err)
{
	char name[TAR_NAME_MAX + 1];
	struct header h;

	if (is_zero(block, TAR_BLOCK))
		return 1;
	memcpy(&h, block, sizeof(h));
	int64_t size = tar_octal(h.size, sizeof(h.size));

	if (memcmp(h.magic, MAGIC, sizeof(h.magic)) != 0 ||
	    tar_octal(h.checksum, sizeof(h.checksum)) != (int64_t)tar_sum_of(&h))
		return err_set(err, EBADMSG, "it is no tar archive, or a damaged one");
	if (h.type != REGULAR || size < 0 || size > TAR_SIZE_MAX)
		return err_set(err, EBADMSG, "the archive has something other than a regular file");
	snprintf(name, sizeof(name), "%.*s%s%.*s", (int)sizeof(h.prefix), h.prefix,
		 *h.prefix ? "/" : "", (int)sizeof(h.name), h.name);
	if (strlen(name) >= TAR_NAME_MAX || !is_safe(name))
		return err_set(err, EBADMSG,
			       "the archive has a file with a name that is not accepted");
	snprintf(ret_name, TAR_NAME_MAX, "%s", name);
	*ret_size = size;
	return 0;
}

size_t tar_padding(int64_t size)
{
	return (size_t)((TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK);
}
