// Ops of which some things are not asked.
#pragma once

#include <string_view>

#include "panto/lib/core/op/op.h"

namespace panto::test {

// Of datasets: what describes passes over elements, and what makes them.
inline bool of_passes(const Op& op) {
  const std::string_view name = op.name();
  return name.find("Dataset") != std::string_view::npos || name.find("Iterator") != std::string_view::npos ||
         name.ends_with("SeedGenerator") || name.ends_with("MemoryCache") || name == "ComputeBatchSize";
}

// What writes event files for TensorFlow 2, by a resource.
inline bool writes_summaries(const Op& op) {
  const std::string_view name = op.name();
  return name.find("SummaryWriter") != std::string_view::npos ||
         name.find("SummaryFileWriter") != std::string_view::npos ||
         (name.starts_with("Write") && name.ends_with("Summary")) || name == "ImportEvent";
}

}  // namespace panto::test
