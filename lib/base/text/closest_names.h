// What somebody may have meant: for errors about names that do not exist.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "panto/lib/base/export.h"

namespace panto {

// At most three of `names`, the nearest to `name` first: those that at most `edits` letters, or a third of its own if
// that is more, turn into it. None where names are so long or so many that looking would take long.
PANTO_EXPORT std::vector<std::string_view> closest_names(std::string_view name, std::span<const std::string_view> names,
                                                         size_t edits);

}  // namespace panto
