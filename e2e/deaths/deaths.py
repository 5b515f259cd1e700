# SPDX-License-Identifier: Apache-2.0
"""All deaths, in the order of their tables."""
import table_after_oom
import table_cgroups
import table_children
import table_eighth
import table_exits
import table_fifth
import table_fourth
import table_high
import table_jobs
import table_kills
import table_limits
import table_ninth
import table_node
import table_oom
import table_pod
import table_programs
import table_second
import table_seventh
import table_shared
import table_signals
import table_sixth
import table_third

TABLES = (table_oom, table_after_oom, table_cgroups, table_shared, table_pod, table_kills, table_exits, table_signals, table_limits, table_programs, table_second, table_third,
          table_fourth, table_fifth, table_sixth, table_seventh, table_high, table_node, table_children, table_jobs, table_eighth, table_ninth)
ALL = [death for table in TABLES for death in table.DEATHS]
# "fifth" for table_fifth.
BY_TABLE = {table.__name__.removeprefix("table_"): table.DEATHS for table in TABLES}

assert len({d.name for d in ALL}) == len(ALL), "two deaths have the same name"
