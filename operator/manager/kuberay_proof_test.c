/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the proof that a Lease is KubeRay's, against a small cluster of pods and rights. */
#include "operator/manager/kuberay_proof.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/units.h"

#define S NS_PER_SEC

/* What the API server would answer. */
static struct {
	const char *pods[4]; /* "namespace/pod/account" */
	const char *rights[4]; /* "namespace/account/in", where in is "" for all */
	bool forbidden;
	size_t questions;
} world;

static struct kuberay_sightings sightings;
static struct kuberay_proofs proofs;
static struct strmap namespaces;

static void lease(const char *namespace, const char *holder)
{
	struct kuberay_sighting *s = sightings.leases;

	while (s < sightings.leases + sightings.n && strcmp(s->namespace, namespace) != 0)
		s++;
	sightings.n = MAX(sightings.n, (size_t)(s - sightings.leases) + 1);
	snprintf(s->namespace, sizeof(s->namespace), "%s", namespace);
	snprintf(s->holder, sizeof(s->holder), "%s", holder);
}

static bool is_listed(const char *const *list, const char *want, const char **ret_rest)
{
	for (size_t i = 0; i < 4 && list[i]; i++)
		if (strncmp(list[i], want, strlen(want)) == 0) {
			*ret_rest = list[i] + strlen(want);
			return true;
		}
	return false;
}

/* Answers all questions, as the API server does. */
static void ask_all(int64_t now_s)
{
	struct kuberay_question q;

	while (kuberay_proofs_next(&proofs, &sightings, &namespaces, now_s * S, &q)) {
		char text[1024];
		const char *rest = "";
		bool yes;

		snprintf(text, sizeof(text), q.pod ? "%s/%s/" : "%s/%s/%s", q.lease,
			 q.pod ? q.pod : q.account, q.namespace);
		yes = is_listed(q.pod ? world.pods : world.rights, text, &rest) &&
		      (q.pod || !*rest);
		kuberay_proofs_answer(&proofs, &q,
				      world.forbidden ? KUBERAY_FORBIDDEN :
				      yes	      ? KUBERAY_YES :
							KUBERAY_NO,
				      rest);
		assert_true(world.questions++ < 10000);
	}
}

static bool serves(const char *lease_namespace, const char *namespace)
{
	return kuberay_proofs_serves(&proofs, lease_namespace, namespace);
}

static int clean(void **state)
{
	(void)state;
	kuberay_proofs_release(&proofs);
	strmap_release(&namespaces, NULL);
	memset(&proofs, 0, sizeof(proofs));
	memset(&sightings, 0, sizeof(sightings));
	memset(&world, 0, sizeof(world));
	assert_int_equal(strmap_put(&namespaces, "ml", &world, NULL), 0);
	assert_int_equal(strmap_put(&namespaces, "other", &world, NULL), 0);
	return 0;
}

static void a_tenants_lease_is_not_obeyed_whatever_its_holder_is_called(void **state)
{
	static const char *const holders[] = { "kuberay-operator-7d5f-x_1",
					       "own-pod_1",
					       "own-pod",
					       "_1",
					       "../../x_1",
					       "A b_1",
					       ".._1",
					       "._1" };

	world.pods[0] = "tenant/own-pod/default";
	for (size_t i = 0; i < sizeof(holders) / sizeof(*holders); i++) {
		clean(state);
		world.pods[0] = "tenant/own-pod/default";
		lease("tenant", holders[i]);
		assert_true(serves("tenant", "ml")); /* until it is known */
		ask_all(100);
		if (serves("tenant", NULL) || serves("tenant", "ml") || serves("tenant", "other"))
			fail_msg("%s", holders[i]);
		/* What is no name of a pod is never asked about, in later rounds neither. */
		ask_all(161);
		assert_int_equal(world.questions > 0, i < 3);
		assert_true(kuberay_proofs_is_news(&proofs, "tenant"));
		assert_false(kuberay_proofs_is_news(&proofs, "tenant"));
	}
}

static void a_kuberay_that_may_write_everywhere_is_obeyed_everywhere(void **state)
{
	(void)state;
	world.pods[0] = "kuberay/operator-7d-x/kuberay";
	world.rights[0] = "kuberay/kuberay/";
	lease("kuberay", "operator-7d-x_1");
	ask_all(100);
	assert_int_equal(world.questions, 2);
	assert_true(serves("kuberay", NULL) && serves("kuberay", "ml"));
	assert_int_equal(kuberay_proofs_standing(&proofs, "kuberay"), KUBERAY_EVERYWHERE);
}

static void a_holder_that_is_gone_when_we_start_counts_until_somebody_renews_its_lease(void **state)
{
	(void)state;
	lease("kuberay", "a_1");
	sightings.leases[0].at_start = true;
	ask_all(100);
	assert_true(serves("kuberay", "ml")); /* a KubeRay that is being restarted */
	sightings.leases[0].runs = true;
	ask_all(105);
	assert_false(serves("kuberay", "ml"));
}

static void a_kuberay_of_one_namespace_is_obeyed_there(void **state)
{
	(void)state;
	world.pods[0] = "kuberay/operator/kuberay";
	world.rights[0] = "kuberay/kuberay/ml";
	lease("kuberay", "operator_1");
	ask_all(100);
	assert_false(serves("kuberay", NULL));
	assert_true(serves("kuberay", "ml"));
	assert_false(serves("kuberay", "other"));
	/* A namespace waits for the answer. */
	assert_true(serves("kuberay", "new"));
	assert_int_equal(strmap_put(&namespaces, "new", &world, NULL), 0);
	ask_all(105);
	assert_false(serves("kuberay", "new"));
}

static void a_tenant_who_may_write_his_rayclusters_stops_only_these(void **state)
{
	(void)state;
	world.pods[0] = "ml/own/admin";
	world.rights[0] = "ml/admin/ml";
	lease("ml", "own_1");
	ask_all(100);
	assert_true(serves("ml", "ml"));
	assert_false(serves("ml", "other"));
}

static void what_was_proven_holds_while_kuberay_restarts_and_until_it_is_asked_again(void **state)
{
	(void)state;
	world.pods[0] = "kuberay/a/kuberay";
	world.rights[0] = "kuberay/kuberay/";
	lease("kuberay", "a_1");
	ask_all(100);
	world.pods[0] = NULL;
	ask_all(161);
	assert_true(serves("kuberay", "ml"));
	lease("kuberay", "b_1");
	assert_true(serves("kuberay", "ml"));
	world.pods[0] = "kuberay/b/kuberay";
	ask_all(165);
	assert_true(serves("kuberay", "ml"));
	world.rights[0] = NULL;
	ask_all(170);
	assert_true(serves("kuberay", "ml")); /* it is not asked all the time */
	ask_all(240);
	assert_false(serves("kuberay", "ml"));
}

static void what_may_not_be_asked_is_taken_for_kuberay(void **state)
{
	(void)state;
	world.forbidden = true;
	lease("kuberay", "a_1");
	ask_all(100);
	assert_true(serves("kuberay", NULL));
	assert_int_equal(kuberay_proofs_standing(&proofs, "kuberay"), KUBERAY_UNASKABLE);
	world.forbidden = false;
	ask_all(161);
	assert_false(serves("kuberay", NULL));
}

static void a_lease_without_a_holder_asks_nothing_and_a_lease_that_is_gone_is_forgotten(void **state)
{
	(void)state;
	lease("tenant", "");
	ask_all(100);
	assert_int_equal(world.questions, 0);
	lease("tenant", "x_1");
	ask_all(101);
	assert_int_equal(world.questions, 1);
	sightings.n = 0;
	ask_all(200);
	assert_int_equal(proofs.holders.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_tenants_lease_is_not_obeyed_whatever_its_holder_is_called, clean, clean),
		cmocka_unit_test_setup_teardown(a_kuberay_that_may_write_everywhere_is_obeyed_everywhere, clean, clean),
		cmocka_unit_test_setup_teardown(a_holder_that_is_gone_when_we_start_counts_until_somebody_renews_its_lease, clean, clean),
		cmocka_unit_test_setup_teardown(a_kuberay_of_one_namespace_is_obeyed_there, clean, clean),
		cmocka_unit_test_setup_teardown(a_tenant_who_may_write_his_rayclusters_stops_only_these, clean, clean),
		cmocka_unit_test_setup_teardown(what_was_proven_holds_while_kuberay_restarts_and_until_it_is_asked_again, clean, clean),
		cmocka_unit_test_setup_teardown(what_may_not_be_asked_is_taken_for_kuberay, clean, clean),
		cmocka_unit_test_setup_teardown(a_lease_without_a_holder_asks_nothing_and_a_lease_that_is_gone_is_forgotten, clean, clean),
	};
	int r = cmocka_run_group_tests(tests, NULL, NULL);

	strmap_release(&namespaces, NULL);
	return r;
}
