/* SPDX-License-Identifier: Apache-2.0 */
/* The last known objects of one kind. */
#include "operator/kube/store.h"

#include <errno.h>
#include <string.h>

#include "lib/strbuf.h"

/* A namespace has at most 63 bytes, a name 253. */
#define KEY_MAX 512
#define INDEX_VALUE_MAX 512

struct store_entry {
	cJSON *object;
	bool own; /* our own write, which the watch has not confirmed */
	struct store_entry *next, *prev; /* of the same index value */
	char *index_value; /* NULL: not in the index */
};

int rv_compare(const char *a, const char *b)
{
	a = a ? a : "";
	b = b ? b : "";
	size_t len_a = strlen(a), len_b = strlen(b);
	if (len_a != len_b)
		return len_a < len_b ? -1 : 1;
	return strcmp(a, b);
}

char *object_key(const cJSON *object)
{
	const char *name = json_str(object, "metadata.name");
	const char *namespace = json_str(object, "metadata.namespace");
	struct strbuf key = STRBUF_INIT(KEY_MAX);

	if (!name || !*name)
		return NULL;
	if (namespace && *namespace)
		strbuf_addf(&key, "%s/", namespace);
	strbuf_adds(&key, name);
	char *text = strbuf_detach(&key);
	strbuf_release(&key);
	return text;
}

void store_init(struct store *s, store_index_fn index_fn)
{
	*s = (struct store){ .index_fn = index_fn };
}

static void entry_free(void *value)
{
	struct store_entry *entry = value;

	if (!entry)
		return;
	cJSON_Delete(entry->object);
	free(entry->index_value);
	free(entry);
}

void store_release(struct store *s)
{
	strmap_release(&s->entries, entry_free);
	strmap_release(&s->index, NULL);
}

static void index_remove(struct store *s, struct store_entry *entry)
{
	if (!entry->index_value)
		return;
	if (entry->next)
		entry->next->prev = entry->prev;
	if (entry->prev)
		entry->prev->next = entry->next;
	else if (entry->next)
		strmap_put(&s->index, entry->index_value, entry->next, NULL); /* the key is there: cannot fail */
	else
		strmap_remove(&s->index, entry->index_value);
	entry->next = entry->prev = NULL;
	free(TAKE_PTR(entry->index_value));
}

static int index_insert(struct store *s, struct store_entry *entry)
{
	char value[INDEX_VALUE_MAX];
	void *first = NULL;

	if (!s->index_fn || !s->index_fn(entry->object, value, sizeof(value)))
		return 0;
	entry->index_value = strdup(value);
	if (!entry->index_value || strmap_put(&s->index, value, entry, &first) < 0) {
		free(TAKE_PTR(entry->index_value));
		return -ENOMEM;
	}
	entry->next = first;
	if (entry->next)
		entry->next->prev = entry;
	return 0;
}

/* Half of an object's bytes, and nobody here reads them. */
static void strip(cJSON *object)
{
	cJSON_DeleteItemFromObjectCaseSensitive(json_get(object, "metadata"), "managedFields");
}

static const char *rv_of(const cJSON *object)
{
	return json_str(object, "metadata.resourceVersion");
}

static int entry_add(struct store *s, const char *key, cJSON *object, bool own)
{
	struct store_entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return -ENOMEM;
	entry->object = object;
	entry->own = own;
	if (index_insert(s, entry) < 0) {
		free(entry);
		return -ENOMEM;
	}
	if (strmap_put(&s->entries, key, entry, NULL) < 0) {
		index_remove(s, entry);
		free(entry);
		return -ENOMEM;
	}
	return 0;
}

static int entry_replace(struct store *s, struct store_entry *entry, cJSON *object, bool own)
{
	cJSON *before = entry->object;

	index_remove(s, entry);
	entry->object = object;
	if (index_insert(s, entry) < 0) {
		entry->object = before;
		index_insert(s, entry);
		return -ENOMEM;
	}
	entry->own = own;
	return 0;
}

static bool same_uid(const cJSON *a, const cJSON *b)
{
	const char *uid_a = json_str(a, "metadata.uid"), *uid_b = json_str(b, "metadata.uid");

	return uid_a && uid_b && strcmp(uid_a, uid_b) == 0;
}

int store_put(struct store *s, cJSON *object, bool own, store_change_fn fn, void *arg)
{
	_cleanup_free_ char *key = object_key(object);
	_cleanup_json_ cJSON *owned = object;
	_cleanup_json_ cJSON *before = NULL;

	if (!key)
		return -EINVAL;
	strip(object);
	struct store_entry *entry = strmap_get(&s->entries, key);
	if (!entry) {
		if (entry_add(s, key, object, own) < 0)
			return -ENOMEM;
	} else {
		int order = rv_compare(rv_of(object), rv_of(entry->object));
		if (order <= 0) {
			if (order == 0 && !own)
				entry->own = false; /* the watch has caught up */
			return 0;
		}
		before = entry->object;
		if (entry_replace(s, entry, object, own) < 0) {
			before = NULL;
			return -ENOMEM;
		}
	}
	TAKE_PTR(owned);
	if (!fn)
		return 0;
	if (before && !same_uid(before, object)) { /* deleted and made anew between two looks */
		fn(arg, STORE_REMOVED, before, NULL);
		fn(arg, STORE_ADDED, NULL, object);
	} else {
		fn(arg, before ? STORE_UPDATED : STORE_ADDED, before, object);
	}
	return 0;
}

void store_remove(struct store *s, const char *key, const cJSON *last, store_change_fn fn, void *arg)
{
	struct store_entry *entry = strmap_get(&s->entries, key);

	if (!entry)
		return;
	/* A late DELETED of a predecessor must not take out the successor that we made. */
	if (last && !same_uid(last, entry->object) && rv_compare(rv_of(last), rv_of(entry->object)) < 0)
		return;
	strmap_remove(&s->entries, key);
	index_remove(s, entry);
	if (fn)
		fn(arg, STORE_REMOVED, last ? last : entry->object, NULL);
	entry_free(entry);
}

const cJSON *store_get(const struct store *s, const char *key)
{
	const struct store_entry *entry = strmap_get(&s->entries, key);

	return entry ? entry->object : NULL;
}

const struct store_entry *store_index_next(const struct store *s, const char *value, const struct store_entry *at)
{
	return at ? at->next : strmap_get(&s->index, value);
}

const cJSON *store_entry_object(const struct store_entry *entry)
{
	return entry->object;
}

/* Own writes that are newer than the list go over into it. */
static void carry_over(struct store *from, struct store *to, const char *list_rv)
{
	struct strmap_pos pos = { 0 };
	void *value;

	while (strmap_next(&from->entries, &pos, NULL, &value)) {
		struct store_entry *entry = value;
		if (!entry->own || rv_compare(rv_of(entry->object), list_rv) <= 0)
			continue;
		cJSON *copy = cJSON_Duplicate(entry->object, true);
		if (copy)
			store_put(to, copy, false, NULL, NULL);
	}
}

static void tell_differences(const struct store *old, const struct store *now, store_change_fn fn, void *arg)
{
	struct strmap_pos pos = { 0 };
	const char *key;
	void *value;

	while (strmap_next(&old->entries, &pos, &key, &value)) {
		const struct store_entry *before = value;
		const struct store_entry *after = strmap_get(&now->entries, key);
		if (!after || !same_uid(before->object, after->object))
			fn(arg, STORE_REMOVED, before->object, NULL);
	}
	pos = (struct strmap_pos){ 0 };
	while (strmap_next(&now->entries, &pos, &key, &value)) {
		const struct store_entry *after = value;
		const struct store_entry *before = strmap_get(&old->entries, key);
		if (!before || !same_uid(before->object, after->object))
			fn(arg, STORE_ADDED, NULL, after->object);
		else if (rv_compare(rv_of(before->object), rv_of(after->object)) != 0)
			fn(arg, STORE_UPDATED, before->object, after->object);
	}
}

void store_swap(struct store *s, struct store *fresh, const char *list_rv, store_change_fn fn, void *arg)
{
	struct store old = *s;

	carry_over(&old, fresh, list_rv);
	*s = *fresh;
	store_init(fresh, s->index_fn);
	if (fn)
		tell_differences(&old, s, fn, arg);
	store_release(&old);
}
