// Makes Boost.Math return error values instead of throwing. Internal.
#pragma once

#include <boost/math/policies/policy.hpp>

namespace panto::special {

// Errors are returned as values; doubles are not promoted to long double.
namespace policies = boost::math::policies;
using Policy =
    policies::policy<policies::domain_error<policies::ignore_error>, policies::pole_error<policies::ignore_error>,
                     policies::overflow_error<policies::ignore_error>,
                     policies::underflow_error<policies::ignore_error>,
                     policies::evaluation_error<policies::ignore_error>,
                     policies::rounding_error<policies::ignore_error>, policies::promote_double<false>>;

}  // namespace panto::special
