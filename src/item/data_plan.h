// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/result.h"
#include "item/command.h"
#include "model/data.h"
#include "model/spec.h"

namespace tidemill {

// The inputs and outputs of a job, taken apart once. Constant after it was made: any thread may use
// it.
class DataPlan {
 public:
  // kInvalid: a template stands for nothing.
  static Result<DataPlan> Of(const RunSpec& spec);

  bool empty() const { return inputs_.empty() && outputs_.empty(); }
  bool has_outputs() const { return !outputs_.empty(); }
  bool skips_existing() const { return skips_existing_; }

  // What this item reads and writes. kInvalid, with a reason for people: it lacks a field, or what
  // it makes of a URL is none, or would leave the place that the spec names.
  Result<DataWork> For(const ItemFacts& facts, const FieldReader& read_field) const;

 private:
  using Pieces = std::vector<TemplatePiece>;
  template <typename Data>
  struct Planned {
    Data data;
    Pieces url;
  };

  DataPlan() = default;

  std::vector<Planned<DataInput>> inputs_;
  std::vector<Planned<DataOutput>> outputs_;
  OutputExists exists_ = OutputExists::kFail;
  bool skips_existing_ = false;
};

// kInvalid: it has a part that is empty, "." or "..", or a control character. So no item can make a
// URL lead out of the folder that stands before it.
Result<void> CheckDataUrl(std::string_view url);

}  // namespace tidemill
