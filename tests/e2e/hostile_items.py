# SPDX-License-Identifier: Apache-2.0
"""Item programs that behave badly, and what must be said of each.

Each is a script for a busybox shell. What may come of it is a set, because the kernel decides some
races: what fills /dev/shm ends by the limit of that or of memory.
"""

import json
import signal
from typing import List, NamedTuple, Optional, Set


class Bad(NamedTuple):
    name: str
    script: str
    causes: Set[str]
    exit: Optional[int] = None  # nothing: any


FINE = {"succeeded"}
FAILED = {"failed"}
TIMEOUT = {"timeout"}
MEMORY = {"out-of-memory"}

# By default these do nothing to a process.
HARMLESS = {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH}
HARMLESS |= {signal.SIGQUIT}  # a busybox shell ignores it
STOPPING = {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}


def _of_signal(number: int) -> Bad:
    script = f"kill -{number} $$; sleep 0.1; exit 0"
    name = f"ends itself with signal {number}"
    if number in HARMLESS:
        return Bad(name, script, FINE, 0)
    # The session of an item has no terminal and its parent is no shell: the kernel ignores all
    # stops but one, which nothing can ignore.
    if number in STOPPING - {signal.SIGSTOP}:
        return Bad(name, script, FINE | TIMEOUT)
    if number == signal.SIGSTOP:
        return Bad(name, script, TIMEOUT)
    return Bad(name, script, FAILED, 128 + number)


SIGNALS = [_of_signal(number) for number in range(1, 32)]

# With a grace of a second; those that hang have a timeout of a few.
SHORT = [
    Bad("exits with 255", "exit 255", FAILED, 255),
    Bad("is no program", "exec /no/such/program", FAILED, 127),
    Bad("cannot be run", "exec /etc/passwd", FAILED, 126),
    Bad("waits for ever", "while :; do sleep 1000; done", TIMEOUT),
    Bad("ignores SIGTERM", "trap '' TERM INT HUP; while :; do sleep 1; done", TIMEOUT),
    Bad(
        "ends well when it is asked to", "trap 'exit 0' TERM; while :; do sleep 0.1; done", TIMEOUT
    ),
    Bad("spins", "while :; do :; done", TIMEOUT),
    Bad("stops itself", "kill -STOP $$; exit 0", TIMEOUT),
    Bad(
        "bombs with forks and leaves",
        "i=0; while [ $i -lt 300 ]; do (trap '' TERM; sleep 1000) & i=$((i+1)); done; exit 0",
        FINE,
        0,
    ),
    # Ended by the limit of processes, that of memory or the time, whichever comes first. Any of
    # these is right: what counts is that the agent goes on and that the good item after it runs.
    Bad("bombs with forks", "bomb() { bomb | bomb; }; bomb", FAILED | TIMEOUT | MEMORY),
    Bad("bombs with memory", "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done", MEMORY),
    Bad("reads zeroes into memory", "busybox tail /dev/zero", MEMORY),
    Bad("has a child that bombs, and fails", "busybox tail /dev/zero || exit 9", MEMORY, 9),
    Bad("has a child that bombs, and goes on", "busybox tail /dev/zero; exit 0", FINE, 0),
    Bad(
        "fills /dev/shm",
        "busybox dd if=/dev/zero of=/dev/shm/f bs=1M count=300; exit 4",
        FAILED | MEMORY,
        4,
    ),
    Bad("overflows its stack", "f() { f; f; }; f", FAILED | MEMORY),
    Bad("double forks", "(busybox setsid sh -c 'sleep 1000' &) ; exit 0", FINE, 0),
    Bad(
        "double forks with its output open",
        "(busybox setsid sh -c \"trap '' TERM HUP; sleep 1000; echo late\" &) ; echo early; exit 0",
        FINE,
        0,
    ),
    Bad(
        "leaves zombies",
        "i=0; while [ $i -lt 200 ]; do (exit 1) & i=$((i+1)); done; exec sleep 0.2",
        FINE,
        0,
    ),
    Bad("closes its descriptors", "exec 0<&- 1>&- 2>&-; exit 3", FAILED, 3),
    Bad("closes its output and works on", "exec 1>&- 2>&-; sleep 0.3; exit 0", FINE, 0),
    Bad("reads from nobody", "cat; exit 5", FAILED, 5),
    Bad("kills its parent", "kill -9 $PPID; kill -TERM $PPID; kill -SEGV $PPID; exit 0", FINE, 0),
    # Whether the shell is among what it kills depends on the kernel. What counts is that init and
    # the agent go on and that the good item after it runs.
    Bad("kills everything", "kill -9 -1; exit 0", FINE | FAILED),
    Bad("asks init to end", "kill -TERM 1; kill -INT 1; kill -QUIT 1; sleep 0.2; exit 0", FINE, 0),
    Bad(
        "renames itself",
        "cp /bin/busybox $TIDEMILL_SCRATCH/sh && exec $TIDEMILL_SCRATCH/sh -c 'exit 6'",
        FAILED,
        6,
    ),
    Bad(
        "removes its own program",
        "cd $TIDEMILL_SCRATCH; cp /bin/busybox sh && exec ./sh -c 'rm ./sh; exit 7'",
        FAILED,
        7,
    ),
    Bad(
        "shuts its scratch folder",
        "cd $TIDEMILL_SCRATCH; mkdir -p a/b; busybox chmod 000 a/b a $TIDEMILL_SCRATCH; exit 0",
        FINE,
        0,
    ),
    Bad(
        "removes its scratch folder",
        "busybox rm -rf $TIDEMILL_SCRATCH $TIDEMILL_SCRATCH/..; exit 0",
        FINE,
        0,
    ),
    Bad(
        "removes the folder it is in",
        "cd $TIDEMILL_SCRATCH && mkdir d && cd d && busybox rmdir ../d; exit 0",
        FINE,
        0,
    ),
    Bad(
        "digs deep",
        "cd $TIDEMILL_SCRATCH; i=0; while [ $i -lt 700 ]; do"
        " mkdir dddddddddd && cd dddddddddd; i=$((i+1)); done; exit 0",
        FINE,
        0,
    ),
    Bad(
        "leaves many files",
        "cd $TIDEMILL_SCRATCH; i=0; while [ $i -lt 4000 ]; do : > f$i; i=$((i+1)); done; exit 0",
        FINE,
        0,
    ),
    Bad(
        "leaves odd files",
        "cd $TIDEMILL_SCRATCH; busybox mkfifo p; busybox ln -s / root; busybox ln -s . loop;"
        " : > '-rf'; : > \"$(printf 'new\\nline')\"; exit 0",
        FINE,
        0,
    ),
    Bad("floods by a leftover", "(busybox setsid busybox yes &) ; sleep 0.2; exit 0", FINE, 0),
    Bad(
        "prints no newline",
        "busybox head -c 3000000 /dev/zero | busybox tr '\\0' x; exit 0",
        FINE,
        0,
    ),
    Bad(
        "prints bytes that are no text",
        "busybox head -c 1000000 /dev/urandom; printf '\\033[2J\\0\\377'; exit 0",
        FINE,
        0,
    ),
    Bad(
        "prints a line a millisecond",
        "i=0; while [ $i -lt 2000 ]; do echo $i; i=$((i+1)); done; exit 0",
        FINE,
        0,
    ),
    Bad(
        "speaks to the agent's socket",
        "busybox nc local:/.tidemill/run/agent.sock < /dev/urandom; exit 0",
        FINE | TIMEOUT,
    ),
    Bad(
        "writes to init",
        "echo x > /proc/1/mem; cat /proc/1/environ; echo 1 > /proc/1/oom_score_adj; exit 0",
        FINE,
        0,
    ),
    Bad(
        "wants to be killed last",
        "echo -1000 > /proc/self/oom_score_adj; exec busybox tail /dev/zero",
        MEMORY,
    ),
    Bad(
        "mounts over its scratch",
        "busybox mount -t tmpfs none $TIDEMILL_SCRATCH; exit 8",
        FAILED,
        8,
    ),
    Bad(
        "hides behind another session",
        "busybox setsid sh -c \"trap '' TERM; while :; do sleep 1; done\" & exec sleep 1000",
        TIMEOUT,
    ),
    # A limit that is not infinite already cannot be raised: 20 if one can, 10 if none can.
    Bad(
        "raises its limits",
        "for each in c n; do had=$(ulimit -H -$each); [ $had != unlimited ] || exit 30;"
        " (ulimit -H -$each unlimited) 2> /dev/null && exit 20;"
        " (ulimit -H -$each $((had + 1))) 2> /dev/null && exit 20;"
        " [ $(ulimit -H -$each) = $had ] || exit 20; done; exit 10",
        FAILED,
        10,
    ),
    Bad(
        "is the busiest", "busybox nice -n -20 true; busybox renice -n -20 $$; exit 11", FAILED, 11
    ),
    Bad(
        "calls for items that it is not to take",
        "busybox wget -q -O - --post-data '' \"$TIDEMILL_URL/next?max=9\"; exit 12",
        FAILED,
        12,
    ),
]

# Time enough to end by themselves.
LONG = [
    Bad("prints a gigabyte", "busybox head -c 1073741824 /dev/zero; exit 0", FINE, 0),
    Bad(
        "fills its disk",
        "busybox dd if=/dev/zero of=$TIDEMILL_SCRATCH/full bs=1M count=400;"
        " while :; do sleep 1; done",
        FAILED,
    ),
]

# After each of them: alone in its container, in a clean and writable scratch folder.
GOOD = """
set -e
test -z "$(ls -A $TIDEMILL_SCRATCH)"
known="-e PID -e ps -e grep -e sh\\$ -e init -e busybox -e exe"
others=$(ps -o pid,comm | busybox grep -v $known || true)
test -z "$others" || { echo "left: $others"; exit 21; }
echo good > $TIDEMILL_SCRATCH/file
test "$(cat $TIDEMILL_SCRATCH/file)" = good
i=0; while [ $i -lt 50 ]; do (exit 0) & i=$((i+1)); done; wait
test "$(ulimit -c)" = 0
echo all is well
"""


def all_of(bads: List[Bad]) -> List[str]:
    """As the texts of items: each bad one, and after it a good one."""
    texts = []
    for bad in bads:
        texts.append(json.dumps({"name": bad.name, "script": bad.script}))
        texts.append(json.dumps({"name": "good after: " + bad.name, "script": GOOD}))
    return texts
