// Precompiled for the test program, as lib/pch/library.h is for the library; with our own public header, which nearly
// every test includes.

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
