// SPDX-License-Identifier: Apache-2.0
// Specs that are wrong or hostile, each with the line and the reason that a person is told.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cdi/cdi_text.h"

namespace tidemill {
namespace {

struct Refused {
  std::string text;
  std::string why;
};

// A spec of one device, whose edits begin in line 6.
std::string OfDevice(const std::string& edits, const std::string& version = "1.1.0") {
  return "cdiVersion: " + version +
         "\nkind: vendor.com/gpu\ndevices:\n- name: gpu0\n  containerEdits:\n" + edits;
}

// A device with one node, whose fields after the path begin in line 8.
std::string OfNode(const std::string& fields, const std::string& version = "1.1.0") {
  return OfDevice("    deviceNodes:\n    - path: /dev/gpu0\n" + fields, version);
}

// A device with one mount, in line 7.
std::string OfMount(const std::string& from, const std::string& to, const std::string& more = "") {
  return OfDevice("    mounts:\n    - {hostPath: " + from + ", containerPath: " + to + more +
                  "}\n");
}

// A device with one hook, in line 7.
std::string OfHook(const std::string& name, const std::string& path, const std::string& more = "") {
  return OfDevice("    hooks:\n    - {hookName: " + name + ", path: " + path + more + "}\n");
}

// One device in line 4, under a head that may be wrong.
std::string OfHead(const std::string& head) {
  return head + "devices:\n- name: gpu0\n  containerEdits: {env: [A=b]}\n";
}

std::string Times(std::size_t count, const std::string& text) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

void ExpectRefused(const std::vector<Refused>& cases) {
  for (const auto& [text, why] : cases) {
    const auto spec = ParseCdiText(text, false);
    if (spec) {
      ADD_FAILURE() << "taken, not refused as: " << why << "\n" << text.substr(0, 2000);
      continue;
    }
    EXPECT_EQ(spec.error().reason, why) << text.substr(0, 2000);
    EXPECT_EQ(spec.error().code, Code::kInvalid);
  }
}

TEST(CdiRefused, WhatTheseTestsChangeIsTakenAsItStands) {
  for (const std::string& text :
       {OfDevice("    env: [A=b]\n"), OfNode(""), OfMount("/a", "/b"), OfHook("poststop", "/a"),
        OfHead("cdiVersion: 0.3.0\nkind: vendor.com/gpu\n")}) {
    const auto spec = ParseCdiText(text, false);
    EXPECT_TRUE(spec) << spec.error().reason << "\n" << text;
  }
}

TEST(CdiRefused, TextsThatAreNoSpec) {
  ExpectRefused({
      {"", "line 1: there is nothing in it"},
      {"[]\n", "line 1: must be an object, not an array"},
      {"hello\n", "line 1: must be an object, not a string"},
      {"{}\n", "line 1: cdiVersion: is missing"},
      {"cdiVersion: 1.0.0\nkind: [\n", "line 3: not YAML: end of sequence flow not found"},
      {"cdiVersion: 1.0.0\nkind: a/b\n---\nkind: c/d\n",
       "line 3: something begins anew here; one document only"},
      {"cdiVersion: 1.0.0\nkind: \xff\n", "line 2: not UTF-8"},
      {"cdiVersion: 1.0.0\nkind: a/b\ncdiVersion: 0.3.0\n",
       "line 3: 'cdiVersion' is there twice; first in line 1"},
      {OfDevice("    env: [\"A=b\\0c\"]\n"), "line 6: a NUL in a text"},
      {OfDevice("    env: [!run A=b]\n"), "line 6: the tag '!run' means nothing here"},
      {"a: " + Times(40, "[") + Times(40, "]"), "line 1: nested deeper than 32"},
      {"a: &a [" + Times(1000, "x, ") + "]\nb: &b [" + Times(60, "*a, ") + "]\nc: [" +
           Times(60, "*b, ") + "]\n",
       "line 1: more than 100000 values"},
      {"# " + std::string(1024 * 1024, 'x'), "more than 1048576 bytes"},
  });
}

TEST(CdiRefused, HeadsThatAreWrong) {
  const std::string known = "; known are 0.3.0 0.4.0 0.5.0 0.6.0 0.7.0 0.8.0 1.0.0 1.1.0";
  const std::string kind =
      "line 2: kind: must be VENDOR/CLASS, as vendor.com/gpu: each of letters, digits and '_-.', "
      "beginning with a letter and ending with a letter or digit";
  ExpectRefused({
      {OfHead("kind: a/b\n"), "line 1: cdiVersion: is missing"},
      {OfHead("cdiVersion: 0.2.0\nkind: a/b\n"),
       "line 1: cdiVersion: is none that is known here" + known},
      {OfHead("cdiVersion: 2.0.0\nkind: a/b\n"),
       "line 1: cdiVersion: is none that is known here" + known},
      {OfHead("cdiVersion: 0.6\nkind: a/b\n"),
       "line 1: cdiVersion: must be a string, not a fraction"},
      {OfHead("cdiVersion: latest\nkind: a/b\n"),
       "line 1: cdiVersion: is none that is known here" + known},
      {OfHead("cdiVersion: ''\nkind: a/b\n"), "line 1: cdiVersion: must not be empty"},
      {OfHead("cdiVersion: 1.0.0\n"), "line 1: kind: is missing"},
      {OfHead("cdiVersion: 1.0.0\nkind: gpu\n"), kind},
      {OfHead("cdiVersion: 1.0.0\nkind: vendor.com/gpu/extra\n"), kind},
      {OfHead("cdiVersion: 1.0.0\nkind: vendor.com/gpu=0\n"), kind},
      {OfHead("cdiVersion: 1.0.0\nkind: ../../etc/gpu\n"), kind},
      {OfHead("cdiVersion: 1.0.0\nkind: 1vendor/gpu\n"), kind},
      {OfHead("cdiVersion: 1.0.0\nkind: \"a/b\\n\"\n"),
       "line 2: kind: must not have control characters"},
      {OfHead("cdiVersion: 0.5.0\nkind: a.com/b.c\n"),
       "line 2: kind: a dot in the class needs cdiVersion 0.6.0 or newer; this spec says 0.5.0"},
      {OfHead("cdiVersion: 1.0.0\nkind: a/b\nname: x\n"),
       "line 3: unknown field 'name'; known are 'cdiVersion' 'kind' 'annotations' 'devices' "
       "'containerEdits'"},
      {OfHead("cdiVersion: 1.0.0\nkind: a/b\nannotation: {}\n"),
       "line 3: unknown field 'annotation'; did you mean 'annotations'?"},
      {OfHead("cdiVersion: 1.0.0\nkind: a/b\ncontaineredits: {}\n"),
       "line 3: unknown field 'containeredits'; did you mean 'containerEdits'?"},
      {OfHead("cdiVersion: 0.5.0\nkind: a/b\nannotations: {a: b}\n"),
       "line 3: annotations: needs cdiVersion 0.6.0 or newer; this spec says 0.5.0"},
      {OfHead("cdiVersion: 1.0.0\nkind: a/b\nannotations: {a: 1}\n"),
       "line 3: annotations.a: must be a string, not a number"},
      {OfHead("cdiVersion: 1.0.0\nkind: a/b\nannotations:\n  a b: c\n"),
       "line 3: annotations: \"a b\" is no name here; they are letters, digits and '-_.', after a "
       "host's name and a slash or without them"},
      {OfHead("cdiVersion: 1.0.0\nkind: a/b\nannotations:\n  a: b\n  c/d: \"e\\x1b[31m\"\n"),
       "line 5: annotations.c/d: must not have control characters"},
      {OfHead("cdiVersion: 1.0.0\nkind: a/b\ncontainerEdits: []\n"),
       "line 3: containerEdits: must be an object, not an array"},
  });
}

TEST(CdiRefused, DevicesThatAreWrong) {
  const std::string head = "cdiVersion: 0.6.0\nkind: vendor.com/gpu\n";
  const std::string name =
      "line 4: devices[0].name: must be letters, digits and '_-.:', with a letter or digit at both "
      "ends";
  const std::string edits = "\n  containerEdits: {env: [A=b]}\n";
  ExpectRefused({
      {head, "line 1: devices: is missing"},
      {head + "devices: []\n", "line 3: devices: has nothing in it"},
      {head + "devices:\n", "line 3: devices: must be an array, not null"},
      {head + "devices: {gpu0: {}}\n", "line 3: devices: must be an array, not an object"},
      {head + "devices: [gpu0]\n", "line 3: devices[0]: must be an object, not a string"},
      {head + "devices:\n- containerEdits: {env: [A=b]}\n", "line 4: devices[0].name: is missing"},
      {head + "devices:\n- name: 0" + edits,
       "line 4: devices[0].name: must be a string: put it in quotes"},
      {head + "devices:\n- name: ''" + edits, "line 4: devices[0].name: must not be empty"},
      {head + "devices:\n- name: gpu 0" + edits, name},
      {head + "devices:\n- name: a=b" + edits, name},
      {head + "devices:\n- name: ../gpu0" + edits, name},
      {head + "devices:\n- name: gpu0-" + edits, name},
      {head + "devices:\n- name: gp\xc3\xbc" + edits, name},
      {"cdiVersion: 0.4.0\nkind: a/b\ndevices:\n- name: \"0\"" + edits,
       "line 4: devices[0].name: a digit at its beginning needs cdiVersion 0.5.0 or newer; this "
       "spec says 0.4.0"},
      {head + "devices:\n- name: a" + edits + "- name: b" + edits + "- name: a" + edits,
       "line 8: devices[2].name: 'a' is there twice; first in devices[0]"},
      {head + "devices:\n- name: a\n", "line 4: devices[0].containerEdits: is missing"},
      {head + "devices:\n- name: a\n  containerEdits: {}\n",
       "line 5: devices[0].containerEdits: has nothing in it, so the device is none"},
      {head + "devices:\n- name: a\n  containerEdits: {env: [], mounts: []}\n",
       "line 5: devices[0].containerEdits: has nothing in it, so the device is none"},
      {head + "devices:\n- name: a\n  containerEdits:\n    devicenodes: []\n",
       "line 6: unknown field 'devicenodes' in devices[0].containerEdits; did you mean "
       "'deviceNodes'?"},
      {head + "devices:\n- name: a\n  privileged: true" + edits,
       "line 5: unknown field 'privileged' in devices[0]; known are 'name' 'annotations' "
       "'containerEdits'"},
      {"cdiVersion: 0.3.0\nkind: a/b\ndevices:\n- name: a\n  annotations: {b: c}" + edits,
       "line 5: devices[0].annotations: needs cdiVersion 0.6.0 or newer; this spec says 0.3.0"},
  });
}

TEST(CdiRefused, NodesThatAreWrong) {
  const std::string node = "devices[0].containerEdits.deviceNodes[0].";
  const std::string type = node + "type: must be \"b\", \"c\", \"u\" or \"p\"";
  const std::string rights =
      node + "permissions: must be of the letters r, w and m, each once, or \"none\"";
  const auto at = [](const std::string& path) {
    return OfDevice("    deviceNodes:\n    - path: " + path + "\n");
  };
  ExpectRefused({
      {OfDevice("    deviceNodes:\n    - type: c\n"), "line 7: " + node + "path: is missing"},
      {at("dev/gpu0"), "line 7: " + node + "path: must be an absolute path"},
      {at("/dev/../etc/shadow"), "line 7: " + node + "path: must not have '..' in it"},
      {at("/dev/.."), "line 7: " + node + "path: must not have '..' in it"},
      {at("\"/dev/gpu\\n0\""), "line 7: " + node + "path: must not have control characters"},
      {at("\"/dev/gpu\\x7f\""), "line 7: " + node + "path: must not have control characters"},
      {at("/"), "line 7: " + node + "path: must not be the container's root"},
      {at("/.//"), "line 7: " + node + "path: must not be the container's root"},
      {at("/dev/"), "line 7: " + node + "path: must not be all of /dev"},
      {at("/proc/kcore"), "line 7: " + node + "path: must not be in /proc of the container"},
      {at("//./sys/power"), "line 7: " + node + "path: must not be in /sys of the container"},
      {at("/dev/" + std::string(4096, 'x')), "line 7: " + node + "path: is longer than 4095 bytes"},
      {OfNode("      hostPath: gpu0\n"), "line 8: " + node + "hostPath: must be an absolute path"},
      {OfNode("      hostPath: /a/../../b\n"),
       "line 8: " + node + "hostPath: must not have '..' in it"},
      {OfNode("      hostPath: /dev/gpu1\n", "0.4.0"),
       "line 8: " + node + "hostPath: needs cdiVersion 0.5.0 or newer; this spec says 0.4.0"},
      {OfNode("      type: x\n"), "line 8: " + type},
      {OfNode("      type: char\n"), "line 8: " + type},
      {OfNode("      major: -1\n"), "line 8: " + node + "major: must be from 1 to 4095"},
      {OfNode("      major: 4096\n"), "line 8: " + node + "major: must be from 1 to 4095"},
      {OfNode("      major: 0\n"), "line 8: " + node + "major: must be from 1 to 4095"},
      {OfNode("      major: 1.5\n"),
       "line 8: " + node + "major: must be an integer, not a fraction"},
      {OfNode("      major: \"195\"\n"),
       "line 8: " + node + "major: must be an integer, not a string"},
      {OfNode("      major: 18446744073709551615\n"),
       "line 8: " + node + "major: must be from 1 to 4095"},
      {OfNode("      major: 195\n      minor: 1048576\n"),
       "line 9: " + node + "minor: must be from 0 to 1048575"},
      {OfNode("      minor: 3\n"), "line 8: " + node + "minor: is there without a major"},
      {OfNode("      fileMode: 0666\n"),
       "line 8: the number 0666 is octal to some and decimal to others; write 0o... or no zero"},
      {OfNode("      fileMode: 2541\n"), "line 8: " + node + "fileMode: must be from 0 to 511"},
      {OfNode("      fileMode: rw-rw-rw-\n"),
       "line 8: " + node + "fileMode: must be an integer, not a string"},
      {OfNode("      permissions: rwx\n"), "line 8: " + rights},
      {OfNode("      permissions: rrw\n"), "line 8: " + rights},
      {OfNode("      permissions: all\n"), "line 8: " + rights},
      {OfNode("      uid: -1\n"), "line 8: " + node + "uid: must be from 0 to 4294967294"},
      {OfNode("      gid: 4294967295\n"), "line 8: " + node + "gid: must be from 0 to 4294967294"},
      {OfNode("      hostpath: /dev/a\n"),
       "line 8: unknown field 'hostpath' in devices[0].containerEdits.deviceNodes[0]; did you mean "
       "'hostPath'?"},
      {OfNode("    - path: /dev/./gpu0\n"),
       "line 8: devices[0].containerEdits.deviceNodes[1].path: is there twice; first in "
       "deviceNodes[0]"},
      {OfDevice("    deviceNodes: /dev/gpu0\n"),
       "line 6: devices[0].containerEdits.deviceNodes: must be an array, not a string"},
      {OfDevice("    deviceNodes:\n" + Times(1025, "    - path: /dev/a\n")),
       "line 6: devices[0].containerEdits.deviceNodes: has more than 1024 elements"},
  });
}

TEST(CdiRefused, MountsThatAreWrong) {
  const std::string mount = "line 7: devices[0].containerEdits.mounts[0].";
  ExpectRefused({
      {OfDevice("    mounts:\n    - hostPath: /a\n"), mount + "containerPath: is missing"},
      {OfDevice("    mounts:\n    - containerPath: /a\n"), mount + "hostPath: is missing"},
      {OfMount("a", "/b"), mount + "hostPath: must be an absolute path"},
      {OfMount("/a/../..", "/b"), mount + "hostPath: must not have '..' in it"},
      {OfMount("\"/a\\rb\"", "/b"), mount + "hostPath: must not have control characters"},
      {OfMount("/a", "b"), mount + "containerPath: must be an absolute path"},
      {OfMount("/a", "/"), mount + "containerPath: must not be the container's root"},
      {OfMount("/a", "/b/../../proc"), mount + "containerPath: must not have '..' in it"},
      {OfMount("/a", "/proc"), mount + "containerPath: must not be in /proc of the container"},
      {OfMount("/a", "/proc/1"), mount + "containerPath: must not be in /proc of the container"},
      {OfMount("/a", "/sys/fs/cgroup"),
       mount + "containerPath: must not be in /sys of the container"},
      {OfMount("/a", "/dev"), mount + "containerPath: must not be all of /dev"},
      {OfMount("/a", "/b", ", options: ro"), mount + "options: must be an array, not a string"},
      {OfMount("/a", "/b", ", options: [ro, \"b\\nc\"]"),
       mount + "options[1]: must not have control characters"},
      {OfMount("/a", "/b", ", options: [ro, '']"), mount + "options[1]: must not be empty"},
      {OfMount("/a", "/b", ", options: [1]"),
       mount + "options[0]: must be a string: put it in quotes"},
      {OfMount("/a", "/b", ", options: [" + Times(65, "ro, ") + "]"),
       mount + "options: has more than 64 elements"},
      {OfMount("/a", "/b", ", type: 7"), mount + "type: must be a string, not a number"},
      {OfMount("/a", "/b", ", readonly: true"),
       "line 7: unknown field 'readonly' in devices[0].containerEdits.mounts[0]; known are "
       "'hostPath' 'containerPath' 'type' 'options'"},
      {OfDevice("    mounts:\n    - {hostPath: /a, containerPath: /b, type: bind}\n", "0.3.0"),
       mount + "type: needs cdiVersion 0.4.0 or newer; this spec says 0.3.0"},
      {OfDevice("    mounts: [" + Times(4097, "{}, ") + "]\n"),
       "line 6: devices[0].containerEdits.mounts: has more than 4096 elements"},
  });
}

TEST(CdiRefused, HooksThatAreWrong) {
  const std::string hook = "line 7: devices[0].containerEdits.hooks[0].";
  const std::string stage =
      "hookName: is no hook; there are prestart createRuntime createContainer startContainer "
      "poststart poststop";
  ExpectRefused({
      {OfDevice("    hooks:\n    - path: /a\n"), hook + "hookName: is missing"},
      {OfHook("prestop", "/a"), hook + stage},
      {OfHook("createcontainer", "/a"), hook + stage},
      {OfDevice("    hooks:\n    - hookName: prestart\n"), hook + "path: is missing"},
      {OfHook("prestart", "ldconfig"), hook + "path: must be an absolute path"},
      {OfHook("prestart", "/usr/../tmp/x"), hook + "path: must not have '..' in it"},
      {OfHook("prestart", "\"/bin/x\\x01\""), hook + "path: must not have control characters"},
      {OfHook("prestart", "/a", ", args: a"), hook + "args: must be an array, not a string"},
      {OfHook("prestart", "/a", ", args: [a, 1]"),
       hook + "args[1]: must be a string: put it in quotes"},
      {OfHook("prestart", "/a", ", args: [[a]]"), hook + "args[0]: must be a string"},
      {OfHook("prestart", "/a", ", args: [" + std::string(131072, 'x') + "]"),
       hook + "args[0]: is longer than 131071 bytes"},
      {OfHook("prestart", "/a", ", env: [PATH]"), hook + "env[0]: must be NAME=value"},
      {OfHook("prestart", "/a", ", env: [A=b, =c]"), hook + "env[1]: must be NAME=value"},
      {OfHook("prestart", "/a", ", timeout: -1"), hook + "timeout: must be from 1 to 86400"},
      {OfHook("prestart", "/a", ", timeout: 0"), hook + "timeout: must be from 1 to 86400"},
      {OfHook("prestart", "/a", ", timeout: 5s"),
       hook + "timeout: must be an integer, not a string"},
      {OfHook("prestart", "/a", ", user: root"),
       "line 7: unknown field 'user' in devices[0].containerEdits.hooks[0]; known are 'hookName' "
       "'path' 'args' 'env' 'timeout'"},
      {OfDevice("    hooks: [" + Times(257, "{}, ") + "]\n"),
       "line 6: devices[0].containerEdits.hooks: has more than 256 elements"},
  });
}

TEST(CdiRefused, VariablesGroupsAndTheRest) {
  const std::string edits = "line 6: devices[0].containerEdits.";
  const std::string whole =
      "cdiVersion: 1.1.0\nkind: a/b\ndevices:\n- name: a\n"
      "  containerEdits: {env: [A=b]}\ncontainerEdits:\n";
  const std::string unapplied = "is not applied here, so the device would lack what it asks for";
  ExpectRefused({
      {OfDevice("    env: A=b\n"), edits + "env: must be an array, not a string"},
      {OfDevice("    env: [A]\n"), edits + "env[0]: must be NAME=value"},
      {OfDevice("    env: [=b]\n"), edits + "env[0]: must be NAME=value"},
      {OfDevice("    env: [{A: b}]\n"), edits + "env[0]: must be a string"},
      {OfDevice("    env: [1]\n"), edits + "env[0]: must be a string: put it in quotes"},
      {OfDevice("    env: [A=b, \"C=d\\nLD_PRELOAD=/x\"]\n"),
       edits + "env[1]: must not have a NUL or a line break"},
      {OfDevice("    env: [\"A\\tB=c\"]\n"),
       edits + "env[0]: must not have control characters in its name"},
      {OfDevice("    env: [A=" + std::string(131072, 'x') + "]\n"),
       edits + "env[0]: is longer than 131071 bytes"},
      {OfDevice("    env: [" + Times(1025, "A=b, ") + "]\n"),
       edits + "env: has more than 1024 elements"},
      {OfDevice("    additionalGids: [44]\n", "0.6.0"),
       edits + "additionalGids: needs cdiVersion 0.7.0 or newer; this spec says 0.6.0"},
      {OfDevice("    additionalGIDs: [44]\n", "0.6.0"),
       edits + "additionalGIDs: needs cdiVersion 0.7.0 or newer; this spec says 0.6.0"},
      {OfDevice("    additionalGids: [video]\n"),
       edits + "additionalGids[0]: must be an integer, not a string"},
      {OfDevice("    additionalGids: [44, -1]\n"),
       edits + "additionalGids[1]: must be from 0 to 4294967294"},
      {OfDevice("    additionalGids: [0]\n"),
       "line 5: devices[0].containerEdits: has nothing in it, so the device is none"},
      {OfDevice("    additionalGids: [44]\n    additionalGIDs: [45]\n"),
       "line 7: devices[0].containerEdits.additionalGIDs: is there besides 'additionalGids'; write "
       "one of them"},
      {OfDevice("    additionalGids: [" + Times(257, "1, ") + "]\n"),
       edits + "additionalGids: has more than 256 elements"},
      {OfDevice("    intelRdt: {closID: a}\n", "0.6.0"),
       edits + "intelRdt: needs cdiVersion 0.7.0 or newer; this spec says 0.6.0"},
      {OfDevice("    intelRdt: {closID: a}\n", "0.7.0"), edits + "intelRdt: " + unapplied},
      {OfDevice("    netDevices: [{hostInterfaceName: eth1, name: eth0}]\n", "1.0.0"),
       edits + "netDevices: needs cdiVersion 1.1.0 or newer; this spec says 1.0.0"},
      {OfDevice("    netDevices: [{hostInterfaceName: eth1, name: eth0}]\n"),
       edits + "netDevices: " + unapplied},
      {whole + "  env: [A]\n", "line 7: containerEdits.env[0]: must be NAME=value"},
      {whole + "  mounts:\n  - {hostPath: /, containerPath: /}\n",
       "line 8: containerEdits.mounts[0].containerPath: must not be the container's root"},
      {whole + "  hooks:\n  - {hookName: poststop, path: rm}\n",
       "line 8: containerEdits.hooks[0].path: must be an absolute path"},
  });
}

TEST(CdiRefused, JsonHasLinesToo) {
  const std::string text =
      "{\n\t\"cdiVersion\": \"0.6.0\",\n\t\"kind\": \"a/b\",\n\t\"devices\": [\n\t\t{\n"
      "\t\t\t\"name\": \"gpu0\",\n\t\t\t\"containerEdits\": {\"env\": [\"A\"]}\n\t\t}\n\t]\n}\n";
  for (const bool is_json : {true, false}) {
    const auto spec = ParseCdiText(text, is_json);
    ASSERT_FALSE(spec);
    EXPECT_EQ(spec.error().reason, "line 7: devices[0].containerEdits.env[0]: must be NAME=value");
  }
}

}  // namespace
}  // namespace tidemill
