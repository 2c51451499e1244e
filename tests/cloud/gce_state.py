# SPDX-License-Identifier: Apache-2.0
"""What the stand-in for Google's Compute has: templates, groups, instances, operations.

Nothing happens by threads or timers. Whatever takes time is brought up to date by `Project.step`
before each call is answered, so a clock that is moved moves all of it.
"""

import datetime
import itertools
import random
import time
from typing import Any, Callable, Dict, List, Optional

API = "https://www.googleapis.com/compute/v1"
PACIFIC = datetime.timezone(datetime.timedelta(hours=-8))

NO_ROOM = "ZONE_RESOURCE_POOL_EXHAUSTED"
NO_QUOTA = "QUOTA_EXCEEDED"


def stamp(seconds: float) -> str:
    """As Google writes it: milliseconds, and its own time of day."""
    when = datetime.datetime.fromtimestamp(seconds, PACIFIC)
    return when.isoformat(timespec="milliseconds")


class Instance:
    def __init__(self, name: str, now: float, scheduling: Dict[str, Any]) -> None:
        self.name = name
        self.created = now
        self.status = "PROVISIONING"
        self.stop_at: Optional[float] = None  # it is STOPPING until then
        self.stopped: Optional[float] = None
        self.stop_type = "delete"  # the operation that stops it
        self.deletes_itself = scheduling.get("instanceTerminationAction") == "DELETE"

    def shown(self, url: str) -> Dict[str, Any]:
        shown = {
            "kind": "compute#instance",
            "name": self.name,
            "status": self.status,
            "creationTimestamp": stamp(self.created),
            "selfLink": url,
        }
        if self.stopped is not None:
            shown["lastStopTimestamp"] = stamp(self.stopped)
        return shown


class Managed:
    def __init__(self, name: str, now: float) -> None:
        self.name = name
        self.action = "CREATING"
        self.try_at = now
        self.errors: List[Dict[str, str]] = []
        self.instance: Optional[Instance] = None


class Group:
    def __init__(self, body: Dict[str, Any], zone: str) -> None:
        self.body = body
        self.zone = zone
        self.managed: Dict[str, Managed] = {}

    @property
    def repairs(self) -> bool:
        policy = self.body.get("instanceLifecyclePolicy", {})
        return policy.get("defaultActionOnFailure", "REPAIR") == "REPAIR"

    @property
    def template(self) -> str:
        return self.body["instanceTemplate"].rpartition("/")[2]


class Operation:
    def __init__(self, number: int, kind: str, target: str, scope: str, now: float) -> None:
        self.name = f"operation-{number}"
        self.kind = kind
        self.target = target
        self.scope = scope
        self.begun = now
        self.ended: Optional[float] = None
        self.errors: List[Dict[str, str]] = []
        self.effect: Callable[[], None] = lambda: None

    def shown(self, project: str, now: float) -> Dict[str, Any]:
        status = "DONE" if self.ended is not None else "RUNNING" if now > self.begun else "PENDING"
        shown: Dict[str, Any] = {
            "kind": "compute#operation",
            "name": self.name,
            "operationType": self.kind,
            "targetLink": self.target,
            "status": status,
            "insertTime": stamp(self.begun),
            "selfLink": f"{API}/projects/{project}/{self.scope}/operations/{self.name}",
        }
        if self.ended is not None:
            shown["endTime"] = stamp(self.ended)
        if self.errors:
            shown["error"] = {"errors": self.errors}
        return shown


class Project:
    """One project at Google. All that a test may set is an attribute."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ahead_s = 0.0
        self.operation_s = 0.03
        self.boot_s = 0.03
        self.stop_s = 0.03
        self.retry_s = 0.5  # a group tries again what it could not make
        self.page_rows = 2
        self.capacity: Optional[int] = None
        self.quota: Optional[int] = None
        self.throttle: List[int] = []  # statuses of the next answers
        self.forbidden = False
        self.calls: List[str] = []
        self.templates: Dict[str, Dict[str, Any]] = {}
        self.groups: Dict[str, Group] = {}  # by zone/name
        self.operations: List[Operation] = []
        self._numbers = itertools.count(1)
        self._random = random.Random(1)

    def now(self) -> float:
        return time.time() + self.ahead_s

    def url(self, path: str) -> str:
        return f"{API}/projects/{self.name}/{path}"

    def instances(self, zone: str) -> List[Instance]:
        groups = (group for group in self.groups.values() if group.zone == zone)
        found = (one.instance for group in groups for one in group.managed.values())
        return [instance for instance in found if instance is not None]

    def begin(self, kind: str, target: str, scope: str, now: Optional[float] = None) -> Operation:
        begun = self.now() if now is None else now
        operation = Operation(next(self._numbers), kind, self.url(target), scope, begun)
        self.operations.append(operation)
        return operation

    def record(
        self, kind: str, group: Group, name: str, errors: List[Dict[str, str]], now: float
    ) -> None:
        """An operation on an instance that is done as it begins, in the moment of its effect."""
        place = f"zones/{group.zone}"
        operation = self.begin(kind, f"{place}/instances/{name}", place, now)
        operation.ended = operation.begun
        operation.errors = errors

    # --- time ---

    def step(self) -> None:
        now = self.now()
        for operation in self.operations:
            if operation.ended is None and now >= operation.begun + self.operation_s:
                operation.ended = now
                if not operation.errors:
                    operation.effect()
        for group in list(self.groups.values()):
            for one in list(group.managed.values()):
                self._step_managed(group, one, now)

    def _step_managed(self, group: Group, one: Managed, now: float) -> None:
        instance = one.instance
        if instance is None:
            if one.action == "DELETING":
                self._forget(group, one)
            elif one.action in ("CREATING", "RECREATING") and now >= one.try_at:
                self._make(group, one, now)
            return
        if instance.stop_at is not None:
            if now >= instance.stop_at:
                self._stopped(group, one, instance, now)
            return
        if instance.status in ("PROVISIONING", "STAGING"):
            age = now - instance.created
            instance.status = "STAGING" if age < self.boot_s else "RUNNING"
        if instance.status == "RUNNING" and one.action in ("CREATING", "RECREATING"):
            one.action = "NONE"

    def _make(self, group: Group, one: Managed, now: float) -> None:
        there = len(self.instances(group.zone))
        one.errors = []
        if self.quota is not None and there >= self.quota:
            words = f"Quota 'CPUS' exceeded.  Limit: {self.quota}.0 in region."
            one.errors = [{"code": NO_QUOTA, "message": words}]
        elif self.capacity is not None and there >= self.capacity:
            words = f"The zone '{group.zone}' does not have enough resources available."
            one.errors = [{"code": NO_ROOM, "message": words}]
        if one.errors:
            one.try_at = now + self.retry_s
        else:
            properties = self.templates[group.template]["properties"]
            one.instance = Instance(one.name, now, properties.get("scheduling", {}))
        self.record("insert", group, one.name, one.errors, now)

    def _stopped(self, group: Group, one: Managed, instance: Instance, now: float) -> None:
        instance.stop_at = None
        self.record(instance.stop_type, group, one.name, [], now)
        gone = instance.stop_type == "delete" or instance.deletes_itself
        if not gone:
            instance.status, instance.stopped = "TERMINATED", now
            if one.action != "DELETING":
                return
        one.instance = None
        if one.action == "DELETING":
            self._forget(group, one)
        elif group.repairs:
            one.action, one.try_at = "RECREATING", now
        else:
            one.action = "NONE"

    def _forget(self, group: Group, one: Managed) -> None:
        group.managed.pop(one.name, None)

    # --- what calls and tests do ---

    def create(self, group: Group, names: List[str]) -> None:
        for name in names:
            group.managed[name] = Managed(name, self.now() + self.operation_s)
        group.body["targetSize"] += len(names)

    def resize(self, group: Group, size: int) -> None:
        letters = "bcdfghjklmnpqrstvwxz0123456789"
        while len(group.managed) < size:
            suffix = "".join(self._random.choices(letters, k=4))
            self.create(group, [f"{group.body['baseInstanceName']}-{suffix}"])

    def delete(self, group: Group, names: List[str]) -> None:
        for name in names:
            one = group.managed[name]
            one.action = "DELETING"
            group.body["targetSize"] -= 1
            if one.instance is not None:
                self._stop(one.instance, "delete")

    def stop(self, name: str, kind: str) -> bool:
        """Somebody or something ends an instance behind its group's back."""
        for group in self.groups.values():
            one = group.managed.get(name)
            if one is not None and one.instance is not None:
                self._stop(one.instance, kind)
                return True
        return False

    def _stop(self, instance: Instance, kind: str) -> None:
        if instance.stop_at is not None:
            return
        instance.status = "STOPPING"
        instance.stop_at = self.now() + self.stop_s
        instance.stop_type = kind
