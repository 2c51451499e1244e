// SPDX-License-Identifier: Apache-2.0
#include "store/settings_rules.h"

#include "store/settings_store.h"

namespace tidemill {

tl::unexpected<Error> NoSuchQueue(const std::string& name) {
  return Fail(Code::kNotFound, "there is no queue " + name);
}

tl::unexpected<Error> NoSuchSpec(const std::string& name) {
  return Fail(Code::kNotFound, "there is no spec " + name);
}

tl::unexpected<Error> NoSuchVersion(const std::string& name, int version) {
  return Fail(Code::kNotFound, "spec " + name + " has no version " + std::to_string(version));
}

tl::unexpected<Error> NoPoolForQueue(const std::string& queue, const std::string& pool) {
  return Fail(Code::kInvalid,
              "queue " + queue + " names pool " + pool + ", which is not there; make it first");
}

tl::unexpected<Error> TooManyQueues() {
  return Fail(Code::kExhausted, "the project has " + std::to_string(kQueuesPerProject) +
                                    " queues already; remove some");
}

tl::unexpected<Error> TooManySpecs() {
  return Fail(Code::kExhausted, "the project keeps " + std::to_string(kSpecsPerProject) +
                                    " specs already; remove some");
}

tl::unexpected<Error> TooManyVersions(const std::string& name) {
  return Fail(Code::kExhausted, "spec " + name + " has " + std::to_string(kVersionsPerSpec) +
                                    " versions already; use another name, or remove it");
}

tl::unexpected<Error> IsDefaultPool() {
  return Fail(Code::kConflict, "the default pool stays; disable it instead");
}

tl::unexpected<Error> PoolOfQueue(const std::string& pool, const std::string& queue) {
  return Fail(Code::kConflict,
              "queue " + queue + " names pool " + pool + "; take it out of the queue first");
}

tl::unexpected<Error> PoolHasMachines(const std::string& pool) {
  return Fail(Code::kConflict, "pool " + pool + " has machines; drain them first");
}

tl::unexpected<Error> PoolHasTokens(const std::string& pool) {
  return Fail(Code::kConflict, "join tokens lead to pool " + pool + "; revoke them first");
}

}  // namespace tidemill
