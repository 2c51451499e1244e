// SPDX-License-Identifier: Apache-2.0
#include "engine/docker/firewall.h"

#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "base/fd.h"
#include "engine/docker/same_network.h"
#include "net/child.h"

namespace tidemill {
namespace {

// It takes some milliseconds; one that takes longer than this waits for something.
constexpr std::chrono::seconds kNftWithin{10};
constexpr std::chrono::milliseconds kLookEvery{5};
constexpr std::size_t kReasonBytes = 1000;

// A family's own table, empty before its chains follow, whatever it held.
std::string FreshTable(const std::string& table) {
  return "table " + table + "\ndelete table " + table + "\ntable " + table + " {\n";
}

// Before any other table may give a packet another address (at -100), and after the kernel knows
// which connection it belongs to (at -200).
constexpr char kPrerouting[] = "    type filter hook prerouting priority -150; policy accept;\n";
constexpr char kInput[] = "    type filter hook input priority -10; policy accept;\n";
constexpr char kForward[] = "    type filter hook forward priority -10; policy accept;\n";
// What the machine itself began, and errors about it.
constexpr char kAnswers[] = "    ct state established,related accept\n";
// Without these an IPv6 container cannot find its router; no port is behind them.
constexpr char kNeighbours[] =
    "    icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit } accept\n";

// Clouds have their metadata services here. Some have a resolver at the same address, at port 53,
// where containers must be able to ask: what answers there knows names and no credentials.
std::string Forbidden(bool ip6) {
  std::string out =
      "  chain forbidden {\n"
      "    meta l4proto { tcp, udp } th dport 53 return\n"
      "    ip daddr { 169.254.0.0/16, 168.63.129.16, 100.100.100.200 } drop\n";
  if (ip6) out += "    ip6 daddr { fe80::/10, fd00:ec2::/32, fd20:ce::254 } drop\n";
  return out + "  }\n";
}

std::string BridgeTable(std::string_view bridge) {
  return FreshTable("bridge tidemill") + "  chain forward {\n" + kForward + "    meta ibrname \"" +
         std::string(bridge) + "\" drop\n  }\n}\n";
}

struct Spawned {
  pid_t pid = -1;
  int error = 0;
};

// With these as its standard input and outputs, and no other descriptor.
Spawned Spawn(const std::string& program, int in, int out) {
  std::string name = program;
  std::string flag = "-f";
  std::string from = "-";
  std::array<char*, 4> argv{name.data(), flag.data(), from.data(), nullptr};
  // It runs with our rights, so nothing of our surroundings steers it.
  std::string locale = "LC_ALL=C";
  std::array<char*, 2> env{locale.data(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  TIDEMILL_CHECK(posix_spawn_file_actions_init(&files) == 0);
  TIDEMILL_CHECK(posix_spawnattr_init(&attributes) == 0);
  posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, out, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  Spawned spawned;
  spawned.error =
      posix_spawn(&spawned.pid, program.c_str(), &files, &attributes, argv.data(), env.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return spawned;
}

// A file in memory, so that neither side ever waits for the other.
Fd MemoryFile(std::string_view text) {
  Fd file(memfd_create("nft", MFD_CLOEXEC));
  if (!file) return file;
  const ssize_t written = pwrite(file.get(), text.data(), text.size(), 0);
  if (written != static_cast<ssize_t>(text.size())) file.Reset();
  return file;
}

std::string ReasonIn(int file) {
  std::string text(kReasonBytes, '\0');
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text.substr(0, text.find('\n'));
}

// Kernels before 5.3 and some sandboxes have no descriptors of processes: looks every now and then.
bool IsSeenToEnd(pid_t pid, std::chrono::milliseconds timeout) {
  for (auto left = timeout; left.count() > 0; left -= kLookEvery) {
    siginfo_t info{};
    const int seen = waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
    if (seen == 0 && info.si_pid == pid) return true;
    poll(nullptr, 0, static_cast<int>(kLookEvery.count()));
  }
  return false;
}

// Whether it ends in time. It stays to be waited for.
bool EndsWithin(pid_t pid, std::chrono::milliseconds timeout) {
  const Fd ended(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!ended) return IsSeenToEnd(pid, timeout);
  pollfd watch{.fd = ended.get(), .events = POLLIN, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&watch, 1, static_cast<int>(timeout.count()));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

// The status that waitpid gives, or nothing if it had to be killed.
bool Wait(pid_t pid, std::chrono::seconds timeout, int& status) {
  const bool ended = EndsWithin(pid, timeout);
  if (!ended) kill(pid, SIGKILL);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return ended;
}

// What nft says where the kernel was built without what a rule needs: without a family, or without
// a kind of chain or expression.
bool IsNotSupported(const std::string& why) {
  return why.find("not supported") != std::string::npos ||
         why.find("No such file or directory") != std::string::npos;
}

std::string CannotSet(const std::string& why) {
  return "nft cannot set the rules: " + why + "; the agent must run as root, or with CAP_NET_ADMIN";
}

// Empty: the rules are in the kernel. Else why not.
std::string SetRules(const std::string& bridge, const std::string& given) {
  const std::string nft = given.empty() ? FindNft() : given;
  if (nft.empty()) return "there is no program nft on this machine: install the package nftables";
  // Kernels are built without the one or the other. Without the rules for bridges Docker's own keep
  // containers apart; without those for IPv6 there must be none to be had.
  std::string why;
  for (const FirewallKinds kinds : {FirewallKinds{}, FirewallKinds{.bridge = false}}) {
    const auto applied = RunNft(nft, FirewallRules(bridge, kinds), kNftWithin);
    if (applied) return "";
    why = applied.error().reason;
    if (!IsNotSupported(why)) return CannotSet(why);
  }
  if (access("/proc/net/if_inet6", F_OK) != 0) {
    const FirewallKinds old{.ip6 = false, .bridge = false};
    if (RunNft(nft, FirewallRules(bridge, old), kNftWithin)) return "";
  }
  return CannotSet(why);
}

// Empty: the bridge is shut. Else why it is not known to be.
std::string Shut(const Firewall::Options& options) {
  std::string why = SetRules(options.bridge, options.nft);
  if (!why.empty()) return why;
  const bool is_here = if_nametoindex(options.bridge.c_str()) != 0;
  if (is_here && IsInOurNetwork(options.engine)) return "";
  return "what containers send does not pass this machine's rules: the Docker Engine's interface " +
         options.bridge +
         " is not here; run the agent in the network namespace of an Engine that is not rootless";
}

}  // namespace

std::string FirewallRules(std::string_view bridge, FirewallKinds kinds) {
  const std::string table = kinds.ip6 ? "inet tidemill" : "ip tidemill";
  const std::string ours = "    iifname != \"" + std::string(bridge) + "\" accept\n";
  const std::string neighbours = kinds.ip6 ? kNeighbours : "";
  std::string out = kinds.bridge ? BridgeTable(bridge) : "";
  out += FreshTable(table);
  out += Forbidden(kinds.ip6);
  // Here a port of the machine is known as one, even if it leads on into a container.
  out += "  chain prerouting {\n" + (kPrerouting + ours) + "    jump forbidden\n" + kAnswers +
         neighbours + "    fib daddr type { local, broadcast, multicast } drop\n  }\n";
  out += "  chain input {\n" + (kInput + ours) + kAnswers + neighbours + "    drop\n  }\n";
  out += "  chain forward {\n" + (kForward + ours) + "    oifname \"" + std::string(bridge) +
         "\" drop\n    jump forbidden\n  }\n";
  return out + "}\n";
}

std::string FindNft() {
  for (const char* path : {"/usr/sbin/nft", "/sbin/nft", "/usr/local/sbin/nft", "/usr/bin/nft"}) {
    if (access(path, X_OK) == 0) return path;
  }
  return "";
}

Result<void> RunNft(const std::string& nft, const std::string& rules,
                    std::chrono::seconds timeout) {
  const Fd in = MemoryFile(rules);
  const Fd out = MemoryFile("");
  if (!in || !out) return Fail(Code::kUnavailable, std::string("no memory: ") + strerror(errno));
  const Spawned spawned = Spawn(nft, in.get(), out.get());
  if (spawned.error != 0) {
    return Fail(Code::kUnavailable, "cannot start '" + nft + "': " + strerror(spawned.error));
  }
  int status = 0;
  if (!Wait(spawned.pid, timeout, status)) {
    return Fail(Code::kUnavailable, "'" + nft + "' did not end in time");
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  const std::string said = ReasonIn(out.get());
  return Fail(Code::kUnavailable, said.empty() ? DescribeExit(status) : said);
}

Firewall::Firewall(AsioLoop& loop, Options options)
    : options_(std::move(options)), pool_(loop, 1) {}

Firewall::~Firewall() = default;

void Firewall::Apply(std::function<void()> done) {
  waiting_.push_back(std::move(done));
  if (waiting_.size() == 1) Run();
}

// One at a time: whoever asks while it runs is told of the same run.
void Firewall::Run() {
  const auto open = std::make_shared<std::string>();
  pool_.Run([open, options = options_] { *open = Shut(options); },
            [this, open, alive = std::weak_ptr<char>(alive_)] {
              if (alive.expired()) return;
              open_ = *open;
              for (const auto& done : std::exchange(waiting_, {})) {
                done();
                if (alive.expired()) return;
              }
            });
}

}  // namespace tidemill
