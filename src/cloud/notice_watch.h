// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/loop.h"
#include "cloud/machine_self.h"
#include "cloud/metadata.h"
#include "model/notice.h"

namespace tidemill {

struct NoticeWatchOptions {
  std::string cloud = {};                           // "aws" or "gcp"
  std::function<std::int64_t()> now_ms = {};        // since 1970
  Duration every = std::chrono::milliseconds(500);  // between two looks
};

// Looks twice a second whether the cloud will take this machine away, and tells each kind of notice
// once. A metadata service that does not answer is asked again, for ever. Loop thread only. Nothing
// survives a restart: what stands then is told again.
class NoticeWatch {
 public:
  using OnNotice = std::function<void(const Notice&)>;

  // All that is borrowed outlives it.
  NoticeWatch(Loop& loop, Metadata& metadata, Log& log, NoticeWatchOptions options, OnNotice told);
  // Nothing is told from here on.
  ~NoticeWatch() = default;
  NoticeWatch(const NoticeWatch&) = delete;
  NoticeWatch& operator=(const NoticeWatch&) = delete;

  // `looked` comes once, after the first look, and what that has found was told before.
  void Start(std::function<void()> looked = [] {});

 private:
  void Look();
  void LookAtEc2();
  void LookAtGce();
  void OnEc2(const Result<MetadataValues>& values);
  void OnGce(const Result<std::optional<MetadataValue>>& value);
  void Tell(const Notice& notice);
  // This look is over; the next one comes.
  void Again(const std::string& trouble);
  template <typename Call>
  auto WhileAlive(Call call);

  // Constant after construction.
  Loop& loop_;
  Metadata& metadata_;
  Log& log_;
  const NoticeWatchOptions options_;
  const OnNotice told_;

  // Loop thread only.
  std::function<void()> looked_;
  std::vector<Notice::Kind> kinds_;  // that were told
  std::string etag_;                 // of gcp: of the state that is known
  bool fails_ = false;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
};

// What follows is for the tests too. Pure.

// How long a machine has at most once it is told; clocks that are wrong cannot make it longer.
inline constexpr Duration kEc2Lead = std::chrono::seconds(120);
inline constexpr Duration kGceLead = std::chrono::seconds(30);

// What EC2's values say, the most urgent first.
std::vector<Notice> ReadEc2Notices(const MetadataValues& values, TimePoint now,
                                   std::int64_t now_ms);

}  // namespace tidemill
