// Precompiled for libpanto: what nearly every file of it includes and nobody here changes. Files include what they use
// all the same (lint rule `precompiled`).

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>
