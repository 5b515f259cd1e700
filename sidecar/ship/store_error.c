/* SPDX-License-Identifier: Apache-2.0 */
/* Explains errors by their code, or by their HTTP status if they have no code. */
#include "sidecar/ship/store_error.h"

#include <stdio.h>
#include <string.h>

#include "lib/units.h"
#include "sidecar/ship/xml_leaves.h"

/*
 * Both services refuse requests whose time is off by more than 15 minutes. Answers may take a
 * while, so a little less is suspect.
 */
#define CLOCK_OFF_MAX_S (14 * 60)
/* A store may give any date. A century's nanoseconds are a number. */
#define CLOCK_OFF_SAID_MIN ((int64_t)100 * 365 * 24 * 60)

/* STS wraps it in ErrorResponse. */
static int store_error_take_error(const char *path, const char *text, void *arg)
{
	struct store_error *e = arg;

	if (strncmp(path, "ErrorResponse/", 14) == 0)
		path += 14;
	if (!text || strncmp(path, "Error/", 6) != 0)
		return 0;
	path += 6;
	if (strcmp(path, "Code") == 0)
		snprintf(e->code, sizeof(e->code), "%s", text);
	else if (strcmp(path, "Message") == 0)
		snprintf(e->message, sizeof(e->message), "%s", text);
	else if (strcmp(path, "Region") == 0)
		snprintf(e->region, sizeof(e->region), "%s", text);
	return 0;
}

void store_error_read(const struct http_answer *answer, struct store_error *e)
{
	*e = (struct store_error){ 0 };
	xml_leaves(strbuf_str(&answer->body), answer->body.len, store_error_take_error, e, NULL);
	/* The answer to HEAD has no body. */
	if (!*e->code)
		snprintf(e->code, sizeof(e->code), "%s", answer->error_code);
	if (!*e->region)
		snprintf(e->region, sizeof(e->region), "%s", answer->region);
	for (char *line = e->message; (line = strchr(line, '\n'));)
		*line = ' ';
}

static const struct store_error_row *store_error_find(const struct store_error_table *table,
						      const char *code)
{
	for (size_t i = 0; i < table->n; i++)
		if (strcmp(code, table->rows[i].code) == 0)
			return &table->rows[i];
	return NULL;
}

bool store_error_is_of_clock(const struct store_error_table *table, const struct http_answer *a,
			     const struct store_error *e)
{
	const struct store_error_row *row = store_error_find(table, e->code);

	if (row && row->kind == FAULT_CLOCK)
		return true;
	if (table->clock_code && strcmp(e->code, table->clock_code) != 0)
		return false;
	/* Some servers have no error for a wrong clock and report a wrong or expired signature. */
	return (a->status == 403 || a->status == 400) &&
	       (a->clock_off_s > CLOCK_OFF_MAX_S || a->clock_off_s < -CLOCK_OFF_MAX_S);
}

static int clock_fault(int64_t off_s, struct fault *fault)
{
	/* Rounds to minutes, because the answer took some seconds to arrive. */
	int64_t minutes = ((off_s < 0 ? -off_s : off_s) + 30) / 60;

	if (minutes == 0 || minutes > CLOCK_OFF_SAID_MIN)
		return fault_set(
			fault, FAULT_CLOCK,
			"this machine's clock differs too much from the store's: set it right");
	return fault_set(
		fault, FAULT_CLOCK, "this machine's clock is %s %s the store's: set it right",
		DURATION_TEXT(minutes * 60 * NS_PER_SEC), off_s < 0 ? "behind" : "ahead of");
}

/*
 * Shows only scheme, host and path of the location, because its query may contain a token of ours.
 */
static int redirect_fault(const char *place, const struct http_answer *a, struct fault *fault)
{
	const char *to = *a->location ? a->location : "nowhere";
	int len = http_origin_length(to);

	return fault_set(fault, FAULT_REDIRECT,
			 "it redirects (status %d) to %.*s, which is not followed: set %s right",
			 a->status, MIN(len, 100), to, place);
}

static int store_error_by_status(const struct store_error_table *table, const struct http_answer *a,
				 const struct store_error *e, struct fault *fault)
{
	enum fault_kind kind = FAULT_PROTOCOL;

	if (a->status >= 500 || a->status == 429 || a->status == 408)
		kind = a->status == 507 ? FAULT_NO_SPACE : FAULT_SERVER;
	else if (a->status == 401 || a->status == 407)
		kind = FAULT_CREDENTIALS;
	else if (a->status == 403)
		kind = FAULT_PERMISSION;
	else if (a->status >= 300 && a->status < 400)
		return redirect_fault(table->place, a, fault);
	if (!*e->code)
		return fault_set(fault, kind,
				 "status %d, and no error as %s has it: is it an %s server?",
				 a->status, table->service, table->service);
	return fault_set(fault, kind, "status %d, %s: %s", a->status, e->code, e->message);
}

int store_error_explain(const struct store_error_table *table, const struct http_answer *a,
			const struct store_error *e, struct fault *fault)
{
	const struct store_error_row *row = store_error_find(table, e->code);

	if (store_error_is_of_clock(table, a, e))
		clock_fault(a->clock_off_s, fault);
	else if (row && row->kind == FAULT_PERMISSION &&
		 *e->message) /* the store says who is denied what */
		fault_set(fault, row->kind, "%s (%s: %s)", row->sentence, row->code, e->message);
	else if (row)
		fault_set(fault, row->kind, "%s (%s)", row->sentence, row->code);
	else
		store_error_by_status(table, a, e, fault);
	if (a->retry_after_s > 0)
		fault->retry_after_s = a->retry_after_s;
	return -1;
}
