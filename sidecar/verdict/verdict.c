/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the sentence of a verdict, and adds lines to its lists. */
#include "sidecar/verdict/verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/utf8.h"

/*
 * Sets a text; where it was cut within a character, whoever reads it as JSON would change it, and a
 * signature would not hold.
 */
static void verdict_text(char *text, size_t size, const char *fmt, va_list ap)
{
	vsnprintf(text, size, fmt, ap);
	utf8_mend(text);
}

void verdict_set(struct verdict *v, enum failure_class class, enum confidence confidence,
		 const char *fmt, ...)
{
	va_list ap;

	v->class = class;
	v->confidence = confidence;
	va_start(ap, fmt);
	verdict_text(v->sentence, sizeof(v->sentence), fmt, ap);
	va_end(ap);
}

void verdict_say(struct verdict *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	verdict_text(v->sentence, sizeof(v->sentence), fmt, ap);
	va_end(ap);
}

void verdict_continue(struct verdict *v, const char *fmt, ...)
{
	size_t n = strlen(v->sentence);
	va_list ap;

	if (n == 0 || v->sentence[n - 1] != '.')
		return;
	va_start(ap, fmt);
	verdict_text(v->sentence + n - 1, sizeof(v->sentence) - n + 1, fmt, ap);
	va_end(ap);
}

void verdict_add_evidence(struct verdict *v, const char *source, const char *fmt, ...)
{
	struct evidence *e = &v->evidence[v->n_evidence];
	va_list ap;

	if (v->n_evidence == EVIDENCE_MAX)
		return;
	v->n_evidence++;
	e->source = source;
	va_start(ap, fmt);
	verdict_text(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
}

void verdict_add_missing(struct verdict *v, const char *what, const char *needs)
{
	for (unsigned int i = 0; i < v->n_missing; i++)
		if (strcmp(v->missing[i].what, what) == 0)
			/*
			 * It is in the list already: a bundle may be written twice, to the store
			 * and to the spool.
			 */
			return;
	if (v->n_missing == MISSING_MAX)
		return;
	snprintf(v->missing[v->n_missing].what, sizeof(v->missing->what), "%s", what);
	snprintf(v->missing[v->n_missing].needs, sizeof(v->missing->needs), "%s", needs);
	utf8_mend(v->missing[v->n_missing].what);
	utf8_mend(v->missing[v->n_missing++].needs);
}
