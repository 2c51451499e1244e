// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tidemill {

// A driver may be installed in a tree of its own, its root; "/" or nothing is the machine's. These
// look there, and paths are those inside of it.

// Where the machine has what has this path in the root.
std::string UnderRoot(const std::string& root, const std::string& path);

// The names in a folder, sorted; none if there is no such folder.
std::vector<std::string> NamesUnder(const std::string& root, const std::string& folder);

// The beginning of a small file, such as those of /proc and /sys, without blanks at its ends; empty
// if there is none.
std::string TextUnder(const std::string& root, const std::string& path);

bool IsCharDeviceUnder(const std::string& root, const std::string& path);

// NumberAfter("neuron", "neuron7") is 7; -1 for a name that is not the word and a number.
int NumberAfter(std::string_view word, std::string_view name);

}  // namespace tidemill
