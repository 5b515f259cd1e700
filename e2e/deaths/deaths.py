# SPDX-License-Identifier: Apache-2.0
"""All deaths, in the order of their tables."""
import table_exits
import table_kills
import table_oom
import table_signals

ALL = [*table_oom.DEATHS, *table_kills.DEATHS, *table_exits.DEATHS, *table_signals.DEATHS]

assert len({d.name for d in ALL}) == len(ALL), "two deaths have the same name"
