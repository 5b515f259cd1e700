/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates, fills and copies RayFailures. */
#include "operator/failures/ray_failure.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/macros.h"
#include "lib/oom.h"
#include "operator/failures/signature.h"

/* --- Init, release ---------------------------------------------------------------------------- */

void ray_failure_init(struct ray_failure *f)
{
	*f = (struct ray_failure){
		.restart = RAY_FAILURE_NONE,
		.exit_code = RAY_FAILURE_NONE,
		.class = FAILURE_UNKNOWN,
		.confidence = CONFIDENCE_UNKNOWN,
		.first = { .pid = RAY_FAILURE_NONE, .exit_code = RAY_FAILURE_NONE },
	};
}

static void release_notes(struct ray_failure_notes *notes)
{
	for (size_t i = 0; i < notes->n; i++) {
		free(notes->list[i].subject);
		free(notes->list[i].text);
	}
	free(notes->list);
	*notes = (struct ray_failure_notes){ 0 };
}

/* The places of all texts that a failure owns. */
static const size_t texts[] = {
#define TEXT(member, name) offsetof(struct ray_failure, member),
#include "operator/failures/ray_failure_texts.def"
#undef TEXT
};

static char **text_at(struct ray_failure *f, size_t i)
{
	return (char **)((char *)f + texts[i]);
}

void ray_failure_release(struct ray_failure *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(TAKE_PTR(*text_at(f, i)));
	free(TAKE_PTR(f->owner));
	release_notes(&f->evidence);
	release_notes(&f->missing);
}

struct ray_failure *ray_failure_new(void)
{
	struct ray_failure *f = malloc(sizeof(*f));

	if (f)
		ray_failure_init(f);
	else
		oom_note();
	return f;
}

void ray_failure_free(struct ray_failure *f)
{
	if (!f)
		return;
	ray_failure_release(f);
	free(f);
}

/* --- Copies ----------------------------------------------------------------------------------- */

/* Returns NULL if there is no memory, which is noted, or if `from` is NULL. */
static void *copy_of(const void *from, size_t size)
{
	void *copy = from && size ? malloc(size) : NULL;

	if (copy)
		memcpy(copy, from, size);
	else if (from && size)
		oom_note();
	return copy;
}

static char *text_of(const char *text)
{
	return text ? copy_of(text, strlen(text) + 1) : NULL;
}

static void copy_notes(struct ray_failure_notes *notes)
{
	notes->list = copy_of(notes->list, notes->n * sizeof(*notes->list));
	notes->n = notes->list ? notes->n : 0;
	for (size_t i = 0; i < notes->n; i++) {
		notes->list[i].subject = text_of(notes->list[i].subject);
		notes->list[i].text = text_of(notes->list[i].text);
	}
}

struct ray_failure *ray_failure_copy(const struct ray_failure *f)
{
	size_t lost = oom_count();
	struct ray_failure *copy = copy_of(f, sizeof(*f));

	if (!copy)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		*text_at(copy, i) = text_of(*text_at(copy, i));
	copy->owner = copy_of(copy->owner, sizeof(*copy->owner));
	copy_notes(&copy->evidence);
	copy_notes(&copy->missing);
	if (oom_count() == lost)
		return copy;
	ray_failure_free(copy);
	return NULL;
}

void ray_failure_become(struct ray_failure *f, struct ray_failure *better)
{
	ray_failure_release(f);
	*f = *better;
	free(better);
}

/* --- Fields ----------------------------------------------------------------------------------- */

char *ray_failure_key(const struct ray_failure *f)
{
	char *key;

	if (!ray_failure_text(f->namespace) || !ray_failure_text(f->name))
		return NULL;
	if (asprintf(&key, "%s/%s", f->namespace, f->name) >= 0)
		return key;
	oom_note();
	return NULL;
}

void ray_failure_set(char **field, const char *text)
{
	char *copy = text_of(text);

	free(*field);
	*field = copy;
}

const char *ray_failure_text(const char *field)
{
	return field && *field ? field : NULL;
}

static void add_note(struct ray_failure_notes *notes, const char *subject, const char *text)
{
	struct ray_failure_note *list;

	assert(notes->n <= RAY_FAILURE_NOTES_MAX);
	if (notes->n == RAY_FAILURE_NOTES_MAX)
		return;
	list = realloc(notes->list, (notes->n + 1) * sizeof(*list));
	if (!list) {
		oom_note();
		return;
	}
	notes->list = list;
	list[notes->n++] =
		(struct ray_failure_note){ .subject = text_of(subject), .text = text_of(text) };
}

void ray_failure_add_evidence(struct ray_failure *f, const char *source, const char *text)
{
	add_note(&f->evidence, source, text);
}

void ray_failure_add_missing(struct ray_failure *f, const char *what, const char *needs)
{
	add_note(&f->missing, what, needs);
}

void ray_failure_drop_missing(struct ray_failure *f, const char *what)
{
	struct ray_failure_note *list = f->missing.list;
	size_t n = 0;

	for (size_t i = 0; i < f->missing.n; i++)
		if (list[i].subject && strcmp(list[i].subject, what) == 0) {
			free(list[i].subject);
			free(list[i].text);
		} else {
			list[n++] = list[i];
		}
	f->missing.n = n;
}

void ray_failure_set_owner(struct ray_failure *f, const struct owner *owner)
{
	struct owner *copy = copy_of(owner, sizeof(*owner));

	free(f->owner);
	f->owner = copy;
}

/* --- The signature ---------------------------------------------------------------------------- */

void ray_failure_sign(struct ray_failure *f)
{
	const char *class = failure_class_name(f->class), *first = f->first.name;
	const struct signature_parts parts = {
		.class = class,
		.process = first,
		.container = f->container,
		.ended_by = ended_by_kind_name(f->ended_by.kind),
		.process_signal = first ? f->first.signal : NULL,
		.signal = f->signal,
		.has_exit_code = f->exit_code != RAY_FAILURE_NONE,
		.exit_code = f->exit_code,
		.reason = f->kubernetes_reason,
	};
	char made[SIGNATURE_MAX + 1];

	if (signature_is_good(f->signature, class))
		return;
	signature_make(&parts, made);
	ray_failure_set(&f->signature, made);
}

/* --- Lists of failures ------------------------------------------------------------------------ */

void ray_failures_add(struct ray_failures *failures, struct ray_failure *failure)
{
	struct ray_failure **list = NULL;

	if (failure)
		list = realloc(failures->list, (failures->n + 1) * sizeof(*list));
	if (!list) {
		oom_note();
		ray_failure_free(failure);
		return;
	}
	failures->list = list;
	list[failures->n++] = failure;
}

void ray_failures_release(struct ray_failures *failures)
{
	for (size_t i = 0; i < failures->n; i++)
		ray_failure_free(failures->list[i]);
	free(failures->list);
	*failures = (struct ray_failures){ 0 };
}
