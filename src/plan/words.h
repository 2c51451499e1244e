// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "model/job.h"
#include "model/price.h"

// Numbers as people read them.
namespace tidemill {

std::string InWords(std::int64_t count);  // "1,234,567"
// "1 item", "1,200 items"
std::string CountOf(std::int64_t count, const std::string& noun);
// To the cent, or to what shows that it is not 0: "$12.50", "$0.0017".
std::string InWords(Money money);
// By its largest unit, rounded up: "40 s", "2 min", "3 h".
std::string InWords(Duration time);
std::string BytesInWords(std::int64_t bytes);     // "30.4 GiB", rounded down
std::string CpusInWords(std::int64_t millicpus);  // "1 cpu", "1.5 cpus"
std::string InWords(const Resources& need);       // "2 cpus, 4 GiB, 1 nvidia.com/gpu"
// "2 nvidia.com/gpu, 1 fpga"; what every machine has is not worth a word.
std::string InWords(const Devices& devices);

}  // namespace tidemill
