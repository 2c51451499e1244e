# SPDX-License-Identifier: Apache-2.0
"""How every container that we start must look, whatever test started it."""

import resource
from typing import Any, Dict, List

LABEL = "tidemill.agent"
DEVICES = "tidemill.devices"
VOLUMES = "tidemill.volumes"
PIDS = 4096
SECRETS = "/run/tidemill/secrets"  # of jobs that have secret files
OPEN_FILES = min(65536, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
# Of Docker's own; a version may hide more.
MASKED = {"/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list"}
READ_ONLY = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
# What would give a container something of the machine, or let it go on by itself.
MUST_BE_EMPTY = [
    "Binds", "CapAdd", "DeviceCgroupRules", "ExtraHosts", "GroupAdd",
    "Links", "OomKillDisable", "PidMode", "PortBindings", "Privileged", "PublishAllPorts",
    "Sysctls", "UTSMode", "UsernsMode", "VolumesFrom", "CgroupParent",
]  # fmt: skip


def mounts_wrong(container: Dict[str, Any]) -> List[str]:
    """Three folders, of which it may write to one; its job's code, inputs and outputs; and the
    volumes of its job, which a label names."""
    wrong = []
    mounts = container["Mounts"]
    lent = container["Config"]["Labels"].get(VOLUMES, "").splitlines()
    expected = {"/.tidemill/init": False, "/.tidemill/run": False, "/.tidemill/scratch": True}
    seen = {mount["Destination"]: mount["RW"] for mount in mounts if mount["Type"] == "bind"}
    for place in ("/.tidemill/code", "/.tidemill/in"):
        if place in seen:
            expected[place] = False
    expected |= {place: False for place in seen if place.startswith("/.tidemill/cache/")}
    for place in ("/.tidemill/out", "/.tidemill/checkpoint"):
        if place in seen:
            expected[place] = True
    for line in lent:
        mode, place = line.split(" ", 1)
        if place in seen:  # what a server of files has is no bind
            expected[place] = mode == "rw"
    if seen != expected:
        wrong.append(f"mounts are {seen}")
    others = [m for m in mounts if m["Type"] not in ("bind", "volume", "tmpfs")]
    if others:
        wrong.append(f"other mounts: {others}")
    sources = {m["Destination"]: m["Source"] for m in mounts if m["Type"] == "bind"}
    run, scratch = sources.get("/.tidemill/run", ""), sources.get("/.tidemill/scratch", "")
    folder = run.rpartition("/")[0]
    if not run.endswith("/run") or scratch != f"{folder}/scratch" or "/containers/" not in run:
        wrong.append(f"it mounts folders that are not its own: {sources}")
    return wrong


def specs_wrong(container: Dict[str, Any], names: List[str]) -> List[str]:
    """Of devices of CDI specs either the Engine itself or our runtime is told, and nobody else."""
    host, env = container["HostConfig"], container["Config"]["Env"] or []
    requests = [{k: v for k, v in each.items() if v} for each in host.get("DeviceRequests") or []]
    told = [each for each in env if each.startswith("TIDEMILL_CDI=")]
    by_engine = ("runc", [], [{"Driver": "cdi", "DeviceIDs": names}])
    by_runtime = ("tidemill", [f"TIDEMILL_CDI={','.join(names)}"], [])
    found = (host["Runtime"], told, requests)
    if found in ([by_engine, by_runtime] if names else [("runc", [], [])]):
        return []
    return [f"Runtime, its variable and DeviceRequests are {found}, and its label names {names}"]


def devices_wrong(container: Dict[str, Any]) -> List[str]:
    """The devices of its spec, which a label names, and none that it may make nodes for."""
    asked = container["Config"]["Labels"].get(DEVICES, "").split()
    paths = [each for each in asked if each.startswith("/")]
    expected = [(path, path, "rw") for path in paths]
    devices = container["HostConfig"].get("Devices") or []
    names = ("PathOnHost", "PathInContainer", "CgroupPermissions")
    found = [tuple(device[name] for name in names) for device in devices]
    wrong = [] if found == expected else [f"Devices are {found}, and its label names {asked}"]
    return wrong + specs_wrong(container, [each for each in asked if each not in paths])


def policy_wrong(host: Dict[str, Any]) -> List[str]:
    """A pool may be stricter than the default, in ways of its own."""
    wrong = []
    if host["CapDrop"] not in (["NET_RAW", "MKNOD"], ["ALL"]):
        wrong.append(f"CapDrop is {host['CapDrop']}")
    if host["NetworkMode"] not in ("tidemill", "none"):
        wrong.append(f"NetworkMode is {host['NetworkMode']}")
    tmpfs = host.get("Tmpfs") or {}
    if set(tmpfs) - {SECRETS} != ({"/tmp"} if host["ReadonlyRootfs"] else set()):
        wrong.append(f"ReadonlyRootfs is {host['ReadonlyRootfs']}, Tmpfs {tmpfs}")
    for target, options in tmpfs.items():
        if "size=" not in options:
            wrong.append(f"{target} has no limit")
    return wrong


def wrong_with(container: Dict[str, Any]) -> List[str]:
    """What `docker inspect` shows and should not; nothing: it is as it must be."""
    host = container["HostConfig"]
    wrong = [f"{name} is {host[name]}" for name in MUST_BE_EMPTY if host.get(name)]
    expected = {
        "AutoRemove": True,
        "CgroupnsMode": "private",
        "IpcMode": "private",
        "MemorySwap": host["Memory"],
        "OomScoreAdj": 500,
        "PidsLimit": PIDS,
        "SecurityOpt": ["no-new-privileges"],
    }
    wrong += [f"{k} is {host.get(k)}" for k, v in expected.items() if host.get(k) != v]
    if host["LogConfig"]["Type"] != "none" or host["RestartPolicy"]["Name"] != "no":
        wrong.append("it logs, or is started again")
    limits = {each["Name"]: (each["Soft"], each["Hard"]) for each in host["Ulimits"] or []}
    if limits != {"core": (0, 0), "nofile": (OPEN_FILES, OPEN_FILES)}:
        wrong.append(f"Ulimits are {limits}")
    if not MASKED <= set(host["MaskedPaths"]) or not READ_ONLY <= set(host["ReadonlyPaths"]):
        wrong.append("paths of /proc are not hidden")
    if container["Config"]["Entrypoint"] != ["/.tidemill/init"]:
        wrong.append(f"Entrypoint is {container['Config']['Entrypoint']}")
    return wrong + mounts_wrong(container) + policy_wrong(host) + devices_wrong(container)
