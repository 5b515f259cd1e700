/* SPDX-License-Identifier: Apache-2.0 */
/* Converts YAML to JSON, from libyaml's document tree. */
#include "operator/kube/yaml.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/oom.h"

struct walk {
	yaml_document_t *doc;
	size_t nodes;
	struct err *err;
};

static int yaml_line_of(const yaml_node_t *node)
{
	return (int)node->start_mark.line + 1;
}

static const char *yaml_scalar(const yaml_node_t *node)
{
	return (const char *)node->data.scalar.value;
}

/* Accepts only numbers of JSON: 0x10, .inf, 1_000 and 08 remain texts. */
static bool is_number(const char *s)
{
	const char *p = s + (*s == '-');

	if (!isdigit((unsigned char)*p) || (*p == '0' && isdigit((unsigned char)p[1])))
		return false;
	p += strspn(p, "0123456789");
	if (*p == '.') {
		size_t digits = strspn(p + 1, "0123456789");

		if (!digits)
			return false;
		p += 1 + digits;
	}
	if (*p == 'e' || *p == 'E') {
		p += 1 + (p[1] == '-' || p[1] == '+');
		if (!isdigit((unsigned char)*p))
			return false;
		p += strspn(p, "0123456789");
	}
	return !*p;
}

static bool one_of(const char *s, const char *a, const char *b, const char *c)
{
	return strcmp(s, a) == 0 || strcmp(s, b) == 0 || strcmp(s, c) == 0;
}

static cJSON *plain_scalar(const char *s)
{
	if (!*s || strcmp(s, "~") == 0 || one_of(s, "null", "Null", "NULL"))
		return cJSON_CreateNull();
	if (one_of(s, "true", "True", "TRUE"))
		return cJSON_CreateTrue();
	if (one_of(s, "false", "False", "FALSE"))
		return cJSON_CreateFalse();
	if (is_number(s) && isfinite(strtod(s, NULL)))
		return cJSON_CreateNumber(strtod(s, NULL));
	return cJSON_CreateString(s);
}

static int scalar_to_json(struct walk *w, const yaml_node_t *node, cJSON **ret_json)
{
	const char *s = yaml_scalar(node);

	if (strlen(s) != node->data.scalar.length)
		return err_set(w->err, EINVAL, "line %d: a NUL in a string", yaml_line_of(node));
	if (node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		*ret_json = plain_scalar(s);
	else
		*ret_json = cJSON_CreateString(s);
	return *ret_json ? 0 : err_set(w->err, ENOMEM, "YAML value");
}

static int node_to_json(struct walk *w, int index, int depth, cJSON **ret_json);

static int sequence_to_json(struct walk *w, const yaml_node_t *node, int depth, cJSON **ret_json)
{
	_cleanup_json_ cJSON *array = cJSON_CreateArray();

	for (yaml_node_item_t *i = node->data.sequence.items.start;
	     i < node->data.sequence.items.top; i++) {
		cJSON *item;
		int r = node_to_json(w, *i, depth + 1, &item);

		if (r < 0)
			return r;
		json_append(array, item);
	}
	*ret_json = TAKE_PTR(array);
	return *ret_json ? 0 : err_set(w->err, ENOMEM, "YAML sequence");
}

static int check_key(struct walk *w, const yaml_node_t *key, const cJSON *object)
{
	if (key->type != YAML_SCALAR_NODE)
		return err_set(w->err, EINVAL, "line %d: a key must be text", yaml_line_of(key));
	if (strlen(yaml_scalar(key)) != key->data.scalar.length)
		return err_set(w->err, EINVAL, "line %d: a NUL in a key", yaml_line_of(key));
	if (strcmp(yaml_scalar(key), "<<") == 0)
		return err_set(w->err, EINVAL, "line %d: merge keys (<<) are not supported",
			       yaml_line_of(key));
	if (cJSON_GetObjectItemCaseSensitive(object, yaml_scalar(key)))
		return err_set(w->err, EINVAL, "line %d: key \"%.60s\" stands here a second time",
			       yaml_line_of(key), yaml_scalar(key));
	return 0;
}

static int mapping_to_json(struct walk *w, const yaml_node_t *node, int depth, cJSON **ret_json)
{
	_cleanup_json_ cJSON *object = cJSON_CreateObject();

	for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
	     p++) {
		const yaml_node_t *key = yaml_document_get_node(w->doc, p->key);
		cJSON *value;
		int r = check_key(w, key, object);

		if (r < 0)
			return r;
		r = node_to_json(w, p->value, depth + 1, &value);
		if (r < 0)
			return r;
		json_set(object, yaml_scalar(key), value);
	}
	*ret_json = TAKE_PTR(object);
	return *ret_json ? 0 : err_set(w->err, ENOMEM, "YAML mapping");
}

static int node_to_json(struct walk *w, int index, int depth, cJSON **ret_json)
{
	const yaml_node_t *node = yaml_document_get_node(w->doc, index);

	/* An alias may refer to one of its own ancestors. The limit of depth ends that, too. */
	if (depth > YAML_DEPTH_MAX)
		return err_set(w->err, E2BIG, "line %d: nested deeper than %d", yaml_line_of(node),
			       YAML_DEPTH_MAX);
	if (++w->nodes > YAML_NODES_MAX)
		return err_set(w->err, E2BIG, "line %d: more than %d values", yaml_line_of(node),
			       YAML_NODES_MAX);
	switch (node->type) {
	case YAML_SCALAR_NODE:
		return scalar_to_json(w, node, ret_json);
	case YAML_SEQUENCE_NODE:
		return sequence_to_json(w, node, depth, ret_json);
	case YAML_MAPPING_NODE:
		return mapping_to_json(w, node, depth, ret_json);
	default:
		return err_set(w->err, EINVAL, "line %d: unknown kind of value",
			       yaml_line_of(node));
	}
}

static int syntax_error(const yaml_parser_t *parser, struct err *err)
{
	size_t line = parser->problem_mark.line;

	if (parser->error == YAML_MEMORY_ERROR)
		return err_set(err, ENOMEM, "YAML");
	/* The reader reports an offset in place of a mark. */
	if (parser->error == YAML_READER_ERROR)
		return err_set(err, EINVAL, "not YAML at byte %zu: %s", parser->problem_offset,
			       parser->problem);
	return err_set(err, EINVAL, "line %zu: not YAML: %s", line + 1,
		       parser->problem ? parser->problem : "?");
}

static void parser_start(yaml_parser_t *parser, const char *text, size_t len)
{
	yaml_parser_set_input_string(parser, (const unsigned char *)text, len);
	yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING);
}

static int document_to_json(yaml_document_t *doc, cJSON **ret_json, struct err *err)
{
	struct walk w = { .doc = doc, .err = err };

	if (!yaml_document_get_root_node(doc)) {
		*ret_json = cJSON_CreateNull();
		return *ret_json ? 0 : err_set(err, ENOMEM, "YAML");
	}
	return node_to_json(&w, 1, 0, ret_json);
}

/*
 * Refuses anything after the first document, because a second document would be ignored silently.
 */
static int check_end(yaml_parser_t *parser, struct err *err)
{
	yaml_document_t doc;
	int r = 0;

	if (!yaml_parser_load(parser, &doc))
		return syntax_error(parser, err);
	const yaml_node_t *root = yaml_document_get_root_node(&doc);
	if (root)
		r = err_set(err, EINVAL, "line %d: a second document", yaml_line_of(root));
	yaml_document_delete(&doc);
	return r;
}

int yaml_to_json(const char *text, size_t len, cJSON **ret_json, struct err *err)
{
	_cleanup_json_ cJSON *json = NULL;
	size_t lost = oom_count();
	yaml_parser_t parser;
	yaml_document_t doc;
	bool empty;
	int r;

	if (!yaml_parser_initialize(&parser))
		return err_set(err, ENOMEM, "YAML");
	parser_start(&parser, text, len);
	if (!yaml_parser_load(&parser, &doc)) {
		r = syntax_error(&parser, err);
		goto out;
	}
	empty = !yaml_document_get_root_node(&doc);
	r = document_to_json(&doc, &json, err);
	yaml_document_delete(&doc);
	if (r == 0 && !empty)
		r = check_end(&parser, err);
	if (r == 0 && oom_count() != lost)
		r = err_set(err, ENOMEM, "YAML");
	if (r == 0)
		*ret_json = TAKE_PTR(json);
out:
	yaml_parser_delete(&parser);
	return r;
}

static const yaml_node_pair_t *find_pair(yaml_document_t *doc, const yaml_node_t *node,
					 const char *name, size_t len)
{
	if (!node || node->type != YAML_MAPPING_NODE)
		return NULL;
	for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
	     p++) {
		const yaml_node_t *key = yaml_document_get_node(doc, p->key);

		if (key->type == YAML_SCALAR_NODE && key->data.scalar.length == len &&
		    memcmp(key->data.scalar.value, name, len) == 0)
			return p;
	}
	return NULL;
}

static int line_in(yaml_document_t *doc, const char *path)
{
	const yaml_node_t *node = yaml_document_get_root_node(doc);
	int line = 0;

	while (*path) {
		size_t len = strcspn(path, ".");
		const yaml_node_pair_t *p = find_pair(doc, node, path, len);

		if (!p)
			return 0;
		line = yaml_line_of(yaml_document_get_node(doc, p->key));
		node = yaml_document_get_node(doc, p->value);
		path += len + (path[len] == '.');
	}
	return line;
}

int yaml_line(const char *text, size_t len, const char *path)
{
	yaml_parser_t parser;
	yaml_document_t doc;
	int line = 0;

	if (!yaml_parser_initialize(&parser))
		return 0;
	parser_start(&parser, text, len);
	if (yaml_parser_load(&parser, &doc)) {
		line = line_in(&doc, path);
		yaml_document_delete(&doc);
	}
	yaml_parser_delete(&parser);
	return line;
}
