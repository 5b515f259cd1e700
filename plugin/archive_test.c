/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of unpacking a bundle. */
#include "plugin/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "plugin/testing.h"

static char place[64];
static int dir_fd;

static int make_place(void **state)
{
	(void)state;
	snprintf(place, sizeof(place), "/tmp/archive_test.XXXXXX");
	assert_non_null(mkdtemp(place));
	dir_fd = open(place, O_RDONLY | O_DIRECTORY);
	return dir_fd < 0;
}

static int remove_place(void **state)
{
	(void)state;
	close(dir_fd);
	return tree_remove(AT_FDCWD, place) ? 0 : -1;
}

static void add(struct strbuf *tar, const char *name, const char *content)
{
	static const char zeros[TAR_BLOCK];
	char block[TAR_BLOCK];

	assert_int_equal(tar_header_make(name, (int64_t)strlen(content), block, NULL), 0);
	strbuf_add(tar, block, sizeof(block));
	strbuf_adds(tar, content);
	strbuf_add(tar, zeros, tar_padding((int64_t)strlen(content)));
}

static void add_manifest(struct strbuf *tar, const char *const *names_and_contents)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 16);

	strbuf_adds(&text, "{\"files\":[");
	for (size_t i = 0; names_and_contents[i]; i += 2) {
		char digest[SHA256_TEXT_MAX];

		sha256_text(names_and_contents[i + 1], strlen(names_and_contents[i + 1]), digest);
		strbuf_addf(&text, "%s{\"name\":\"%s\",\"sizeBytes\":%zu,\"sha256\":\"%s\"}",
			    i ? "," : "", names_and_contents[i], strlen(names_and_contents[i + 1]),
			    digest);
	}
	strbuf_adds(&text, "]}");
	add(tar, ARCHIVE_MANIFEST, strbuf_str(&text));
}

static void end(struct strbuf *tar)
{
	static const char zeros[2 * TAR_BLOCK];

	strbuf_add(tar, zeros, sizeof(zeros));
}

/* Feeds the archive to the parser in pieces of this size. */
static int unpack(struct archive *a, const struct strbuf *tar, size_t piece, struct strbuf *missing,
		  struct err *err)
{
	int r = 0;

	archive_init(a, dir_fd);
	for (size_t at = 0; r == 0 && at < tar->len; at += piece)
		r = archive_feed(a, strbuf_str(tar) + at, MIN(piece, tar->len - at), err);
	return r < 0 ? r : archive_end(a, missing, err);
}

static void content_is(const char *name, const char *wanted)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 16);

	assert_int_equal(file_read(dir_fd, name, &text, NULL), 0);
	assert_string_equal(strbuf_str(&text), wanted);
}

static void files_come_out_as_they_went_in_whatever_the_size_of_the_pieces(void **state)
{
	static const char *const files[] = { "report.txt",	  "killed\n",	"empty", "",
					     "logs/a/raylet.out", "one\ntwo\n", NULL };
	static const size_t pieces[] = { 1, 7, 511, 512, 513, 1 << 20 };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		_cleanup_strbuf_ struct strbuf tar = STRBUF_INIT(1 << 20),
					       missing = STRBUF_INIT(1 << 10);
		struct archive a;

		assert_int_equal(tree_remove(dir_fd, "logs"), true);
		unlinkat(dir_fd, "report.txt", 0);
		unlinkat(dir_fd, "empty", 0);
		unlinkat(dir_fd, ARCHIVE_MANIFEST, 0);
		add_manifest(&tar, files);
		for (size_t f = 0; files[f]; f += 2)
			add(&tar, files[f], files[f + 1]);
		end(&tar);
		assert_int_equal(unpack(&a, &tar, pieces[i], &missing, NULL), 0);
		assert_int_equal(a.files, 3);
		assert_int_equal(missing.len, 0);
		archive_release(&a);
		for (size_t f = 0; files[f]; f += 2)
			content_is(files[f], files[f + 1]);
	}
}

static void a_single_file_is_kept_in_memory_and_the_rest_is_not_waited_for(void **state)
{
	_cleanup_strbuf_ struct strbuf tar = STRBUF_INIT(1 << 20), content = STRBUF_INIT(1 << 10);
	struct archive a;
	(void)state;

	add_manifest(&tar, (const char *const[]){ "core.7.zst", "long", "report.html", "<p>killed",
						  "logs/x", "more", NULL });
	add(&tar, "core.7.zst", "long");
	add(&tar, "report.html", "<p>killed");
	size_t enough = tar.len;
	add(&tar, "logs/x", "mo");
	archive_init_only(&a, "report.html", &content);
	for (size_t at = 0; at < enough; at++) {
		assert_false(a.found);
		assert_int_equal(archive_feed(&a, strbuf_str(&tar) + at, 1, NULL), 0);
		if (a.found)
			break;
	}
	assert_true(a.found);
	assert_string_equal(strbuf_str(&content), "<p>killed");
	archive_release(&a);
	assert_int_equal(faccessat(dir_fd, "core.7.zst", F_OK, 0), -1);
}

static void a_single_file_that_is_damaged_is_not_taken(void **state)
{
	_cleanup_strbuf_ struct strbuf tar = STRBUF_INIT(1 << 20), content = STRBUF_INIT(1 << 10);
	struct archive a;
	(void)state;

	add_manifest(&tar, (const char *const[]){ "report.html", "<p>killed", NULL });
	add(&tar, "report.html", "<p>Killed");
	end(&tar);
	archive_init_only(&a, "report.html", &content);
	assert_int_equal(archive_feed(&a, strbuf_str(&tar), tar.len, NULL), -EBADMSG);
	assert_false(a.found);
	archive_release(&a);
}

static void a_file_that_the_store_does_not_have_any_more_is_named(void **state)
{
	_cleanup_strbuf_ struct strbuf tar = STRBUF_INIT(1 << 20), missing = STRBUF_INIT(1 << 10);
	struct archive a;
	(void)state;

	add_manifest(&tar, (const char *const[]){ "report.txt", "x", "core.7.zst", "gone", NULL });
	add(&tar, "report.txt", "x");
	end(&tar);
	assert_int_equal(unpack(&a, &tar, 100, &missing, NULL), 0);
	assert_string_equal(strbuf_str(&missing), "  core.7.zst\n");
	archive_release(&a);
}

static void refuses(const struct strbuf *tar, int code, const char *part)
{
	_cleanup_strbuf_ struct strbuf missing = STRBUF_INIT(1 << 10);
	struct err err = { 0 };
	struct archive a;

	assert_int_equal(unpack(&a, tar, 100, &missing, &err), code);
	if (!strstr(err.text, part))
		fail_msg("%s: no \"%s\"", err.text, part);
	archive_release(&a);
	unlinkat(dir_fd, ARCHIVE_MANIFEST, 0);
}

/* A tar header takes 8 GiB for each file. */
static void a_bundle_that_would_fill_the_disk_is_refused_at_the_header_of_a_file(void **state)
{
	_cleanup_strbuf_ struct strbuf tar = STRBUF_INIT(1 << 20);
	struct err err = { 0 };
	struct archive a;
	char block[TAR_BLOCK];
	(void)state;

	add_manifest(&tar, (const char *const[]){ "a", "x", "b", "x", "c", "x", NULL });
	archive_init(&a, dir_fd);
	assert_int_equal(archive_feed(&a, strbuf_str(&tar), tar.len, &err), 0);
	a.bytes = ARCHIVE_BYTES_MAX - 5; /* as after other files */
	assert_int_equal(tar_header_make("a", 5, block, NULL), 0);
	assert_int_equal(archive_feed(&a, block, sizeof(block), &err), 0);
	a.bytes = ARCHIVE_BYTES_MAX - 5;
	a.in_file = false;
	a.padding = 0;
	assert_int_equal(tar_header_make("b", 6, block, NULL), 0);
	assert_int_equal(archive_feed(&a, block, sizeof(block), &err), -EFBIG);
	assert_non_null(strstr(err.text, "more than 16 GiB"));
	archive_release(&a);
	assert_int_equal(faccessat(dir_fd, "b", F_OK, 0), -1);
}

static void what_is_damaged_is_refused(void **state)
{
	_cleanup_strbuf_ struct strbuf other = STRBUF_INIT(1 << 20), foreign = STRBUF_INIT(1 << 20),
				       broken = STRBUF_INIT(1 << 20), late = STRBUF_INIT(1 << 20),
				       text = STRBUF_INIT(1 << 20);
	(void)state;

	add_manifest(&other, (const char *const[]){ "report.txt", "x", NULL });
	add(&other, "report.txt", "y");
	end(&other);
	refuses(&other, -EBADMSG, "report.txt is not what MANIFEST.json says");
	add_manifest(&foreign, (const char *const[]){ "report.txt", "x", NULL });
	add(&foreign, "authorized_keys", "y");
	refuses(&foreign, -EBADMSG, "authorized_keys is not in MANIFEST.json");
	add_manifest(&broken, (const char *const[]){ "b.txt", "x", NULL });
	refuses(&broken, -EBADMSG, "broke off after 0 files");
	add(&late, "report.txt", "x");
	refuses(&late, -EBADMSG, "does not begin with MANIFEST.json");
	for (int i = 0; i < 100; i++)
		strbuf_adds(&text, "error: unable to upgrade connection\n");
	refuses(&text, -EBADMSG, "it is no tar archive");
}

/* With empty files an archive has no end otherwise, whatever the bound on bytes. */
static void a_file_comes_once(void **state)
{
	_cleanup_strbuf_ struct strbuf tar = STRBUF_INIT(1 << 20), content = STRBUF_INIT(1 << 10);
	struct err err = { 0 };
	struct archive a;
	(void)state;

	add_manifest(&tar, (const char *const[]){ "empty", "", "report.html", "<p>killed", NULL });
	add(&tar, "empty", "");
	archive_init_only(&a, "report.html", &content);
	assert_int_equal(archive_feed(&a, strbuf_str(&tar), tar.len, &err), 0);
	strbuf_reset(&tar);
	add(&tar, "empty", "");
	assert_int_equal(archive_feed(&a, strbuf_str(&tar), tar.len, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "empty is there twice"));
	archive_release(&a);
}

static void an_archive_ends_where_it_says(void **state)
{
	_cleanup_strbuf_ struct strbuf tar = STRBUF_INIT(1 << 20);
	static const char zeros[ARCHIVE_REST_MAX];
	struct archive a;
	(void)state;

	add_manifest(&tar, (const char *const[]){ NULL });
	end(&tar);
	archive_init(&a, dir_fd);
	assert_int_equal(archive_feed(&a, strbuf_str(&tar), tar.len, NULL), 0);
	assert_int_equal(archive_feed(&a, zeros, 10 << 10, NULL), 0);
	assert_int_equal(archive_feed(&a, zeros, sizeof(zeros), NULL), -EBADMSG);
	archive_release(&a);
}

static void more_files_than_a_bundle_can_have_are_not_looked_up(void **state)
{
	_cleanup_strbuf_ struct strbuf tar = STRBUF_INIT(1 << 20), text = STRBUF_INIT(1 << 20);
	struct archive a;
	(void)state;

	strbuf_adds(&text, "{\"files\":[{}");
	for (int i = 0; i < ARCHIVE_FILES_MAX; i++)
		strbuf_adds(&text, ",{}");
	strbuf_adds(&text, "]}");
	add(&tar, ARCHIVE_MANIFEST, strbuf_str(&text));
	end(&tar);
	archive_init(&a, dir_fd);
	assert_int_equal(archive_feed(&a, strbuf_str(&tar), tar.len, NULL), -EBADMSG);
	archive_release(&a);
}

static void what_is_there_already_is_kept(void **state)
{
	_cleanup_strbuf_ struct strbuf tar = STRBUF_INIT(1 << 20), missing = STRBUF_INIT(1 << 10);
	struct archive a;
	(void)state;

	assert_int_equal(symlinkat("/etc/passwd", dir_fd, "c.txt"), 0);
	add_manifest(&tar, (const char *const[]){ "c.txt", "x", NULL });
	add(&tar, "c.txt", "x");
	assert_int_equal(unpack(&a, &tar, 100, &missing, NULL), -EEXIST);
	archive_release(&a);
}

int main(void)
{
#define IN_A_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)
	const struct CMUnitTest tests[] = {
		IN_A_PLACE(files_come_out_as_they_went_in_whatever_the_size_of_the_pieces),
		IN_A_PLACE(a_single_file_is_kept_in_memory_and_the_rest_is_not_waited_for),
		IN_A_PLACE(a_single_file_that_is_damaged_is_not_taken),
		IN_A_PLACE(a_file_that_the_store_does_not_have_any_more_is_named),
		IN_A_PLACE(a_bundle_that_would_fill_the_disk_is_refused_at_the_header_of_a_file),
		IN_A_PLACE(what_is_damaged_is_refused),
		IN_A_PLACE(a_file_comes_once),
		IN_A_PLACE(an_archive_ends_where_it_says),
		IN_A_PLACE(more_files_than_a_bundle_can_have_are_not_looked_up),
		IN_A_PLACE(what_is_there_already_is_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
