// Precompiled for the test program; see lib/pch/library.h.

#include <fmt/format.h>

#include <algorithm>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "panto/panto.h"
