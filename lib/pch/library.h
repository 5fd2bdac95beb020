// Precompiled for libpanto: what nearly every file of it includes. Files include what they use all the same (lint rule
// `precompiled`; clang-tidy reads them without it).

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

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
