// Example messages as JSON. Internal.
#pragma once

#include <string>

namespace panto {

// The bytes of the message that is this JSON, in protobuf's form. Throws InvalidArgument for what is none.
std::string example_from_json(const std::string& json);

}  // namespace panto
