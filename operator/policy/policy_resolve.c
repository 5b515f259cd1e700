/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which policy applies to a RayCluster. */
#include "operator/policy/policy_resolve.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/strbuf.h"

#define ORIGIN_MAX 4096

/*
 * --- Choosing
 * -------------------------------------------------------------------------------------------
 */

struct chooser {
	struct selector_labels of_namespace, of_cluster;
	struct policy_choice *choice;
	bool kept_out[POLICY_BLOCKS]; /* a lock has excluded a policy from the block */
	policy_loser_fn *fn;
	void *arg;
};

static bool policy_resolve_selects(const struct chooser *c, const struct policy_object *o)
{
	return !o->trouble.code && selector_matches(&o->namespace_selector, &c->of_namespace) &&
	       selector_matches(&o->selector, &c->of_cluster);
}

static void policy_resolve_lose(const struct chooser *c, const struct policy_object *loser,
				enum policy_block block, const struct policy_object *winner,
				bool locked)
{
	if (c->fn)
		c->fn(c->arg, loser, block, winner, locked);
}

static void take_cluster_policy(struct chooser *c, const struct policy_object *o,
				enum policy_block b)
{
	if (policy_object_locks(o, b) && !c->choice->lock[b])
		c->choice->lock[b] = o;
	if (!policy_object_gives(o, b))
		return;
	if (c->choice->from[b])
		policy_resolve_lose(c, o, b, c->choice->from[b], false);
	else
		c->choice->from[b] = o;
}

static void policy_resolve_take_policy(struct chooser *c, const struct policy_object *o,
				       enum policy_block b)
{
	const struct policy_object *before = c->choice->from[b];

	if (!policy_object_gives(o, b))
		return;
	if (c->choice->lock[b]) {
		c->kept_out[b] = true;
		policy_resolve_lose(c, o, b, c->choice->lock[b], true);
	} else if (before && !before->is_cluster_wide) {
		policy_resolve_lose(c, o, b, before, false);
	} else {
		c->choice->from[b] = o;
	}
}

static void take_list(struct chooser *c, const struct policy_list *list,
		      void (*take)(struct chooser *c, const struct policy_object *o,
				   enum policy_block b))
{
	for (size_t i = 0; i < list->n; i++)
		if (policy_resolve_selects(c, list->items[i]))
			for (enum policy_block b = 0; b < POLICY_BLOCKS; b++)
				take(c, list->items[i], b);
}

void policy_choose(const struct policy_list *cluster_policies, const struct policy_list *policies,
		   const cJSON *namespace_labels, const cJSON *cluster_labels,
		   struct policy_choice *ret_choice, policy_loser_fn *fn, void *arg)
{
	struct chooser c;

	selector_labels_read(namespace_labels, &c.of_namespace);
	selector_labels_read(cluster_labels, &c.of_cluster);
	c.choice = ret_choice;
	c.fn = fn;
	c.arg = arg;
	memset(c.kept_out, 0, sizeof(c.kept_out));
	*ret_choice = (struct policy_choice){ 0 };
	take_list(&c, cluster_policies, take_cluster_policy);
	take_list(&c, policies, policy_resolve_take_policy);
	for (enum policy_block b = 0; b < POLICY_BLOCKS; b++)
		if (!c.kept_out[b] && ret_choice->lock[b] != ret_choice->from[b])
			ret_choice->lock[b] = NULL;
}

/* --- The result ------------------------------------------------------------------------------ */

/* Adds "RayPolicy/team-a generation 3 (memory, recording)". */
static void add_object(struct strbuf *sb, const struct policy_choice *choice,
		       const struct policy_object *o)
{
	const char *before = " (";
	bool locks = false;

	strbuf_addf(sb, "%s%s/%s generation %" PRId64, sb->len ? "; " : "", policy_object_kind(o),
		    o->name, o->generation);
	for (enum policy_block b = 0; b < POLICY_RETENTION; b++) {
		locks |= choice->lock[b] == o;
		if (choice->from[b] != o)
			continue;
		strbuf_addf(sb, "%s%s", before, policy_block_name(b));
		before = ", ";
	}
	strbuf_addf(sb, "%s%s)", locks ? before : "", locks ? "locked" : "");
}

/* Returns whether place i of the objects is the first with o. */
static bool policy_resolve_is_first(const struct policy_object *const *objects, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (objects[j] == objects[i])
			return false;
	return objects[i] != NULL;
}

static void policy_resolve_describe(struct strbuf *sb, const struct policy_choice *choice)
{
	const struct policy_object *objects[2 * POLICY_RETENTION];

	for (enum policy_block b = 0; b < POLICY_RETENTION; b++) {
		objects[b] = choice->from[b];
		objects[POLICY_RETENTION + b] = choice->lock[b];
	}
	for (int cluster_wide = 0; cluster_wide <= 1; cluster_wide++)
		for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
			if (policy_resolve_is_first(objects, i) &&
			    objects[i]->is_cluster_wide == cluster_wide)
				add_object(sb, choice, objects[i]);
}

static int copy_blocks(struct policy *to, const struct policy_choice *choice, struct err *err)
{
	for (enum policy_block b = 0; b < POLICY_BLOCKS; b++) {
		const struct policy_object *from = choice->from[b];
		int r = from ? policy_copy_block(to, b, &from->values, err) : 0;

		if (r < 0)
			return r;
	}
	return to->recording.enabled ? 0 : policy_set_string(&to->sidecar_image, NULL, err);
}

int policy_resolve(const struct policy *base, const struct policy_choice *choice,
		   struct policy *ret_policy, char **ret_origin, struct err *err)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(ORIGIN_MAX);
	_cleanup_(policy_release) struct policy p = { 0 };
	int r = policy_copy(base, &p, err);

	if (r == 0)
		r = copy_blocks(&p, choice, err);
	if (r < 0)
		return r;
	policy_resolve_describe(&sb, choice);
	char *origin = sb.len ? strbuf_detach(&sb) : NULL;
	if (strbuf_failed(&sb) || (sb.len && !origin))
		return err_set(err, ENOMEM, "policy");
	*ret_origin = origin;
	*ret_policy = p;
	p = (struct policy){ 0 };
	return 0;
}

/*
 * --- Overlap
 * --------------------------------------------------------------------------------------------
 */

static bool surely_overlap(const struct selector *a, const struct selector *b)
{
	return selector_is_empty(a) || selector_is_empty(b) || selector_equals(a, b);
}

bool policy_objects_overlap(const struct policy_object *a, const struct policy_object *b)
{
	return surely_overlap(&a->selector, &b->selector) &&
	       surely_overlap(&a->namespace_selector, &b->namespace_selector);
}
