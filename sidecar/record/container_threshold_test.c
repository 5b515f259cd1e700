/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the termination message: what the container wrote stays, and one message of ours follows
 * it.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/termination_mark.h"
#include "sidecar/ending/life.h"
#include "sidecar/record/container_internal.h"

static const struct report report = { .verdict = { .class = FAILURE_KILLED,
						   .exit_code = 137,
						   .sentence = "Container ray was killed." } };

static struct event_base *base;

static void wait_for_message(const struct container *c)
{
	while (container_writes_message(c))
		assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
}

/* Returns what the log holds after the message. */
static const char *written(struct container *c, const struct report *r, bool final)
{
	static char text[2 * TERMINATION_MESSAGE_MAX];

	container_write_message(c, r, final);
	wait_for_message(c);
	ssize_t len = pread(c->termination_fd, text, sizeof(text) - 1, 0);
	assert_true(len >= 0);
	text[len] = '\0';
	return text;
}

static void begin(struct container *c, int termination_fd, struct history *history)
{
	static const struct record_options options = { .warn_at = 0.8 };

	*c = (struct container){
		.base = base,
		.options = &options,
		.fd = -1,
		.state = CONTAINER_RUNNING,
		.hello.name = "ray",
		.termination_fd = termination_fd,
		.message = BACKGROUND_FOR(c->message_written),
		.observer.history = history,
	};
}

static void begin_new(struct container *c)
{
	begin(c, memfd_create("log", MFD_CLOEXEC), history_new());
}

static void finish(struct container *c)
{
	history_free(c->observer.history);
	close(c->termination_fd);
}

static unsigned int messages(const char *text)
{
	unsigned int n = 0;

	while ((text = strstr(text, TERMINATION_MARK)))
		text += strlen(TERMINATION_MARK), n++;
	return n;
}

static void the_next_sidecar_replaces_the_message_of_the_last_one(void **state)
{
	struct container first, next, last;
	(void)state;

	begin_new(&first);
	begin(&next, first.termination_fd, first.observer.history);
	begin(&last, first.termination_fd, first.observer.history);
	assert_int_equal(write(first.termination_fd, "own words", 9), 9);
	assert_int_equal(messages(written(&first, &report, false)), 1);
	const char *text = written(&next, &report, true);
	assert_int_equal(messages(text), 1);
	assert_ptr_equal(strstr(text, "own words\nContainer ray"), text);
	assert_string_equal(written(&last, NULL, true), "own words");
	finish(&first);
}

static void the_message_fits_whatever_the_container_wrote(void **state)
{
	static char words[TERMINATION_MESSAGE_MAX];
	(void)state;

	memset(words, 'x', sizeof(words));
	for (size_t len = 0; len <= TERMINATION_MESSAGE_MAX / 2; len += TERMINATION_MESSAGE_MAX / 8)
		for (size_t n = 0; n < EVIDENCE_MAX; n++) {
			struct container c;
			struct report r = report;

			begin_new(&c);
			memset(r.diagnosis, 'y', sizeof(r.diagnosis) - 1);
			for (size_t i = 0; i < n; i++)
				verdict_add_evidence(&r.verdict, "samples", "%.430s", words);
			assert_int_equal(write(c.termination_fd, words, len), len);
			assert_in_range(strlen(written(&c, &r, true)), len,
					TERMINATION_MESSAGE_MAX);
			finish(&c);
		}
}

void __real_report_to_termination_message(const struct report *r, bool final, size_t max,
					  struct strbuf *out);
void __wrap_report_to_termination_message(const struct report *r, bool final, size_t max,
					  struct strbuf *out);

static int writes_meanwhile = -1; /* the container does, once */
static int goes_on = -1; /* a pipe: the message is written when something comes */

void __wrap_report_to_termination_message(const struct report *r, bool final, size_t max,
					  struct strbuf *out)
{
	char byte;

	__real_report_to_termination_message(r, final, max, out);
	if (goes_on >= 0)
		assert_int_equal(read(goes_on, &byte, 1), 1);
	if (writes_meanwhile >= 0)
		assert_int_equal(pwrite(writes_meanwhile, "own words", 9, 0), 9);
	writes_meanwhile = -1;
}

static void what_the_container_writes_at_the_same_time_stays(void **state)
{
	struct container c;
	const struct report r = { .verdict.sentence = "it ended" };
	char text[TERMINATION_MESSAGE_MAX + 1] = "";
	(void)state;

	begin_new(&c);
	writes_meanwhile = c.termination_fd;
	written(&c, &r, true);
	writes_meanwhile = -1;
	assert_return_code(pread(c.termination_fd, text, sizeof(text) - 1, 0), errno);
	assert_ptr_equal(strstr(text, "own words\nit ended\n"), text);
	finish(&c);
}

/* The kubelet may kill the sidecar before the container ends; then this is all that is left. */
static void a_container_that_fills_its_disk_says_so_when_its_pod_is_to_end(void **state)
{
	struct container c;
	char text[TERMINATION_MESSAGE_MAX + 1] = "";
	(void)state;

	begin_new(&c);
	c.spill = (struct spill_watch){ .forecast.left_ns = -1,
					.disk.limit = 300 << 20,
					.where = "/tmp/ray" };
	container_pod_terminating(&c);
	wait_for_message(&c);
	assert_int_equal(lseek(c.termination_fd, 0, SEEK_END), 0);
	c.spill.disk.logs = 200 << 20;
	container_pod_terminating(&c);
	wait_for_message(&c);
	assert_return_code(pread(c.termination_fd, text, sizeof(text) - 1, 0), errno);
	assert_non_null(strstr(
		text, "Ray's logs take up 200.0 MiB, ephemeral-storage limit 300.0 MiB"));
	assert_non_null(strstr(text, "\"final\":false"));
	finish(&c);
}

/* The disk of the log may take its time. */
static void a_message_is_written_behind_the_one_before_and_holds_nobody_up(void **state)
{
	struct container c;
	const struct report older = { .verdict.sentence = "it is full" },
			    end = { .verdict.sentence = "it ended" };
	char got[8];
	int ends[2], launcher[2];
	(void)state;

	begin_new(&c);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, launcher), 0);
	c.fd = launcher[0];
	goes_on = ends[0];
	container_write_message(&c, &older, false);
	container_write_message(&c, &older, false);
	container_write_message(&c, &end, true);
	assert_int_equal(lseek(c.termination_fd, 0, SEEK_END), 0);
	c.concluded = true;
	container_dismiss(&c);
	/* The kubelet reads the log when the launcher has gone. */
	assert_int_equal(recv(launcher[1], got, sizeof(got), 0), -1);
	assert_int_equal(write(ends[1], "12", 2), 2);
	wait_for_message(&c);
	goes_on = -1;
	char text[TERMINATION_MESSAGE_MAX + 1] = "";
	assert_return_code(pread(c.termination_fd, text, sizeof(text) - 1, 0), errno);
	assert_ptr_equal(strstr(text, "it ended\n"), text);
	assert_int_equal(messages(text), 1);
	assert_int_equal(recv(launcher[1], got, sizeof(got), 0), 4);
	assert_memory_equal(got, "done", 4);
	finish(&c);
	for (size_t i = 0; i < 2; i++) {
		close(ends[i]);
		close(launcher[i]);
	}
}

/* Its launcher has connected again, or the sidecar ends. */
static void a_container_that_is_not_watched_any_more_leaves_the_place_of_its_message(void **state)
{
	static const struct record_options options = { .warn_at = 0.8 };
	char directory[] = "/tmp/afterglow-XXXXXX";
	struct container *first, next;
	struct life life;
	int log = memfd_create("log", MFD_CLOEXEC), launcher[2];
	(void)state;

	life_begin(&life, "ray", 1, 1);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, launcher), 0);
	assert_non_null(mkdtemp(directory));
	int dir = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	first = container_new(base, launcher[0], &options, NULL, &(struct container_callbacks){ 0 },
			      NULL);
	assert_non_null(first);
	first->termination_fd = dup(log);
	first->observer.history = history_create(dir, "history", &life, NULL);
	assert_non_null(first->observer.history);
	container_write_message(first, &report, false);
	while (lseek(log, 0, SEEK_END) == 0)
		usleep(1000);
	container_free(first);
	begin(&next, log, history_open(dir, "history", NULL));
	assert_int_equal(messages(written(&next, &report, true)), 1);
	finish(&next);
	assert_int_equal(unlinkat(dir, "history", 0), 0);
	assert_int_equal(rmdir(directory), 0);
	close(dir);
	close(launcher[1]);
}

static int make_base(void **state)
{
	(void)state;
	base = event_base_new();
	return base ? 0 : -1;
}

static int free_base(void **state)
{
	(void)state;
	event_base_free(base);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_sidecar_replaces_the_message_of_the_last_one),
		cmocka_unit_test(the_message_fits_whatever_the_container_wrote),
		cmocka_unit_test(a_message_is_written_behind_the_one_before_and_holds_nobody_up),
		cmocka_unit_test(
			a_container_that_is_not_watched_any_more_leaves_the_place_of_its_message),
		cmocka_unit_test(what_the_container_writes_at_the_same_time_stays),
		cmocka_unit_test(a_container_that_fills_its_disk_says_so_when_its_pod_is_to_end),
	};
	return cmocka_run_group_tests(tests, make_base, free_base);
}
