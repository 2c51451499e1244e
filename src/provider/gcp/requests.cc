// SPDX-License-Identifier: Apache-2.0
#include "provider/gcp/requests.h"

#include <utility>

#include "net/http.h"

namespace tidemill {
namespace {

constexpr char kAllScopes[] = "https://www.googleapis.com/auth/cloud-platform";

Tree Text(std::string text) { return Tree(Tree::Value(std::move(text))); }
Tree Whole(std::int64_t number) { return Tree(Tree::Value(number)); }
Tree Flag(bool flag) { return Tree(Tree::Value(flag)); }
Tree Texts(const std::vector<std::string>& texts) {
  Tree::List list;
  for (const std::string& text : texts) list.push_back(Text(text));
  return Tree(std::move(list));
}
Tree One(Tree::Object object) { return Tree(Tree::List{Tree(std::move(object))}); }

// "europe-west4" of "europe-west4-a".
std::string RegionOf(const std::string& zone) { return zone.substr(0, zone.rfind('-')); }

// A bare name is one of the pool's own project at Google.
std::string Full(const GcpPool& pool, const std::string& folder, const std::string& name) {
  if (name.find('/') != name.npos) return name;
  return "projects/" + pool.project + "/" + folder + "/" + name;
}

Tree DiskOf(const GcpPool& pool) {
  Tree::Object from{{"sourceImage", Text(Full(pool, "global/images", pool.image))}};
  // A whole number of 64 bits is text in Google's JSON.
  if (pool.disk_gb > 0) from.emplace_back("diskSizeGb", Text(std::to_string(pool.disk_gb)));
  return One({{"boot", Flag(true)},
              {"autoDelete", Flag(true)},
              {"initializeParams", Tree(std::move(from))}});
}

// No address that the internet can reach.
Tree NetworkOf(const GcpPool& pool) {
  Tree::Object network;
  if (!pool.network.empty() || pool.subnet.empty()) {
    const std::string name = pool.network.empty() ? "default" : pool.network;
    network.emplace_back("network", Text(Full(pool, "global/networks", name)));
  }
  if (!pool.subnet.empty()) {
    const std::string folder = "regions/" + RegionOf(pool.zone) + "/subnetworks";
    network.emplace_back("subnetwork", Text(Full(pool, folder, pool.subnet)));
  }
  return One(std::move(network));
}

// What was taken away stays away: its machine has ended, and another is ordered if there is work.
Tree SchedulingOf(const PoolSettings& settings, const GcpPool& pool) {
  Tree::Object scheduling{{"automaticRestart", Flag(false)}};
  if (settings.machines.spot) {
    scheduling.emplace_back("provisioningModel", Text("SPOT"));
    scheduling.emplace_back("instanceTerminationAction", Text("DELETE"));
  }
  // Neither can be moved to another host while it runs.
  if (settings.machines.spot || !pool.accelerator_type.empty()) {
    scheduling.emplace_back("onHostMaintenance", Text("TERMINATE"));
  }
  return Tree(std::move(scheduling));
}

Tree LabelsOf(const PoolSettings& settings, const GcpPool& pool) {
  Tree::Object labels;
  for (const auto& [key, value] : pool.labels) labels.emplace_back(key, Text(value));
  labels.emplace_back("tidemill-pool", Text(LabelValue(settings.pool.name)));
  labels.emplace_back("tidemill-project", Text(LabelValue(settings.pool.project)));
  return Tree(std::move(labels));
}

Tree MetadataOf(const GcpPool& pool) {
  Tree::List items{
      Tree(Tree::Object{{"key", Text("enable-guest-attributes")}, {"value", Text("FALSE")}})};
  if (!pool.user_data.empty()) {
    items.push_back(
        Tree(Tree::Object{{"key", Text("user-data")}, {"value", Text(pool.user_data)}}));
  }
  return Tree(Tree::Object{{"items", Tree(std::move(items))}});
}

Tree PropertiesOf(const PoolSettings& settings, const GcpPool& pool) {
  Tree::Object properties{
      {"machineType", Text(pool.type)},       {"disks", DiskOf(pool)},
      {"networkInterfaces", NetworkOf(pool)}, {"scheduling", SchedulingOf(settings, pool)},
      {"labels", LabelsOf(settings, pool)},   {"metadata", MetadataOf(pool)}};
  if (!pool.service_account.empty()) {
    const std::vector<std::string> all{kAllScopes};
    properties.emplace_back("serviceAccounts",
                            One({{"email", Text(pool.service_account)},
                                 {"scopes", Texts(pool.scopes.empty() ? all : pool.scopes)}}));
  }
  if (!pool.accelerator_type.empty()) {
    properties.emplace_back("guestAccelerators",
                            One({{"acceleratorType", Text(pool.accelerator_type)},
                                 {"acceleratorCount", Whole(pool.accelerator_count)}}));
  }
  return Tree(std::move(properties));
}

std::string TemplateUrl(const GcpPool& pool, const std::string& name) {
  return "projects/" + pool.project + TemplatePath(name);
}

std::string Rows() { return "maxResults=" + std::to_string(kGcpPageRows); }
// A regular expression that the whole field must match.
std::string Matching(const std::string& field, const std::string& pattern) {
  return "&filter=" + PercentEncode(field + " eq \"" + pattern + "\"");
}
std::string Only(const std::string& fields) {
  return "&fields=" + PercentEncode("nextPageToken," + fields);
}

}  // namespace

GcpTemplate TemplateFor(const PoolSettings& settings, const GcpPool& pool, const GcpNames& names) {
  Tree properties = PropertiesOf(settings, pool);
  const std::string name = names.TemplateOf(FormatTreeShort(properties));
  const std::string words =
      "Machines of tidemill's pool " + settings.pool.project + "/" + settings.pool.name;
  return {name, Tree(Tree::Object{{"name", Text(name)},
                                  {"description", Text(words)},
                                  {"properties", std::move(properties)}})};
}

Tree GroupBody(const GcpPool& pool, const GcpNames& names, const std::string& template_name) {
  return Tree(Tree::Object{{"name", Text(names.group())},
                           {"baseInstanceName", Text(names.base())},
                           {"instanceTemplate", Text(TemplateUrl(pool, template_name))},
                           {"targetSize", Whole(0)},
                           {"updatePolicy", Tree(Tree::Object{{"type", Text("OPPORTUNISTIC")}})},
                           // Otherwise it makes anew what was taken away.
                           {"instanceLifecyclePolicy",
                            Tree(Tree::Object{{"defaultActionOnFailure", Text("DO_NOTHING")}})},
                           {"listManagedInstancesResults", Text("PAGINATED")}});
}

Tree SetTemplateBody(const GcpPool& pool, const std::string& template_name) {
  return Tree(Tree::Object{{"instanceTemplate", Text(TemplateUrl(pool, template_name))}});
}

Tree CreateInstancesBody(const std::vector<std::string>& instances) {
  Tree::List list;
  for (const std::string& name : instances) {
    list.push_back(Tree(Tree::Object{{"name", Text(name)}}));
  }
  return Tree(Tree::Object{{"instances", Tree(std::move(list))}});
}

Tree DeleteInstancesBody(const GcpPool& pool, const std::vector<std::string>& instances) {
  Tree::List list;
  for (const std::string& name : instances) {
    list.push_back(Text("zones/" + pool.zone + "/instances/" + name));
  }
  return Tree(Tree::Object{{"instances", Tree(std::move(list))},
                           {"skipInstancesOnValidationError", Flag(true)}});
}

std::string ZonePath(const GcpPool& pool) { return "/zones/" + pool.zone; }
std::string GroupsPath(const GcpPool& pool) { return ZonePath(pool) + "/instanceGroupManagers"; }
std::string GroupPath(const GcpPool& pool, const GcpNames& names) {
  return GroupsPath(pool) + "/" + (pool.group.empty() ? names.group() : pool.group);
}
std::string TemplatePath(const std::string& template_name) {
  return "/global/instanceTemplates/" + template_name;
}

std::string ManagedQuery() {
  return Rows() + Only("managedInstances(instance,instanceStatus,currentAction,lastAttempt)");
}
std::string InstancesQuery(const GcpNames& names) {
  return Rows() + Matching("name", names.base() + "-.*") +
         Only("items(name,status,creationTimestamp,lastStopTimestamp)");
}
std::string TemplatesQuery(const GcpNames& names) {
  return Rows() + Matching("name", names.group() + "-.*") + Only("items(name)");
}
std::string OperationsQuery(const GcpNames& names) {
  return Rows() + "&orderBy=" + PercentEncode("creationTimestamp desc") +
         Matching("targetLink", ".*/instances/" + names.base() + "-.*") +
         Only("items(name,operationType,targetLink,status,insertTime,endTime,error)");
}

}  // namespace tidemill
