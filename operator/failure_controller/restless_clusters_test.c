/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that a cluster is added with its first pod and removed with its last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "operator/failure_controller/restless_clusters.h"

static void pods_of_one_cluster_share_its_restlessness(void **state)
{
	struct restless_clusters clusters = { 0 };
	struct restless_cluster *first = restless_clusters_join(&clusters, "ml/a"),
				*second = restless_clusters_join(&clusters, "ml/a"),
				*other = restless_clusters_join(&clusters, "ml/b");
	(void)state;

	first->until_ns = 7;
	assert_int_equal(second->until_ns, 7);
	assert_int_equal(other->until_ns, 0);
	restless_clusters_release(&clusters);
}

static void a_cluster_is_forgotten_with_its_last_pod(void **state)
{
	struct restless_clusters clusters = { 0 };
	struct restless_cluster *cluster = restless_clusters_join(&clusters, "ml/a");
	(void)state;

	cluster->until_ns = 7;
	assert_ptr_equal(restless_clusters_join(&clusters, "ml/a"), cluster);
	restless_clusters_leave(&clusters, cluster);
	assert_int_equal(clusters.by_key.n, 1);
	restless_clusters_leave(&clusters, cluster);
	restless_clusters_leave(&clusters, NULL);
	assert_int_equal(clusters.by_key.n, 0);
	/* A later cluster of the same name is a different one. */
	assert_int_equal(restless_clusters_join(&clusters, "ml/a")->until_ns, 0);
	restless_clusters_release(&clusters);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pods_of_one_cluster_share_its_restlessness),
		cmocka_unit_test(a_cluster_is_forgotten_with_its_last_pod),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
