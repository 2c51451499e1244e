// SPDX-License-Identifier: Apache-2.0
#pragma once
// Flags of a server about machines: who makes them, and whom it believes what they are.

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "cloud/world.h"
#include "cmd/server_times.h"
#include "net/asio_loop.h"
#include "provider/aws/aws_provider.h"
#include "provider/gcp/gcp_provider.h"
#include "provider/local/local_provider.h"
#include "provider/proof/cloud_proofs.h"
#include "provider/role/cloud_roles.h"

namespace tidemill {

struct MachineFlags {
  std::string folder;                // of the local provider; empty: there is none
  std::string program;               // the agent that its machines run
  std::vector<std::string> servers;  // where they find one
  std::string ca;
  std::string aws_certificates;  // a file; empty: no machine proves that it is AWS's
  std::vector<std::string> audiences;
  std::string google_keys = "https://www.googleapis.com/oauth2/v3/certs";
};

inline void AddMachineFlags(CLI::App* serve, MachineFlags& flags) {
  auto* const folder =
      serve
          ->add_option("--machines", flags.folder,
                       "Pools with provider local: their machines are agents on this one, in this "
                       "folder")
          ->type_name("FOLDER");
  auto* const servers = serve
                            ->add_option("--machine-server", flags.servers,
                                         "Where they find a server; may be said again")
                            ->type_name("URL")
                            ->allow_extra_args(false);
  folder->needs(servers);
  serve
      ->add_option("--machine-program", flags.program,
                   "What they run; else tidemill-agent beside this program")
      ->type_name("FILE");
  serve->add_option("--machine-ca", flags.ca, "Who vouches for --machine-server")
      ->type_name("FILE");
  serve
      ->add_option("--aws-certificates", flags.aws_certificates,
                   "AWS's certificates of the regions in use, in PEM: machines that show an "
                   "instance identity document signed by one of them need no join token")
      ->type_name("FILE");
  serve
      ->add_option("--proof-audience", flags.audiences,
                   "Machines of Google that show an identity token made for this URL need no join "
                   "token; as their agents are given it with --server")
      ->type_name("URL");
  serve->add_option("--google-keys", flags.google_keys, "Where Google publishes its keys")
      ->type_name("URL")
      ->capture_default_str();
}

// Machines of pools with provider `local`; null: there are none.
inline std::unique_ptr<LocalProvider> LocalMachines(const MachineFlags& flags, Loop& loop,
                                                    Worker& worker) {
  if (flags.folder.empty()) return nullptr;
  LocalOptions options;
  options.folder = flags.folder;
  options.agent_program = flags.program;
  if (options.agent_program.empty()) {
    std::error_code none;
    options.agent_program =
        std::filesystem::read_symlink("/proc/self/exe", none).parent_path() / "tidemill-agent";
  }
  options.servers = flags.servers;
  options.ca = flags.ca;
  if (const std::string times = TimesText(); !times.empty()) {
    options.environment.push_back(std::string(kTimesVariable) + "=" + times);
  }
  return std::make_unique<LocalProvider>(loop, worker, std::move(options));
}

// What is read at the start: another certificate needs a restart.
inline Result<CloudProofOptions> ProofOptionsOf(const MachineFlags& flags) {
  CloudProofOptions options;
  options.audiences = flags.audiences;
  auto keys = ParseWebUrl(flags.google_keys);
  if (!keys) return While("--google-keys", keys.error());
  options.google_keys = *std::move(keys);
  if (flags.aws_certificates.empty()) return options;
  auto certificates = ReadKeyFile(flags.aws_certificates);
  if (!certificates) return While("--aws-certificates", certificates.error());
  options.aws_certificates = *std::move(certificates);
  return options;
}

// All that machines may come from. No cloud is asked for anything before a pool names it, or a
// machine of it joins.
struct Makers {
  struct Deps {
    AsioLoop& loop;
    Worker& worker;
    Random& random;
    Log& log;
  };
  Makers(Deps deps, const MachineFlags& flags, CloudProofOptions proven, const ServerTimes& times)
      : local(LocalMachines(flags, deps.loop, deps.worker)),
        aws(deps.loop, deps.random, deps.log,
            {.calls = {.world = world}, .unordered = times.aws_unordered}),
        gcp(deps.loop, deps.random, world),
        proofs(deps.loop, world, std::move(proven)),
        roles(deps.loop, deps.random, world) {}

  std::map<std::string, Provider*> Named() {
    std::map<std::string, Provider*> providers{{"aws", &aws}, {"gcp", &gcp}};
    if (local != nullptr) providers.emplace("local", local.get());
    return providers;
  }

  const CloudWorld world = SystemWorld();
  const std::unique_ptr<LocalProvider> local;
  AwsProvider aws;
  GcpProvider gcp;
  CloudProofs proofs;
  CloudRoles roles;
};

}  // namespace tidemill
