# SPDX-License-Identifier: Apache-2.0
"""TIDEMILL_TIMES, by which tests shorten the internal times of programs."""

import pytest
from agents import Agent


def test_an_unknown_time_is_refused_at_the_start(env, times):
    good = env.server()
    times("agent.tick=500ms", "agent.devices_rest=1s", "server.leader_silence=2s")
    with pytest.raises(RuntimeError, match="'agent.devices_rest=1s': there is no such time"):
        Agent(env.folder, "m1", [good]).start()
    other = env.server()  # what is wrong for an agent is none of its business
    assert "times.shortened" in other.log.read_text()
    times("server.leader_life=2s")
    with pytest.raises(RuntimeError, match="'server.leader_life=2s': there is no such time"):
        env.server()
    assert "times.shortened" not in good.log.read_text()
