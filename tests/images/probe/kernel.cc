// SPDX-License-Identifier: Apache-2.0
// What belongs to the kernel, and to the whole machine.
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/reboot.h>
#include <sys/io.h>
#include <sys/klog.h>
#include <sys/quota.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>

#include "probe.h"

namespace probe {
namespace {

template <typename... Words>
bool Call(long number, Words... words) {
  return syscall(number, words...) >= 0;
}

bool Perf() {
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  return Call(SYS_perf_event_open, &attributes, -1, 0, -1, 0);
}

bool SetClock() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return clock_settime(CLOCK_REALTIME, &now) == 0;
}

bool SetTimeOfDay() {
  timeval now{};
  gettimeofday(&now, nullptr);
  return settimeofday(&now, nullptr) == 0;
}

bool Adjust() {
  timex change{};
  change.modes = ADJ_FREQUENCY;
  return adjtimex(&change) >= 0;
}

bool Node(mode_t kind, unsigned major_number, unsigned minor_number) {
  const char* const path = "/tmp/node";
  unlink(path);
  return mknod(path, kind | 0600, makedev(major_number, minor_number)) == 0;
}

// The disk that the scratch folder is on.
bool NodeOfDisk() {
  struct stat status{};
  stat("/.tidemill/scratch", &status);
  return Node(S_IFBLK, major(status.st_dev), minor(status.st_dev));
}

bool OpensDevice(const char* path) { return open(path, O_RDONLY | O_NONBLOCK) >= 0; }

bool OpensADisk() {
  for (const char* disk : {"/dev/vda", "/dev/vda1", "/dev/sda", "/dev/nvme0n1", "/dev/xvda",
                           "/dev/dm-0", "/dev/loop0"}) {
    if (OpensDevice(disk)) return true;
  }
  return false;
}

bool ReadsKernelLog() {
  char text[64];
  return klogctl(3, text, sizeof(text)) >= 0;
}

constexpr Attempt kAttempts[] = {
    {"add_key", [] { return Call(SYS_add_key, "user", "x", "y", 1, KEY_SPEC_SESSION_KEYRING); }},
    {"request_key", [] { return Call(SYS_request_key, "user", "x", nullptr, 0); }},
    {"keyctl", [] { return Call(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 1); }},
    {"bpf", [] { return Call(SYS_bpf, 0, nullptr, 0); }},
    {"bpf map",
     [] {
       std::uint32_t map[16] = {2, 4, 4, 1};
       return Call(SYS_bpf, 0, map, sizeof(map));
     }},
    {"userfaultfd", [] { return Call(SYS_userfaultfd, 0); }},
    {"perf_event_open", Perf},
    {"init_module", [] { return Call(SYS_init_module, "x", 1, ""); }},
    {"finit_module", [] { return Call(SYS_finit_module, 0, "", 0); }},
    {"delete_module", [] { return Call(SYS_delete_module, "x", 0); }},
    {"kexec_load", [] { return Call(SYS_kexec_load, 0, 0, nullptr, 0); }},
    {"kexec_file_load", [] { return Call(SYS_kexec_file_load, -1, -1, 0, nullptr, 0); }},
    {"reboot", [] { return reboot(LINUX_REBOOT_CMD_CAD_OFF) == 0; }},
    {"swapon", [] { return swapon("/tmp/none", 0) == 0; }},
    {"swapoff", [] { return swapoff("/tmp/none") == 0; }},
    {"iopl", [] { return iopl(3) == 0; }},
    {"ioperm", [] { return ioperm(0x80, 1, 1) == 0; }},
    {"settimeofday", SetTimeOfDay},
    {"clock_settime", SetClock},
    {"adjtimex", Adjust},
    {"sethostname", [] { return sethostname("x", 1) == 0; }},
    {"setdomainname", [] { return setdomainname("x", 1) == 0; }},
    {"acct", [] { return acct(nullptr) == 0; }},
    {"quotactl", [] { return quotactl(QCMD(Q_SYNC, USRQUOTA), nullptr, 0, nullptr) == 0; }},
    {"the kernel's log", ReadsKernelLog},
    {"vhangup", [] { return vhangup() == 0; }},
    {"fanotify_init", [] { return Call(SYS_fanotify_init, 4, O_RDONLY); }},
    {"lookup_dcookie", [] { return Call(SYS_lookup_dcookie, 0, nullptr, 0); }},
    {"mknod of a disk by its number", NodeOfDisk},
    {"mknod of the first disk", [] { return Node(S_IFBLK, 8, 0); }},
    {"mknod of /dev/mem", [] { return Node(S_IFCHR, 1, 1); }},
    {"mknod of /dev/kmsg", [] { return Node(S_IFCHR, 1, 11); }},
    {"open /dev/mem", [] { return OpensDevice("/dev/mem"); }},
    {"open /dev/port", [] { return OpensDevice("/dev/port"); }},
    {"open /dev/kmsg", [] { return OpensDevice("/dev/kmsg"); }},
    {"open /dev/kvm", [] { return OpensDevice("/dev/kvm"); }},
    {"open /dev/fuse", [] { return OpensDevice("/dev/fuse"); }},
    {"open /dev/net/tun", [] { return OpensDevice("/dev/net/tun"); }},
    {"open /dev/loop-control", [] { return OpensDevice("/dev/loop-control"); }},
    {"open a disk", OpensADisk},
};

}  // namespace

std::span<const Attempt> KernelAttempts() { return kAttempts; }

}  // namespace probe
