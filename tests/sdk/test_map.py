# SPDX-License-Identifier: Apache-2.0
"""Functions over many arguments, with real servers and agents."""

import asyncio
import functools
import sys
import types

import pytest
import tidemill

# The agent runs plain processes, with the Python that runs these tests. The functions of this file
# are sent: no machine could import it.
run = functools.partial(
    tidemill.map, python=sys.executable, modules=[sys.modules[__name__]], cpus=0.5, retries=0
)


def double(number):
    return 2 * number


def test_results_come_in_the_order_of_the_items(system):
    mapped = run(double, range(500))
    assert list(mapped) == [2 * number for number in range(500)]
    assert len(mapped) == 500
    assert list(mapped)[:3] == [0, 2, 4], "they can be gone through again"


def test_results_as_they_come_do_not_wait_for_the_slowest(system, tmp_path):
    door = tmp_path / "door"

    def wait_for_first(number):
        import time

        while number == 0 and not door.exists():
            time.sleep(0.05)
        return number

    mapped = run(wait_for_first, range(60), ordered=False, timeout="60s")
    found = []
    for number in mapped:
        found.append(number)
        # Not all of them: some stand in line behind the first, in its slot.
        if len(found) == 30:
            door.touch()
    assert 0 not in found[:30] and sorted(found) == list(range(60))


def test_what_is_not_plain_is_pickled_on_both_ways(system):
    class Point:
        def __init__(self, x):
            self.x = x

        def __eq__(self, other):
            return self.x == other.x

    offset = 0.5
    items = [Point(1), (1, 2), {3}, "text\nof two lines", None, b"\x00", {"a": [1]}, float("inf")]
    mapped = run(lambda item: (offset, item), items)
    assert list(mapped) == [(0.5, item) for item in items]
    texts = [each.text for each in mapped.job.items()]
    assert texts[3] == '"text\\nof two lines"' and texts[6] == '{"a": [1]}'
    assert texts[0].startswith("pickle:")


def test_nothing_is_unpickled_here_if_only_plain_values_are_wanted(system):
    assert list(run(double, [1.5, "a", [1]], plain=True)) == [3.0, "aa", [1, 1]]
    with pytest.raises(ValueError, match="no plain value"):
        list(run(lambda number: {number}, [1], plain=True))


def test_the_function_is_loaded_once_in_each_container(system):
    loaded = types.SimpleNamespace(times=0)

    def count(_):
        import os

        loaded.times += 1
        return os.getpid(), loaded.times

    pairs = list(run(count, range(200), cpus=4))
    assert max(times for _, times in pairs) > 20
    assert len(pairs) == len(set(pairs)), "each program counts for itself"


def divide(number):
    print(f"dividing by {number}")
    return 1 / number


def test_a_failure_is_a_value_with_cause_and_log(system):
    found = list(run(divide, [1, 0, 2]))
    assert found[0] == 1.0 and found[2] == 0.5
    failure = found[1]
    assert isinstance(failure, tidemill.Failure)
    assert (failure.item, failure.cause, failure.exit) == (1, "failed", 1)
    assert failure.error.startswith("Traceback") and "in divide" in failure.error
    assert failure.error.endswith("ZeroDivisionError: division by zero\n")
    log = failure.logs()
    assert "dividing by 0" in log and "ZeroDivisionError" in log
    assert str(failure).startswith("Failure(item=1, cause='failed', exit=1, error=")
    groups = failure.job.failures()
    assert [group.count for group in groups] == [1]
    assert groups[0].signature.startswith("ZeroDivisionError")


def leave(number):
    if number == 1:
        import os

        os._exit(7)
    return number


def test_a_function_that_ends_its_program_fails_its_own_item_alone(system):
    found = list(run(leave, range(4)))
    assert [found[0], found[2], found[3]] == [0, 2, 3]
    assert (found[1].cause, found[1].exit) == ("failed", 7)


def large(length):
    return "x" * length


def test_a_result_that_is_too_large_says_so(system):
    found = list(run(large, [3000, 5000], retries=3))
    assert found[0] == "x" * 3000
    assert "the result has 5002 bytes; at most 3900 are kept" in found[1].error
    attempts = [each.attempt for each in found[1].job.results() if each.item == 1]
    assert attempts == [1], "it is not tried again"


def test_an_item_that_is_too_large_says_so_and_leaves_no_job(system):
    with pytest.raises(tidemill.Invalid, match="item 1 has 70,002 bytes; at most 65,536"):
        run(double, ["a", "x" * 70_000], name="too-large")
    newest = tidemill.Client().get("/v1/jobs?limit=1")["jobs"][0]
    assert newest["name"] == "too-large"
    assert tidemill.Job(newest["id"]).wait(60).state == "cancelled"


def test_another_minor_version_of_python_is_told_with_both(system, monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 5, 0))
    here = "%d.%d" % sys.implementation.version[:2]
    mapped = run(double, range(100))
    with pytest.raises(tidemill.Error) as caught:
        list(mapped)
    said = str(caught.value)
    assert f"the function was sent by Python 3.5, and here is Python {here}" in said, said
    assert mapped.job.wait(60).state == "cancelled"


def test_a_module_that_is_missing_is_named(system):
    mapped = tidemill.map(double, range(3), python=sys.executable)
    with pytest.raises(tidemill.Error, match=r"modules=\[test_map\]"):
        list(mapped)


def fail(number):
    raise ValueError("always")


def test_a_job_that_its_canary_pauses_is_not_waited_for(system):
    mapped = run(fail, range(200))
    with pytest.raises(tidemill.Paused, match=f"tidemill resume {mapped.job.id}") as caught:
        list(mapped)
    assert str(caught.value).endswith("ValueError: always\n")
    with pytest.raises(tidemill.Paused):
        mapped.job.wait()
    mapped.job.cancel()
    found = list(mapped)
    assert len(found) == 200 and found[-1].cause == "cancelled"
    assert [each.item for each in found] == list(range(200))


def test_a_job_is_called_as_its_function_is(system):
    def _größe_(item):
        return item

    for function, name in ((double, "double"), (_größe_, "gr-e"), (lambda item: 0, "lambda")):
        assert run(function, []).job.status().name == name
    assert run(functools.partial(divide), []).job.status().name == "map"
    assert run(double, [], name="mine").job.status().name == "mine"


def test_a_map_over_nothing_gives_nothing(system):
    assert list(run(double, [])) == []


def test_asyncio(system):
    async def both():
        one, two = await asyncio.gather(
            *(
                tidemill.aio.map(double, range(start, start + 50), **run.keywords)
                for start in (0, 50)
            )
        )
        status = await tidemill.aio.wait(one.job)
        assert status.counts.succeeded == 50
        return [value async for value in one] + [value async for value in two]

    assert asyncio.run(both()) == [2 * number for number in range(100)]
