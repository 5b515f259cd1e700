/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the termination message: what the container wrote stays, and one message of ours follows it. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/termination_mark.h"
#include "sidecar/record/container_internal.h"

static const struct report report = { .verdict = { .class = FAILURE_KILLED, .exit_code = 137, .sentence = "Container ray was killed." } };

/* Returns what the log holds after the message. */
static const char *written(struct container *c, const struct report *r, bool final)
{
	static char text[2 * TERMINATION_MESSAGE_MAX];

	container_write_termination_log(c, r, final);
	ssize_t len = pread(c->termination_fd, text, sizeof(text) - 1, 0);
	assert_true(len >= 0);
	text[len] = '\0';
	return text;
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
	struct container first = { .termination_fd = memfd_create("log", MFD_CLOEXEC), .observer.history = history_new() }, next = first;
	(void)state;

	assert_int_equal(write(first.termination_fd, "own words", 9), 9);
	assert_int_equal(messages(written(&first, &report, false)), 1);
	const char *text = written(&next, &report, true);
	assert_int_equal(messages(text), 1);
	assert_ptr_equal(strstr(text, "own words\nContainer ray"), text);
	struct container last = { .termination_fd = first.termination_fd, .observer.history = first.observer.history };
	assert_string_equal(written(&last, NULL, true), "own words");
	history_free(first.observer.history);
	close(first.termination_fd);
}

static void the_message_fits_whatever_the_container_wrote(void **state)
{
	static char words[TERMINATION_MESSAGE_MAX];
	(void)state;

	memset(words, 'x', sizeof(words));
	for (size_t len = 0; len <= TERMINATION_MESSAGE_MAX / 2; len += TERMINATION_MESSAGE_MAX / 8)
		for (size_t n = 0; n < EVIDENCE_MAX; n++) {
			struct container c = { .termination_fd = memfd_create("log", MFD_CLOEXEC), .observer.history = history_new() };
			struct report r = report;

			memset(r.diagnosis, 'y', sizeof(r.diagnosis) - 1);
			for (size_t i = 0; i < n; i++)
				verdict_add_evidence(&r.verdict, "samples", "%.430s", words);
			assert_int_equal(write(c.termination_fd, words, len), len);
			assert_in_range(strlen(written(&c, &r, true)), len, TERMINATION_MESSAGE_MAX);
			history_free(c.observer.history);
			close(c.termination_fd);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_sidecar_replaces_the_message_of_the_last_one),
		cmocka_unit_test(the_message_fits_whatever_the_container_wrote),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
