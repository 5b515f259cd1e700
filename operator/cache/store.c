/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the last known objects of one kind. */
#include "operator/cache/store.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/queue.h>

#include "lib/strbuf.h"
#include "operator/kube/salvage.h"
#include "operator/kube/squeeze.h"

/* A namespace has at most 63 bytes, a name 253. */
#define KEY_MAX 512
#define INDEX_VALUE_MAX 512
/* What an entry takes beside its data: itself, its node in the map, and two keys. */
#define ENTRY_OVERHEAD 256
#define SMALL_GROWTH 4096
/* A text that is all the same has hardly any bytes here, and all of its bytes in a view. */
#define SQUEEZED_AT_MOST 2

/* The entries that have one value of the index. */
struct index_value {
	LIST_HEAD(, store_entry) entries;
	const char *text; /* in the index */
};

struct store_entry {
	LIST_ENTRY(store_entry) in_index; /* with the same index value */
	struct index_value *index_value; /* NULL: not in the index */
	cJSON *view; /* NULL: none */
	struct store_entry *next_view;
	bool own; /* written by us, and not yet confirmed by the watch */
	bool shortened;
	uint16_t uid_at; /* offsets in data: */
	uint32_t json_at, json_len, charged;
	char data[]; /* version and uid, each with its NUL, then compressed JSON text */
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
	_cleanup_strbuf_ struct strbuf key = STRBUF_INIT(KEY_MAX);

	if (!name || !*name)
		return NULL;
	if (namespace && *namespace)
		strbuf_addf(&key, "%s/", namespace);
	strbuf_adds(&key, name);
	char *text = strbuf_detach(&key);
	return text;
}

void store_init(struct store *s, store_index_fn index_fn)
{
	*s = (struct store){ .index_fn = index_fn };
}

/*
 * --- Views
 * ------------------------------------------------------------------------------------------------
 */

/*
 * Makes a tree that is independent of the store, because the caller changes the store while it
 * reads the object.
 */
static cJSON *parse_entry(const struct store_entry *entry)
{
	size_t len;
	_cleanup_free_ char *text = unsqueeze(entry->data + entry->json_at, entry->json_len, &len);
	cJSON *object = NULL;

	if (text)
		json_parse(text, len, &object, NULL);
	return object;
}

/* Makes a view. The store is const for its readers, who need not know that it caches views. */
static const cJSON *view_of(const struct store *s, const struct store_entry *entry)
{
	struct store *store = (struct store *)s;
	struct store_entry *e = (struct store_entry *)entry;

	if (e->view || !(e->view = parse_entry(e)))
		return e->view;
	e->next_view = store->views;
	store->views = e;
	return e->view;
}

static void drop_peek(struct store *s)
{
	cJSON_Delete(TAKE_PTR(s->peek));
	s->peeked = NULL;
}

static void drop_view(struct store *s, struct store_entry *entry)
{
	struct store_entry **at = &s->views;

	if (s->peeked == entry)
		drop_peek(s);
	if (!entry->view)
		return;
	while (*at && *at != entry)
		at = &(*at)->next_view;
	if (*at)
		*at = entry->next_view;
	cJSON_Delete(TAKE_PTR(entry->view));
}

void store_drop_views(struct store *s)
{
	drop_peek(s);
	while (s->views) {
		struct store_entry *entry = s->views;
		s->views = entry->next_view;
		cJSON_Delete(TAKE_PTR(entry->view));
	}
}

/*
 * --- Entries
 * ----------------------------------------------------------------------------------------------
 */

void store_release(struct store *s)
{
	store_drop_views(s);
	strmap_release(&s->entries, free);
	strmap_release(&s->index, free);
	namespace_share_release(&s->bytes);
}

static void index_remove(struct store *s, struct store_entry *entry)
{
	struct index_value *value = entry->index_value;

	if (!value)
		return;
	LIST_REMOVE(entry, in_index);
	if (LIST_EMPTY(&value->entries))
		free(strmap_remove(&s->index, value->text));
	entry->index_value = NULL;
}

static struct index_value *index_value_at(struct store *s, const char *text)
{
	struct index_value *value = strmap_get_or_add(&s->index, text, sizeof(*value));

	if (value && !value->text)
		value->text = strmap_key(&s->index, text);
	return value;
}

static int index_insert(struct store *s, const cJSON *object, struct store_entry *entry)
{
	char text[INDEX_VALUE_MAX];

	if (!s->index_fn || !s->index_fn(object, text, sizeof(text)))
		return 0;
	entry->index_value = index_value_at(s, text);
	if (!entry->index_value)
		return -ENOMEM;
	LIST_INSERT_HEAD(&entry->index_value->entries, entry, in_index);
	return 0;
}

static const char *rv_of(const struct store_entry *entry)
{
	return entry->data;
}

static const char *uid_of(const struct store_entry *entry)
{
	return entry->data + entry->uid_at;
}

/* Versions and uids are short. A longer text is not from an API server. */
static struct store_entry *store_entry_new(const cJSON *object, bool own)
{
	_cleanup_free_ char *json = cJSON_PrintUnformatted(object);
	const char *rv = json_str_or(object, "metadata.resourceVersion", "");
	const char *uid = json_str_or(object, "metadata.uid", "");
	size_t rv_size = strlen(rv) + 1, uid_size = strlen(uid) + 1, json_len = 0,
	       text_len = json ? strlen(json) : 0;
	_cleanup_free_ char *squeezed = json ? squeeze(json, text_len, &json_len) : NULL;
	struct store_entry *entry;

	if (!squeezed || rv_size + uid_size > UINT16_MAX || json_len > UINT32_MAX - UINT16_MAX)
		return NULL;
	entry = calloc(1, sizeof(*entry) + rv_size + uid_size + json_len);
	if (!entry)
		return NULL;
	entry->own = own;
	entry->uid_at = (uint16_t)rv_size;
	entry->json_at = (uint32_t)(rv_size + uid_size);
	entry->json_len = (uint32_t)json_len;
	entry->charged = (uint32_t)MAX(json_len, text_len / SQUEEZED_AT_MOST);
	memcpy(entry->data, rv, rv_size);
	memcpy(entry->data + entry->uid_at, uid, uid_size);
	memcpy(entry->data + entry->json_at, squeezed, json_len);
	return entry;
}

/* Returns how much of the bound the entry takes; it may be NULL. */
static size_t entry_bytes(const struct store *s, const struct store_entry *entry)
{
	size_t n =
		entry && !entry->shortened ? ENTRY_OVERHEAD + entry->json_at + entry->charged : 0;

	return n > s->bytes_free ? n - s->bytes_free : 0;
}

/*
 * Counts what it takes to have `after` in the place of `before` (each may be NULL) in the share of
 * the key's namespace. Whole objects leave an eighth of the bound to remnants, and to objects that
 * grow a little, as by their status: these must not go because another namespace took its share
 * meanwhile. Returns -E2BIG if there is no room.
 */
static int store_charge(struct store *s, const char *key, const struct store_entry *before,
			const struct store_entry *after, bool remnant)
{
	size_t was = entry_bytes(s, before), is = entry_bytes(s, after), max = s->bytes_max,
	       n = is - was;
	bool fits = true;

	if (!max || is == was)
		return 0;
	if (is < was)
		namespace_share_remove(&s->bytes, key, was - is);
	else if (before && !before->shortened && n <= SMALL_GROWTH)
		fits = namespace_share_grow(&s->bytes, key, n, max, max / 2);
	else
		fits = namespace_share_add(&s->bytes, key, n, remnant ? max : max / 8 * 7, max / 2);
	return fits ? 0 : -E2BIG;
}

/* Replaces `before`, which may be NULL and then belongs to the caller. */
static int entry_put(struct store *s, const char *key, const cJSON *object, bool own,
		     bool shortened, struct store_entry *before)
{
	struct store_entry *entry = store_entry_new(object, own);

	if (!entry)
		return -ENOMEM;
	entry->shortened = shortened;
	int r = store_charge(s, key, before, entry, salvage_reason(object));
	if (r == 0 &&
	    (index_insert(s, object, entry) < 0 || strmap_put(&s->entries, key, entry, NULL) < 0)) {
		index_remove(s, entry);
		store_charge(s, key, entry, before, true);
		r = -ENOMEM;
	}
	if (r < 0) {
		free(entry);
		return r;
	}
	if (before) {
		drop_view(s, before);
		index_remove(s, before);
	}
	return 0;
}

static bool same_uid(const char *a, const char *b)
{
	return *a && strcmp(a, b) == 0;
}

static void tell_put(const struct store_entry *before, const cJSON *object, store_change_fn fn,
		     void *arg)
{
	_cleanup_json_ cJSON *was = before ? parse_entry(before) : NULL;

	if (was && !same_uid(uid_of(before), json_str_or(object, "metadata.uid", ""))) {
		/* It was deleted and made anew between two looks. */
		fn(arg, STORE_REMOVED, was, NULL);
		fn(arg, STORE_ADDED, NULL, object);
	} else {
		fn(arg, was ? STORE_UPDATED : STORE_ADDED, was, object);
	}
}

int store_put(struct store *s, cJSON *object, bool own, store_change_fn fn, void *arg)
{
	_cleanup_free_ char *key = object_key(object);
	_cleanup_json_ cJSON *owned = object;
	_cleanup_free_ struct store_entry *before = NULL;

	if (!key)
		return -EINVAL;
	/* Nobody reads these fields, which are half of an object's bytes. */
	cJSON_DeleteItemFromObjectCaseSensitive(json_get(object, "metadata"), "managedFields");
	struct store_entry *entry = strmap_get(&s->entries, key);
	int order =
		entry ? rv_compare(json_str(object, "metadata.resourceVersion"), rv_of(entry)) : 1;
	if (order <= 0) {
		if (order == 0 && !own)
			entry->own = false; /* the watch has shown our write */
		return 0;
	}
	bool wide = s->shorten && s->shorten(object, false);
	int whole = wide ? -E2BIG : entry_put(s, key, object, own, false, entry), r = whole;
	if (whole == -E2BIG && (s->shorten || s->keeps_remnants)) {
		if (!s->shorten)
			salvage_reduce(object, STORE_NO_ROOM);
		else if (!wide)
			s->shorten(object, true);
		r = entry_put(s, key, object, own, s->shorten, entry);
	}
	if (r == -E2BIG)
		store_remove(s, key, NULL, fn, arg);
	if (r < 0)
		return r;
	before = entry;
	if (fn)
		tell_put(before, object, fn, arg);
	return whole;
}

void store_remove(struct store *s, const char *key, const cJSON *last, store_change_fn fn,
		  void *arg)
{
	_cleanup_free_ struct store_entry *entry = NULL;
	struct store_entry *found = strmap_get(&s->entries, key);

	if (!found)
		return;
	/*
	 * A late DELETED of an older object must not remove the new one of that name, which we
	 * made.
	 */
	if (last && !same_uid(uid_of(found), json_str_or(last, "metadata.uid", "")) &&
	    rv_compare(json_str(last, "metadata.resourceVersion"), rv_of(found)) < 0)
		return;
	entry = strmap_remove(&s->entries, key);
	store_charge(s, key, entry, NULL, false);
	drop_view(s, entry);
	index_remove(s, entry);
	if (!fn)
		return;
	_cleanup_json_ cJSON *ours = last ? NULL : parse_entry(entry);
	if (last || ours)
		fn(arg, STORE_REMOVED, last ? last : ours, NULL);
}

/*
 * --- Reading
 * ----------------------------------------------------------------------------------------------
 */

bool store_has(const struct store *s, const char *key)
{
	return strmap_get(&s->entries, key) != NULL;
}

const cJSON *store_get(const struct store *s, const char *key)
{
	const struct store_entry *entry = strmap_get(&s->entries, key);

	return entry ? view_of(s, entry) : NULL;
}

const cJSON *store_entry_peek(const struct store *s, const struct store_entry *entry)
{
	struct store *store = (struct store *)s;

	if (entry->view)
		return entry->view;
	if (store->peeked != entry) {
		drop_peek(store);
		store->peek = parse_entry(entry);
		store->peeked = store->peek ? (struct store_entry *)entry : NULL;
	}
	return store->peek;
}

const cJSON *store_peek(const struct store *s, const char *key)
{
	const struct store_entry *entry = strmap_get(&s->entries, key);

	return entry ? store_entry_peek(s, entry) : NULL;
}

const struct store_entry *store_index_next(const struct store *s, const char *value,
					   const struct store_entry *at)
{
	const struct index_value *entries = at ? NULL : strmap_get(&s->index, value);

	return at ? LIST_NEXT(at, in_index) : entries ? LIST_FIRST(&entries->entries) : NULL;
}

const cJSON *store_entry_object(const struct store *s, const struct store_entry *entry)
{
	return view_of(s, entry);
}

/*
 * --- Swapping
 * ---------------------------------------------------------------------------------------------
 */

/* Copies our own writes that are newer than the list to the new store. */
static void carry_over(struct store *from, struct store *to, const char *list_rv)
{
	void *value;

	strmap_each(&from->entries, NULL, &value) {
		struct store_entry *entry = value;
		if (!entry->own || rv_compare(rv_of(entry), list_rv) <= 0)
			continue;
		cJSON *copy = parse_entry(entry);
		if (copy)
			store_put(to, copy, false, NULL, NULL);
	}
}

/*
 * Reports one change with trees made only for it, so that a list of many thousands is never in
 * memory as trees.
 */
static void tell_change(enum store_change change, const struct store_entry *before,
			const struct store_entry *after, store_change_fn fn, void *arg)
{
	_cleanup_json_ cJSON *was = before ? parse_entry(before) : NULL;
	_cleanup_json_ cJSON *is = after ? parse_entry(after) : NULL;

	if (!was == !before && !is == !after)
		fn(arg, change, was, is);
}

static void tell_differences(const struct store *old, const struct store *now, store_change_fn fn,
			     void *arg)
{
	const char *key;
	void *value;

	strmap_each(&old->entries, &key, &value) {
		const struct store_entry *before = value;
		const struct store_entry *after = strmap_get(&now->entries, key);
		if (!after || !same_uid(uid_of(before), uid_of(after)))
			tell_change(STORE_REMOVED, before, NULL, fn, arg);
	}
	strmap_each(&now->entries, &key, &value) {
		const struct store_entry *after = value;
		const struct store_entry *before = strmap_get(&old->entries, key);
		if (!before || !same_uid(uid_of(before), uid_of(after)))
			tell_change(STORE_ADDED, NULL, after, fn, arg);
		else if (rv_compare(rv_of(before), rv_of(after)) != 0)
			tell_change(STORE_UPDATED, before, after, fn, arg);
	}
}

void store_swap(struct store *s, struct store *fresh, const char *list_rv, store_change_fn fn,
		void *arg)
{
	struct store old = *s;

	carry_over(&old, fresh, list_rv);
	*s = *fresh;
	*fresh = (struct store){ .index_fn = s->index_fn,
				 .bytes_max = s->bytes_max,
				 .bytes_free = s->bytes_free,
				 .shorten = s->shorten,
				 .keeps_remnants = s->keeps_remnants };
	if (fn)
		tell_differences(&old, s, fn, arg);
	store_release(&old);
}
