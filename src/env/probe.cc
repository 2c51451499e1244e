// SPDX-License-Identifier: Apache-2.0
#include "env/probe.h"

namespace tidemill {

std::string ProbeScript() {
  // Each framework in a process of its own: they take the devices for themselves, fill standard
  // output, and may crash.
  return R"py(import importlib.util, json, os, platform, stat, subprocess, sys

DEVICES = {
    "torch": "[torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]",
    "tensorflow": "[d.name for d in tensorflow.config.list_physical_devices()"
    " if d.device_type != 'CPU']",
    "jax": "[str(d) for d in jax.devices() if d.platform != 'cpu']",
    "cupy": "[cupy.cuda.runtime.getDeviceProperties(i)['name'].decode()"
    " for i in range(cupy.cuda.runtime.getDeviceCount())]",
}
ASK = """
import json
import NAME
answer = {"version": str(NAME.__version__), "devices": [], "why": ""}
try:
    answer["devices"] = [str(each) for each in DEVICES]
except Exception as error:
    answer["why"] = (type(error).__name__ + ": " + str(error))
print()
print(json.dumps(answer))
"""
USUAL = "null zero full random urandom tty console ptmx pts shm mqueue fd core".split()
SECONDS = 300


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "".join(c for c in lines[-1] if c.isprintable())[:200] if lines else ""


def ask(name):
    found = {"name": name, "version": "", "devices": [], "why": ""}
    code = ASK.replace("DEVICES", DEVICES[name]).replace("NAME", name)
    try:
        done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        found["why"] = "no answer within %d s" % SECONDS
        return found
    if done.returncode != 0:
        said = last_line(done.stderr.decode(errors="replace"))
        found["why"] = said or "it ended with %d" % done.returncode
        return found
    found.update(json.loads(done.stdout.decode(errors="replace").splitlines()[-1]))
    found["why"] = last_line(found["why"])
    return found


def nodes():
    found = []
    for folder, folders, files in os.walk("/dev"):
        if folder == "/dev":
            folders[:] = [each for each in folders if each not in USUAL]
            files = [each for each in files if each not in USUAL]
        for each in files:
            path = os.path.join(folder, each)
            mode = os.lstat(path).st_mode
            if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
                found.append(path)
    return sorted(found)


installed = [name for name in DEVICES if importlib.util.find_spec(name)]
print(json.dumps({"python": platform.python_version(),
                  "frameworks": [ask(name) for name in installed], "nodes": nodes()}))
)py";
}

}  // namespace tidemill
