/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the few members of an AdmissionReview that its shortest answer needs. */
#include "operator/webhook/review_outline.h"

#include <errno.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/oom.h"
#include "operator/kube/skim.h"
#include "operator/webhook/pod_admission.h"

/* A wanted member of an object, and where its value begins. */
struct wanted {
	const char *name;
	struct skim at; /* at.at NULL: the object has no such member */
};

/* Finds the first member of each name in the object at s. One pass. */
static void members_find(struct skim *s, struct wanted *wanted, size_t n)
{
	const char *name;
	size_t len;

	for (skim_object(s); skim_member(s, &name, &len); skim_skip(s))
		for (size_t i = 0; i < n; i++)
			if (!wanted[i].at.at && len == strlen(wanted[i].name) &&
			    memcmp(name, wanted[i].name, len) == 0)
				wanted[i].at = *s;
}

/* Copies a text, unless it is absent, of another type or too long. */
static void review_outline_text_copy(const struct wanted *from, cJSON *to)
{
	struct skim behind = from->at, s = from->at;

	if (!from->at.at || skim_peek(&behind) != '"')
		return;
	skim_skip(&behind);
	if (!behind.failed && (size_t)(behind.at - s.at) <= REVIEW_OUTLINE_TEXT_MAX)
		json_set(to, from->name, skim_take(&s));
}

/* Copies the wanted texts of the object at `from` to the object `name` in `to`. */
static void texts_copy(struct skim *from, struct wanted *wanted, size_t n, cJSON *to)
{
	if (!from->at || skim_peek(from) != '{')
		return;
	members_find(from, wanted, n);
	for (size_t i = 0; i < n; i++)
		review_outline_text_copy(&wanted[i], to);
}

static void metadata_copy(struct skim *from, cJSON *to)
{
	struct wanted maps[] = { { .name = "labels" }, { .name = "annotations" } };
	struct wanted label = { .name = POD_RAY_LABEL };
	struct wanted annotations[] = { { .name = POD_MIRROR_ANNOTATION },
					{ .name = SIDECAR_ANNOTATION } };

	if (!from->at || skim_peek(from) != '{')
		return;
	members_find(from, maps, ARRAY_SIZE(maps));
	texts_copy(&maps[0].at, &label, 1, json_object_at(to, "labels"));
	if (maps[1].at.at)
		texts_copy(&maps[1].at, annotations, ARRAY_SIZE(annotations),
			   json_object_at(to, "annotations"));
}

static void object_copy(struct skim *from, cJSON *to)
{
	struct wanted metadata = { .name = "metadata" };

	if (!from->at || skim_peek(from) != '{')
		return;
	members_find(from, &metadata, 1);
	metadata_copy(&metadata.at, json_object_at(to, "metadata"));
}

static void request_copy(struct skim *from, cJSON *to)
{
	struct wanted members[] = { { .name = "uid" },
				    { .name = "namespace" },
				    { .name = "operation" },
				    { .name = "kind" },
				    { .name = "object" } };
	struct wanted kind = { .name = "kind" };

	if (!from->at || skim_peek(from) != '{')
		return;
	members_find(from, members, ARRAY_SIZE(members));
	for (size_t i = 0; i < 3; i++)
		review_outline_text_copy(&members[i], to);
	texts_copy(&members[3].at, &kind, 1, json_object_at(to, "kind"));
	object_copy(&members[4].at, json_object_at(to, "object"));
}

int review_outline(const char *text, size_t len, cJSON **ret_review, struct err *err)
{
	struct wanted members[] = { { .name = "kind" },
				    { .name = "apiVersion" },
				    { .name = "request" } };
	_cleanup_json_ cJSON *review = cJSON_CreateObject();
	size_t lost = oom_count();
	struct skim s;

	skim_init(&s, text, len);
	members_find(&s, members, ARRAY_SIZE(members));
	if (!skim_ended(&s))
		return err_set(err, EPROTO, "a review of %zu bytes is not JSON", len);
	review_outline_text_copy(&members[0], review);
	review_outline_text_copy(&members[1], review);
	request_copy(&members[2].at, json_object_at(review, "request"));
	if (!review || oom_count() != lost)
		return err_set(err, ENOMEM, "outline of a review");
	*ret_review = TAKE_PTR(review);
	return 0;
}
