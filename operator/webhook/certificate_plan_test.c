/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the plan for certificates: a table of situations, and a small cluster with random
 * events.
 */
#include "operator/webhook/certificate_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* A row sets only the members that matter to it */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define DAY (24 * 3600 * NS_PER_SEC)
#define MINUTE (60 * NS_PER_SEC)
#define T0 (1800000000 * NS_PER_SEC)

static struct x509_names names, other_names;

static int set_up(void **state)
{
	(void)state;
	assert_int_equal(x509_service_names("afterglow-webhook", "ops", NULL, &names, NULL), 0);
	assert_int_equal(x509_service_names("renamed", "ops", NULL, &other_names, NULL), 0);
	return 0;
}

/*
 * --- The table
 * --------------------------------------------------------------------------------------------
 */

/* What a row changes. It begins with a Secret that was made at T0, published and remembered. */
struct situation {
	struct certificate_content secret, memory;
	struct x509_bundle published;
	struct certificate_world w;
};

static void fresh_content(int64_t now_ns, struct certificate_content *ret_content)
{
	struct x509_bundle none = { 0 };
	struct certificate_world w = { .published = &none, .names = &names, .now_ns = now_ns };
	struct certificate_decision d = { .step = CERTIFICATE_NEW };

	assert_int_equal(certificate_make(&w, &d, ret_content, NULL), 0);
}

static void set_text(char **text, const char *value)
{
	pem_free_key(*text);
	*text = value ? strdup(value) : NULL;
}

static void publish_text(struct situation *s, const char *pem)
{
	x509_bundle_release(&s->published);
	x509_bundle_read(&s->published, pem);
}

static void no_secret(struct situation *s) { s->w.secret = NULL; }
static void no_memory(struct situation *s) { s->w.memory = NULL; }
static void nothing(struct situation *s) { s->w.secret = s->w.memory = NULL; }
static void first_start(struct situation *s) { nothing(s); publish_text(s, NULL); }
static void lost_and_reset(struct situation *s) { no_secret(s); publish_text(s, NULL); }
static void reset(struct situation *s) { publish_text(s, NULL); }
static void uneven(struct situation *s) { s->w.uneven = true; }
static void blind(struct situation *s) { s->w.published = NULL; }
static void lost_and_blind(struct situation *s) { no_secret(s); blind(s); }
static void nothing_and_blind(struct situation *s) { nothing(s); blind(s); }
static void renamed(struct situation *s) { s->w.names = &other_names; }
static void no_leaf_key(struct situation *s) { set_text(&s->secret.leaf_key, NULL); no_memory(s); }
static void garbage_in_the_leaf(struct situation *s)
{
	set_text(&s->secret.leaf, "-----BEGIN CERTIFICATE-----\n????\n");
	no_memory(s);
}
static void garbage_and_memory(struct situation *s) { set_text(&s->secret.leaf, "garbage"); }
static void no_ca_key(struct situation *s) { set_text(&s->secret.ca_key, "garbage"); no_memory(s); }
static void no_ca_key_but_memory(struct situation *s) { set_text(&s->secret.ca_key, NULL); }
static void all_garbage(struct situation *s)
{
	set_text(&s->secret.bundle, "garbage");
	set_text(&s->secret.leaf, "garbage");
	no_memory(s);
}

/* Puts the leaf's key in the place of the CA's. */
static void keys_exchanged(struct situation *s)
{
	set_text(&s->secret.ca_key, s->secret.leaf_key);
	set_text(&s->secret.leaf_key, NULL);
	no_memory(s);
}

/* Puts a leaf into the bundle as its own authority. */
static void leaf_in_the_bundle(struct situation *s)
{
	set_text(&s->secret.bundle, s->secret.leaf);
	set_text(&s->secret.ca_key, s->secret.leaf_key);
	no_memory(s);
}

static void foreign_ca(struct situation *s)
{
	_cleanup_content_ struct certificate_content other = { 0 };

	fresh_content(T0, &other);
	x509_bundle_read(&s->published, other.bundle);
}

static void published_leaf(struct situation *s) { x509_bundle_read(&s->published, s->secret.leaf); }

static void with_next(struct situation *s)
{
	_cleanup_content_ struct certificate_content other = { 0 };

	fresh_content(T0, &other);
	set_text(&s->secret.next_ca, other.bundle);
	set_text(&s->secret.next_key, other.ca_key);
}

static void next_published(struct situation *s)
{
	_cleanup_free_ char *text = NULL;

	with_next(s);
	x509_bundle_read(&s->published, s->secret.next_ca);
	text = x509_bundle_text(&s->published);
	set_text(&s->secret.bundle, text);
}

static void next_noted(struct situation *s)
{
	next_published(s);
	s->secret.published_ns = T0;
	s->secret.replaced_ns = T0;
}
static void next_noted_and_repaired(struct situation *s)
{
	next_noted(s);
	s->w.repaired_ns = T0 + 9 * MINUTE;
}
static void next_noted_in_the_future(struct situation *s)
{
	next_published(s);
	s->secret.published_ns = T0 + DAY;
}
static void next_noted_and_reset(struct situation *s) { next_noted(s); reset(s); }

/* The published CA signs, and the first one has been a former CA since T0. */
static void switched(struct situation *s)
{
	struct certificate_decision d = { .step = CERTIFICATE_SWITCH };
	struct certificate_content content;

	next_noted(s);
	d.from = &s->secret;
	d.bundle = s->published;
	assert_int_equal(certificate_make(&s->w, &d, &content, NULL), 0);
	certificate_content_move(&s->secret, &content);
	publish_text(s, s->secret.bundle);
	s->secret.replaced_ns = T0;
	no_memory(s);
}

/* The former CA has been removed from the configuration, but not from the Secret. */
static void former_unpublished(struct situation *s)
{
	_cleanup_x509_ X509 *signer = NULL;

	switched(s);
	signer = x509_first(s->secret.bundle);
	x509_bundle_release(&s->published);
	x509_bundle_add(&s->published, signer);
}

static void former_ended(struct situation *s) { switched(s); s->secret.replaced_ns = T0 - 8 * DAY; }
static void former_ended_unpublished(struct situation *s)
{
	former_unpublished(s);
	s->secret.replaced_ns = T0 - 8 * DAY;
}
static void replaced_in_the_future(struct situation *s)
{
	switched(s);
	s->secret.replaced_ns = T0 + 300 * DAY;
}

static const struct {
	const char *name;
	void (*change)(struct situation *s);
	int64_t later_ns;
	enum certificate_step step;
} rows[] = {
	{ "all is in order", NULL, MINUTE, CERTIFICATE_WAIT },
	{ "the first start", first_start, 0, CERTIFICATE_NEW },
	{ "the Secret is lost and this replica is new", nothing, DAY, CERTIFICATE_NEW },
	{ "the Secret is lost and this replica remembers it", no_secret, DAY, CERTIFICATE_RESTORE },
	{ "the Secret is lost and the configuration reset", lost_and_reset, DAY, CERTIFICATE_PUBLISH },
	{ "the configuration is reset", reset, DAY, CERTIFICATE_PUBLISH },
	{ "one webhook has another bundle", uneven, DAY, CERTIFICATE_PUBLISH },
	{ "a leaf stands in the configuration", published_leaf, DAY, CERTIFICATE_PUBLISH },
	{ "another leader's CA is published", foreign_ca, DAY, CERTIFICATE_BUNDLE },
	{ "the configuration cannot be read", blind, DAY, CERTIFICATE_WAIT },
	{ "it cannot be read and the leaf is due", blind, 5 * DAY, CERTIFICATE_LEAF },
	{ "it cannot be read and the CA is due", blind, 300 * DAY, CERTIFICATE_LEAF },
	{ "it cannot be read and the Secret is lost", lost_and_blind, DAY, CERTIFICATE_WAIT },
	{ "it cannot be read and there is nothing", nothing_and_blind, DAY, CERTIFICATE_WAIT },
	{ "the Service has another name", renamed, DAY, CERTIFICATE_LEAF },
	{ "the leaf has no key", no_leaf_key, DAY, CERTIFICATE_LEAF },
	{ "the leaf is garbage", garbage_in_the_leaf, DAY, CERTIFICATE_LEAF },
	{ "the leaf is garbage and this replica remembers it", garbage_and_memory, DAY, CERTIFICATE_RESTORE },
	{ "the key of the CA is garbage", no_ca_key, DAY, CERTIFICATE_NEXT },
	{ "the key of the CA is gone and remembered", no_ca_key_but_memory, DAY, CERTIFICATE_RESTORE },
	{ "the key of the CA is gone and the leaf has ended", no_ca_key, 8 * DAY, CERTIFICATE_NEW },
	{ "everything is garbage", all_garbage, DAY, CERTIFICATE_NEW },
	{ "the keys are exchanged", keys_exchanged, DAY, CERTIFICATE_NEW },
	{ "the leaf stands in for a CA", leaf_in_the_bundle, DAY, CERTIFICATE_NEW },
	{ "the leaf is young", no_memory, 4 * DAY, CERTIFICATE_WAIT },
	{ "two thirds of the leaf's life are over", no_memory, 5 * DAY, CERTIFICATE_LEAF },
	{ "the leaf has ended", no_memory, 8 * DAY, CERTIFICATE_LEAF },
	{ "everything has ended", no_memory, 366 * DAY, CERTIFICATE_NEW },
	{ "the CA ends within the hour", no_memory, 365 * DAY - 30 * MINUTE, CERTIFICATE_NEW },
	{ "the clock was set back a little", NULL, -2 * MINUTE, CERTIFICATE_WAIT },
	{ "the clock was set back before all certificates", NULL, -DAY, CERTIFICATE_NEW },
	{ "the next CA is not published", with_next, DAY, CERTIFICATE_PUBLISH },
	{ "the next CA is published", next_published, DAY, CERTIFICATE_NOTE },
	{ "it was published a moment ago", next_noted, 9 * MINUTE, CERTIFICATE_WAIT },
	{ "it was published ten minutes ago", next_noted, 10 * MINUTE, CERTIFICATE_SWITCH },
	{ "it was published ten minutes ago and repaired since", next_noted_and_repaired, 10 * MINUTE, CERTIFICATE_WAIT },
	{ "it was repaired ten minutes ago", next_noted_and_repaired, 19 * MINUTE, CERTIFICATE_SWITCH },
	{ "it was published in the future", next_noted_in_the_future, MINUTE, CERTIFICATE_NOTE },
	{ "it was published and the configuration is reset", next_noted_and_reset, 10 * MINUTE, CERTIFICATE_PUBLISH },
	{ "the former CA's leaves may be served", switched, 3 * DAY, CERTIFICATE_WAIT },
	{ "the former CA's leaves have ended, and ours has, too", switched, 8 * DAY, CERTIFICATE_LEAF },
	{ "the former CA's leaves have ended", former_ended, DAY, CERTIFICATE_PUBLISH },
	{ "they have ended and it is published no more", former_ended_unpublished, DAY, CERTIFICATE_BUNDLE },
	{ "it is published no more too early", former_unpublished, DAY, CERTIFICATE_PUBLISH },
	{ "the former CA was replaced in the future", replaced_in_the_future, DAY, CERTIFICATE_BUNDLE },
};

static void situation_init(struct situation *s)
{
	*s = (struct situation){ 0 };
	fresh_content(T0, &s->secret);
	assert_int_equal(certificate_content_copy(&s->secret, &s->memory), 0);
	x509_bundle_read(&s->published, s->secret.bundle);
	s->w = (struct certificate_world){ &s->secret, &s->memory, &s->published, .names = &names,
					   .now_ns = T0 };
}

static void situation_release(struct situation *s)
{
	certificate_content_release(&s->secret);
	certificate_content_release(&s->memory);
	x509_bundle_release(&s->published);
}

static void each_situation_has_its_step(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_decision_ struct certificate_decision d = { 0 };
		struct situation s;

		situation_init(&s);
		if (rows[i].change)
			rows[i].change(&s);
		s.w.now_ns = T0 + rows[i].later_ns;
		certificate_decide(&s.w, &d);
		if (d.step != rows[i].step)
			fail_msg("%s: it %s, and not: %s", rows[i].name,
				 certificate_step_text(d.step),
				 certificate_step_text(rows[i].step));
		situation_release(&s);
	}
}

static void a_bundle_has_ours_first_and_no_more_than_fit(void **state)
{
	_cleanup_decision_ struct certificate_decision d = { 0 };
	struct situation s;
	(void)state;

	situation_init(&s);
	x509_bundle_release(&s.published);
	for (int i = 0; i < X509_BUNDLE_MAX; i++)
		foreign_ca(&s);
	certificate_decide(&s.w, &d);
	assert_int_equal(d.step, CERTIFICATE_PUBLISH);
	assert_int_equal(d.bundle.n, X509_BUNDLE_MAX);
	_cleanup_x509_ X509 *ca = x509_first(s.secret.bundle);
	assert_int_equal(X509_cmp(d.bundle.certs[0], ca), 0);
	assert_int_equal(X509_cmp(d.bundle.certs[1], s.published.certs[0]), 0);
	situation_release(&s);
}

/*
 * --- A small cluster
 * --------------------------------------------------------------------------------------
 */

#define REPLICAS 3
#define SEEDS 5 /* few, because reading keys is slow */

struct replica {
	struct certificate_content memory, serves;
	bool has_memory, serving;
	int64_t repaired_ns;
};

struct cluster {
	struct certificate_content secret;
	bool has_secret;
	struct x509_bundle published;
	struct replica replicas[REPLICAS];
	size_t leader;
	int64_t now_ns;
	uint64_t random;
	char log[4096]; /* the last events, printed if the test fails */
	size_t log_len;
};

static unsigned draw(struct cluster *c, unsigned n)
{
	c->random ^= c->random << 13;
	c->random ^= c->random >> 7;
	c->random ^= c->random << 17;
	return (unsigned)(c->random % n);
}

static void note(struct cluster *c, const char *what)
{
	if (c->log_len + strlen(what) + 3 > sizeof(c->log))
		c->log_len = 0;
	c->log_len +=
		(size_t)snprintf(c->log + c->log_len, sizeof(c->log) - c->log_len, "%s; ", what);
}

static void keep_content(struct certificate_content *to, const struct certificate_content *from)
{
	struct certificate_content copy;

	assert_int_equal(certificate_content_copy(from, &copy), 0);
	certificate_content_move(to, &copy);
}

/* Does what certificates.c does with each answer. */
static void replica_takes(struct cluster *c, struct replica *r)
{
	keep_content(&r->memory, &c->secret);
	keep_content(&r->serves, &c->secret);
	r->has_memory = r->serving = true;
}

static bool secret_is_good(const struct cluster *c)
{
	return c->has_secret && certificate_leaf_is_good(&c->secret, &names, c->now_ns);
}

static void replica_reads(struct cluster *c, struct replica *r)
{
	if (secret_is_good(c))
		replica_takes(c, r);
}

/* Checks one replica for all, because reading keys is slow. */
static void all_replicas_read(struct cluster *c)
{
	bool good = secret_is_good(c);

	for (size_t i = 0; good && i < REPLICAS; i++)
		replica_takes(c, &c->replicas[i]);
}

static bool serves_well(const struct cluster *c, const struct replica *r)
{
	_cleanup_x509_ X509 *leaf = x509_first(r->serves.leaf);

	/* A replica that could not read the Secret until its leaf had expired cannot be helped. */
	return c->now_ns >= x509_ends_ns(leaf) || x509_verifies(leaf, &c->published, c->now_ns);
}

static bool serves_as_the_first(const struct cluster *c, const struct replica *r)
{
	const struct replica *first = &c->replicas[0];

	return r != first && first->serving && strcmp(first->serves.leaf, r->serves.leaf) == 0;
}

static void check(const struct cluster *c)
{
	for (size_t i = 0; i < REPLICAS; i++)
		if (c->replicas[i].serving && !serves_as_the_first(c, &c->replicas[i]) &&
		    !serves_well(c, &c->replicas[i]))
			fail_msg(
				"replica %zu serves a leaf that the published bundle does not verify, after: %s",
				i, c->log);
}

/* Takes one step of the leader. Returns false if it waits. */
static bool leader_steps(struct cluster *c)
{
	_cleanup_decision_ struct certificate_decision d = { 0 };
	struct certificate_content content;
	struct replica *r = &c->replicas[c->leader];

	replica_reads(c, r);
	const struct certificate_world w = {
		.secret = c->has_secret ? &c->secret : NULL,
		.memory = r->has_memory ? &r->memory : NULL,
		.published = &c->published,
		.repaired_ns = MIN(r->repaired_ns, c->now_ns),
		.names = &names,
		.now_ns = c->now_ns,
	};
	certificate_decide(&w, &d);
	note(c, certificate_step_text(d.step));
	if (d.step == CERTIFICATE_WAIT)
		return false;
	if (d.step == CERTIFICATE_PUBLISH) {
		if (!x509_bundle_has_all(&c->published, &d.bundle))
			r->repaired_ns = c->now_ns;
		x509_bundle_release(&c->published);
		c->published = d.bundle;
		d.bundle = (struct x509_bundle){ 0 };
		return true;
	}
	assert_int_equal(certificate_make(&w, &d, &content, NULL), 0);
	if (d.step == CERTIFICATE_NEW) {
		certificate_content_move(&r->memory, &content);
		r->has_memory = true;
	} else {
		certificate_content_move(&c->secret, &content);
		c->has_secret = true;
	}
	return true;
}

static void settle(struct cluster *c)
{
	for (int steps = 0; leader_steps(c); steps++) {
		check(c);
		if (steps > 8)
			fail_msg("the leader does not come to rest: %s", c->log);
	}
	all_replicas_read(c);
	check(c);
}

static void secret_spoilt(struct cluster *c)
{
	char **texts[] = { &c->secret.bundle,	&c->secret.ca_key, &c->secret.next_ca,
			   &c->secret.next_key, &c->secret.leaf,   &c->secret.leaf_key };

	set_text(texts[draw(c, ARRAY_SIZE(texts))], draw(c, 2) ? "garbage" : NULL);
}

static void replica_restarts(struct replica *r)
{
	certificate_content_release(&r->memory);
	certificate_content_release(&r->serves);
	*r = (struct replica){ 0 };
}

/*
 * A leader looks twice a minute. Every other day is faster here, and still falls into the last
 * third of a leaf's life.
 */
#define STRIDE_DAYS 2

static void days_pass(struct cluster *c, int days)
{
	for (int i = 0; i < days; i += STRIDE_DAYS) {
		c->now_ns += MIN(STRIDE_DAYS, days - i) * DAY;
		check(c);
		settle(c);
	}
}

static void something_happens(struct cluster *c)
{
	switch (draw(c, 12)) {
	case 0:
		note(c, "SECRET LOST");
		c->has_secret = false;
		break;
	case 1:
		note(c, "SECRET SPOILT");
		secret_spoilt(c);
		break;
	case 2:
		note(c, "LEADER CHANGES");
		c->leader = draw(c, REPLICAS);
		break;
	case 3:
		note(c, "LEADER LOST");
		replica_restarts(&c->replicas[c->leader]);
		c->leader = draw(c, REPLICAS);
		break;
	case 4:
		note(c, "REPLICA RESTARTS");
		replica_restarts(&c->replicas[draw(c, REPLICAS)]);
		break;
	case 5:
		/*
		 * Whatever is published must be known to the Secret or the leader before it can
		 * come back.
		 */
		settle(c);
		note(c, "CONFIGURATION RESET");
		x509_bundle_release(&c->published);
		while (leader_steps(c))
			;
		break;
	case 6:
		note(c, "10 MINUTES");
		c->now_ns += 11 * MINUTE;
		break;
	case 7:
		note(c, "DAYS");
		days_pass(c, (int)(1 + draw(c, 10)));
		break;
	case 8:
		replica_reads(c, &c->replicas[draw(c, REPLICAS)]);
		break;
	default:
		leader_steps(c);
		break;
	}
	check(c);
}

static void cluster_release(struct cluster *c)
{
	for (size_t i = 0; i < REPLICAS; i++)
		replica_restarts(&c->replicas[i]);
	certificate_content_release(&c->secret);
	x509_bundle_release(&c->published);
}

static void whatever_happens_each_served_leaf_verifies(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct cluster c = { .now_ns = T0, .random = seed * 0x9e3779b97f4a7c15 };

		for (int i = 0; i < 60; i++)
			something_happens(&c);
		settle(&c);
		for (size_t i = 0; i < REPLICAS; i++)
			assert_true(
				c.replicas[i].serving &&
				certificate_leaf_is_good(&c.replicas[i].serves, &names, c.now_ns));
		cluster_release(&c);
	}
}

/*
 * The Secret is lost twice. The second time a replica restores it that did not see what was written
 * in between.
 */
static void an_older_memory_does_not_unpublish_what_another_replica_serves(void **state)
{
	struct cluster c = { .now_ns = T0, .random = 1, .leader = 1 };
	(void)state;

	settle(&c);
	replica_restarts(&c.replicas[0]);
	c.has_secret = false;
	c.leader = 0;
	while (leader_steps(&c))
		check(&c);
	assert_string_not_equal(c.replicas[0].serves.leaf, c.replicas[1].serves.leaf);
	c.has_secret = false;
	c.leader = 1;
	while (leader_steps(&c))
		check(&c);
	assert_string_equal(c.secret.leaf, c.replicas[1].serves.leaf);
	cluster_release(&c);
}

static void in_a_year_the_ca_is_replaced_and_no_leaf_fails(void **state)
{
	struct cluster c = { .now_ns = T0, .random = 1 };
	char *first, *later;
	size_t most = 0;
	(void)state;

	settle(&c);
	first = strdup(c.secret.bundle);
	for (int day = 0; day < 300; day += STRIDE_DAYS) {
		days_pass(&c, STRIDE_DAYS);
		most = MAX(most, c.published.n);
		if (day > 260)
			assert_int_equal(c.published.n, 1);
	}
	later = strdup(c.secret.bundle);
	assert_string_not_equal(first, later);
	assert_int_equal(most, 2);
	free(first);
	free(later);
	cluster_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_situation_has_its_step),
		cmocka_unit_test(a_bundle_has_ours_first_and_no_more_than_fit),
		cmocka_unit_test(whatever_happens_each_served_leaf_verifies),
		cmocka_unit_test(an_older_memory_does_not_unpublish_what_another_replica_serves),
		cmocka_unit_test(in_a_year_the_ca_is_replaced_and_no_leaf_fails),
	};
	return cmocka_run_group_tests(tests, set_up, NULL);
}
