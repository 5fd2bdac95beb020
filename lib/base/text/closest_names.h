// Suggestions for errors about names that do not exist.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "panto/lib/base/export.h"

namespace panto {

// Returns at most three of `names`, the closest to `name` first. A name counts as close within `edits` edits, or within
// a third of `name`'s length if that is more. Returns none if `name` is very long or `names` very many, where the
// search would take long.
PANTO_EXPORT std::vector<std::string_view> closest_names(std::string_view name, std::span<const std::string_view> names,
                                                         size_t edits);

}  // namespace panto
